//! What of this host stands in the way of machines, and what may.

use std::path::Path;

use super::{Data, Host, System};
use crate::config::model::ProviderName;
use crate::error::{Failure, Kind, Result};

pub(super) const WSL_ADVICE: &str = "run wdev on Windows itself, with Vagrant for Windows: in \
     PowerShell, `wdev.exe up` in a folder of a Windows drive";

/// Checks the host for machines of `provider`. Returns what the user should be warned of.
///
/// # Errors
/// `Host` where it cannot work at all.
pub fn check(host: &Host, provider: ProviderName) -> Result<Vec<String>> {
    let data = Data::read()?;
    inside_wsl(host, provider)?;
    plugin(&data, host, provider)?;
    let mut warnings = Vec::new();
    if let Some(distribution) = host
        .wsl
        .as_ref()
        .filter(|_| provider == ProviderName::Libvirt)
    {
        warnings.push(format!(
            "this is the Windows Subsystem for Linux ({distribution}): machines run inside its own \
             virtual machine, which needs nested virtualisation and enough memory (`.wslconfig`)"
        ));
    }
    if !host.x86 && provider != ProviderName::Docker {
        warnings.push(
            "the processor of this host is no x86-64, and Windows Server has boxes for x86-64 only: a \
             worker runs here with a box of your own for this processor, or not at all"
                .to_owned(),
        );
    }
    warnings.extend(superuser(host, provider));
    warnings.extend(letters(host));
    for plugin in &host.plugins {
        if let Some(why) = data.bad_plugins.get(plugin) {
            warnings.push(format!("Vagrant's plugin `{plugin}` is installed: {why}"));
        }
    }
    Ok(warnings)
}

/// Checks that the host has the memory that the machines of one control plane and its `workers` want,
/// in MiB. Returns what the user should be warned of.
///
/// # Errors
/// `Host` when it has less.
pub fn memory(host: &Host, control_plane: u64, workers: &[u64]) -> Result<Option<String>> {
    let data = Data::read()?;
    let wanted = workers
        .iter()
        .fold(control_plane, |sum, worker| sum.saturating_add(*worker));
    let Some(has) = host.memory_mib else {
        return Ok(None);
    };
    let lite = format!(
        "the least that works is `control_plane.memory: {}` and `memory: {}` for a worker",
        data.lite.control_plane, data.lite.worker
    );
    if wanted > has {
        return Err(Box::new(
            Failure::new(
                Kind::Host,
                "the machines want more memory than this host has",
            )
            .because(format!(
                "together they want {wanted} MiB, the host has {has} MiB"
            ))
            .advise(format!(
                "lower `control_plane.memory` or the workers' `memory`: {lite}"
            ))
            .advise("or take workers out of variables.yml"),
        ));
    }
    let left = has - wanted;
    Ok((left < data.least_for_host_mib).then(|| {
        format!(
            "the machines want {wanted} MiB of memory, which leaves {left} MiB to the host itself; {lite}"
        )
    }))
}

fn inside_wsl(host: &Host, provider: ProviderName) -> Result<()> {
    let Some(distribution) = &host.wsl else {
        return Ok(());
    };
    let kind = host.project_filesystem.as_deref().unwrap_or_default();
    let on_their_drive = matches!(kind, "9p" | "drvfs" | "v9fs");
    let theirs = !matches!(provider, ProviderName::Libvirt | ProviderName::Docker);
    if !on_their_drive && !theirs {
        return Ok(());
    }
    let mut failure = Failure::new(
        Kind::Host,
        format!("`{provider}` does not work from inside the Windows Subsystem for Linux"),
    )
    .because(format!("this is its distribution `{distribution}`"))
    .permanent();
    if theirs {
        failure = failure.because(
            "Vagrant would have to drive the hypervisor of Windows from here, and the machines' \
             addresses and forwarded ports cannot be reached from here",
        );
    }
    if on_their_drive {
        failure = failure.because(format!(
            "the project `{}` is on a Windows drive (file system `{kind}`), where keys cannot be kept \
             private and Vagrant refuses to work",
            host.project.display()
        ));
    }
    let failure = if theirs {
        failure.advise(WSL_ADVICE)
    } else {
        failure.advise("move the project into the home folder of the distribution")
    };
    Err(Box::new(failure))
}

/// Without its plugin, Vagrant knows nothing of a provider.
fn plugin(data: &Data, host: &Host, provider: ProviderName) -> Result<()> {
    let hypervisor = data.hypervisor(provider);
    let Some(plugin) = hypervisor.and_then(|it| it.plugin.as_ref()) else {
        return Ok(());
    };
    if host.plugins.contains(plugin) {
        return Ok(());
    }
    Err(Box::new(
        Failure::new(
            Kind::Host,
            format!("Vagrant's plugin `{plugin}` is not installed"),
        )
        .because(format!("Vagrant needs it for the provider `{provider}`"))
        .advise(format!(
            "install it: `vagrant plugin install {plugin}`, or your distribution's package of it"
        ))
        .permanent(),
    ))
}

/// VirtualBox keeps machines per user: those that root made are lost to everybody else.
fn superuser(host: &Host, provider: ProviderName) -> Option<String> {
    if provider != ProviderName::Virtualbox || !(host.root || host.sudo.is_some()) {
        return None;
    }
    let who = match &host.sudo {
        Some(user) => format!("under `sudo`, called by `{user}`"),
        None => "as root".to_owned(),
    };
    Some(format!(
        "wdev runs {who}: VirtualBox keeps machines per user, and these will belong to root; run it as \
         yourself, and always as the same user"
    ))
}

/// Ruby and some programs that Vagrant calls stumble over letters outside ASCII.
fn letters(host: &Host) -> Vec<String> {
    let strange = |path: &Path| !path.to_string_lossy().is_ascii();
    let mut warnings = Vec::new();
    if let Some(home) = host.vagrant_home.as_deref().filter(|home| strange(home)) {
        let example = match host.system {
            System::Windows => "C:\\vagrant",
            System::Linux | System::Macos => "/opt/vagrant",
        };
        warnings.push(format!(
            "the path of Vagrant's folder, `{}`, has letters outside ASCII, with which Vagrant often \
             fails: set `VAGRANT_HOME` to another folder, such as `{example}`",
            home.display()
        ));
    }
    if strange(&host.project) {
        warnings.push(format!(
            "the path of the project, `{}`, has letters outside ASCII, with which Vagrant often fails: \
             keep it in another folder",
            host.project.display()
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::super::tests::bare;
    use super::*;

    fn warnings(host: &Host, provider: ProviderName) -> String {
        check(host, provider).unwrap().join("\n")
    }

    #[test]
    fn an_ordinary_host_gets_no_warning() {
        let mut host = bare();
        for path in ["/home/dev/my clusters/k8s win", "/home/dev/k8s"] {
            host.project = path.into();
            assert_eq!(warnings(&host, ProviderName::Virtualbox), "");
        }
    }

    #[test]
    fn wsl_is_refused_with_the_reason() {
        let mut host = bare();
        host.wsl = Some("Ubuntu".into());
        for provider in [
            ProviderName::Virtualbox,
            ProviderName::Hyperv,
            ProviderName::VmwareDesktop,
        ] {
            let failure = check(&host, provider).unwrap_err();
            assert_eq!(failure.kind, Kind::Host);
            assert!(failure.to_string().contains("`Ubuntu`"), "{failure}");
            assert!(failure.advice.join("\n").contains("on Windows itself"));
        }
        assert!(warnings(&host, ProviderName::Libvirt).contains("nested virtualisation"));
        assert_eq!(warnings(&host, ProviderName::Docker), "");
        host.project_filesystem = Some("9p".into());
        for provider in [ProviderName::Libvirt, ProviderName::Docker] {
            let failure = check(&host, provider).unwrap_err();
            assert!(failure.to_string().contains("Windows drive"), "{failure}");
        }
    }

    #[test]
    fn a_processor_without_windows_boxes_is_said() {
        let mut host = bare();
        host.x86 = false;
        assert!(warnings(&host, ProviderName::VmwareDesktop).contains("x86-64 only"));
        assert_eq!(warnings(&host, ProviderName::Docker), "");
    }

    #[test]
    fn a_provider_without_its_plugin_is_refused_with_the_command() {
        let mut host = bare();
        host.plugins = vec!["vagrant-vmware-desktop".into()];
        let failure = check(&host, ProviderName::Libvirt).unwrap_err();
        assert_eq!(failure.kind.exit_code(), 4);
        assert!(failure.permanent);
        let advice = failure.advice.join("\n");
        let command = "`vagrant plugin install vagrant-libvirt`";
        assert!(advice.contains(command), "{advice}");
        assert!(check(&host, ProviderName::VmwareDesktop).is_ok());
        assert!(check(&host, ProviderName::Virtualbox).is_ok());
    }

    #[test]
    fn virtualbox_as_root_is_warned_of() {
        let mut host = bare();
        host.root = true;
        assert!(warnings(&host, ProviderName::Virtualbox).contains("as root"));
        assert_eq!(warnings(&host, ProviderName::Libvirt), "");
        host.sudo = Some("dev".into());
        assert!(warnings(&host, ProviderName::Virtualbox).contains("called by `dev`"));
    }

    #[test]
    fn letters_outside_ascii_are_warned_of_with_the_setting() {
        let mut host = bare();
        host.vagrant_home = Some("/home/josé/.vagrant.d".into());
        let told = warnings(&host, ProviderName::Libvirt);
        assert!(told.contains("set `VAGRANT_HOME`"), "{told}");
        assert!(!told.contains("project"), "{told}");
        host.vagrant_home = None;
        host.project = "/home/josé/k8s".into();
        assert!(warnings(&host, ProviderName::Libvirt).contains("project"));
    }

    #[test]
    fn a_plugin_that_does_harm_is_warned_of() {
        let mut host = bare();
        host.plugins = vec!["vagrant-libvirt".into(), "vagrant-vbguest".into()];
        let told = warnings(&host, ProviderName::Virtualbox);
        assert!(
            told.contains("vagrant plugin uninstall vagrant-vbguest"),
            "{told}"
        );
        assert_eq!(told.lines().count(), 1);
    }

    #[test]
    fn memory_is_compared_with_the_host_and_the_lite_values_are_said() {
        let mut host = bare();
        host.memory_mib = Some(8 * 1024);
        assert_eq!(memory(&host, 2048, &[3072]).unwrap(), None);
        let tight = memory(&host, 2048, &[5120]).unwrap().unwrap();
        assert!(tight.contains("leaves 1024 MiB"), "{tight}");
        let failure = memory(&host, 4096, &[6048]).unwrap_err();
        assert!(failure.to_string().contains("10144 MiB"), "{failure}");
        let advice = failure.advice.join("\n");
        assert!(advice.contains("`control_plane.memory: 2GiB`"), "{advice}");
        assert!(advice.contains("`memory: 3GiB`"), "{advice}");
        host.memory_mib = None;
        assert_eq!(memory(&host, u64::MAX, &[1]).unwrap(), None);
    }
}
