//! Every template, embedded under its path in the repository.

macro_rules! template {
    ($path:literal) => {
        (
            $path,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $path)),
        )
    };
}

/// Each template's path in the repository and its text. The part of the name before `.tera` tells the
/// target language; a test compares this list with the folders `templates` and `vagrant`.
pub const TEMPLATES: &[(&str, &str)] = &[
    template!("templates/kubernetes/audit-policy.yaml.tera"),
    template!("templates/kubernetes/containerd-2.toml.tera"),
    template!("templates/kubernetes/containerd-3.toml.tera"),
    template!("templates/kubernetes/crictl.yaml.tera"),
    template!("templates/kubernetes/kubeadm-init.yaml.tera"),
    template!("templates/kubernetes/kubeadm-join.yaml.tera"),
    template!("templates/kubernetes/node-registration.yaml.tera"),
    template!("templates/linux/address.sh.tera"),
    template!("templates/linux/clock.sh.tera"),
    template!("templates/linux/container-runtime.sh.tera"),
    template!("templates/linux/dns.sh.tera"),
    template!("templates/linux/cluster/common.sh.tera"),
    template!("templates/linux/cluster/control-plane.sh.tera"),
    template!("templates/linux/cluster/images.sh.tera"),
    template!("templates/linux/cluster/join.sh.tera"),
    template!("templates/linux/cluster/join-end.sh.tera"),
    template!("templates/linux/cluster/join-token.sh.tera"),
    template!("templates/linux/cluster/leave.sh.tera"),
    template!("templates/linux/cluster/node-ready.sh.tera"),
    template!("templates/linux/facts.sh.tera"),
    template!("templates/linux/fetch.sh.tera"),
    template!("templates/linux/hook.sh.tera"),
    template!("templates/linux/hosts.sh.tera"),
    template!("templates/linux/kernel.sh.tera"),
    template!("templates/linux/kubernetes.sh.tera"),
    template!("templates/linux/parts/apt.sh.tera"),
    template!("templates/linux/parts/artifacts.sh.tera"),
    template!("templates/linux/parts/files.sh.tera"),
    template!("templates/linux/parts/services.sh.tera"),
    template!("templates/linux/proxy.sh.tera"),
    template!("templates/linux/kubeconfig.sh.tera"),
    template!("templates/linux/swap.sh.tera"),
    template!("vagrant/Vagrantfile.tera"),
    template!("vagrant/guests/windows.rb.tera"),
    template!("vagrant/providers/docker.rb.tera"),
    template!("vagrant/providers/hyperv.rb.tera"),
    template!("vagrant/providers/libvirt.rb.tera"),
    template!("vagrant/providers/virtualbox.rb.tera"),
    template!("vagrant/providers/vmware_desktop.rb.tera"),
];
