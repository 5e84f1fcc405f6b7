//! A Windows host by Wine: the built wdev.exe, fakes of what it starts, and a person at the console.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use sysinfo::{ProcessStatus, ProcessesToUpdate, System};

use crate::common;
use crate::env::{Env, Ran, Running};

/// A name that a project's folder may well have on Windows, where user names go into it.
const FOLDER: &str = "Jörg Müller/クラスタ x64";

/// Nothing of a desktop, and no question about what is missing for it.
const NO_DESKTOP: &str = "mscoree,mshtml,winemenubuilder.exe=";

/// A project on a host with a `PATH` of its own.
pub struct Host {
    pub env: Env,
    bin: PathBuf,
}

impl Host {
    /// An empty project on a host with fakes of Vagrant, Docker and SSH, or nothing where the tests
    /// under Wine are not to be run; why not is on stderr.
    pub fn new() -> Option<Self> {
        if std::env::var("WDEV_TEST_REAL").as_deref() != Ok("1") {
            common::skip("the tests under Wine to be asked for; run `make test-real`");
            return None;
        }
        common::need("wine")?;
        let built = built();
        let env = Env::named(FOLDER);
        let bin = env.root().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let copy = |from: &str, to: &str| {
            std::fs::copy(built.join(from), bin.join(to)).unwrap();
        };
        copy("bcryptprimitives.dll", "bcryptprimitives.dll");
        for name in ["vagrant.exe", "docker.exe", "ssh.exe"] {
            copy("fake_child.exe", name);
        }
        let host = Self { env, bin };
        host.script("docker", "print 27.1.1\n");
        host.script("ssh", "exit 255\n");
        host.env.write(
            "variables.yml",
            "control_plane: {box: debian}\nworkers: [{name: w1, box: debian}]\n\
             kubernetes: {version: v1.36.3}\nartifacts: {offline: true}\n",
        );
        Some(host)
    }

    /// What the fake `program` does at each of its calls.
    pub fn script(&self, program: &str, block: &str) {
        let calls = vec![block; 50].join("next\n");
        std::fs::write(self.bin.join(format!("{program}.exe.script")), calls).unwrap();
    }

    /// What the fake `program` logged.
    pub fn log(&self, program: &str) -> String {
        std::fs::read_to_string(self.bin.join(format!("{program}.exe.log"))).unwrap_or_default()
    }

    /// A Windows program in the project.
    fn wine(&self, program: &Path) -> Command {
        let mut command = self.env.program("wine");
        command
            .arg(program)
            .env("WINEPREFIX", prefix())
            .env("WINEDEBUG", "-all")
            .env("WINEDLLOVERRIDES", NO_DESKTOP)
            .env("WINEPATH", windows(&self.bin))
            .env("WDEV_HOME", windows(&self.env.home));
        command
    }

    /// wdev.exe with these arguments.
    pub fn wdev(&self, args: &[&str]) -> Command {
        let mut command = self.wine(&built().join("wdev.exe"));
        command.args(args);
        command
    }

    /// Runs wdev.exe to its end.
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.wdev(args))
    }

    /// Starts wdev.exe in a console at which [`Self::press`] presses `key`: `c` for Ctrl-C, or `break`.
    pub fn at_console(&self, key: &str, args: &[&str]) -> Running {
        let mut command = self.wine(&built().join("console.exe"));
        command
            .arg(key)
            .arg(windows(&self.key()))
            .arg(windows(&built().join("wdev.exe")))
            .args(args);
        Running::of(command)
    }

    /// Presses the key, and waits until it was taken.
    pub fn press(&self) {
        std::fs::write(self.key(), "").unwrap();
        until("the key is taken", || !self.key().exists());
    }

    fn key(&self) -> PathBuf {
        self.env.root().join("key")
    }

    /// The processes of this host's fakes, by the ids that Unix knows them by.
    pub fn fakes(&self) -> Vec<u32> {
        let folder = windows(&self.bin);
        let mut system = System::new();
        system.refresh_processes_specifics(
            ProcessesToUpdate::All,
            true,
            sysinfo::ProcessRefreshKind::nothing().with_cmd(sysinfo::UpdateKind::Always),
        );
        let ours = |process: &sysinfo::Process| {
            let program = process.cmd().first();
            process.status() != ProcessStatus::Zombie
                && program.is_some_and(|program| program.to_string_lossy().starts_with(&folder))
        };
        let all = system.processes().values();
        let mut found: Vec<u32> = all
            .filter(|process| ours(process))
            .map(|p| p.pid().as_u32())
            .collect();
        found.sort_unstable();
        found
    }

    /// Waits until nothing that wdev started is left.
    pub fn all_gone(&self) {
        until("all processes are gone", || self.fakes().is_empty());
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for process in self.fakes() {
            let _ = Command::new("kill")
                .args(["-9", &process.to_string()])
                .status();
        }
    }
}

/// Waits until something holds.
///
/// # Panics
/// When it does not come to hold.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < crate::env::HANG, "waited until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The path as Windows programs under Wine know it.
pub fn windows(path: &Path) -> String {
    format!("Z:{}", path.to_str().unwrap().replace('/', "\\"))
}

/// Where Wine keeps its Windows; made when it is not there. Wine's own services run.
fn prefix() -> &'static Path {
    static STARTED: OnceLock<(PathBuf, Child)> = OnceLock::new();
    let (prefix, _) = STARTED.get_or_init(|| {
        let prefix = std::env::var_os("WDEV_TEST_WINEPREFIX").map_or_else(
            || Path::new(env!("CARGO_TARGET_TMPDIR")).join("wine"),
            PathBuf::from,
        );
        // Wine's services hold on to the streams of the program that starts them, so that must be none of
        // which the end of its output is waited for.
        let quiet = |program: &str, arg: &str| {
            let mut command = Command::new(program);
            command
                .arg(arg)
                .env("WINEPREFIX", &prefix)
                .env("WINEDEBUG", "-all")
                .env("WINEDLLOVERRIDES", NO_DESKTOP)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command
        };
        // Fails when one is at work already, which is as good.
        quiet("wineserver", "-p20").status().unwrap();
        assert!(quiet("wineboot", "-i").status().unwrap().success());
        // They end when there is no program for some seconds: this one waits for input until the tests
        // end.
        let idle = quiet("wine", "cmd").stdin(Stdio::piped()).spawn().unwrap();
        // The first console brings a desktop along, whose program stays, with the streams of whoever opened
        // that console.
        let console = built().join("console.exe");
        let ended = quiet("wine", console.to_str().unwrap())
            .args([
                "c",
                r"C:\no-key",
                r"C:\windows\system32\cmd.exe",
                "/c",
                "exit",
            ])
            .status();
        assert!(ended.unwrap().success(), "a console under Wine");
        (prefix, idle)
    });
    prefix
}

/// The folder of wdev.exe, built from the present sources.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/windows/build-exe");
        let mut script = Command::new(script);
        for (name, _) in std::env::vars_os() {
            // Of the cargo that runs this test, not for the one that builds.
            let text = name.to_string_lossy();
            if text.starts_with("CARGO") || text.starts_with("RUST") {
                script.env_remove(&name);
            }
        }
        let home = std::env::var_os("CARGO_HOME");
        script.envs(home.map(|home| ("CARGO_HOME", home)));
        let printed = common::run(&mut script, b"");
        PathBuf::from(String::from_utf8(printed).unwrap().trim_end())
    })
}
