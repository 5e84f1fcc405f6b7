//! What is wrong, or probably wrong, with a configuration for the version that it asks for.

use crate::config::{Diagnostic, Loaded, Severity};

/// One mistake or remark, about one value of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// An error or a warning.
    pub severity: Severity,
    /// The value's path: `kubernetes.extra_args.kubelet.node-ip`.
    pub key: String,
    /// Whether the key itself is meant, not what it is set to.
    pub on_key: bool,
    /// What is wrong, a lower-case fragment.
    pub message: String,
    /// What is allowed there.
    pub allowed: Option<String>,
    /// The nearest right key or value.
    pub suggestion: Option<String>,
    /// Why, and what to do.
    pub note: Option<String>,
}

impl Finding {
    pub(super) fn new(
        severity: Severity,
        key: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            key: key.into(),
            on_key: false,
            message: message.into(),
            allowed: None,
            suggestion: None,
            note: None,
        }
    }

    pub(super) fn on_key(mut self) -> Self {
        self.on_key = true;
        self
    }

    pub(super) fn allow(mut self, allowed: impl Into<String>) -> Self {
        self.allowed = Some(allowed.into());
        self
    }

    pub(super) fn suggest(mut self, suggestion: Option<impl Into<String>>) -> Self {
        self.suggestion = suggestion.map(Into::into);
        self
    }

    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// With the place where the user wrote the value, or what is nearest to it.
    #[must_use]
    pub fn located(&self, loaded: &Loaded) -> Diagnostic {
        let mut diagnostic =
            loaded.remark(self.severity, &self.key, self.on_key, self.message.clone());
        diagnostic.allowed.clone_from(&self.allowed);
        diagnostic.suggestion.clone_from(&self.suggestion);
        diagnostic.note.clone_from(&self.note);
        diagnostic
    }
}
