//! What a simulated node says, how long things take on it, and the words of the real tools when they
//! fail. Where a text is another program's own, its source stands beside it.

use super::draw::between;
use crate::channel::{Effect, Os};

/// How long a join token is good for. kubeadm's own default is 24 hours; wdev's scripts ask for 30
/// minutes (`kubeadm token create --ttl 30m`).
pub(super) const TOKEN_LIFE: u64 = 30 * 60 * 1000;

/// How old a join token may be that a script reports as its own.
pub(super) const TOKEN_FRESH: u64 = 5 * 60 * 1000;

/// How long a wait for readiness goes on before it fails, as `kubectl wait --timeout=10m` does.
pub(super) const WAIT_LIMIT: u64 = 10 * 60 * 1000;

/// kubeadm, `cmd/kubeadm/app/apis/kubeadm/validation/validation.go` (`ValidateDiscovery`).
pub(super) const NO_TOKEN: &str =
    "discovery: Invalid value: \"\": bootstrapToken or file must be set";

/// kubeadm, `cmd/kubeadm/app/discovery/token/token.go`. The token's id is its public half.
pub(super) fn bad_token(id: &str) -> String {
    format!(
        "error execution phase preflight: couldn't validate the identity of the API Server: could not find a JWS signature in the cluster-info ConfigMap for token ID \"{id}\""
    )
}

/// kubeadm, `cmd/kubeadm/app/discovery/token/token.go`, around net/http's error.
pub(super) fn no_api_to_join(address: &str) -> String {
    format!(
        "error execution phase preflight: couldn't validate the identity of the API Server: failed to request the cluster-info ConfigMap: Get \"https://{address}:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s\": dial tcp {address}:6443: connect: connection refused"
    )
}

/// kubectl, `staging/src/k8s.io/kubectl/pkg/cmd/util/helpers.go`.
pub(super) fn no_api(address: &str) -> String {
    format!(
        "The connection to the server {address}:6443 was refused - did you specify the right host or port?"
    )
}

/// kubeadm, `cmd/kubeadm/app/preflight/checks.go` (`FileAvailableCheck`).
pub(super) fn already_initialised(version: &str, address: &str) -> String {
    format!(
        "error execution phase preflight: [ERROR FileAvailable--etc-kubernetes-manifests-kube-apiserver.yaml]: /etc/kubernetes/manifests/kube-apiserver.yaml already exists (already initialised as {version} at {address})"
    )
}

/// kubeadm, `cmd/kubeadm/app/util/apiclient/wait.go`.
pub(super) const NO_KUBELET: &str = "[kubelet-check] The HTTP call equal to 'curl -sSL http://localhost:10248/healthz' failed with error: Get \"http://localhost:10248/healthz\": dial tcp 127.0.0.1:10248: connect: connection refused";

/// kubectl, `staging/src/k8s.io/kubectl/pkg/cmd/wait/wait.go`.
pub(super) fn not_ready_in_time(what: &str) -> String {
    format!("error: timed out waiting for the condition on {what}")
}

/// kubectl, `staging/src/k8s.io/kubectl/pkg/cmd/drain/drain.go` (`RunDrain`).
pub(super) fn not_drained(node: &str) -> String {
    format!("There are pending nodes to be drained:\n {node}")
}

/// kubectl, the API server's `NotFound` (`staging/src/k8s.io/apimachinery/pkg/api/errors/errors.go`).
pub(super) fn no_such_workload(name: &str) -> String {
    format!("Error from server (NotFound): daemonsets.apps \"{name}\" not found")
}

/// systemd's `systemctl start`; the Service Control Manager's through Windows PowerShell 5.1
/// (`Start-Service`, `NoServiceFoundForGivenName`).
pub(super) fn no_service(os: Os, name: &str) -> String {
    match os {
        Os::Linux => {
            format!("Failed to start {name}.service: Unit {name}.service not found.")
        }
        Os::Windows => {
            format!("Start-Service : Cannot find any service with service name '{name}'.")
        }
    }
}

/// As [`no_service`], for a service that cannot start (`CouldNotStartService`).
pub(super) fn service_fails(os: Os, name: &str, need: &str) -> String {
    match os {
        Os::Linux => format!(
            "Job for {name}.service failed because the control process exited with error code: {need} is not running."
        ),
        Os::Windows => format!(
            "Start-Service : Service '{name} ({name})' cannot be started due to the following error: {need} is not running."
        ),
    }
}

/// What a Linux machine says of a Windows feature and the other way round: a plan's mistake.
pub(super) fn wrong_os(what: &str) -> String {
    format!("{what} is not possible on this operating system")
}

/// How long an effect takes by itself, in milliseconds.
pub(super) fn natural(seed: u64, node: &str, script: &str, index: usize, effect: &Effect) -> u64 {
    let (low, high) = match effect {
        Effect::Takes(ms) => return *ms,
        Effect::Needs { .. } => (20, 60),
        Effect::File { .. } => (200, 800),
        Effect::Setting { .. } => (100, 500),
        Effect::Package { .. } => (5_000, 25_000),
        Effect::Feature(_) => (20_000, 60_000),
        Effect::Service { .. } | Effect::JoinToken => (500, 2_000),
        Effect::Running(_) => (1_000, 5_000),
        Effect::Image(_) => (5_000, 30_000),
        Effect::ControlPlane { .. } => (30_000, 60_000),
        Effect::Join { .. } => (5_000, 15_000),
        Effect::Left { .. } => (2_000, 20_000),
        Effect::Manifest(_) => (1_000, 3_000),
        Effect::Hns | Effect::NodeReady | Effect::PodsReady(_) => (1_000, 2_000),
    };
    between(
        seed,
        &["effect", node, script, &index.to_string()],
        low,
        high,
    )
}

/// What a script prints when it begins an effect.
pub(super) fn begins(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::Takes(_) | Effect::Needs { .. } => return None,
        Effect::File { path, .. } => format!("writing {path}"),
        Effect::Setting { key, value } => format!("setting {key} = {value}"),
        Effect::Package { name, version } => format!("installing {name} {version}"),
        Effect::Feature(name) => format!("installing the Windows feature {name}"),
        Effect::Service { name, .. } => format!("registering the service {name}"),
        Effect::Running(name) => format!("starting {name}"),
        Effect::Hns => "asking the Host Networking Service".to_owned(),
        Effect::Image(name) => format!("pulling {name}"),
        Effect::ControlPlane { version, .. } => {
            format!("[init] Using Kubernetes version: {version}")
        }
        Effect::JoinToken => "creating a join token (not shown)".to_owned(),
        Effect::Join { .. } => {
            "[preflight] Reading configuration from the \"kubeadm-config\" ConfigMap in namespace \"kube-system\"...".to_owned()
        }
        Effect::Left { node, .. } => format!("node/{node} cordoned"),
        Effect::Manifest(name) => format!("{name} applied"),
        Effect::NodeReady => "waiting until the node is Ready".to_owned(),
        Effect::PodsReady(name) => {
            format!("Waiting for daemon set \"{name}\" rollout to finish...")
        }
    })
}

/// What a script prints when it has finished an effect, where the real one says something.
pub(super) fn ends(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::Feature(name) => {
            format!("WARNING: You must restart this server to finish installing {name}.")
        }
        Effect::ControlPlane { .. } => {
            "Your Kubernetes control-plane has initialized successfully!".to_owned()
        }
        Effect::Join { .. } => "This node has joined the cluster.".to_owned(),
        Effect::NodeReady => "the node is Ready".to_owned(),
        Effect::PodsReady(name) => format!("daemon set \"{name}\" successfully rolled out"),
        _ => return None,
    })
}
