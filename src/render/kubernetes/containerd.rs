//! The configuration of containerd.

use serde::Serialize;

use super::{CgroupDriver, Cluster};
use crate::config::model::Proxy;
use crate::error::{Failure, Kind, Result};
use crate::os::Os;
use crate::release::containerd::{Form, Version};
use crate::render::render;

/// Where the configuration lies on a Linux node.
pub const CONFIG_PATH: &str = "/etc/containerd/config.toml";
/// The folder of the user's own parts of it, on a Linux node.
pub const IMPORTS_FOLDER: &str = "/etc/containerd/conf.d";
/// The folder of the CNI plugins on a Linux node.
pub const CNI_PLUGINS: &str = "/opt/cni/bin";
/// The folder of the CNI configuration on a Linux node.
pub const CNI_CONFIGURATION: &str = "/etc/cni/net.d";
/// Where the proxy of containerd's service lies on a Linux node; it may hold a password.
pub const PROXY_PATH: &str = "/etc/systemd/system/containerd.service.d/proxy.conf";

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
        let form = Form::of(version).ok_or_else(|| {
            let message = format!(
                "wdev writes no configuration for containerd {}.{}",
                version.major, version.minor
            );
            Failure::new(Kind::Configuration, message)
                .advise("set `container_runtime.version` to `1.6` or newer")
                .permanent()
        })?;
        self.containerd_in(form, os)
    }

    /// The configurations of all versions of containerd, the oldest first, for a node whose distribution
    /// decides which it has: that node takes the last one whose `from` is not newer than what
    /// `containerd --version` says.
    pub fn containerd_variants(&self, os: Os) -> Result<Vec<Variant>> {
        let variant = |form: &Form| {
            Ok(Variant {
                from: form.from,
                text: self.containerd_in(form, os)?,
            })
        };
        Form::all().iter().map(variant).collect()
    }

    fn containerd_in(&self, form: &Form, os: Os) -> Result<String> {
        let linux = os == Os::Linux;
        let view = View {
            version: form.version,
            bin_dirs: form.bin_dirs,
            // A relative path begins at the folder of the configuration.
            imports: vec![if linux {
                "/etc/containerd/conf.d/*.toml"
            } else {
                "conf.d/*.toml"
            }],
            sandbox_image: self.images.pause(),
            cni_plugins: if linux { CNI_PLUGINS } else { "c:/opt/cni/bin" },
            cni_configuration: if linux {
                CNI_CONFIGURATION
            } else {
                "c:/etc/cni/net.d"
            },
            runc: linux,
            systemd_cgroup: self.cgroup_driver() == CgroupDriver::Systemd,
        };
        let template = match form.version {
            2 => "templates/kubernetes/containerd-2.toml.tera",
            _ => "templates/kubernetes/containerd-3.toml.tera",
        };
        render(template, &view)
    }
}

/// The text of [`PROXY_PATH`], a secret; nothing when there is no proxy.
///
/// # Errors
/// `Configuration` for a value with a control character: a unit's file has no line for it.
pub fn proxy(proxy: &Proxy) -> Result<Option<String>> {
    let no_proxy = (!proxy.no_proxy.is_empty()).then(|| proxy.no_proxy.join(","));
    let mut lines = String::new();
    for (name, value) in [
        ("HTTP_PROXY", proxy.http.as_ref()),
        ("HTTPS_PROXY", proxy.https.as_ref()),
        ("NO_PROXY", no_proxy.as_ref()),
    ] {
        if let Some(value) = value {
            lines.push_str(&environment(name, value)?);
        }
    }
    let wanted = proxy.http.is_some() || proxy.https.is_some();
    Ok(wanted.then(|| {
        format!("# The proxy through which images are pulled. Written by wdev.\n[Service]\n{lines}")
    }))
}

/// A line that sets a variable of a service. systemd.exec(5), `Environment=`; systemd.syntax(7), "Quoting";
/// systemd.unit(5), "Specifiers".
fn environment(name: &str, value: &str) -> Result<String> {
    if value.chars().any(char::is_control) {
        let message = format!("the value of {name} holds a control character");
        let failure = Failure::new(Kind::Configuration, message);
        return Err(Box::new(
            failure.advise("correct `network.proxy`").permanent(),
        ));
    }
    let value = value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%");
    Ok(format!("Environment=\"{name}={value}\"\n"))
}
