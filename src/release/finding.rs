//! What is wrong, or probably wrong, with a configuration for the version that it asks for.

use crate::config::{Diagnostic, Loaded, Origin, Severity};

/// One mistake or remark, about one value of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// An error or a warning.
    pub severity: Severity,
    /// The value's path: `kubernetes.extra_args.kubelet.node-ip`.
    pub key: String,
    /// Another value that it is about as much, for where nobody wrote the first one.
    pub or_key: Option<String>,
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
            or_key: None,
            on_key: false,
            message: message.into(),
            allowed: None,
            suggestion: None,
            note: None,
        }
    }

    pub(super) fn or_key(mut self, key: &str) -> Self {
        self.or_key = Some(key.to_owned());
        self
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
        let written = |key: &String| loaded.origins.get(key).is_some_and(Origin::is_written);
        let other = self.or_key.as_ref().filter(|_| !written(&self.key));
        let (key, message) = (other.unwrap_or(&self.key), self.message.clone());
        let mut diagnostic = loaded.remark(self.severity, key, self.on_key, message);
        diagnostic.allowed.clone_from(&self.allowed);
        diagnostic.suggestion.clone_from(&self.suggestion);
        diagnostic.note.clone_from(&self.note);
        diagnostic
    }
}
