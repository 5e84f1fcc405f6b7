//! The configuration of containerd.

use serde::Serialize;

use super::{CgroupDriver, Cluster};
use crate::error::{Failure, Kind, Result};
use crate::os::Os;
use crate::release::containerd::{Form, Version};
use crate::render::render;

/// A configuration and the versions of containerd that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// The first of them. They end where the next variant begins.
    pub from: Version,
    /// The text.
    pub text: String,
}

#[derive(Serialize)]
struct View {
    version: u32,
    bin_dirs: bool,
    imports: Vec<&'static str>,
    sandbox_image: String,
    cni_plugins: &'static str,
    cni_configuration: &'static str,
    runc: bool,
    systemd_cgroup: bool,
}

impl Cluster<'_> {
    /// The configuration of this version of containerd.
    ///
    /// # Errors
    /// `Configuration` for a version that is older than every form that wdev can write.
    pub fn containerd(&self, version: Version, os: Os) -> Result<String> {
        self.containerd_in(form(version)?, os, self.images.pause())
    }

    /// The same for a node with this version of Windows Server, named as in `workers[].windows`, on which not
    /// every sandbox image runs.
    ///
    /// # Errors
    /// Those of [`Self::containerd`].
    pub fn containerd_on_windows(&self, version: Version, windows: &str) -> Result<String> {
        let sandbox = self.images.pause_on(windows);
        self.containerd_in(form(version)?, Os::Windows, sandbox)
    }

    /// The configurations of all versions of containerd, the oldest first, for a node whose distribution
    /// decides which it has: that node takes the last one whose `from` is not newer than what
    /// `containerd --version` says.
    pub fn containerd_variants(&self, os: Os) -> Result<Vec<Variant>> {
        let variant = |form: &Form| {
            Ok(Variant {
                from: form.from,
                text: self.containerd_in(form, os, self.images.pause())?,
            })
        };
        Form::all().iter().map(variant).collect()
    }

    fn containerd_in(&self, form: &Form, os: Os, sandbox_image: String) -> Result<String> {
        // Not relative to the folder of the configuration: containerd 1.x looks for a pattern in the folder that
        // it is started in (`resolveImports` of its cmd/containerd/server/config).
        let (imports, cni_plugins, cni_configuration) = match os {
            Os::Linux => (
                "/etc/containerd/conf.d/*.toml",
                "/opt/cni/bin",
                "/etc/cni/net.d",
            ),
            Os::Windows => (
                "C:/Program Files/containerd/conf.d/*.toml",
                "c:/opt/cni/bin",
                "c:/etc/cni/net.d",
            ),
        };
        let view = View {
            version: form.version,
            bin_dirs: form.bin_dirs,
            imports: vec![imports],
            sandbox_image,
            cni_plugins,
            cni_configuration,
            runc: os == Os::Linux,
            systemd_cgroup: self.cgroup_driver() == CgroupDriver::Systemd,
        };
        let template = match form.version {
            2 => "templates/kubernetes/containerd-2.toml.tera",
            _ => "templates/kubernetes/containerd-3.toml.tera",
        };
        render(template, &view)
    }
}

fn form(version: Version) -> Result<&'static Form> {
    Form::of(version).ok_or_else(|| {
        let message = format!(
            "wdev writes no configuration for containerd {}.{}",
            version.major, version.minor
        );
        Box::new(
            Failure::new(Kind::Configuration, message)
                .advise("set `container_runtime.version` to `1.6` or newer")
                .permanent(),
        )
    })
}
