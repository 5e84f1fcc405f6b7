//! Names that travel through every layer: lanes, steps, runs.

use std::borrow::Borrow;
use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! name {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $type(String);

        impl $type {
            /// Wraps the text as it is; the configuration has validated it.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $type {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

name! {
    /// A lane: the name of a node, or `host` for work on the host itself.
    LaneName
}
name! {
    /// A step's identity inside its lane. It never changes its meaning between versions of wdev.
    StepId
}
name! {
    /// One run of wdev, unique and in order of time, safe as a folder name.
    RunId
}

impl LaneName {
    /// The lane for work on the host. No node may have this name.
    pub const HOST: &'static str = "host";

    /// The lane for work on the host.
    #[must_use]
    pub fn host() -> Self {
        Self::new(Self::HOST)
    }

    /// Whether this is the lane for work on the host.
    #[must_use]
    pub fn is_host(&self) -> bool {
        self.0 == Self::HOST
    }
}

/// One step of one lane: what the journal and the events speak of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StepKey {
    /// The lane that the step belongs to.
    pub lane: LaneName,
    /// The step.
    pub step: StepId,
}

impl StepKey {
    /// The step `step` of lane `lane`.
    #[must_use]
    pub fn new(lane: &LaneName, step: &str) -> Self {
        Self {
            lane: lane.clone(),
            step: StepId::from(step),
        }
    }
}

impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.lane, self.step)
    }
}
