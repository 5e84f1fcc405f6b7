//! The environment that Vagrant is given: the user's, without what would steer the run.
//!
//! What is removed and set, and why, is data: `environment.json`. Kept are the user's own
//! `VAGRANT_HOME`, `VAGRANT_SERVER_URL`, proxies and mirrors.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use serde::Deserialize;

use crate::error::{Failure, Kind, Result};

#[derive(Deserialize)]
struct Rules {
    remove: BTreeMap<String, String>,
    remove_prefixes: BTreeMap<String, String>,
    remove_on_windows: BTreeMap<String, String>,
    set: BTreeMap<String, String>,
    set_for_provider: BTreeMap<String, BTreeMap<String, String>>,
}

/// The environment for Vagrant in the folder `dir`, made from `base`.
pub fn environment(
    base: impl IntoIterator<Item = (OsString, OsString)>,
    dir: &Path,
    provider: &str,
) -> Result<BTreeMap<OsString, OsString>> {
    let rules: Rules = serde_json::from_str(include_str!("environment.json")).map_err(|error| {
        Box::new(Failure::new(Kind::Bug, "the rules for Vagrant's environment").because(error))
    })?;
    let removed = |name: &OsString| {
        // Windows does not care about case, and no name here exists in another case elsewhere.
        let name = name.to_string_lossy().to_uppercase();
        rules.remove.contains_key(&name)
            || rules
                .remove_prefixes
                .keys()
                .any(|prefix| name.starts_with(prefix.as_str()))
            || cfg!(windows) && rules.remove_on_windows.contains_key(&name)
            || name == "LC_ALL"
    };
    let mut environment: BTreeMap<OsString, OsString> = base
        .into_iter()
        .filter(|(name, _)| !removed(name))
        .collect();
    let of_provider = rules.set_for_provider.get(provider);
    for (name, value) in rules.set.iter().chain(of_provider.into_iter().flatten()) {
        environment.insert(name.into(), value.into());
    }
    environment.insert("VAGRANT_CWD".into(), dir.into());
    environment.insert("VAGRANT_DOTFILE_PATH".into(), dir.join(".vagrant").into());
    environment.insert("VAGRANT_DEFAULT_PROVIDER".into(), provider.into());
    Ok(environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(base: &[(&str, &str)], provider: &str) -> BTreeMap<String, String> {
        let base = base.iter().map(|(n, v)| (n.into(), v.into()));
        environment(base, Path::new("/s"), provider)
            .unwrap()
            .into_iter()
            .map(|(n, v)| (n.into_string().unwrap(), v.into_string().unwrap()))
            .collect()
    }

    #[test]
    fn what_steers_the_run_is_gone_and_the_users_own_is_kept() {
        let made = made(
            &[
                ("PATH", "/bin"),
                ("VAGRANT_HOME", "/home/dev/.vagrant.d"),
                ("VAGRANT_SERVER_URL", "https://boxes.example"),
                ("HTTPS_PROXY", "http://proxy.example:3128"),
                ("VAGRANT_VAGRANTFILE", "Other"),
                ("VAGRANT_CWD", "/elsewhere"),
                ("VAGRANT_LOG", "debug"),
                ("RUBYOPT", "-rbundler/setup"),
                ("BUNDLE_GEMFILE", "/x/Gemfile"),
                ("GEM_HOME", "/x"),
                ("LC_ALL", "de_DE"),
            ],
            "docker",
        );
        assert_eq!(made["VAGRANT_HOME"], "/home/dev/.vagrant.d");
        assert_eq!(made["VAGRANT_SERVER_URL"], "https://boxes.example");
        assert_eq!(made["HTTPS_PROXY"], "http://proxy.example:3128");
        assert_eq!(made["PATH"], "/bin");
        assert_eq!(made["VAGRANT_CWD"], "/s");
        assert_eq!(
            Path::new(&made["VAGRANT_DOTFILE_PATH"]),
            Path::new("/s").join(".vagrant")
        );
        assert_eq!(made["LC_ALL"], "C.UTF-8");
        assert_eq!(made["VAGRANT_CHECKPOINT_DISABLE"], "1");
        for gone in [
            "VAGRANT_VAGRANTFILE",
            "VAGRANT_LOG",
            "RUBYOPT",
            "BUNDLE_GEMFILE",
            "GEM_HOME",
        ] {
            assert!(!made.contains_key(gone), "{gone}");
        }
    }

    #[test]
    fn hyperv_gets_the_powershell_that_its_scripts_are_for() {
        assert_eq!(
            made(&[], "hyperv")["VAGRANT_PREFERRED_POWERSHELL"],
            "powershell"
        );
    }
}
