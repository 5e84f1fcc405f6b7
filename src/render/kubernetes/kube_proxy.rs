//! The configuration of kube-proxy, which kubeadm runs on Linux nodes with a file and no arguments.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Argument, Cluster};
use crate::error::{Failure, Kind, Result};

/// A flag of kube-proxy and the field that stands behind it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Flag {
    #[serde(rename = "flag")]
    name: String,
    field: String,
    r#type: Type,
    /// The first minor whose configuration has the field.
    #[serde(default)]
    from: u32,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Type {
    Text,
    Number,
    Bool,
    List,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "source")]
    _source: String,
    flags: Vec<Flag>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let text = include_str!("../../release/data/kubeadm-kube-proxy.json");
    serde_json::from_str(text).unwrap_or_default()
});

/// The fields of one part of the configuration; without a name those of its top.
#[derive(Serialize)]
pub(super) struct Section {
    name: String,
    fields: Vec<Field>,
}

#[derive(Serialize)]
struct Field {
    name: String,
    value: Value,
    is_list: bool,
}

impl Cluster<'_> {
    /// The fields of kube-proxy's configuration: the pod range, the log level, and what the user's extra
    /// arguments stand for. Feature gates are not among them.
    pub(super) fn kube_proxy(&self) -> Result<Vec<Section>> {
        let own = [("cluster-cidr", self.config.network.pods.to_string())];
        let mut sections: BTreeMap<&str, Vec<Field>> = BTreeMap::new();
        for argument in self.arguments("kube_proxy", &own) {
            if argument.name == "feature-gates" {
                continue;
            }
            let flag = self.flag(&argument)?;
            let (section, name) = flag.field.split_once('.').unwrap_or(("", &flag.field));
            sections.entry(section).or_default().push(Field {
                name: name.to_owned(),
                value: typed(flag.r#type, &argument)?,
                is_list: matches!(flag.r#type, Type::List),
            });
        }
        let sections = sections.into_iter().map(|(name, fields)| Section {
            name: name.to_owned(),
            fields,
        });
        Ok(sections.collect())
    }

    fn flag(&self, argument: &Argument) -> Result<&'static Flag> {
        let known = TABLE.flags.iter().find(|flag| flag.name == argument.name);
        match known {
            Some(flag) if flag.from <= self.minor() => Ok(flag),
            _ => {
                let name = argument.name.escape_debug();
                let failure = Failure::new(
                    Kind::Configuration,
                    format!("kube-proxy cannot be given `{name}`"),
                )
                .because(format!(
                    "kubeadm runs it with a configuration file, and the one of {} has no such field",
                    self.release.kubernetes
                ))
                .advise(if name.to_string() == "v" {
                    "remove `kube_proxy` from `kubernetes.log_levels`".to_owned()
                } else {
                    format!("remove `{name}` from `kubernetes.extra_args.kube_proxy`")
                });
                Err(Box::new(failure.permanent()))
            }
        }
    }

    /// The user's feature gates for kube-proxy, with those among its extra arguments.
    pub(super) fn kube_proxy_gates(&self) -> Result<BTreeMap<String, bool>> {
        let kubernetes = &self.config.kubernetes;
        let mut gates = kubernetes.feature_gates.clone();
        let extra = kubernetes
            .extra_args
            .get("kube_proxy")
            .and_then(|extra| extra.get("feature-gates"));
        for pair in extra.iter().flat_map(|text| text.split(',')) {
            let (name, on) = pair.split_once('=').unwrap_or((pair, ""));
            let on = on
                .trim()
                .parse()
                .map_err(|_| wrong("feature-gates", pair))?;
            gates.insert(name.trim().to_owned(), on);
        }
        Ok(gates)
    }
}

fn typed(r#type: Type, argument: &Argument) -> Result<Value> {
    let text = &argument.value;
    let value = match r#type {
        Type::Text => Some(Value::from(text.as_str())),
        Type::Number => text.trim().parse::<i64>().ok().map(Value::from),
        Type::Bool => text.trim().parse::<bool>().ok().map(Value::from),
        Type::List => Some(text.split(',').map(str::trim).collect()),
    };
    value.ok_or_else(|| wrong(&argument.name, text))
}

fn wrong(name: &str, value: &str) -> Box<Failure> {
    let message = format!(
        "`{}` is no value for `{name}` of kube-proxy",
        value.escape_debug()
    );
    Box::new(
        Failure::new(Kind::Configuration, message)
            .advise("correct it in `kubernetes.extra_args.kube_proxy`")
            .permanent(),
    )
}
