//! The tree of typed values to the [`Config`] that everything else reads.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use ipnet::Ipv4Net;

use super::derive::{address, net};
use super::item::Item;
use super::model::{
    Artifacts, Audit, Builder, COMPONENTS_WITH_LOGS, Cni, CniName, Communicator, Component, Config,
    ContainerRuntime, ControlPlane, Hook, KubeProxy, Kubernetes, LibvirtDriver, MachineSpec,
    Network, ProviderName, Proxy, Timeouts, VagrantSettings, Worker,
};
use super::scalar::Scalar;

/// The configuration. `root` has been checked: what is missing in it cannot be reached.
pub(crate) fn config(root: &Item) -> Config {
    let runtime = root.at("container_runtime");
    let artifacts = root.at("artifacts");
    let timeouts = root.at("timeouts");
    let name = CniName::from_name(root.at("cni").at("name").text()).unwrap_or(CniName::None);
    Config {
        sandbox: string(root.at("sandbox")),
        provider: ProviderName::from_name(root.at("provider").text()).unwrap_or(ProviderName::Auto),
        kubernetes: kubernetes(root.at("kubernetes")),
        cni: Cni {
            name,
            version: string(root.at("cni").at("version")),
        },
        kube_proxy: KubeProxy::from_name(root.at("kube_proxy").text())
            .unwrap_or(KubeProxy::Service),
        container_runtime: ContainerRuntime {
            name: string(runtime.at("name")),
            version: string(runtime.at("version")),
            archive: path(runtime.at("archive")),
        },
        network: network(root.at("network")),
        control_plane: control_plane(root.at("control_plane")),
        workers: root.at("workers").items().iter().map(worker).collect(),
        artifacts: Artifacts {
            mirror: string(artifacts.at("mirror")),
            offline: artifacts.at("offline").boolean(),
            guest_download: artifacts.at("guest_download").boolean(),
        },
        timeouts: Timeouts {
            boot: timeouts.at("boot").duration(),
            reboot: timeouts.at("reboot").duration(),
            step: timeouts.at("step").duration(),
            ready: timeouts.at("ready").duration(),
        },
        hooks: root.at("hooks").items().iter().map(hook).collect(),
        vagrant: vagrant(root.at("vagrant")),
    }
}

fn string(item: &Item) -> String {
    item.text().to_owned()
}

fn strings(item: &Item) -> Vec<String> {
    item.items().iter().map(string).collect()
}

fn table<T>(item: &Item, value: impl Fn(&Item) -> T) -> BTreeMap<String, T> {
    item.entries()
        .iter()
        .map(|(key, _, item)| (key.clone(), value(item)))
        .collect()
}

fn path(item: &Item) -> Option<PathBuf> {
    match item.scalar() {
        Some(Scalar::Path(path)) => Some(path.clone()),
        _ => None,
    }
}

fn optional(item: &Item) -> Option<String> {
    (!item.text().is_empty()).then(|| string(item))
}

fn kubernetes(item: &Item) -> Kubernetes {
    let arguments = |item: &Item| table(item, string);
    let mut extra_args = table(item.at("extra_args"), arguments);
    extra_args.retain(|_, arguments| !arguments.is_empty());
    Kubernetes {
        version: string(item.at("version")),
        source: path(item.at("source")),
        build: item
            .at("build")
            .items()
            .iter()
            .filter_map(|i| Component::from_name(i.text()))
            .collect(),
        builder: Builder::from_name(item.at("builder").text()).unwrap_or(Builder::Auto),
        images: item.at("images").items().iter().filter_map(path).collect(),
        feature_gates: table(item.at("feature_gates"), Item::boolean),
        extra_args,
        audit: Audit::from_name(item.at("audit").text()).unwrap_or_default(),
        log_levels: log_levels(item.at("log_levels")),
        ignore_preflight_errors: strings(item.at("ignore_preflight_errors")),
        cert_names: strings(item.at("cert_names")),
    }
}

fn log_levels(item: &Item) -> BTreeMap<String, u64> {
    COMPONENTS_WITH_LOGS
        .into_iter()
        .filter(|component| !item.at(component).is_unset())
        .map(|component| (component.to_owned(), item.at(component).number()))
        .collect()
}

fn range(item: &Item) -> Ipv4Net {
    net(item).unwrap_or_default()
}

fn network(item: &Item) -> Network {
    let proxy = item.at("proxy");
    let ip = |item: &Item| match item.scalar() {
        Some(Scalar::Ip(ip)) => *ip,
        _ => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    };
    Network {
        nodes: range(item.at("nodes")),
        pods: range(item.at("pods")),
        services: range(item.at("services")),
        dns: item.at("dns").items().iter().map(ip).collect(),
        proxy: Proxy {
            http: optional(proxy.at("http")),
            https: optional(proxy.at("https")),
            no_proxy: strings(proxy.at("no_proxy")),
        },
    }
}

fn machine(item: &Item) -> MachineSpec {
    MachineSpec {
        r#box: string(item.at("box")),
        box_version: string(item.at("box_version")),
        box_url: string(item.at("box_url")),
        box_checksum: string(item.at("box_checksum")),
        cpus: u32::try_from(item.at("cpus").number()).unwrap_or(u32::MAX),
        memory_mib: item.at("memory").number(),
        communicator: Communicator::from_name(item.at("communicator").text()).unwrap_or_default(),
        nested_virtualization: item.at("nested_virtualization").boolean(),
    }
}

fn control_plane(item: &Item) -> ControlPlane {
    ControlPlane {
        name: string(item.at("name")),
        machine: machine(item),
        address: address(item.at("address")).unwrap_or(Ipv4Addr::UNSPECIFIED),
        // An empty list is a wish too: no taint at all.
        taints: (!item.at("taints").is_unset()).then(|| strings(item.at("taints"))),
    }
}

fn worker(item: &Item) -> Worker {
    Worker {
        name: string(item.at("name")),
        windows: string(item.at("windows")),
        machine: machine(item),
        address: address(item.at("address")).unwrap_or(Ipv4Addr::UNSPECIFIED),
        features: strings(item.at("features")),
        labels: table(item.at("labels"), string),
        taints: strings(item.at("taints")),
    }
}

fn hook(item: &Item) -> Hook {
    Hook {
        node: string(item.at("node")),
        phase: string(item.at("phase")),
        script: path(item.at("script")).unwrap_or_default(),
    }
}

fn vagrant(item: &Item) -> VagrantSettings {
    let libvirt = item.at("libvirt");
    VagrantSettings {
        hyperv_switch: string(item.at("hyperv").at("switch")),
        libvirt_driver: LibvirtDriver::from_name(libvirt.at("driver").text()).unwrap_or_default(),
        libvirt_cpu_model: string(libvirt.at("cpu_model")),
        extra: table(item.at("extra"), string),
    }
}
