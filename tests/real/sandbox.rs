//! A sandbox of the docker provider in a temporary folder, removed with all its machines at the end.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::run::{Ended, Run, working_for};
use super::{MACHINES_ONLY, at_the_downloads, docker, kept_folder, wait_for};

/// What containers need so that they can stand for machines: sysctls that can be written, swap that
/// can be turned off. Not `--privileged`, which asks for more than a test machine may have.
const CREATE_ARGS: [&str; 5] = [
    "--cap-add=NET_ADMIN",
    "--cap-add=SYS_ADMIN",
    "--security-opt=seccomp=unconfined",
    "--security-opt=apparmor=unconfined",
    "--security-opt=systempaths=unconfined",
];

/// How long a connection may take to end once it was told to.
const ENDING: Duration = Duration::from_secs(10);

/// Where the hooks keep their records on a node.
pub const RECORDS: &str = "/var/tmp/wdev-test";

/// A user's hook on one node.
pub struct Hook {
    pub node: &'static str,
    pub phase: &'static str,
    /// The script's file name without extension.
    pub name: &'static str,
    pub script: String,
}

impl Hook {
    /// A hook that runs `script` at the end of `phase`.
    pub fn of(
        node: &'static str,
        phase: &'static str,
        name: &'static str,
        script: impl Into<String>,
    ) -> Self {
        let script = script.into();
        Self {
            node,
            phase,
            name,
            script,
        }
    }

    /// A hook that adds one line to `RECORDS/NAME` and prints another.
    pub fn counting(node: &'static str, name: &'static str) -> Self {
        let script = format!(
            "#!/usr/bin/env bash\nset -euo pipefail\nmkdir -p {RECORDS}\n\
             echo ran >>{RECORDS}/{name}\necho \"the hook {name} speaks\"\n"
        );
        Self::of(node, "prepare", name, script)
    }

    /// A hook that counts as [`Hook::counting`] does, and asks for a reboot of its node.
    pub fn rebooting(node: &'static str, name: &'static str) -> Self {
        let mut hook = Self::counting(node, name);
        hook.script.push_str("touch \"$WDEV_REBOOT\"\n");
        hook
    }

    /// A hook that works until there is a file `RECORDS/go`, and notices a second copy of itself.
    ///
    /// `RECORDS/running` exists while it works; `RECORDS/NAME` gets a line for each start and end, and
    /// `overlap` when two copies met.
    pub fn holding(node: &'static str, name: &'static str) -> Self {
        let until = format!(
            "for ((i = 0; i < 1200; i++)); do\n  [[ -e {RECORDS}/go ]] && break\n  sleep 0.1\ndone\n"
        );
        Self::exclusive(node, name, &until)
    }

    /// A hook that does `work`, and notices a second copy of itself as [`Hook::holding`] does.
    pub fn exclusive(node: &'static str, name: &'static str, work: &str) -> Self {
        let script = format!(
            "#!/usr/bin/env bash\nset -euo pipefail\nmkdir -p {RECORDS}\n\
             if ! mkdir {RECORDS}/running; then\n  echo overlap >>{RECORDS}/{name}\n  exit 1\nfi\n\
             echo start >>{RECORDS}/{name}\n{work}\
             echo end >>{RECORDS}/{name}\nrmdir {RECORDS}/running\n"
        );
        Self::of(node, "prepare", name, script)
    }
}

impl Hook {
    /// The script's file name: bash tells itself by its first line.
    pub fn file(&self) -> String {
        let extension = if self.script.starts_with("#!") {
            "sh"
        } else {
            "ps1"
        };
        format!("{}.{extension}", self.name)
    }
}

/// The hooks in `variables.yml`.
pub fn in_settings(hooks: &[Hook]) -> String {
    let line = |hook: &Hook| {
        let (node, phase, file) = (hook.node, hook.phase, hook.file());
        format!("  - {{node: {node}, phase: {phase}, script: {file}}}\n")
    };
    hooks
        .iter()
        .fold("hooks:\n".to_owned(), |text, hook| text + &line(hook))
}

/// What machines are made of, and what `variables.yml` says beside them.
pub struct Shape {
    /// The image of every machine.
    pub image: String,
    /// Arguments for docker beside those that every machine needs.
    pub create_args: Vec<String>,
    /// What `variables.yml` says of the workers that are made of something else, beside their size.
    pub boxes: BTreeMap<String, String>,
    /// Further lines of `variables.yml`.
    pub settings: String,
}

impl Shape {
    /// Debian with sshd.
    pub fn plain() -> Self {
        Self {
            image: std::env::var("WDEV_TEST_IMAGE").expect("`make test-real` sets WDEV_TEST_IMAGE"),
            create_args: Vec::new(),
            boxes: BTreeMap::new(),
            settings: MACHINES_ONLY.to_owned(),
        }
    }
}

/// The label of every machine that a test makes: the sandbox's name and number, and last, after a dot, the
/// test's process id.
const LABEL: &str = "wdev-test";

/// A subnet that hardly any other test run on this machine has now: `10.128` to `10.223` is neither
/// docker's nor Kubernetes' by default.
pub fn subnet(process: u32, number: u32) -> String {
    let (high, low) = (128 + process / 31 % 96, process % 31 * 8 + number);
    format!("10.{high}.{low}")
}

/// Removes the machines of test runs that were killed.
fn sweep_after_the_dead() {
    let filter = format!("label={LABEL}");
    let format = format!("{{{{.ID}}}} {{{{.Label \"{LABEL}\"}}}}");
    let list = docker(&["ps", "--all", "--filter", &filter, "--format", &format]);
    for line in list.expect("docker lists").lines() {
        let owner = line.rsplit_once('.').map_or("", |(_, process)| process);
        if let Some((id, _)) = line.split_once(' ')
            && !Path::new("/proc").join(owner).join("stat").exists()
        {
            let _ = docker(&["rm", "--force", "--volumes", id]);
        }
    }
}

/// A sandbox on disk, its machines in docker.
pub struct Sandbox {
    folder: PathBuf,
    name: String,
    /// Tells the sandbox from the others of this process.
    number: u32,
    /// The first three numbers of the nodes' addresses.
    subnet: String,
    nodes: Vec<&'static str>,
    runs: Cell<u32>,
    /// What `wdev` finds in its environment beside what every run has.
    pub env: Vec<(&'static str, String)>,
}

impl Sandbox {
    /// Writes the configuration of a sandbox with a control plane `cp` and `workers`. The tests of one
    /// process each give another `number`, from 0 to 7.
    pub fn new(name: &str, number: u32, workers: &[&'static str], hooks: &[Hook]) -> Self {
        Self::shaped(name, number, workers, hooks, &Shape::plain())
    }

    /// The same with machines of this shape.
    pub fn shaped(
        name: &str,
        number: u32,
        workers: &[&'static str],
        hooks: &[Hook],
        shape: &Shape,
    ) -> Self {
        let folder = kept_folder(&format!("wdev-real-{name}-"));
        let mut nodes = vec!["cp"];
        nodes.extend(workers);
        let sandbox = Self {
            folder,
            name: format!("t-{name}"),
            number,
            subnet: subnet(std::process::id(), number),
            nodes,
            runs: Cell::new(0),
            env: Vec::new(),
        };
        for folder in ["runs", "tmp"] {
            fs::create_dir(sandbox.folder.join(folder)).expect("folder");
        }
        for hook in hooks {
            let path = sandbox.folder.join(hook.file());
            fs::write(path, &hook.script).expect("hook");
        }
        fs::write(
            sandbox.folder.join("variables.yml"),
            sandbox.variables(shape, hooks),
        )
        .expect("variables.yml");
        sweep_after_the_dead();
        sandbox
    }

    fn variables(&self, shape: &Shape, hooks: &[Hook]) -> String {
        use std::fmt::Write as _;
        let image = &shape.image;
        let machine = |node: &str| {
            let address = self.address(node);
            let plain = || format!("box: \"{image}\"");
            let made_of = shape.boxes.get(node).cloned().unwrap_or_else(plain);
            format!("{{name: {node}, {made_of}, memory: 2GiB, address: {address}}}")
        };
        let mut text = format!(
            "version: 1\nsandbox: {}\nprovider: docker\nnetwork: {{nodes: {}.0/24}}\n\
             control_plane: {}\nworkers:\n",
            self.name,
            self.subnet,
            machine("cp")
        );
        for worker in &self.nodes[1..] {
            let _ = writeln!(text, "  - {}", machine(worker));
        }
        let label = format!("--label={LABEL}={}", self.label());
        let args: Vec<_> = CREATE_ARGS
            .iter()
            .copied()
            .chain(shape.create_args.iter().map(String::as_str))
            .chain([label.as_str()])
            .collect();
        let _ = writeln!(
            text,
            "vagrant:\n  extra:\n    docker: |\n      \
             given = p.create_args.is_a?(Array) ? p.create_args : []\n      \
             p.create_args = given + {args:?}"
        );
        text + &shape.settings + &in_settings(hooks)
    }

    /// What tells the sandbox's machines from all others, also from those of other test runs.
    fn label(&self) -> String {
        format!("{}.{}.{}", self.name, self.number, std::process::id())
    }

    /// The address of a node.
    pub fn address(&self, node: &str) -> String {
        let index = self.nodes.iter().position(|name| *name == node);
        format!("{}.{}", self.subnet, 10 + index.expect("a node"))
    }

    /// The folder of the sandbox's state.
    pub fn state(&self) -> PathBuf {
        self.folder.join(".wdev").join(&self.name)
    }

    /// The folder with the configuration and everything else.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of all nodes.
    pub fn nodes(&self) -> &[&'static str] {
        &self.nodes
    }

    /// Starts `wdev` with these arguments.
    pub fn start<S: AsRef<OsStr>>(&self, args: &[S]) -> Run {
        let number = self.runs.get();
        self.runs.set(number + 1);
        let mut command = Command::new(env!("CARGO_BIN_EXE_wdev"));
        command
            .args(args)
            .current_dir(&self.folder)
            .env("WDEV_HOME", self.folder.join("home"))
            .env("VAGRANT_HOME", self.folder.join("vagrant home"))
            .env("TMPDIR", self.folder.join("tmp"))
            .env_remove("XDG_RUNTIME_DIR")
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        Run::start(command, &self.folder.join(format!("runs/{number}")))
    }

    /// A Vagrant of the user's own, as docs/vagrant-by-hand.md tells it.
    pub fn vagrant(&self, args: &[&str]) -> Run {
        let number = self.runs.get();
        self.runs.set(number + 1);
        let mut command = Command::new("vagrant");
        command
            .args(args)
            .current_dir(self.state().join("rendered"))
            .env("VAGRANT_HOME", self.folder.join("vagrant home"));
        Run::start(command, &self.folder.join(format!("runs/{number}")))
    }

    /// A second sandbox of the same user: `other` finds what wdev and Vagrant know of this one.
    #[must_use]
    pub fn beside(mut self, other: &Self) -> Self {
        for (variable, name) in [("WDEV_HOME", "home"), ("VAGRANT_HOME", "vagrant home")] {
            let folder = other.folder.join(name).to_string_lossy().into_owned();
            self.env.push((variable, folder));
        }
        self
    }

    /// Starts an `up` that tells its events.
    pub fn start_up(&self) -> Run {
        self.start(&["up", "--output", "json"])
    }

    /// Runs `wdev` to its end.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Ended {
        self.start(args).end()
    }

    /// Runs an `up` that ends where it needs the first download.
    pub fn up_to_the_downloads(&self) -> Ended {
        let ended = self.start_up().end().with_code(4);
        at_the_downloads(&ended);
        ended
    }

    /// Every machine of the sandbox, running or not, by docker.
    pub fn machines(&self) -> Vec<String> {
        let filter = format!("label={LABEL}={}", self.label());
        let list = docker(&["ps", "--all", "--no-trunc", "--quiet", "--filter", &filter]);
        list.expect("docker lists")
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// The machine of a node, found by its address.
    pub fn machine(&self, node: &str) -> Option<String> {
        let address = format!("\"{}\"", self.address(node));
        self.machines().into_iter().find(|id| {
            docker(&[
                "inspect",
                "--format",
                "{{json .NetworkSettings.Networks}}",
                id,
            ])
            .is_ok_and(|networks| networks.contains(&address))
        })
    }

    /// Runs a line of shell on a node, past wdev; `None` when it fails.
    pub fn on_node(&self, node: &str, line: &str) -> Option<String> {
        docker(&["exec", &self.machine(node)?, "sh", "-c", line]).ok()
    }

    /// The lines of a record that a hook keeps on a node.
    pub fn record(&self, node: &str, name: &str) -> Vec<String> {
        let text = self.on_node(node, &format!("cat {RECORDS}/{name}"));
        text.unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// The networks with the sandbox's subnet, by docker.
    pub fn networks(&self) -> Vec<String> {
        let subnet = format!("\"{}.0/24\"", self.subnet);
        let list = docker(&["network", "ls", "--quiet"]).expect("docker lists");
        let ours = |id: &&str| {
            // Another test's network may go away in between.
            docker(&["network", "inspect", id]).is_ok_and(|about| about.contains(&subnet))
        };
        list.lines().filter(ours).map(str::to_owned).collect()
    }

    /// What works for the sandbox, by its command lines: wdev, Vagrant, connections.
    pub fn processes(&self) -> Vec<String> {
        let mut found = working_for(&self.state());
        found.extend(working_for(&self.folder.join("tmp")));
        found
    }

    /// The files that the sandbox has made outside of its folder: temporary ones, sockets and locks,
    /// and what wdev and Vagrant keep about it for the user.
    fn files_elsewhere(&self) -> Vec<String> {
        let mut found = Vec::new();
        files_below(&self.folder.join("tmp"), &mut |path| {
            // A Vagrant that is killed leaves copies of public keys.
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with("vagrant-") {
                found.push(path.display().to_string());
            }
        });
        let home = |variable: &str, folder: &str| {
            let other = self.env.iter().find(|(name, _)| *name == variable);
            other.map_or_else(|| self.folder.join(folder), |(_, path)| path.into())
        };
        let state = self.state().display().to_string();
        let mut mentions = |path: &Path| {
            if fs::read(path).is_ok_and(|text| String::from_utf8_lossy(&text).contains(&state)) {
                found.push(path.display().to_string());
            }
        };
        files_below(&home("WDEV_HOME", "home"), &mut mentions);
        let data = home("VAGRANT_HOME", "vagrant home").join("data");
        files_below(&data, &mut mentions);
        found
    }

    /// Checks with docker, and on disk, that nothing of the sandbox is left.
    pub fn assert_gone(&self) {
        wait_for("the end of what worked for the sandbox", ENDING, || {
            self.processes().is_empty().then_some(())
        });
        assert_eq!(self.files_elsewhere(), [""; 0], "files are left");
        assert_eq!(self.machines(), [""; 0], "machines are left");
        assert_eq!(self.networks(), [""; 0], "networks are left");
        let state = self.folder.join(".wdev");
        assert!(!state.exists(), "{} is left", state.display());
    }

    /// Removes what is left, past wdev.
    fn sweep(&self) {
        for id in self.machines() {
            let _ = docker(&["rm", "--force", "--volumes", &id]);
        }
        for id in self.networks() {
            let _ = docker(&["network", "rm", &id]);
        }
    }
}

fn files_below(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files_below(&path, visit);
        } else {
            visit(&path);
        }
    }
}

impl Drop for Sandbox {
    #[expect(clippy::print_stderr, reason = "tells where to look after a failure")]
    fn drop(&mut self) {
        self.sweep();
        if std::thread::panicking() {
            eprintln!("kept for a look: {}", self.folder.display());
        } else {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
