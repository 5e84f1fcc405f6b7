//! The proxy between the nodes and the internet.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

use super::Build;
use super::guest::{GuestStep, done, inputs, judge, limits};
use crate::channel::{Effect, Mode, Os, Script, Secret};
use crate::config::redact_url;
use crate::engine::step::{Context, Done, OnChange, Probe, Step};
use crate::error::Result;

/// A script with the proxy's URLs, which may hold a password.
pub struct Proxy {
    script: GuestStep,
    urls: BTreeMap<String, Secret>,
}

/// Tells the node's programs of `network.proxy`; without one, takes back what an earlier run has told.
///
/// # Errors
/// `Configuration` for a URL that the node's files cannot carry.
pub fn step(build: &Build) -> Result<Proxy> {
    let proxy = &build.config.network.proxy;
    let direct = no_proxy(build);
    let set = [("proxy_http", &proxy.http), ("proxy_https", &proxy.https)];
    let urls: BTreeMap<String, Secret> = set
        .into_iter()
        .filter_map(|(name, url)| Some((name.to_owned(), Secret::new(url.as_deref()?))))
        .collect();
    let shown = |url: &Option<String>| {
        url.as_deref()
            .map_or_else(String::new, |url| redact_url(url).into_owned())
    };
    let script = GuestStep {
        id: "proxy".to_owned(),
        title: if urls.is_empty() {
            "use no proxy".to_owned()
        } else {
            "use the proxy".to_owned()
        },
        purpose: "images are pulled through it".to_owned(),
        phase: "prepare",
        // What is secret of the URLs is compared by the probe.
        inputs: inputs([
            ("network.proxy.http", shown(&proxy.http)),
            ("network.proxy.https", shown(&proxy.https)),
            ("network.proxy.no_proxy", direct.join(",")),
        ]),
        limits: limits(&build.config.timeouts, Duration::from_secs(2)),
        os: Os::Linux,
        // The script starts again what runs already.
        on_change: OnChange::Alone,
        text: Some(crate::render::linux::proxy(proxy, &direct)?),
        effects: vec![Effect::Setting {
            key: "proxy".to_owned(),
            value: if urls.is_empty() { "none" } else { "set" }.to_owned(),
        }],
    };
    Ok(Proxy { script, urls })
}

/// What the nodes reach directly: what the user wrote, the cluster's own ranges and names, and the nodes.
/// Go's `net/http` and curl know ranges; others need the addresses.
#[must_use]
pub fn no_proxy(build: &Build) -> Vec<String> {
    let network = &build.config.network;
    let ours = [
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        network.nodes.to_string(),
        network.pods.to_string(),
        network.services.to_string(),
        ".svc".to_owned(),
        ".cluster.local".to_owned(),
    ];
    let nodes = build
        .nodes
        .iter()
        .flat_map(|node| [node.address.to_string(), node.name.to_string()]);
    let mut all: Vec<String> = Vec::new();
    for one in network
        .proxy
        .no_proxy
        .iter()
        .cloned()
        .chain(ours)
        .chain(nodes)
    {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

impl Proxy {
    fn script_for(&self, mode: Mode) -> Script {
        Script {
            secrets: self.urls.clone(),
            ..self.script.script_for(mode)
        }
    }
}

#[async_trait]
impl Step for Proxy {
    told_by!(script);
    run_as!(script);

    fn needs_secret(&self) -> bool {
        !self.urls.is_empty()
    }

    async fn probe(&self, cx: &Context) -> Result<Probe> {
        let report = cx
            .channel()
            .run(&self.script_for(Mode::Probe), &cx.io)
            .await?;
        Ok(judge(report))
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        let report = cx
            .channel()
            .run(&self.script_for(Mode::Run), &cx.io)
            .await?;
        Ok(done(report))
    }

    async fn verify(&self, cx: &Context, done: &Done) -> Result<()> {
        self.script.proven(done, self.probe(cx)).await
    }
}
