//! Whether a Vagrant that runs on this host may be making a machine, or what machines share.
//!
//! What a Vagrant has begun and not yet written down looks just like what a killed one has left. So
//! nothing of that kind is removed while one runs that may be at it; what cannot be read of a process
//! counts against it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use sysinfo::{Process, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

/// Vagrant's commands that make neither machines nor networks (`vagrant list-commands`).
const HARMLESS: [&str; 27] = [
    "autocomplete",
    "box",
    "cap",
    "cloud",
    "destroy",
    "docker-exec",
    "docker-logs",
    "global-status",
    "halt",
    "help",
    "init",
    "list-commands",
    "login",
    "plugin",
    "port",
    "powershell",
    "provision",
    "rdp",
    "rsync-auto",
    "ssh",
    "ssh-config",
    "status",
    "suspend",
    "validate",
    "version",
    "winrm",
    "winrm-config",
];

/// How it is known whether a Vagrant is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// By the processes of this host.
    Processes,
    /// It is told: for tests.
    Told(bool),
}

impl Watch {
    /// Whether a Vagrant may be making something with `provider` that was begun at `since`, in
    /// milliseconds since 1970, or whenever. `realm` is the variable by which one host has several of
    /// that hypervisor, each with machines of its own.
    #[must_use]
    pub fn at_work(self, provider: &str, realm: Option<&str>, since: Option<i64>) -> bool {
        if let Self::Told(told) = self {
            return told;
        }
        let realm = realm.map(|name| (name, std::env::var(name).ok()));
        let mut system = System::new();
        let what = ProcessRefreshKind::nothing()
            .with_cmd(UpdateKind::Always)
            .with_environ(UpdateKind::Always);
        system.refresh_processes_specifics(ProcessesToUpdate::All, true, what);
        system
            .processes()
            .values()
            // What has ended has no command line any more.
            .filter(|it| !matches!(it.status(), ProcessStatus::Zombie | ProcessStatus::Dead))
            .filter(|it| it.thread_kind().is_none())
            .map(Seen::of)
            .any(|seen| seen.began_before(since) && seen.may_make(provider, realm.as_ref()))
    }
}

/// What can be seen of a process.
#[derive(Debug, Clone, Default)]
struct Seen {
    name: String,
    /// Its command line; empty where it cannot be read.
    words: Vec<String>,
    /// Its environment; empty where it cannot be read.
    variables: BTreeMap<String, String>,
    /// When it began, in seconds since 1970.
    began: u64,
}

impl Seen {
    fn of(process: &Process) -> Self {
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        let variables = process.environ().iter().map(text);
        Self {
            name: process.name().to_string_lossy().into_owned(),
            words: process.cmd().iter().map(text).collect(),
            variables: variables
                .filter_map(|it| {
                    it.split_once('=')
                        .map(|(name, value)| (name.into(), value.into()))
                })
                .collect(),
            began: process.start_time(),
        }
    }

    fn began_before(&self, millis: Option<i64>) -> bool {
        let began = i64::try_from(self.began).unwrap_or(0).saturating_mul(1000);
        millis.is_none_or(|millis| began <= millis)
    }

    fn may_make(&self, provider: &str, realm: Option<&(&str, Option<String>)>) -> bool {
        if self.words.is_empty() {
            return is_ruby(&self.name) || is_vagrant(&self.name);
        }
        let Some(words) = self.of_vagrant() else {
            return false;
        };
        let command = words.iter().find(|word| !word.starts_with('-'));
        // Without one it tells its version or its help.
        if command.is_none_or(|command| HARMLESS.contains(&command.as_str())) {
            return false;
        }
        let named = provider_in(words);
        if self.variables.is_empty() {
            return named.is_none_or(|named| named == provider);
        }
        if realm.is_some_and(|(name, own)| self.variables.get(*name) != own.as_ref()) {
            return false;
        }
        if words.iter().any(|word| self.has_made(word, provider)) {
            return false;
        }
        let variable = self.variables.get("VAGRANT_DEFAULT_PROVIDER");
        named
            .or(variable.map(String::as_str))
            .is_none_or(|named| named == provider)
    }

    /// The words after `vagrant`, where the process is one: itself, or a Ruby that runs it.
    fn of_vagrant(&self) -> Option<&[String]> {
        let (program, rest) = self.words.split_first()?;
        if is_vagrant(program) {
            return Some(rest);
        }
        if !is_ruby(program) && !is_ruby(&self.name) && !is_vagrant(&self.name) {
            return None;
        }
        let at = rest.iter().position(|word| is_vagrant(word))?;
        rest.get(at + 1..)
    }

    /// Whether the machine is written down already where this Vagrant keeps its data: then it only
    /// boots it.
    fn has_made(&self, machine: &str, provider: &str) -> bool {
        let data = self.variables.get("VAGRANT_DOTFILE_PATH").map(Path::new);
        data.is_some_and(|data| {
            let folder = data.join("machines").join(machine).join(provider);
            folder.join("id").is_file()
        })
    }
}

fn stem(path: &str) -> String {
    // Also a path of Windows; the rules of this host are not needed for a name.
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    name.strip_suffix(".exe").unwrap_or(&name).to_owned()
}

fn is_vagrant(path: &str) -> bool {
    stem(path) == "vagrant"
}

fn is_ruby(path: &str) -> bool {
    stem(path).starts_with("ruby")
}

/// The provider that the command line names: `--provider NAME` or `--provider=NAME`.
fn provider_in(words: &[String]) -> Option<&str> {
    let mut pairs = words.iter().zip(words.iter().skip(1));
    let next = pairs.find_map(|(word, next)| (word == "--provider").then_some(next.as_str()));
    next.or_else(|| {
        let mut words = words.iter();
        words.find_map(|word| word.strip_prefix("--provider="))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(line: &str, variables: &[(&str, &str)]) -> Seen {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Seen {
            name: words.first().map(|word| stem(word)).unwrap_or_default(),
            words,
            variables: variables.iter().map(pair).collect(),
            began: 100,
        }
    }

    fn makes(line: &str, variables: &[(&str, &str)]) -> bool {
        let variables = [variables, &[("HOME", "/home/dev")]].concat();
        seen(line, &variables).may_make("virtualbox", None)
    }

    #[test]
    fn a_vagrant_that_may_make_a_machine_is_at_work() {
        assert!(makes("/usr/bin/ruby3.1 /usr/bin/vagrant up", &[]));
        assert!(makes("vagrant --no-color up web", &[]));
        assert!(makes(
            r"C:\Vagrant\bin\ruby.exe C:\Vagrant\vagrant reload",
            &[]
        ));
        assert!(makes("vagrant up --provider=virtualbox", &[]));
        // An alias of the user's may stand for anything.
        assert!(makes("vagrant start", &[]));
    }

    #[test]
    fn what_makes_nothing_here_is_not() {
        assert!(!makes("ruby server.rb up", &[]));
        assert!(!makes("ssh -l vagrant 127.0.0.1 up", &[]));
        assert!(!makes("vagrant ssh web", &[]));
        assert!(!makes("vagrant --version", &[]));
        assert!(!makes("vagrant up --provider docker", &[]));
        assert!(!makes("vagrant up --provider=docker", &[]));
        let libvirt = ("VAGRANT_DEFAULT_PROVIDER", "libvirt");
        assert!(!makes("vagrant up", &[libvirt]));
        let realm = ("VBOX_USER_HOME", None);
        let other = seen("vagrant up", &[("VBOX_USER_HOME", "/other")]);
        assert!(!other.may_make("virtualbox", Some(&realm)));
        assert!(!seen("vagrant up", &[]).began_before(Some(99_999)));
    }

    #[test]
    fn what_cannot_be_read_counts_against_it() {
        for name in ["ruby3.1", "ruby", "vagrant"] {
            let unreadable = Seen {
                name: name.to_owned(),
                ..Seen::default()
            };
            assert!(unreadable.may_make("virtualbox", None), "{name}");
        }
        assert!(!Seen::default().may_make("virtualbox", None));
        let realm = ("VBOX_USER_HOME", None);
        let of_another_user = seen("vagrant up", &[]);
        assert!(of_another_user.may_make("virtualbox", Some(&realm)));
    }

    #[test]
    fn one_that_has_its_machine_only_boots_it() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().to_str().unwrap().to_owned();
        let variables = [("VAGRANT_DOTFILE_PATH", data.as_str())];
        assert!(makes("vagrant up cp", &variables));
        let folder = dir.path().join("machines/cp/virtualbox");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("id"), "x").unwrap();
        assert!(!makes("vagrant up cp", &variables));
    }
}
