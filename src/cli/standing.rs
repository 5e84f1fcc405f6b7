//! What earlier runs have left of a sandbox, and what that binds the next one to.

use crate::config::Config;
use crate::config::model::CniName;
use crate::engine::journal;
use crate::engine::state::State;
use crate::error::{Failure, Kind, Result};
use crate::home::SandboxFolder;
use crate::plan::record::Record;
use crate::plan::steps::cni;

/// What earlier runs have left.
pub(super) struct Standing {
    /// What the sandbox was last made of; none when no run has begun to make it.
    pub earlier: Option<Record>,
    /// What the journal knows.
    pub state: State,
    /// Whether a machine of it can exist.
    machines: bool,
}

impl Standing {
    /// Looks at the sandbox's folder, which need not exist.
    ///
    /// # Errors
    /// `Host` when what is in it cannot be read.
    pub fn of(folder: &SandboxFolder) -> Result<Self> {
        let record = Record::find(folder)?;
        let events = journal::read(&folder.journal())?.events;
        let state = State::from_events(&events);
        let machines = has_traces(folder) || !state.created.is_empty();
        Ok(Self {
            // A record that `wdev render` alone has written binds nobody.
            earlier: record.filter(|_| machines || !events.is_empty()),
            state,
            machines,
        })
    }

    /// Whether its cluster has been given its network plugin.
    fn has_plugin(&self) -> bool {
        let mut steps = self.state.steps.iter();
        steps.any(|(key, step)| key.step.as_str() == cni::ID && step.done.is_some())
    }

    /// The record of machines that can exist.
    pub fn made(&self) -> Option<&Record> {
        self.earlier.as_ref().filter(|_| self.machines)
    }

    /// Refuses what this sandbox cannot become any more: another network plugin, or another control plane.
    ///
    /// # Errors
    /// `Configuration`, with what to do.
    pub fn check(&self, config: &Config) -> Result<()> {
        self.check_plugin(config.cni.name)?;
        self.check_control_plane(&config.control_plane.name)
    }

    /// Refuses another name for the control plane than that of the machine which is one.
    fn check_control_plane(&self, wanted: &str) -> Result<()> {
        let mut nodes = self.made().into_iter().flat_map(|record| &record.nodes);
        let has = nodes.find(|node| node.is_control_plane() && node.name.as_str() != wanted);
        let Some(has) = has.map(|node| &node.name) else {
            return Ok(());
        };
        Err(Box::new(
            Failure::new(
                Kind::Configuration,
                format!("the control plane of this sandbox is `{has}`"),
            )
            .because(format!(
                "`control_plane.name` says `{wanted}` now, and a cluster keeps the control plane it was made \
                 with; nothing was touched"
            ))
            .advise(format!("write `control_plane: {{name: {has}}}` in variables.yml"))
            .advise("or make it anew: `wdev destroy`, then `wdev up`"),
        ))
    }

    /// Refuses another network plugin than the one that the cluster has: nothing takes that one out again.
    ///
    /// # Errors
    /// `Configuration`, with what to do.
    fn check_plugin(&self, wanted: CniName) -> Result<()> {
        let earlier = self.made().filter(|_| self.has_plugin());
        let Some((sandbox, has)) = earlier.and_then(|it| Some((&it.sandbox, it.cni?))) else {
            return Ok(());
        };
        if has == wanted {
            return Ok(());
        }
        let (has, wanted) = (cni::name(has), cni::name(wanted));
        Err(Box::new(
            Failure::new(
                Kind::Configuration,
                format!("the cluster of `{sandbox}` has the network plugin `{has}`"),
            )
            .because(format!(
                "`{wanted}` is asked for now, and nothing would take `{has}` out of it; nothing was touched"
            ))
            .advise(format!(
                "ask for what it has: `--cni {has}`, or `cni: {{name: {has}}}` in variables.yml"
            ))
            .advise("or make it anew: `wdev destroy`, then `wdev up`"),
        ))
    }
}

/// Whether a machine can have been made: by wdev, which journals it first, or by hand in the rendered
/// folder. Where none can, none is asked for, and the provider need not even be installed.
pub(super) fn machines_possible(folder: &SandboxFolder) -> bool {
    has_traces(folder)
        || journal::read(&folder.journal()).map_or(true, |read| {
            !State::from_events(&read.events).created.is_empty()
        })
}

/// Whether a machine can have been made that the journal knows nothing of.
fn has_traces(folder: &SandboxFolder) -> bool {
    let by_hand = folder.rendered().join(".vagrant").exists();
    // An earlier `destroy` that did not come to its end began a new journal.
    by_hand || folder.damaged_journal().exists()
}
