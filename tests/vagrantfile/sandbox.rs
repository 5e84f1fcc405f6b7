//! Vagrantfiles as `wdev render` writes them, from a `variables.yml` on.

use std::path::Path;

use wdev::config::model::ProviderName;
use wdev::config::{self, Request};
use wdev::home::SandboxFolder;
use wdev::os::Os;
use wdev::plan::record::Record;
use wdev::plan::{self, Target, Testbed};
use wdev::provider::vagrant::hypervisor::Choices;
use wdev::release::{self, Release};

pub const HYPERVISORS: [ProviderName; 4] = [
    ProviderName::Virtualbox,
    ProviderName::Hyperv,
    ProviderName::VmwareDesktop,
    ProviderName::Libvirt,
];

/// What the names of all that the sandbox has on the host begin with.
const PREFIX: &str = "wdev-default-1a2b3c";

/// Writes the rendered files of a sandbox into `folder`, and returns the Vagrantfile's text.
pub fn render(provider: ProviderName, variables: &str, folder: &Path) -> String {
    let choices = Choices {
        unsigned_drivers: variables.contains("cni: antrea"),
        ..Choices::default()
    };
    render_with(provider, variables, &choices, folder)
}

/// The same with what was settled for the provider.
pub fn render_with(
    provider: ProviderName,
    variables: &str,
    choices: &Choices,
    folder: &Path,
) -> String {
    let project = tempfile::tempdir().unwrap();
    std::fs::write(project.path().join("variables.yml"), variables).unwrap();
    let loaded = config::load(&Request {
        start: project.path().to_owned(),
        ..Request::default()
    })
    .unwrap_or_else(|problems| panic!("{problems}"));
    let config = &loaded.config;
    let exact = release::assumed(&config.kubernetes.version);
    let release = Release::new(config, Os::Windows, exact);
    let target = Target {
        config,
        provider,
        folder: &SandboxFolder::at(folder.to_owned()),
        testbed: Testbed::None,
        prefix: PREFIX,
        release: &release,
        store: None,
    };
    let plan = plan::up::plan(&target).unwrap();
    let mut record = Record::new(
        &config.sandbox,
        provider,
        config.network.nodes,
        PREFIX.to_owned(),
        plan::node::nodes(&target).unwrap(),
        900,
    );
    record.choices = choices.clone();
    plan::render::write(&plan, &record, config, folder).unwrap();
    std::fs::read_to_string(folder.join("Vagrantfile")).unwrap()
}

/// A Vagrantfile alone.
pub fn text(provider: ProviderName, variables: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    render(provider, variables, folder.path())
}
