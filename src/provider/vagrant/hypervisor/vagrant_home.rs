//! What Vagrant keeps for all its projects, in `VAGRANT_HOME`: boxes, plugins, the index of machines.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder, `~/.vagrant.d` where the variable is not set.
#[derive(Debug, Clone)]
pub struct VagrantHome(PathBuf);

/// A box of a provider, as it lies on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalBox {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
}

impl VagrantHome {
    /// The user's own; none where the user has no home folder.
    #[must_use]
    pub fn of_user() -> Option<Self> {
        let set = std::env::var_os("VAGRANT_HOME").filter(|home| !home.is_empty());
        let folder = match set {
            Some(folder) => std::path::absolute(folder).ok()?,
            None => etcetera::home_dir().ok()?.join(".vagrant.d"),
        };
        Some(Self(folder))
    }

    /// The one in `folder`.
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Every box for `provider`: `boxes/NAME/VERSION/PROVIDER`, since Vagrant 2.4
    /// `boxes/NAME/VERSION/ARCHITECTURE/PROVIDER` (`lib/vagrant/box_collection.rb`).
    #[must_use]
    pub fn boxes(&self, provider: &str) -> Vec<LocalBox> {
        let mut found = Vec::new();
        for of_name in folders(&self.0.join("boxes")) {
            let name = of_name.file_name().unwrap_or_default().to_string_lossy();
            // `lib/vagrant/box_collection.rb`, `dir_name`.
            let name = name
                .replace("-VAGRANTSLASH-", "/")
                .replace("-VAGRANTCOLON-", ":");
            for version in folders(&of_name) {
                let below = folders(&version);
                let candidates = below
                    .iter()
                    .flat_map(|folder| folders(folder))
                    .chain(below.iter().cloned());
                let named = candidates.filter(|folder| folder.ends_with(provider));
                found.extend(named.map(|folder| LocalBox {
                    name: name.clone(),
                    folder,
                }));
            }
        }
        found
    }

    /// Whether Vagrant itself knows the machine with the provider's `id`, in whatever project.
    #[must_use]
    pub fn knows(&self, provider: &str, id: &str) -> bool {
        let index = self.0.join("data").join("machine-index").join("index");
        let index: Value = std::fs::read(index)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        let machines = index.get("machines").and_then(Value::as_object);
        machines.into_iter().flatten().any(|(_, machine)| {
            let text = |key: &str| machine.get(key).and_then(Value::as_str);
            let (Some(folder), Some(name)) = (text("local_data_path"), text("name")) else {
                return false;
            };
            let file = Path::new(folder).join("machines").join(name).join(provider);
            std::fs::read_to_string(file.join("id")).is_ok_and(|known| known.trim() == id)
        })
    }

    /// The plugins that are installed for this user (`lib/vagrant/plugin/state_file.rb`).
    #[must_use]
    pub fn plugins(&self) -> Vec<String> {
        let state: Value = std::fs::read(self.0.join("plugins.json"))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        let installed = state.get("installed").and_then(Value::as_object);
        installed
            .map(|installed| installed.keys().cloned().collect())
            .unwrap_or_default()
    }
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn boxes_of_old_and_new_vagrants_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let home = VagrantHome::at(dir.path().to_owned());
        for folder in [
            "boxes/gusztavvargadr-VAGRANTSLASH-windows-server/1/virtualbox",
            "boxes/gusztavvargadr-VAGRANTSLASH-windows-server/2/amd64/virtualbox",
            "boxes/debian/0/libvirt",
        ] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let found = home.boxes("virtualbox");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found
                .iter()
                .all(|found| found.name == "gusztavvargadr/windows-server")
        );
    }

    #[test]
    fn a_machine_of_any_project_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let home = VagrantHome::at(dir.path().to_owned());
        assert!(!home.knows("virtualbox", "u1"));
        let project = dir.path().join("project/.vagrant");
        let index = serde_json::json!({"version": 1, "machines": {"x": {
            "local_data_path": project, "name": "web", "provider": "virtualbox",
        }}});
        write(
            &dir.path().join("data/machine-index/index"),
            &index.to_string(),
        );
        write(&project.join("machines/web/virtualbox/id"), "u1");
        assert!(home.knows("virtualbox", "u1"));
        assert!(!home.knows("virtualbox", "u2"));
    }
}
