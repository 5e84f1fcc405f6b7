//! With what a machine was made: the settings of the user's that say where a provider looks for it.
//!
//! Vagrant that looks in another place finds no machine, and then forgets the one that there is, with its
//! key. So they are kept in `.driver/NODE.made-with`, and Vagrant is not asked about the machine with
//! others. Which ones matter is data: `made_with.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::node::{Node, read, write};
use crate::error::{Failure, Kind, Result};

/// The record's word for the number of the user.
const USER: &str = "user";

#[derive(Deserialize)]
struct Table {
    providers: BTreeMap<String, Matters>,
}

#[derive(Deserialize)]
struct Matters {
    /// Why the user matters; none where it does not.
    user: Option<String>,
    variables: BTreeMap<String, String>,
}

/// Settings by their names; one that is not set is not there.
type Settings = BTreeMap<String, String>;

/// What matters for the provider, of `variable` and the number of the user, where the system has one.
fn settings(
    provider: &str,
    variable: impl Fn(&str) -> Option<String>,
    user: Option<u32>,
) -> Result<Settings> {
    let table: Table = serde_json::from_str(include_str!("made_with.json")).map_err(|error| {
        Box::new(Failure::new(Kind::Bug, "what machines are made with").because(error))
    })?;
    let mut settings = Settings::new();
    if let Some(matters) = table.providers.get(provider) {
        for name in matters.variables.keys() {
            // The tools take an empty one for none.
            if let Some(value) = variable(name).filter(|value| !value.is_empty()) {
                settings.insert(name.clone(), value);
            }
        }
        if let Some(user) = user.filter(|_| matters.user.is_some()) {
            settings.insert(USER.to_owned(), user.to_string());
        }
    }
    Ok(settings)
}

fn now(provider: &str) -> Result<Settings> {
    let variable = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
    settings(provider, variable, crate::process::user())
}

/// What differs: each with a cause and with what to do.
fn differences(before: &Settings, now: &Settings) -> Vec<(String, String)> {
    let names: BTreeSet<_> = before.keys().chain(now.keys()).collect();
    let changed = names.into_iter().filter_map(|name| {
        let (before, now) = (before.get(name), now.get(name));
        if before == now {
            return None;
        }
        if name == USER {
            // Either may be unknown.
            let (before, now) = (before?, now?);
            return Some((
                format!("it was made by the user with the number {before}, now it is {now}"),
                "run wdev as the user that made it, and neither with nor without `sudo` in turn"
                    .to_owned(),
            ));
        }
        let shown = |value: Option<&String>| {
            value.map_or_else(
                || format!("without `{name}`"),
                |value| format!("with `{name}={value}`"),
            )
        };
        let todo = match before {
            Some(before) => format!("set `{name}` to `{before}`, then run the same again"),
            None => format!("remove the variable `{name}`, then run the same again"),
        };
        Some((
            format!(
                "it was made {}, now it is asked for {}",
                shown(before),
                shown(now)
            ),
            todo,
        ))
    });
    changed.collect()
}

impl Node {
    /// Keeps what a machine is made with that is about to be made.
    pub(super) fn keep_made_with(&self) -> Result<()> {
        let settings = now(self.caller.provider)?;
        let text = serde_json::to_string_pretty(&settings).map_err(|error| {
            Failure::new(Kind::Bug, "what a machine is made with").because(error)
        })?;
        write(&self.own("made-with"), &text)
    }

    /// The same for a machine that was made before there were such records.
    pub(super) fn keep_made_with_once(&self) -> Result<()> {
        if self.own("made-with").exists() {
            return Ok(());
        }
        self.keep_made_with()
    }

    /// Checks that Vagrant would find the machine that there is.
    ///
    /// # Errors
    /// `Host` when it was made with other settings.
    pub(super) fn is_found_with_these_settings(&self) -> Result<()> {
        let file = self.own("made-with");
        let Some(text) = read(&file)?.filter(|_| matches!(self.id(), Ok(Some(_)))) else {
            return Ok(());
        };
        // Only wdev writes it, in one move: what cannot be read was changed by hand, and says nothing.
        let Ok(before) = serde_json::from_str::<Settings>(&text) else {
            return Ok(());
        };
        let differences = differences(&before, &now(self.caller.provider)?);
        if differences.is_empty() {
            return Ok(());
        }
        let mut failure = Failure::new(
            Kind::Host,
            format!(
                "`{}` would not find the machine `{}`",
                self.caller.provider,
                self.name()
            ),
        );
        for (cause, todo) in differences {
            failure = failure.because(cause).advise(todo);
        }
        let shown = crate::process::quote(file.as_os_str());
        Err(Box::new(
            failure
                .because("Vagrant would take it for removed and forget it, with its key")
                .advise(format!(
                    "if both are the same place under two names, remove `{shown}`"
                ))
                .permanent(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(provider: &str, variables: &[(&str, &str)], user: u32) -> Settings {
        let all: BTreeMap<_, _> = variables.iter().copied().collect();
        let variable = |name: &str| all.get(name).map(|value| (*value).to_owned());
        settings(provider, variable, Some(user)).unwrap()
    }

    #[test]
    fn what_matters_to_another_provider_does_not_count() {
        let vbox = ("VBOX_USER_HOME", "/a");
        let docker = ("DOCKER_HOST", "tcp://10.0.0.1:2375");
        for (provider, one, other) in [
            ("virtualbox", docker, 1000),
            ("docker", vbox, 1000),
            ("libvirt", vbox, 0),
            ("hyperv", docker, 0),
        ] {
            let bare = made(
                provider,
                &[("VBOX_USER_HOME", ""), ("DOCKER_HOST", "")],
                1000,
            );
            assert_eq!(made(provider, &[one], other), bare, "{provider}");
        }
    }

    #[test]
    fn a_difference_says_what_was_what_is_and_what_to_do() {
        let with = made("virtualbox", &[("VBOX_USER_HOME", "/a b")], 1000);
        let without = made("virtualbox", &[], 0);
        let found = differences(&with, &without);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(
            found[0].0,
            "it was made with `VBOX_USER_HOME=/a b`, now it is asked for without `VBOX_USER_HOME`"
        );
        assert!(found[0].1.contains("set `VBOX_USER_HOME` to `/a b`"));
        assert!(found[1].0.contains("number 1000, now it is 0"), "{found:?}");
        assert!(found[1].1.contains("sudo"));
        let back = differences(&without, &with);
        assert!(back[0].1.contains("remove the variable `VBOX_USER_HOME`"));
        assert_eq!(differences(&with, &with), []);
    }
}
