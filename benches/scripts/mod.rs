//! Rendering: every script of a large sandbox, with its wrapper, and the Vagrantfile.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use wdev::config::model::ProviderName;
use wdev::config::{self, Request};
use wdev::home::SandboxFolder;
use wdev::os::Os;
use wdev::plan::record::Record;
use wdev::plan::{Target, Testbed, node, render, up};
use wdev::release::{self, Release};

use super::{Row, millis};

const WORKERS: usize = 50;
const TRIES: usize = 11;

/// What every `up` does for its scripts: all are rendered with their wrappers and held against the files that
/// are there. And what the first one takes, which writes them through to the disk.
pub fn rows() -> Vec<Row> {
    let project = tempfile::tempdir().expect("temporary folder");
    let mut text = "workers:\n".to_owned();
    for number in 1..=WORKERS {
        let _ = writeln!(text, "  - {{name: winw{number}}}");
    }
    let file = project.path().join("variables.yml");
    std::fs::write(&file, text).expect("a file");
    let request = Request {
        file: Some(file),
        ..Request::default()
    };
    let config = config::load(&request).expect("a configuration").config;
    let exact = release::assumed(&config.kubernetes.version);
    let release = Release::new(&config, Os::Windows, exact);
    let folder = SandboxFolder::new(project.path(), "default");
    let target = Target {
        config: &config,
        provider: ProviderName::Virtualbox,
        folder: &folder,
        testbed: Testbed::None,
        prefix: "wdev-bench",
        release: &release,
        store: None,
    };
    let nodes = node::nodes(&target).expect("nodes");
    let (subnet, network) = (config.network.nodes, "wdev-bench".to_owned());
    let record = Record::new("default", target.provider, subnet, network, nodes, 900);
    let rendered = tempfile::tempdir().expect("temporary folder");
    let all = |folder: &std::path::Path| {
        let began = Instant::now();
        let plan = up::plan(&target).expect("a plan");
        let files = render::write(&plan, &record, &config, folder).expect("files");
        (began.elapsed(), files.len())
    };
    let (written, files) = all(rendered.path());
    let mut times: Vec<Duration> = (0..TRIES).map(|_| all(rendered.path()).0).collect();
    times.sort_unstable();
    let middle = times[times.len() / 2];
    vec![
        Row::new(
            format!("scripts of {WORKERS} workers rendered"),
            millis(middle),
        )
        .against("under 200 ms", middle < Duration::from_millis(200)),
        Row::new(format!("... and {files} files written"), millis(written)),
    ]
}
