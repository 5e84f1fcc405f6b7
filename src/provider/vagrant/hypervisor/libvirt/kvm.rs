//! Whether this host can run machines with hardware virtualisation, and what runs them if not.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;

use crate::config::model::LibvirtDriver;
use crate::error::{Failure, Kind, Result};

const DEVICE: &str = "/dev/kvm";
/// What a driver of `qemu` is good for.
const EMULATION: &str =
    "emulation is many times slower: it is for Linux machines and tests, Windows takes hours";

/// Why KVM cannot be used: words and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// In a few words.
    pub why: String,
    /// What to do about it.
    pub advice: Vec<String>,
}

/// How the machines run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// By emulation, with `driver: qemu` and a plain processor.
    pub emulated: bool,
    /// What the user must hear about it.
    pub warning: Option<String>,
}

/// What KVM lacks on this host; nothing when it can be used.
///
/// The device alone proves nothing: inside a virtual machine without nested virtualisation it may exist,
/// accepts a machine, and never boots it.
#[must_use]
pub fn lacks() -> Option<Unusable> {
    if !cfg!(target_os = "linux") {
        let why = "KVM is a part of Linux".to_owned();
        return Some(Unusable {
            why,
            advice: vec!["choose another provider".to_owned()],
        });
    }
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let opened = |path: &Path| OpenOptions::new().read(true).write(true).open(path);
    lacks_in(&processor, || opened(Path::new(DEVICE)))
}

fn lacks_in(processor: &str, open: impl FnOnce() -> std::io::Result<File>) -> Option<Unusable> {
    let flags = processor.lines().find_map(|line| {
        line.split_once(':')
            .filter(|(key, _)| key.trim() == "flags")
    });
    // Other architectures list no flags; there the device must do.
    let extension = flags.is_none_or(|(_, flags)| {
        flags
            .split_whitespace()
            .any(|flag| flag == "vmx" || flag == "svm")
    });
    let unusable = |why: String, advice: &[&str]| {
        let advice = advice.iter().map(|line| (*line).to_owned()).collect();
        Some(Unusable { why, advice })
    };
    match (extension, open()) {
        (true, Ok(_)) => None,
        (false, Ok(_)) => unusable(
            format!(
                "`{DEVICE}` is there, but the processor has no virtualisation (neither `vmx` nor `svm` \
                 in `/proc/cpuinfo`): such a host accepts a machine and never boots it"
            ),
            &[
                "turn on VT-x or AMD-V in the firmware",
                "or, where this host is itself a virtual machine, turn on nested virtualisation for it",
            ],
        ),
        (_, Err(error)) if error.kind() == ErrorKind::PermissionDenied => unusable(
            format!("you may not use `{DEVICE}`"),
            &["add yourself to the group `kvm` and log in again: `sudo usermod -aG kvm $USER`"],
        ),
        (true, Err(error)) => unusable(
            format!("`{DEVICE}` cannot be opened: {error}"),
            &["load its module: `sudo modprobe kvm_intel` or `sudo modprobe kvm_amd`"],
        ),
        (false, Err(_)) => unusable(
            "the processor has no virtualisation (neither `vmx` nor `svm` in `/proc/cpuinfo`)"
                .to_owned(),
            &[
                "turn on VT-x or AMD-V in the firmware",
                "or, where this host is itself a virtual machine, turn on nested virtualisation for it",
            ],
        ),
    }
}

/// Decides how libvirt's machines run: `asked` is `vagrant.libvirt.driver`, `windows` whether one of
/// them runs Windows.
///
/// `auto` is KVM where it can be used. Where it cannot, Linux machines are emulated, which is said;
/// Windows machines are only when `qemu` is asked for.
///
/// # Errors
/// `Host` when KVM is asked for, or needed, and cannot be used.
pub fn decide(asked: LibvirtDriver, lacks: Option<&Unusable>, windows: bool) -> Result<Decision> {
    match (asked, lacks) {
        (LibvirtDriver::Qemu, _) => Ok(Decision {
            emulated: true,
            warning: Some(format!("machines are emulated, as asked for; {EMULATION}")),
        }),
        (_, None) => Ok(Decision {
            emulated: false,
            warning: None,
        }),
        (LibvirtDriver::Auto, Some(unusable)) if !windows => Ok(Decision {
            emulated: true,
            warning: Some(format!(
                "machines are emulated: {}; {EMULATION}",
                unusable.why
            )),
        }),
        (LibvirtDriver::Auto | LibvirtDriver::Kvm, Some(unusable)) => Err(refused(unusable)),
    }
}

/// The failure of a host whose machines must run with KVM.
#[must_use]
pub fn refused(unusable: &Unusable) -> Box<Failure> {
    let failure = Failure::new(Kind::Host, "KVM cannot be used on this host");
    let failure = unusable
        .advice
        .iter()
        .fold(failure.because(&unusable.why), |failure, advice| {
            failure.advise(advice.as_str())
        });
    Box::new(
        failure
            .advise(format!(
                "or set `vagrant.libvirt.driver: qemu` in `variables.yml`; {EMULATION}"
            ))
            .permanent(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTEL: &str = "processor\t: 0\nflags\t\t: fpu vme vmx sse2\n";
    const NONE: &str = "processor\t: 0\nflags\t\t: fpu vme hypervisor sse2 svm_lock\n";

    fn device() -> std::io::Result<File> {
        tempfile::tempfile()
    }

    fn missing(kind: ErrorKind) -> impl Fn() -> std::io::Result<File> {
        move || Err(kind.into())
    }

    #[test]
    fn a_device_without_virtualisation_behind_it_is_recognised_and_explained() {
        assert_eq!(lacks_in(INTEL, device), None);
        let unusable = lacks_in(NONE, device).unwrap();
        let failure = decide(LibvirtDriver::Kvm, Some(&unusable), false).unwrap_err();
        assert_eq!(failure.kind.exit_code(), 4);
        let causes = failure.causes.join(" ");
        assert!(causes.contains("never boots it"), "{causes}");
        let advice = failure.advice.join(" ");
        assert!(advice.contains("vagrant.libvirt.driver: qemu"), "{advice}");
        assert!(advice.contains("nested virtualisation"), "{advice}");
    }

    #[test]
    fn a_missing_right_is_told_from_a_missing_module() {
        let denied = lacks_in(INTEL, missing(ErrorKind::PermissionDenied)).unwrap();
        assert!(denied.advice[0].contains("group `kvm`"), "{denied:?}");
        let absent = lacks_in(INTEL, missing(ErrorKind::NotFound)).unwrap();
        assert!(absent.advice[0].contains("modprobe"), "{absent:?}");
    }

    #[test]
    fn another_architecture_is_judged_by_its_device() {
        let arm = "processor\t: 0\nFeatures\t: fp asimd\n";
        assert_eq!(lacks_in(arm, device), None);
    }

    #[test]
    fn windows_is_never_emulated_unless_asked_for() {
        let unusable = lacks_in(NONE, device);
        assert!(decide(LibvirtDriver::Auto, unusable.as_ref(), true).is_err());
        let linux = decide(LibvirtDriver::Auto, unusable.as_ref(), false).unwrap();
        assert!(linux.emulated && linux.warning.is_some(), "{linux:?}");
        let asked = decide(LibvirtDriver::Qemu, unusable.as_ref(), true).unwrap();
        assert!(asked.emulated && asked.warning.is_some(), "{asked:?}");
        let kvm = decide(LibvirtDriver::Auto, None, true).unwrap();
        assert!(!kvm.emulated && kvm.warning.is_none(), "{kvm:?}");
    }
}
