//! The operating systems of nodes.

/// The operating system of a node, as far as scripts care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Os {
    /// Debian or Ubuntu; scripts are bash.
    Linux,
    /// Windows Server; scripts are Windows PowerShell 5.1.
    Windows,
}

impl Os {
    /// What its scripts' names end in.
    #[must_use]
    pub const fn script_ending(self) -> &'static str {
        match self {
            Self::Linux => "sh",
            Self::Windows => "ps1",
        }
    }
}
