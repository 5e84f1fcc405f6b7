//! Versions of Windows Server: their builds, and the container images that run on them.

use std::sync::LazyLock;

use serde::Deserialize;

/// A version of Windows Server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowsServer {
    /// As `workers[].windows` names it: `2022`.
    pub windows: String,
    /// Its build: the third number of `10.0.20348`.
    pub build: u32,
    /// What its own base images are tagged with: `ltsc2022`.
    pub image: String,
    /// The tags of images that run on it with process isolation, the best first.
    pub runs: Vec<String>,
    /// Where that is known from.
    pub source: String,
}

static TABLE: LazyLock<Vec<WindowsServer>> =
    LazyLock::new(|| serde_json::from_str(include_str!("data/windows.json")).unwrap_or_default());

/// What is known of a version of Windows Server, named as in `workers[].windows`.
#[must_use]
pub fn windows_server(windows: &str) -> Option<&'static WindowsServer> {
    TABLE.iter().find(|row| row.windows == windows)
}

/// Every version of Windows Server that is known.
#[must_use]
pub fn windows_servers() -> &'static [WindowsServer] {
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_that_a_worker_may_have_is_known() {
        for windows in ["2019", "2022", "2025"] {
            let known = windows_server(windows).unwrap_or_else(|| panic!("{windows}"));
            assert_eq!(known.runs.first(), Some(&known.image));
        }
        // An image of 2022 runs on 2025 too; none of 2022 runs on 2019.
        let runs = |windows| windows_server(windows).map(|row| row.runs.join(" "));
        assert_eq!(runs("2025").as_deref(), Some("ltsc2025 ltsc2022"));
        assert_eq!(runs("2019").as_deref(), Some("ltsc2019"));
    }
}
