//! A Windows host with Hyper-V, as far as our scripts can see it.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The name and the address range that the tests use.
pub(crate) const SWITCH: &str = "wdev-192.168.56.0-24";
pub(crate) const SUBNET: &str = "192.168.56.0/24";
const DEFAULT_SWITCH: &str = "C08CB7B8-9B3C-408E-8E30-5E16A3AEB444";

pub(crate) struct Host {
    pub(crate) pwsh: PathBuf,
    dir: TempDir,
    pub(crate) world: RefCell<Value>,
}

/// What a script said and how it ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) lines: Vec<Value>,
    pub(crate) err: String,
}

pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

impl Host {
    /// A German Windows client with Hyper-V, used by an administrator; nothing where PowerShell is missing.
    pub(crate) fn new() -> Option<Self> {
        let world = json!({
            "fail": {}, "groups": ["S-1-1-0", "S-1-5-32-544", "S-1-16-12288"],
            "hypervisor": true, "service": "Running", "unseen": 0, "stops": 0,
            "switches": [{"Name": "Standardswitch", "Id": DEFAULT_SWITCH, "SwitchType": "Internal", "Notes": ""}],
            "virtual": [],
            "adapters": [{"Name": "Ethernet Ü", "InterfaceIndex": 3, "DeviceID": "{A}", "Status": "Up",
                          "Physical": true, "unseen": 0}],
            "addresses": [address("10.1.2.3", 24, 3, "Ethernet Ü")],
            "routes": [route("0.0.0.0/0", 3, "Ethernet Ü"), route("10.1.2.0/24", 3, "Ethernet Ü"),
                       route("224.0.0.0/4", 3, "Ethernet Ü"), route("255.255.255.255/32", 3, "Ethernet Ü")],
            "nats": [], "vms": [],
        });
        Some(Self {
            pwsh: crate::common::pwsh()?,
            dir: tempfile::tempdir().unwrap(),
            world: RefCell::new(world),
        })
    }

    /// Changes the world.
    pub(crate) fn set(&self, pointer: &str, value: Value) {
        *self.world.borrow_mut().pointer_mut(pointer).unwrap() = value;
    }

    pub(crate) fn add(&self, list: &str, item: Value) {
        let mut world = self.world.borrow_mut();
        world[list].as_array_mut().unwrap().push(item);
    }

    /// From now on the next `times` calls of the cmdlet fail.
    pub(crate) fn plant(&self, cmdlet: &str, times: u32, text: &str) {
        self.world.borrow_mut()["fail"][cmdlet] = json!({"times": times, "text": text});
    }

    /// A part of the world.
    pub(crate) fn get(&self, pointer: &str) -> Value {
        self.world.borrow().pointer(pointer).unwrap().clone()
    }

    /// The world without what tells only how it was looked at.
    pub(crate) fn state(&self) -> Value {
        let mut world = self.world.borrow().clone();
        world.as_object_mut().unwrap().remove("fail");
        world
    }

    /// The addresses of the host that are not given by itself.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let all = self.get("/addresses");
        let words = all.as_array().unwrap().iter().map(|item| {
            let part = |name: &str| item[name].to_string().replace('"', "");
            format!("{}/{}", part("IPAddress"), part("PrefixLength"))
        });
        let given = words.filter(|word| !word.starts_with("169.254."));
        given.collect()
    }

    pub(crate) fn run(&self, script: &str, parameters: &Value) -> Ran {
        self.start(script, parameters, "")
    }

    /// Runs a script by the way that wdev goes, or after `first` where that is not empty.
    pub(crate) fn start(&self, script: &str, parameters: &Value, first: &str) -> Ran {
        let path = |name: &str| self.dir.path().join(name);
        std::fs::write(path("world"), self.world.borrow().to_string()).unwrap();
        std::fs::write(path("ü parameters.json"), parameters.to_string()).unwrap();
        let script = repository("powershell/host").join(script);
        let mut command = Command::new(&self.pwsh);
        command.args(["-NoProfile", "-NonInteractive"]);
        if first.is_empty() {
            command.args(["-ExecutionPolicy", "Bypass", "-File"]);
            command
                .arg(script)
                .arg("-ParametersFile")
                .arg(path("ü parameters.json"));
        } else {
            let call = format!(
                "{first}; & '{}' -ParametersFile '{}'; exit $LASTEXITCODE",
                script.display(),
                path("ü parameters.json").display()
            );
            command.args(["-Command", &call]);
        }
        let output = command
            .env("PSModulePath", repository("tests/fixtures/powershell"))
            .env("WDEV_HOST_WORLD", path("world"))
            .env("HOME", self.dir.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let world = std::fs::read(path("world")).unwrap();
        *self.world.borrow_mut() = serde_json::from_slice(&world).unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(out.is_ascii(), "{out}");
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {out}\n{err}"))
        };
        Ran {
            code: output.status.code(),
            lines: out.lines().map(parse).collect(),
            err,
        }
    }
}

impl Ran {
    /// The result of a run that came to its end.
    #[track_caller]
    pub(crate) fn done(&self) -> &Value {
        let last = self.lines.last().unwrap_or_else(|| panic!("{}", self.err));
        assert_eq!(last["type"], "result", "{last}\n{}", self.err);
        assert_eq!(self.code, Some(0));
        last
    }

    /// The failure of a run, all of it as one text.
    #[track_caller]
    pub(crate) fn failed(&self, id: &str, code: i32) -> String {
        let last = self.lines.last().unwrap_or_else(|| panic!("{}", self.err));
        assert_eq!(last["type"], "failure", "{last}\n{}", self.err);
        assert_eq!((&last["id"], self.code), (&json!(id), Some(code)), "{last}");
        last.to_string()
    }

    /// How many changes the script told.
    pub(crate) fn changes(&self) -> usize {
        let changes = self.lines.iter().filter(|line| line["type"] == "change");
        changes.count()
    }
}

pub(crate) fn address(text: &str, prefix: u8, index: u32, alias: &str) -> Value {
    json!({"IPAddress": text, "PrefixLength": prefix, "InterfaceIndex": index, "InterfaceAlias": alias})
}

pub(crate) fn route(prefix: &str, index: u32, alias: &str) -> Value {
    json!({"DestinationPrefix": prefix, "InterfaceIndex": index, "InterfaceAlias": alias})
}
