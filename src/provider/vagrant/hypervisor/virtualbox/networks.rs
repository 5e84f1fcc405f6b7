//! Which subnets VirtualBox allows for host-only networks on Linux and macOS.
//!
//! Since 6.1.28 it takes 192.168.56.0/21, or what `/etc/vbox/networks.conf` lists in its place, in lines
//! such as `* 10.0.0.0/8 192.168.0.0/16`: <https://www.virtualbox.org/manual/ch06.html#network_hostonly>;
//! Vagrant reads the same file (`plugins/providers/virtualbox/action/network.rb`).

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use ipnet::{IpNet, Ipv4Net};

use crate::error::{Failure, Kind};

/// The file's name.
const NAME: &str = "networks.conf";
/// How it is mistyped: hashicorp/vagrant #12642, kubernetes-sigs/sig-windows-dev-tools #272.
const MISTYPED: [&str; 4] = [
    "network.conf",
    "networks.config",
    "network.config",
    "networks",
];

/// What the folder's files allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Networks {
    folder: PathBuf,
    /// The ranges that count.
    allowed: Vec<IpNet>,
    /// What is wrong with the files, one sentence each.
    slips: Vec<String>,
}

impl Networks {
    /// Reads `networks.conf` in `folder`; without it the ranges are `default`.
    #[must_use]
    pub fn read(folder: &Path, default: Ipv4Net) -> Self {
        let file = folder.join(NAME);
        let mut networks = Self {
            folder: folder.to_owned(),
            allowed: vec![IpNet::V4(default)],
            slips: Vec::new(),
        };
        if folder.is_file() {
            networks.slips.push(format!(
                "`{}` is a file, but must be a folder with the file `{NAME}` in it",
                folder.display()
            ));
            return networks;
        }
        for name in MISTYPED {
            let other = folder.join(name);
            if other.is_file() {
                networks.slips.push(format!(
                    "`{}` is not read: the file must be called `{NAME}`",
                    other.display()
                ));
            }
        }
        if file.is_dir() {
            networks.slips.push(format!(
                "`{}` is a folder, but must be a file",
                file.display()
            ));
            return networks;
        }
        match std::fs::read_to_string(&file) {
            Ok(text) => networks.take(&text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => networks
                .slips
                .push(format!("`{}` cannot be read: {error}", file.display())),
        }
        networks
    }

    fn take(&mut self, text: &str) {
        self.allowed.clear();
        for line in text.lines().map(str::trim) {
            let number = |entry: &str| entry.parse::<IpNet>().ok();
            match line.strip_prefix('*') {
                Some(entries) => {
                    for entry in entries.split_whitespace() {
                        let alone = || entry.parse::<IpAddr>().ok().map(IpNet::from);
                        match number(entry).or_else(alone) {
                            Some(range) => self.allowed.push(range.trunc()),
                            None => self
                                .slips
                                .push(format!("`{entry}` in the line `{line}` is no range")),
                        }
                    }
                }
                None if line.split_whitespace().any(|entry| number(entry).is_some())
                    && !line.starts_with('#') =>
                {
                    self.slips.push(format!(
                        "the line `{line}` does not count: it must begin with `*`, as in `* {line}`"
                    ));
                }
                None => {}
            }
        }
    }

    /// What is wrong when `subnet` is not allowed, with the line to add.
    #[must_use]
    pub fn refusal(&self, subnet: Ipv4Net, default: Ipv4Net) -> Option<Failure> {
        let inside = |range: &IpNet| range.contains(&IpNet::V4(subnet));
        if self.allowed.iter().any(inside) {
            return None;
        }
        let allowed: Vec<String> = self.allowed.iter().map(ToString::to_string).collect();
        let file = self.folder.join(NAME);
        let mut failure = Failure::new(
            Kind::Host,
            format!("VirtualBox does not allow the nodes' subnet {subnet}"),
        )
        .because(if allowed.is_empty() {
            format!("`{}` allows no host-only network", file.display())
        } else {
            format!("host-only networks must lie in {}", allowed.join(", "))
        });
        for slip in &self.slips {
            failure = failure.because(slip);
        }
        failure = failure.advise(format!(
            "add this line to `{}`, as root: `* {subnet}`",
            file.display()
        ));
        if default.contains(&subnet) {
            return Some(failure.permanent());
        }
        Some(
            failure
                .advise(format!(
                    "or use the range that is allowed where that file is missing: \
                     `--set network.nodes={}/24`",
                    default.network()
                ))
                .permanent(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn default() -> Ipv4Net {
        "192.168.56.0/21".parse().unwrap()
    }

    fn refusal(files: &[(&str, &str)], subnet: &str) -> Option<Failure> {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        Networks::read(dir.path(), default()).refusal(subnet.parse().unwrap(), default())
    }

    #[test]
    fn without_the_file_the_default_range_counts() {
        assert!(refusal(&[], "192.168.63.0/24").is_none());
        let failure = refusal(&[], "10.20.30.0/24").unwrap();
        assert_eq!(failure.kind, Kind::Host);
        assert!(failure.permanent);
        assert!(failure.to_string().contains("192.168.56.0/21"), "{failure}");
        assert!(
            failure.advice[0].ends_with("as root: `* 10.20.30.0/24`"),
            "{failure:?}"
        );
    }

    #[test]
    fn with_the_file_only_its_ranges_count() {
        let file = [(
            "networks.conf",
            "# mine\n* 10.0.0.0/8 192.168.0.0/16\n  * 2001::/64\n",
        )];
        assert!(refusal(&file, "10.20.30.0/24").is_none());
        assert!(refusal(&file, "192.168.56.0/24").is_none());
        assert!(refusal(&file, "172.16.0.0/24").is_some());
        assert!(refusal(&[("networks.conf", "* 0.0.0.0/0 ::/0\n")], "10.1.2.0/24").is_none());
        // The subnet must fit in whole: the interface and every node.
        assert!(refusal(&[("networks.conf", "* 10.1.2.0/25\n")], "10.1.2.0/24").is_some());
        let failure = refusal(&file, "172.16.0.0/24").unwrap();
        assert!(
            failure.to_string().contains("10.0.0.0/8, 192.168.0.0/16"),
            "{failure}"
        );
    }

    #[test]
    fn each_usual_slip_is_named() {
        let says = |failure: Option<Failure>, text: &str| {
            let failure = failure.unwrap().to_string();
            assert!(failure.contains(text), "no `{text}` in {failure}");
        };
        says(
            refusal(&[("network.conf", "* 10.0.0.0/8\n")], "10.1.2.0/24"),
            "must be called `networks.conf`",
        );
        says(
            refusal(&[("networks.conf", "10.0.0.0/8\n")], "10.1.2.0/24"),
            "it must begin with `*`, as in `* 10.0.0.0/8`",
        );
        says(
            refusal(&[("networks.conf", "* 10.0.0.0/80\n")], "10.1.2.0/24"),
            "`10.0.0.0/80` in the line",
        );

        let dir = tempfile::tempdir().unwrap();
        let subnet = "10.1.2.0/24".parse().unwrap();
        let refuse = |folder: &Path| Networks::read(folder, default()).refusal(subnet, default());
        let file = dir.path().join("vbox");
        std::fs::write(&file, "* 10.0.0.0/8\n").unwrap();
        says(refuse(&file), "is a file, but must be a folder");
        std::fs::create_dir(dir.path().join("networks.conf")).unwrap();
        says(refuse(dir.path()), "is a folder, but must be a file");
    }
}
