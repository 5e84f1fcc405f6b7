//! Container images of the user's own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::{Effect, Os};
use crate::config::Config;
use crate::engine::step::{Context, Done, OnChange, Probe, Step};
use crate::error::{Result, io_failure};
use crate::render::kubernetes::Cluster;
use crate::render::linux_cluster;

/// The step; see [`step`].
pub struct Images {
    script: GuestStep,
    files: Vec<ImageFile>,
}

/// A file with images, on the host and on the node.
#[derive(Debug, Clone)]
pub struct ImageFile {
    host: PathBuf,
    node: String,
    digest: String,
}

/// The files of `kubernetes.images`, each read once for all nodes.
///
/// # Errors
/// `Host` when a file cannot be read.
pub fn files(config: &Config) -> Result<Vec<ImageFile>> {
    let paths = config.kubernetes.images.iter();
    paths.map(|path| image_file(path)).collect()
}

/// Loads the images in the files of `kubernetes.images` on a Linux node, under the names that kubeadm asks
/// for; nothing where there are none.
///
/// # Errors
/// When the script cannot be rendered.
pub fn step(build: &Build) -> Result<Option<Images>> {
    let files = build.images.to_vec();
    if files.is_empty() {
        return Ok(None);
    }
    let on_node: Vec<_> = files
        .iter()
        .map(|file| (file.node.clone(), file.digest.clone()))
        .collect();
    let config = Cluster::new(build.config, build.release)?.init()?;
    let digests: Vec<_> = files.iter().map(|file| file.digest.clone()).collect();
    let script = GuestStep {
        id: "images".to_owned(),
        title: "load your container images".to_owned(),
        purpose: "`kubernetes.images` names them".to_owned(),
        phase: "kubernetes",
        inputs: inputs([("kubernetes.images", digests.join(","))]),
        limits: limits(&build.config.timeouts, Duration::from_secs(30)),
        os: Os::Linux,
        // The pods that run go on with what they have.
        on_change: OnChange::Rerun,
        text: Some(linux_cluster::images(&on_node, &config)?),
        effects: digests
            .into_iter()
            .map(|digest| Effect::Image(format!("file {digest}")))
            .collect(),
    };
    Ok(Some(Images { script, files }))
}

fn image_file(path: &Path) -> Result<ImageFile> {
    let hash = || {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(path)?)?;
        Ok(hasher.finalize().to_hex()[..16].to_owned())
    };
    let digest = hash().map_err(|error| io_failure("read the images in", path, &error))?;
    Ok(ImageFile {
        host: path.to_owned(),
        node: format!("/var/cache/wdev/images-{digest}.tar"),
        digest,
    })
}

#[async_trait]
impl Step for Images {
    told_by!(script);
    run_as!(script);

    async fn probe(&self, cx: &Context) -> Result<Probe> {
        self.script.probe(cx).await
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        if self.script.ask(cx).await? == Probe::InPlace {
            return Ok(Done {
                proven: true,
                ..Done::default()
            });
        }
        for file in &self.files {
            let from = file.host.display();
            cx.io.note(format!("copying `{from}` to {}", cx.lane));
            cx.channel().upload(&file.host, &file.node, &cx.io).await?;
        }
        self.script.run(cx).await
    }

    async fn verify(&self, cx: &Context, done: &Done) -> Result<()> {
        self.script.verify(cx, done).await
    }
}
