//! Which hypervisor `provider: auto` means on this host.

use super::{Data, Host, System};
use crate::config::model::ProviderName;
use crate::error::{Failure, Kind, Result};

/// How far a hypervisor of this host can be used.
enum Verdict {
    /// As far as can be seen without starting it; the reason to take it.
    Usable(String),
    /// It is installed, but something seems to be missing; what.
    Doubtful(String),
    /// It cannot be used; why.
    Unusable(String),
}

/// The first usable hypervisor of this host, and why it was taken.
///
/// # Errors
/// `Host` when there is none, or no Vagrant to drive it.
pub fn choose() -> Result<(ProviderName, String)> {
    choose_from(&Host::read(&std::env::current_dir().unwrap_or_default()))
}

/// Like [`choose`], for any host.
///
/// # Errors
/// `Host` when there is none, or no Vagrant to drive it.
pub fn choose_from(host: &Host) -> Result<(ProviderName, String)> {
    let data = Data::read()?;
    let order = data
        .order
        .get(&host.system)
        .map_or(&[] as &[_], Vec::as_slice);
    let verdicts: Vec<(ProviderName, Verdict)> = order
        .iter()
        .map(|provider| (*provider, judge(&data, host, *provider)))
        .collect();
    let usable = verdicts
        .iter()
        .find_map(|(provider, verdict)| match verdict {
            Verdict::Usable(why) => Some((*provider, why)),
            _ => None,
        });
    let doubtful = verdicts
        .iter()
        .find_map(|(provider, verdict)| match verdict {
            Verdict::Doubtful(why) => Some((*provider, why)),
            _ => None,
        });
    let chosen = usable.or(doubtful);
    if let (Some((provider, why)), true) = (chosen, host.vagrant) {
        let passed: Vec<&str> = verdicts
            .iter()
            .take_while(|(other, _)| *other != provider)
            .map(|(_, verdict)| match verdict {
                Verdict::Usable(why) | Verdict::Doubtful(why) | Verdict::Unusable(why) => {
                    why.as_str()
                }
            })
            .collect();
        let why = if passed.is_empty() {
            format!("{why}, and it comes first here")
        } else {
            format!("{why}; {}", passed.join("; "))
        };
        return Ok((provider, why));
    }
    Err(none(
        &data,
        host,
        &verdicts,
        chosen.map(|(provider, _)| provider),
    ))
}

fn judge(data: &Data, host: &Host, provider: ProviderName) -> Verdict {
    let name = provider.as_str();
    let Some(program) = host.programs.get(name) else {
        return Verdict::Unusable(format!("`{name}` is not installed"));
    };
    let found = format!("`{}` was found", program.display());
    if host.wsl.is_some() && provider != ProviderName::Libvirt {
        return Verdict::Unusable(format!(
            "`{name}` cannot be used from inside the Windows Subsystem for Linux"
        ));
    }
    match provider {
        // Processors of other kinds have no such flag.
        ProviderName::Libvirt if host.x86 && !host.virtualization => {
            return Verdict::Unusable(format!(
                "`{name}` has no hardware virtualisation: the processor shows neither vmx nor svm{}",
                if host.kvm {
                    ", though there is a /dev/kvm"
                } else {
                    ""
                }
            ));
        }
        ProviderName::Libvirt if !host.kvm => {
            return Verdict::Unusable(format!("`{name}` has no KVM: there is no /dev/kvm"));
        }
        ProviderName::Hyperv if !host.hyperv_module => {
            return Verdict::Doubtful(format!("{found}, but not PowerShell's module Hyper-V"));
        }
        ProviderName::Virtualbox if host.system == System::Linux && !host.vbox_driver => {
            return Verdict::Doubtful(format!("{found}, but its driver is not loaded"));
        }
        _ => {}
    }
    let plugin = data
        .hypervisor(provider)
        .and_then(|hypervisor| hypervisor.plugin.as_ref())
        .filter(|plugin| !host.plugins.contains(plugin));
    match plugin {
        Some(plugin) => Verdict::Doubtful(format!("{found}, but not Vagrant's plugin `{plugin}`")),
        None => Verdict::Usable(found),
    }
}

fn none(
    data: &Data,
    host: &Host,
    verdicts: &[(ProviderName, Verdict)],
    chosen: Option<ProviderName>,
) -> Box<Failure> {
    let mut failure = Failure::new(Kind::Host, "no provider is usable on this host");
    if let Some(provider) = chosen {
        failure = failure.because(format!("`{provider}` is here"));
    } else {
        for (_, verdict) in verdicts {
            if let Verdict::Unusable(why) = verdict {
                failure = failure.because(why);
            }
        }
    }
    if !host.vagrant {
        failure = failure
            .because("`vagrant` is not on the PATH")
            .advise("install Vagrant: https://developer.hashicorp.com/vagrant/install");
    }
    if host.wsl.is_some() {
        failure = failure.advise(super::remarks::WSL_ADVICE);
    } else if chosen.is_none() {
        for (provider, _) in verdicts {
            if host.programs.contains_key(provider.as_str()) {
                continue;
            }
            if let Some(hypervisor) = data.hypervisor(*provider) {
                failure = failure.advise(format!("install {}", hypervisor.install));
            }
        }
        if host.programs.contains_key(ProviderName::Libvirt.as_str()) {
            failure = failure
                .advise(
                    "turn on VT-x or AMD-V in the firmware settings; in a virtual machine: turn \
                     nested virtualisation on for it",
                )
                .advise(
                    "for tests with Linux machines: `provider: libvirt` and \
                     `vagrant.libvirt.driver: qemu`, which emulates and is slow",
                );
        }
    }
    Box::new(failure.advise("to try wdev without any machine: `wdev up --provider sim`"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::bare;
    use super::*;

    fn with(programs: &[&'static str]) -> Host {
        let mut host = bare();
        for name in programs {
            host.programs
                .insert(name, format!("/usr/bin/{name}").into());
        }
        host.plugins = vec!["vagrant-libvirt".into(), "vagrant-vmware-desktop".into()];
        host.vbox_driver = true;
        host
    }

    #[test]
    fn without_a_hypervisor_the_simulator_is_named() {
        let failure = choose_from(&bare()).unwrap_err();
        assert_eq!(failure.kind.exit_code(), 4);
        let advice = failure.advice.join("\n");
        assert!(advice.contains("--provider sim"), "{advice}");
        assert!(advice.contains("install VirtualBox"), "{advice}");
    }

    #[test]
    fn without_vagrant_it_says_so() {
        let mut host = with(&["virtualbox"]);
        host.vagrant = false;
        let failure = choose_from(&host).unwrap_err();
        let told = failure.to_string();
        assert!(told.contains("`virtualbox` is here"), "{told}");
        assert!(told.contains("`vagrant` is not on the PATH"), "{told}");
    }

    #[test]
    fn the_choice_is_explained() {
        let (provider, why) = choose_from(&with(&["virtualbox"])).unwrap();
        assert_eq!(provider, ProviderName::Virtualbox);
        assert!(why.contains("`/usr/bin/virtualbox` was found"), "{why}");
        assert!(why.contains("`libvirt` is not installed"), "{why}");
    }

    #[test]
    fn libvirt_is_passed_over_without_virtualisation_behind_it() {
        let mut host = with(&["libvirt", "virtualbox"]);
        host.kvm = true;
        let (provider, why) = choose_from(&host).unwrap();
        assert_eq!(provider, ProviderName::Virtualbox);
        assert!(why.contains("neither vmx nor svm"), "{why}");
        host.virtualization = true;
        assert_eq!(choose_from(&host).unwrap().0, ProviderName::Libvirt);
        host.kvm = false;
        assert_eq!(choose_from(&host).unwrap().0, ProviderName::Virtualbox);
        host.programs.remove("virtualbox");
        let failure = choose_from(&host).unwrap_err();
        assert!(failure.to_string().contains("no /dev/kvm"), "{failure}");
        let advice = failure.advice.join("\n");
        assert!(advice.contains("vagrant.libvirt.driver: qemu"), "{advice}");
    }

    #[test]
    fn a_hypervisor_that_lacks_something_comes_after_one_that_lacks_nothing() {
        let mut host = with(&["virtualbox", "vmware_desktop"]);
        host.vbox_driver = false;
        let (provider, why) = choose_from(&host).unwrap();
        assert_eq!(provider, ProviderName::VmwareDesktop);
        assert!(why.contains("driver is not loaded"), "{why}");
        host.plugins.clear();
        assert_eq!(choose_from(&host).unwrap().0, ProviderName::Virtualbox);
    }

    #[test]
    fn each_system_has_its_own_first_choice() {
        let mut host = with(&["hyperv", "virtualbox", "vmware_desktop"]);
        host.hyperv_module = true;
        host.system = System::Windows;
        assert_eq!(choose_from(&host).unwrap().0, ProviderName::Hyperv);
        host.hyperv_module = false;
        assert_eq!(choose_from(&host).unwrap().0, ProviderName::Virtualbox);
        host.system = System::Macos;
        assert_eq!(choose_from(&host).unwrap().0, ProviderName::VmwareDesktop);
    }

    #[test]
    fn inside_wsl_it_says_to_leave_it() {
        let mut host = with(&["virtualbox", "vmware_desktop"]);
        host.wsl = Some("Ubuntu".into());
        let failure = choose_from(&host).unwrap_err();
        let advice = failure.advice.join("\n");
        assert!(advice.contains("on Windows itself"), "{advice}");
        assert!(!advice.contains("install VirtualBox"), "{advice}");
    }
}
