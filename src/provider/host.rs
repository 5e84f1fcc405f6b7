//! Which hypervisors this host has.

use std::path::PathBuf;

use crate::config::model::ProviderName;
use crate::error::{Failure, Kind, Result};

/// The programs whose presence shows that a hypervisor is installed, in order of preference for the
/// host's system. Docker is left out: it makes no Windows machines.
fn candidates() -> &'static [(ProviderName, &'static [&'static str])] {
    const HYPERV: (ProviderName, &[&str]) = (ProviderName::Hyperv, &["vmms", "vmcompute"]);
    const VIRTUALBOX: (ProviderName, &[&str]) = (ProviderName::Virtualbox, &["VBoxManage"]);
    const VMWARE: (ProviderName, &[&str]) = (ProviderName::VmwareDesktop, &["vmrun"]);
    const LIBVIRT: (ProviderName, &[&str]) = (ProviderName::Libvirt, &["virsh"]);
    if cfg!(windows) {
        &[HYPERV, VIRTUALBOX, VMWARE]
    } else if cfg!(target_os = "macos") {
        &[VMWARE, VIRTUALBOX]
    } else {
        &[LIBVIRT, VIRTUALBOX, VMWARE]
    }
}

/// The first usable hypervisor of this host, and why it was taken.
///
/// # Errors
/// `Host` when there is none, or no Vagrant to drive it.
pub fn choose() -> Result<(ProviderName, String)> {
    choose_with(|program| which::which(program).ok())
}

fn choose_with(find: impl Fn(&str) -> Option<PathBuf>) -> Result<(ProviderName, String)> {
    let found = candidates().iter().find_map(|(provider, programs)| {
        let program = programs.iter().find_map(|program| find(program))?;
        Some((*provider, program))
    });
    let names: Vec<&str> = candidates()
        .iter()
        .map(|(provider, _)| provider.as_str())
        .collect();
    let vagrant = find("vagrant");
    match (found, vagrant) {
        (Some((provider, program)), Some(_)) => {
            let why = format!(
                "`{}` was found, and it comes first of {}",
                program.display(),
                names.join(", ")
            );
            Ok((provider, why))
        }
        (found, vagrant) => {
            let mut failure = Failure::new(Kind::Host, "no provider is usable on this host");
            failure = match found {
                Some((provider, _)) => failure.because(format!("`{}` is here", provider.as_str())),
                None => failure.because(format!("none of {} is installed", names.join(", "))),
            };
            if vagrant.is_none() {
                failure = failure
                    .because("`vagrant` is not on the PATH")
                    .advise("install Vagrant: https://developer.hashicorp.com/vagrant/install");
            }
            if failure.advice.is_empty() {
                failure = failure.advise(format!("install one of {}", names.join(", ")));
            }
            Err(Box::new(failure.advise(
                "to try wdev without any machine: `wdev up --provider sim`",
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(programs: &'static [&'static str]) -> Result<(ProviderName, String)> {
        choose_with(|program| {
            programs
                .contains(&program)
                .then(|| PathBuf::from(format!("/usr/bin/{program}")))
        })
    }

    #[test]
    fn without_a_hypervisor_the_simulator_is_named() {
        let failure = with(&["vagrant"]).unwrap_err();
        assert_eq!(failure.kind.exit_code(), 4);
        assert!(
            failure
                .advice
                .iter()
                .any(|advice| advice.contains("--provider sim")),
            "{failure:?}"
        );
    }

    #[test]
    fn without_vagrant_it_says_so() {
        let failure = with(&["VBoxManage", "virsh"]).unwrap_err();
        assert!(
            failure
                .causes
                .iter()
                .any(|cause| cause.contains("`vagrant`")),
            "{failure:?}"
        );
    }

    #[test]
    fn the_choice_is_explained() {
        let (provider, why) = with(&["vagrant", "VBoxManage"]).unwrap();
        assert_eq!(provider, ProviderName::Virtualbox);
        assert!(why.contains("VBoxManage"), "{why}");
    }
}
