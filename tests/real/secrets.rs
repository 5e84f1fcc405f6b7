//! Looks for secrets where none may be: in the arguments of processes while something runs, and in files.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the processes are looked at: less than a program takes that only starts and ends.
const PAUSE: Duration = Duration::from_millis(8);
/// For so many looks a process is young, and may yet become another program.
const YOUNG: u32 = 60;
/// Old processes are read at every look of this many.
const SOMETIMES: u32 = 40;

/// The arguments of processes, those of a process in one text; and whose process it was, where they hold
/// what may be a token: its control groups and its environment.
pub type Seen = BTreeMap<String, String>;

/// Remembers the arguments of every process of this host, those in containers among them.
pub struct ProcessWatch {
    over: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
    watcher: Option<JoinHandle<()>>,
}

impl ProcessWatch {
    pub fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::new(Mutex::new(Seen::new()));
        let (stop, record) = (Arc::clone(&over), Arc::clone(&seen));
        let watcher = std::thread::spawn(move || {
            let mut looks = HashMap::new();
            while !stop.load(Ordering::Relaxed) {
                let now = look(&mut looks);
                record.lock().expect("no panic").extend(now);
                std::thread::sleep(PAUSE);
            }
        });
        Self {
            over,
            seen,
            watcher: Some(watcher),
        }
    }

    /// All arguments that were seen.
    pub fn seen(&self) -> Seen {
        self.seen.lock().expect("no panic").clone()
    }
}

impl Drop for ProcessWatch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
    }
}

/// The arguments of all processes that may have changed; `looks` counts how often each was seen.
fn look(looks: &mut HashMap<u32, u32>) -> Vec<(String, String)> {
    let mut before = std::mem::take(looks);
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|it| it.parse().ok()) else {
            continue;
        };
        let count = before.remove(&pid).map_or(0, |count| count + 1);
        looks.insert(pid, count);
        if count < YOUNG || (count + pid).is_multiple_of(SOMETIMES) {
            let read = |name: &str| {
                let bytes = fs::read(entry.path().join(name)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).replace('\0', " ")
            };
            let line = read("cmdline");
            let whose = if has_token(&line) {
                read("cgroup") + &read("environ")
            } else {
                String::new()
            };
            found.push((line, whose));
        }
    }
    found.retain(|(line, _)| !line.is_empty());
    found
}

/// Values that must not show, each with what it is.
#[derive(Default)]
pub struct Secrets(Vec<(&'static str, String)>);

impl Secrets {
    /// # Panics
    /// When the value is too short to be told from other text.
    pub fn add(&mut self, what: &'static str, value: &str) {
        assert!(value.len() >= 12, "{what} is no secret: {value:?}");
        self.0.push((what, value.to_owned()));
    }

    /// The values, one a line.
    pub fn lines(&self) -> String {
        let lines = self.0.iter().map(|(_, value)| format!("{value}\n"));
        lines.collect()
    }

    /// The secrets in a text, by what they are; a private key is known by its form.
    pub fn within(&self, text: &str) -> Vec<&'static str> {
        let known = self.0.iter().filter(|(_, value)| text.contains(value));
        let mut found: Vec<_> = known.map(|(what, _)| *what).collect();
        if text.contains("PRIVATE KEY-----") {
            found.push("a private key");
        }
        found
    }

    /// Nothing secret was in the arguments of any process; and nothing that looks like a bootstrap token in
    /// those of processes in whose control groups or environment one of `ours` is: other tests have their
    /// own.
    pub fn assert_not_in_arguments(&self, seen: &Seen, ours: &[String]) {
        let telling = |line: &str, whose: &str| {
            let is_ours = || ours.iter().any(|name| whose.contains(name));
            !self.within(line).is_empty() || has_token(line) && is_ours()
        };
        let lines = seen.iter().filter(|(line, whose)| telling(line, whose));
        let lines: Vec<_> = lines.map(|(line, _)| line).collect();
        assert_eq!(lines, [""; 0], "secrets in arguments");
    }

    /// Nothing secret is in any file below the folder, but in those that `may_hold` takes by their path:
    /// these must be readable by their owner alone.
    pub fn assert_not_in_files(&self, folder: &Path, may_hold: impl Fn(&Path) -> bool) {
        let mut wrong = Vec::new();
        files_below(folder, &mut |path| {
            let text = fs::read(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let mut found = self.within(&text);
            if has_token(&text) {
                found.push("what looks like a bootstrap token");
            }
            let mode = fs::metadata(path).map_or(0, |about| about.permissions().mode());
            if !found.is_empty() && (mode & 0o077 != 0 || !may_hold(path)) {
                wrong.push(format!(
                    "{} ({:o}): {found:?}",
                    path.display(),
                    mode & 0o777
                ));
            }
        });
        assert_eq!(wrong, [""; 0], "secrets in files");
    }
}

/// Calls `visit` for every file below the folder; links are not followed.
pub fn files_below(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(&entry.path(), visit),
            Ok(kind) if kind.is_file() => visit(&entry.path()),
            _ => {}
        }
    }
}

/// Whether there is a word of the form `abcdef.0123456789abcdef` in the text. The second half of a token
/// has a digit in it, but for one of two hundred; that of other words hardly ever.
/// <https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/>
fn has_token(text: &str) -> bool {
    let of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let of_token = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.split(|c| !of_word(c)).any(|word| {
        word.split_once('.').is_some_and(|(id, secret)| {
            id.len() == 6
                && secret.len() == 16
                && id.chars().chain(secret.chars()).all(of_token)
                && secret.contains(|c: char| c.is_ascii_digit())
        })
    })
}
