//! Every field of a document against the list of its API version: its name and its type.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    source: String,
    types: BTreeMap<String, BTreeMap<String, Field>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    r#type: String,
    /// The first minor that has it.
    #[serde(default)]
    from: u32,
    /// The first minor that has it no more.
    #[serde(default = "never")]
    until: u32,
}

fn never() -> u32 {
    u32::MAX
}

fn fields(file: &str) -> Fields {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubernetes_config/fields");
    let text = std::fs::read_to_string(folder.join(format!("{file}.json")))
        .unwrap_or_else(|error| panic!("no list of fields for {file}: {error}"));
    let fields: Fields = serde_json::from_str(&text).unwrap();
    assert!(!fields.source.is_empty());
    fields
}

/// What is wrong with a document of Kubernetes 1.`minor`.
pub(crate) fn faults(doc: &Value, minor: u32) -> Vec<String> {
    let (Some(api), Some(kind)) = (doc["apiVersion"].as_str(), doc["kind"].as_str()) else {
        return vec!["it has no apiVersion and kind".to_owned()];
    };
    let file = match api.split_once('/') {
        Some(("kubeadm.k8s.io", version)) => format!("kubeadm-{version}"),
        Some(("kubelet.config.k8s.io", "v1beta1")) => "kubelet-v1beta1-by-minor".to_owned(),
        Some(("kubeproxy.config.k8s.io", "v1alpha1")) => "kubeproxy-v1alpha1".to_owned(),
        _ => return vec![format!("unknown API {api}")],
    };
    let mut doc = doc.clone();
    let top = doc.as_object_mut().unwrap();
    top.remove("apiVersion");
    top.remove("kind");
    let mut faults = Vec::new();
    check(&fields(&file), kind, &doc, minor, kind, &mut faults);
    faults
}

fn check(
    fields: &Fields,
    r#type: &str,
    value: &Value,
    minor: u32,
    path: &str,
    faults: &mut Vec<String>,
) {
    if let Some(inner) = r#type.strip_prefix("list of ") {
        match value.as_array() {
            Some(items) => items.iter().enumerate().for_each(|(index, item)| {
                check(
                    fields,
                    inner,
                    item,
                    minor,
                    &format!("{path}[{index}]"),
                    faults,
                );
            }),
            None => faults.push(format!("{path} is no list: {value}")),
        }
        return;
    }
    if let Some(inner) = r#type.strip_prefix("map of ") {
        match value.as_object() {
            Some(map) => map.iter().for_each(|(key, item)| {
                check(fields, inner, item, minor, &format!("{path}.{key}"), faults);
            }),
            None => faults.push(format!("{path} is no map: {value}")),
        }
        return;
    }
    let good = match r#type {
        "text" => value.is_string(),
        "bool" => value.is_boolean(),
        "number" => value.is_i64(),
        "float" => value.is_number(),
        "duration" => value.as_str().is_some_and(is_duration),
        "any" => true,
        name => {
            let Some(known) = fields.types.get(name) else {
                faults.push(format!("the list of fields has no type {name}"));
                return;
            };
            let Some(map) = value.as_object() else {
                faults.push(format!("{path} is no {name}: {value}"));
                return;
            };
            for (key, item) in map {
                let path = format!("{path}.{key}");
                match known.get(key) {
                    Some(field) if (field.from..field.until).contains(&minor) => {
                        check(fields, &field.r#type, item, minor, &path, faults);
                    }
                    Some(_) => faults.push(format!("1.{minor} has no {path}")),
                    None => faults.push(format!("there is no {path}")),
                }
            }
            true
        }
    };
    if !good {
        faults.push(format!("{path} is no {type}: {value}"));
    }
}

/// Go's form: numbers with units, such as `1m30s`. <https://pkg.go.dev/time#ParseDuration>
fn is_duration(text: &str) -> bool {
    let mut rest = text;
    let mut parts = 0;
    while !rest.is_empty() {
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let units = digits.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let unit = &digits[..digits.len() - units.len()];
        if digits.len() == rest.len() || !["h", "m", "s", "ms"].contains(&unit) {
            return false;
        }
        rest = units;
        parts += 1;
    }
    parts > 0
}

/// A check that finds nothing proves nothing.
#[test]
fn the_check_finds_what_it_is_for() {
    let doc = |text: &str| -> Value { serde_saphyr::from_str(text).unwrap() };
    for (text, minor, wanted) in [
        (
            "{apiVersion: kubeadm.k8s.io/v1beta4, kind: ClusterConfiguration, apiServer: {timeoutForControlPlane: 4m0s}}",
            36,
            "there is no ClusterConfiguration.apiServer.timeoutForControlPlane",
        ),
        (
            "{apiVersion: kubeadm.k8s.io/v1beta4, kind: ClusterConfiguration, scheduler: {extraArgs: {v: '4'}}}",
            36,
            "ClusterConfiguration.scheduler.extraArgs is no list: {\"v\":\"4\"}",
        ),
        (
            "{apiVersion: kubeadm.k8s.io/v1beta3, kind: ClusterConfiguration, scheduler: {extraArgs: {v: 4}}}",
            30,
            "ClusterConfiguration.scheduler.extraArgs.v is no text: 4",
        ),
        (
            "{apiVersion: kubeadm.k8s.io/v1beta2, kind: InitConfiguration, nodeRegistration: {imagePullPolicy: Never}}",
            20,
            "there is no InitConfiguration.nodeRegistration.imagePullPolicy",
        ),
        (
            "{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, containerRuntimeEndpoint: x}",
            20,
            "1.20 has no KubeletConfiguration.containerRuntimeEndpoint",
        ),
        (
            "{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, syncFrequency: 10}",
            36,
            "KubeletConfiguration.syncFrequency is no duration: 10",
        ),
        (
            "{apiVersion: kubeproxy.config.k8s.io/v1alpha1, kind: KubeProxyConfiguration, logging: {verbosity: 2}}",
            20,
            "1.20 has no KubeProxyConfiguration.logging",
        ),
    ] {
        assert_eq!(faults(&doc(text), minor), [wanted]);
    }
    assert_eq!(
        ["4m0s", "90s", "", "90", "s", "1x"].map(is_duration),
        [true, true, false, false, false, false]
    );
}
