//! The processors of hosts and machines.

use std::sync::LazyLock;

use serde::Deserialize;

/// What a machine's processor is. A hypervisor runs machines of its host's own kind only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arch {
    /// x86-64.
    Amd64,
    /// 64-bit ARM.
    Arm64,
}

impl Arch {
    /// The host's, also where this program runs there by translation.
    #[must_use]
    pub fn host() -> Self {
        static HOST: LazyLock<Arch> = LazyLock::new(|| {
            let built = if cfg!(target_arch = "aarch64") {
                Arch::Arm64
            } else {
                Arch::Amd64
            };
            built.or_translated(|name| std::env::var(name).ok(), processor().as_deref())
        });
        *HOST
    }

    /// What the host is when this program was built for `self`, by its environment and the brand of its
    /// processor.
    ///
    /// Windows on ARM shows a translated program the architecture that it was built for, beside what the
    /// processor is:
    /// <https://learn.microsoft.com/en-us/windows/win32/winprog64/wow64-implementation-details#environment-variables>.
    /// So does macOS, where the brand is Apple's.
    fn or_translated(self, variable: impl Fn(&str) -> Option<String>, brand: Option<&str>) -> Self {
        let says = |name: &str, word: &str| {
            variable(name).is_some_and(|text| text.to_ascii_uppercase().starts_with(word))
        };
        let windows = says("OS", "WINDOWS")
            && (says("PROCESSOR_ARCHITEW6432", "ARM64")
                || says("PROCESSOR_ARCHITECTURE", "ARM64")
                || says("PROCESSOR_IDENTIFIER", "ARMV"));
        let apple = brand.is_some_and(|brand| brand.contains("Apple"));
        if windows || apple { Self::Arm64 } else { self }
    }

    /// In a word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Amd64 => "x86-64",
            Self::Arm64 => "arm64",
        }
    }
}

/// The brand of a Mac's processor.
fn processor() -> Option<String> {
    use sysinfo::{CpuRefreshKind, RefreshKind, System};
    if !cfg!(target_os = "macos") {
        return None;
    }
    let wanted = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing());
    let system = System::new_with_specifics(wanted);
    system.cpus().first().map(|cpu| cpu.brand().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_translated_program_knows_its_host() {
        let with = |variables: &[(&str, &str)], brand: Option<&str>| {
            let of = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            Arch::Amd64.or_translated(of, brand)
        };
        let os = ("OS", "Windows_NT");
        let amd64 = ("PROCESSOR_ARCHITECTURE", "AMD64");
        assert_eq!(with(&[], None), Arch::Amd64);
        assert_eq!(with(&[os, amd64], None), Arch::Amd64);
        for sign in [
            ("PROCESSOR_ARCHITEW6432", "ARM64"),
            ("PROCESSOR_IDENTIFIER", "ARMv8 (64-bit) Family 8"),
        ] {
            assert_eq!(with(&[os, amd64, sign], None), Arch::Arm64);
            assert_eq!(with(&[sign], None), Arch::Amd64, "not on Windows");
        }
        assert_eq!(with(&[], Some("Intel(R) Core(TM) i7")), Arch::Amd64);
        assert_eq!(with(&[], Some("Apple M1")), Arch::Arm64);
        assert_eq!(Arch::Arm64.or_translated(|_| None, None), Arch::Arm64);
    }
}
