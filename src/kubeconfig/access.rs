//! What a client must know to reach one cluster as its administrator.

use std::net::Ipv4Addr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};

use super::edit::Entry;
use crate::channel::Secret;
use crate::error::Result;
use crate::render::quote::YAML;
use crate::yaml::tree::{Kind, Node, parse};

/// What a client must know to reach one cluster as its administrator. The texts are those of a
/// kubeconfig: certificates and keys in Base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The URL of the API server.
    pub server: String,
    /// The certificate of the cluster's authority.
    pub authority: String,
    /// The administrator's certificate.
    pub certificate: String,
    /// The key to it; none for a simulated cluster.
    pub key: Option<Secret>,
}

impl Access {
    /// Reads a kubeconfig with one cluster and one user, such as kubeadm's `admin.conf`; nothing where it
    /// is anything else. Why is not told: the text is a secret.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let root = parse(text).ok()?;
        let cluster = only(&root, "clusters", "cluster")?;
        let user = only(&root, "users", "user")?;
        let text = |node: &Node, key: &str| node.get(key)?.text().map(str::to_owned);
        let access = Self {
            server: text(cluster, "server")?,
            authority: text(cluster, "certificate-authority-data")?,
            certificate: text(user, "client-certificate-data")?,
            key: text(user, "client-key-data").map(Secret::new),
        };
        // kubectl reads no file with other text in these places, not even for other clusters.
        let good = |text: &str| BASE64.decode(text).is_ok();
        let key = access.key.as_ref().is_none_or(|key| good(key.reveal()));
        let good = key && good(&access.authority) && good(&access.certificate);
        good.then_some(access)
    }

    /// Whether it leads to this address over HTTPS.
    #[must_use]
    pub fn leads_to(&self, address: Ipv4Addr) -> bool {
        let rest = self.server.strip_prefix("https://");
        let host = rest.and_then(|rest| rest.trim_end_matches('/').split(':').next());
        host.and_then(|host| host.parse().ok()) == Some(address)
    }

    /// The three entries, all of this name.
    #[must_use]
    pub fn entries(&self, name: &str) -> [Entry; 3] {
        let mut user = vec![("client-certificate-data", self.certificate.clone())];
        if let Some(key) = &self.key {
            user.push(("client-key-data", key.reveal().to_owned()));
        }
        let cluster = vec![
            ("certificate-authority-data", self.authority.clone()),
            ("server", self.server.clone()),
        ];
        let context = vec![("cluster", name.to_owned()), ("user", name.to_owned())];
        [
            ("clusters", "cluster", cluster),
            ("contexts", "context", context),
            ("users", "user", user),
        ]
        .map(|(list, key, fields)| Entry {
            list,
            key,
            name: name.to_owned(),
            fields,
        })
    }

    /// A whole kubeconfig in which everything has this name.
    ///
    /// # Errors
    /// When a value cannot be part of a YAML text.
    pub fn render(&self, name: &str, remark: &str) -> Result<String> {
        let mut parts = vec![format!("# {remark}\napiVersion: v1\nkind: Config")];
        for entry in self.entries(name) {
            parts.push(format!("{}:\n{}", entry.list, entry.block("", "\n")?));
        }
        parts.push(format!("current-context: {}\n", YAML.quote(name)?));
        Ok(parts.join("\n"))
    }
}

/// The hash by which a certificate is recognised, of its text in a kubeconfig: SHA-256 in lower-case
/// hexadecimal digits, as `sha256sum` prints it.
#[must_use]
pub fn hash(text: &str) -> String {
    use std::fmt::Write as _;
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn only<'a>(root: &'a Node, list: &str, key: &str) -> Option<&'a Node> {
    match &root.get(list)?.kind {
        Kind::List { items, .. } if items.len() == 1 => items.first()?.get(key),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access {
            server: "https://192.168.56.10:6443".to_owned(),
            authority: "Q0E=".to_owned(),
            certificate: "Q0VSVA==".to_owned(),
            key: Some(Secret::new("S0VZ")),
        }
    }

    #[test]
    fn what_is_written_reads_back_and_its_key_is_never_shown() {
        let text = access().render("wdev-default", "Written by wdev.").unwrap();
        assert_eq!(Access::parse(&text), Some(access()));
        assert!(!format!("{:?}", access()).contains("S0VZ"));
    }

    #[test]
    fn only_the_nodes_own_address_will_do() {
        let at = |server: &str| Access {
            server: server.to_owned(),
            ..access()
        };
        let address = [192, 168, 56, 10].into();
        assert!(at("https://192.168.56.10:6443").leads_to(address));
        for other in [
            "https://10.0.2.15:6443",
            "http://192.168.56.10:6443",
            "https://192.168.56.101:6443",
            "https://cp:6443",
            "",
        ] {
            assert!(!at(other).leads_to(address), "{other}");
        }
    }
}
