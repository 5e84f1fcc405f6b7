//! A step whose script needs files that the host has: they are brought to the node first.

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::download::ID;
use super::guest::{GuestStep, done, judge};
use crate::artifacts::Store;
use crate::channel::{Channel, Io, Mode, Os, Script, Secret};
use crate::engine::step::{Context, Done, Probe, Step};
use crate::error::{Failure, Kind, Result};
use crate::names::LaneName;
use crate::plan::fetch;
use crate::release::Artifact;
use crate::render::{linux, windows};

/// A script with the artifacts that it installs.
///
/// The script finds each under its name in the folder [`folder`] of the node, and is given its SHA-256 as
/// `sha256_NAME` (hyphens become underscores): with that it can tell whether what is installed is the same
/// file.
#[derive(Clone)]
pub struct Equipped {
    /// The script.
    pub script: GuestStep,
    /// What it installs.
    pub artifacts: Vec<Artifact>,
    /// Where the files are; none in a simulation, and where nothing is ever run.
    pub store: Option<Store>,
    /// Whether the node fetches by itself what has an address.
    pub guest_download: bool,
}

impl Equipped {
    fn script_for(&self, mode: Mode, cx: &Context) -> Result<Script> {
        let mut script = self.script.script_for(mode);
        if cx.provider.features().simulated || script.text.is_none() {
            return Ok(script);
        }
        for artifact in &self.artifacts {
            let hash = Secret::new(hash(artifact, cx)?);
            script.secrets.insert(given(artifact), hash);
        }
        Ok(script)
    }

    /// What brings the artifacts that have an address onto the node without the host; nothing when there
    /// are none, or the host is to bring them.
    fn fetching(&self, cx: &Context) -> Result<Option<Script>> {
        let Some(store) = self.store.as_ref().filter(|_| self.guest_download) else {
            return Ok(None);
        };
        let has_address = |artifact: &&Artifact| artifact.url.starts_with("https://");
        let artifacts: Vec<&Artifact> = self.artifacts.iter().filter(has_address).collect();
        if artifacts.is_empty() {
            return Ok(None);
        }
        let names: Vec<&str> = artifacts.iter().map(|one| one.name.as_str()).collect();
        let mut script = self.script_for(Mode::Run, cx)?;
        script.name = format!("{}-fetch", script.name);
        script.text = Some(match script.os {
            Os::Linux => linux::fetch(&names)?,
            Os::Windows => windows::fetch(&names)?,
        });
        for artifact in artifacts {
            let url = format!("url_{}", artifact.name.replace('-', "_"));
            script.secrets.insert(url, store.address(&artifact.url)?);
        }
        Ok(Some(script))
    }

    async fn bring(&self, cx: &Context) -> Result<()> {
        let channel = cx.channel();
        if let Some(script) = self.fetching(cx)? {
            channel.run(&script, &cx.io).await?;
        }
        let there = self.there(&*channel, cx).await?;
        for artifact in &self.artifacts {
            let hash = hash(artifact, cx)?;
            if there.contains(&artifact.name) {
                continue;
            }
            let to = format!("{}/{}", folder(self.script.os), artifact.name);
            let found = self.store.as_ref().and_then(|store| store.find(&hash));
            let from = found.ok_or_else(|| {
                Failure::new(
                    Kind::Host,
                    format!("{} is no longer in the cache", fetch::name(artifact)),
                )
                .because("it was there when it was downloaded")
                .advise("run `wdev fetch`, then the same again")
            })?;
            channel.upload(&from, &to, &cx.io).await?;
        }
        Ok(())
    }

    /// The names of the artifacts that the node has already, from a run that was cut off.
    async fn there(&self, channel: &dyn Channel, cx: &Context) -> Result<BTreeSet<String>> {
        match self.script.os {
            Os::Linux => {
                let mut there = BTreeSet::new();
                for artifact in &self.artifacts {
                    let path = format!("{}/{}", folder(Os::Linux), artifact.name);
                    if is_there(channel, &path, &hash(artifact, cx)?, &cx.io).await? {
                        there.insert(artifact.name.clone());
                    }
                }
                Ok(there)
            }
            // PowerShell takes a while to start: once for all of them.
            Os::Windows => {
                let mut script = self.script_for(Mode::Probe, cx)?;
                let names: Vec<&str> = self.artifacts.iter().map(|one| one.name.as_str()).collect();
                script.name = format!("{}-fetch", script.name);
                script.text = Some(windows::fetch(&names)?);
                let report = channel.run(&script, &quiet(&cx.io)).await?;
                let said = report.facts.get("there").map_or("", String::as_str);
                Ok(said.split_whitespace().map(str::to_owned).collect())
            }
        }
    }

    async fn ask(&self, cx: &Context) -> Result<Probe> {
        let script = self.script_for(Mode::Probe, cx)?;
        Ok(judge(cx.channel().run(&script, &cx.io).await?))
    }
}

/// The folder of a node in which files wait for the script that installs them, with `/`.
#[must_use]
pub fn folder(os: Os) -> String {
    match os {
        Os::Linux => linux::CACHE.to_owned(),
        Os::Windows => windows::CACHE.replace('\\', "/"),
    }
}

/// Without output: what is asked by the way is no news.
fn quiet(io: &Io) -> Io {
    Io {
        output: Io::silent().output,
        stop: io.stop.clone(),
    }
}

/// The name under which a script is given the hash of an artifact.
fn given(artifact: &Artifact) -> String {
    format!("sha256_{}", artifact.name.replace('-', "_"))
}

/// The SHA-256 that the host's download found.
fn hash(artifact: &Artifact, cx: &Context) -> Result<String> {
    let key = fetch::name(artifact);
    cx.fact(&LaneName::host(), ID, &key).ok_or_else(|| {
        Box::new(Failure::new(
            Kind::Bug,
            format!("nobody knows the hash of {key}: the download did not say it"),
        ))
    })
}

/// Whether the node has the file already, from a run that was cut off.
async fn is_there(channel: &dyn Channel, path: &str, hash: &str, io: &Io) -> Result<bool> {
    let line = format!("{hash}  {path}");
    let argv = [
        "sh",
        "-c",
        "printf '%s\\n' \"$1\" | sha256sum -c --status 2>/dev/null",
        "sh",
        &line,
    ];
    let code = channel.exec(&argv.map(str::to_owned), &quiet(io)).await?;
    Ok(code == 0)
}

#[async_trait]
impl Step for Equipped {
    told_by!(script);
    run_as!(script);

    fn needs_secret(&self) -> bool {
        true
    }

    async fn probe(&self, cx: &Context) -> Result<Probe> {
        self.ask(cx).await
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        let script = self.script_for(Mode::Run, cx)?;
        if script.text.is_some() && !cx.provider.features().simulated {
            self.bring(cx).await?;
        }
        Ok(done(cx.channel().run(&script, &cx.io).await?))
    }

    async fn verify(&self, cx: &Context, done: &Done) -> Result<()> {
        self.script.proven(done, self.ask(cx)).await
    }
}
