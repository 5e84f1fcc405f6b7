//! A host whose VirtualBox is a fake, and a sandbox on it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use wdev::channel::{Io, Os};
use wdev::clock::Clock;
use wdev::diagnose::Said;
use wdev::ledger::Ledger;
use wdev::provider::vagrant::MachineRef;
use wdev::provider::vagrant::hypervisor::at_work::Watch;
use wdev::provider::vagrant::hypervisor::vagrant_home::VagrantHome;
use wdev::provider::vagrant::hypervisor::virtualbox::VirtualBox;
use wdev::provider::vagrant::hypervisor::virtualbox::host::Places;
use wdev::provider::vagrant::hypervisor::{Choices, Site};

use crate::common::shown::Shown;
use crate::fakes::Fake;

/// What changes something; every other call only asks.
const CHANGES: [&str; 6] = [
    "unregistervm",
    "hostonlyif remove",
    "dhcpserver",
    "controlvm",
    "closemedium",
    "modifyvm",
];

/// A host.
pub struct World {
    pub manage: Fake,
    pub dir: tempfile::TempDir,
    pub shown: Shown,
    machines: Vec<(String, String, String)>,
    interfaces: Vec<(String, String)>,
    disks: Vec<(String, String, String)>,
    more: String,
    pub watch: Watch,
}

impl World {
    pub fn new() -> Self {
        let world = Self {
            manage: Fake::new("VBoxManage", ""),
            dir: tempfile::tempdir().unwrap(),
            shown: Shown::default(),
            machines: Vec::new(),
            interfaces: Vec::new(),
            disks: Vec::new(),
            more: String::new(),
            watch: Watch::Told(false),
        };
        for sandbox in ["a", "b"] {
            let folder = world.path(&format!("{sandbox}/rendered"));
            std::fs::create_dir_all(&folder).unwrap();
            let text = "config.vm.box = 'debian'\n";
            std::fs::write(folder.join("Vagrantfile"), text).unwrap();
        }
        std::fs::create_dir(world.path("vms")).unwrap();
        world.play();
        world
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Registers a machine that is off, with more lines of `showvminfo`.
    pub fn machine(&mut self, name: &str, id: &str, more: &str) {
        let more = if more.contains("VMState") {
            more.to_owned()
        } else {
            format!("print VMState=\"poweroff\"\n{more}")
        };
        self.machines.push((name.to_owned(), id.to_owned(), more));
        self.play();
    }

    pub fn without_machine(&mut self, id: &str) {
        self.machines.retain(|(_, other, _)| other != id);
        self.play();
    }

    pub fn interface(&mut self, name: &str, address: &str) {
        self.interfaces.push((name.to_owned(), address.to_owned()));
        self.play();
    }

    pub fn without_interfaces(&mut self) {
        self.interfaces.clear();
        self.play();
    }

    /// Registers a disk below the folder of machines.
    pub fn disk(&mut self, id: &str, parent: &str, location: &str) {
        let location = self.path("vms").join(location).display().to_string();
        self.disks
            .push((id.to_owned(), parent.to_owned(), location));
        self.play();
    }

    /// Plays these blocks before all others.
    pub fn more(&mut self, blocks: &str) {
        blocks.clone_into(&mut self.more);
        self.play();
    }

    fn play(&self) {
        let mut script = format!("by-arguments\n{}", self.more);
        let mut block = |expect: &str, text: &str| {
            let _ = write!(script, "expect {expect}\n{text}next\n");
        };
        block("--version", "print 7.0.20r163906\n");
        for change in CHANGES {
            if !self.more.contains(&format!("expect {change}\n")) {
                block(change, "");
            }
        }
        let mut list = String::new();
        for (name, id, more) in &self.machines {
            let _ = writeln!(list, "print \"{name}\" {{{id}}}");
            let config = self.path("vms").join(name).join("x.vbox");
            let text = format!("print CfgFile=\"{}\"\n{more}", config.display());
            block(&format!("showvminfo {id} "), &text);
        }
        block("list vms", &list);
        let mut list = String::new();
        for (name, address) in &self.interfaces {
            let _ = write!(
                list,
                "print Name:            {name}\nprint IPAddress:       {address}\n\
                 print NetworkMask:     255.255.255.0\nprint \n"
            );
        }
        block("list hostonlyifs", &list);
        let mut list = String::new();
        for (id, parent, location) in &self.disks {
            let _ = write!(
                list,
                "print UUID:           {id}\nprint Parent UUID:    {parent}\n\
                 print Location:       {location}\nprint \n"
            );
        }
        block("list hdds", &list);
        let folder = self.path("vms");
        block(
            "list systemproperties",
            &format!(
                "print Default machine folder:          {}\n",
                folder.display()
            ),
        );
        block("import -n ", "print  1: Suggested VM name \"debian\"\n");
        self.manage.script(&script);
    }

    /// VirtualBox for the sandbox `name`.
    pub fn sandbox(&self, name: &str) -> VirtualBox {
        VirtualBox::on(self.site(name), self.places(), Some(self.home()))
    }

    pub fn site(&self, name: &str) -> Site {
        let folder = self.path(name);
        Site {
            sandbox: folder.clone(),
            dir: folder.join("rendered"),
            network: "wdev".to_owned(),
            subnet: "192.168.57.0/24".parse().unwrap(),
            choices: Choices::default(),
            ledger: Ledger::new(self.path("state")),
            clock: Clock::with_speed(100.0),
        }
    }

    pub fn places(&self) -> Places {
        Places {
            manage: Some(self.manage.program.clone()),
            etc_vbox: self.path("etc-vbox"),
            modules: self.path("modules"),
            kernel: self.path("osrelease"),
            watch: self.watch,
        }
    }

    pub fn home(&self) -> VagrantHome {
        VagrantHome::at(self.path("vagrant-home"))
    }

    /// Writes a file, with its folder.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Vagrant's box, with this machine as its master.
    pub fn master(&self, id: &str) {
        let folder = "vagrant-home/boxes/debian/0/virtualbox";
        self.write(&format!("{folder}/box.ovf"), "");
        self.write(&format!("{folder}/master_id"), id);
    }

    pub fn io(&self) -> Io {
        self.shown.io()
    }

    pub fn shown(&self) -> String {
        self.shown.text()
    }

    /// The calls that changed something.
    pub fn changes(&self) -> Vec<String> {
        let changes = |call: &String| CHANGES.iter().any(|change| call.starts_with(change));
        self.manage.calls().into_iter().filter(changes).collect()
    }

    /// The ledger, as it lies on disk.
    pub fn ledger(&self) -> String {
        std::fs::read_to_string(self.path("state").join("ledger.json")).unwrap_or_default()
    }
}

pub fn cp() -> MachineRef {
    MachineRef {
        lane: "cp".into(),
        os: Os::Linux,
        unique: "wdev-a-1a2b3c-cp".to_owned(),
    }
}

/// A name as Vagrant gives it to what it makes now.
pub fn named_now(of: &str, random: u32) -> String {
    format!("{of}_{}_{random}", jiff::Timestamp::now().as_millisecond())
}

pub fn nothing() -> Said {
    Said::default()
}
