//! What a step is. The engine runs steps; it knows nothing of what they do.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;

use super::recorder::Recorder;
use super::state::State;
use crate::channel::{Channel, Io, Script};
use crate::clock::Clock;
use crate::error::Result;
use crate::names::{LaneName, StepId};
use crate::provider::Provider;

/// One unit of work.
///
/// A step is built for one lane with all that it needs; its methods may be called in any order and
/// any number of times, by runs that know nothing of each other but the journal.
#[async_trait]
pub trait Step: Send + Sync {
    /// Its identity inside its lane. It never changes its meaning.
    fn id(&self) -> StepId;

    /// What it does, in a few words: `load kernel modules`.
    fn title(&self) -> String;

    /// Why it is needed, in a few words.
    fn purpose(&self) -> String;

    /// The phase that it counts for.
    fn phase(&self) -> &'static str;

    /// All that its result depends on, by name. A changed value re-runs the step. No secrets.
    fn inputs(&self) -> BTreeMap<String, String>;

    /// How long and how often it is tried.
    fn limits(&self) -> Limits;

    /// What a change of the inputs with these names asks for.
    fn on_change(&self, _changed: &[String]) -> OnChange {
        OnChange::Rerun
    }

    /// The script that it runs on its node, for people who want to read it or run it by hand.
    fn script(&self) -> Option<Script> {
        None
    }

    /// Whether the script needs a secret of the moment, which stands in no file: nobody can run it by
    /// hand.
    fn needs_secret(&self) -> bool {
        false
    }

    /// Asks the node itself whether the step's result is in place. Changes nothing.
    ///
    /// # Errors
    /// When the node could not be asked; the engine then runs the step.
    async fn probe(&self, cx: &Context) -> Result<Probe>;

    /// Does it. Safe to do twice.
    async fn run(&self, cx: &Context) -> Result<Done>;

    /// Proves from the node that it is done, after a reboot where it wanted one.
    async fn verify(&self, _cx: &Context, _done: &Done) -> Result<()> {
        Ok(())
    }

    /// Takes it back, where that makes sense. Safe to do twice, and without a run before.
    async fn undo(&self, _cx: &Context) -> Result<()> {
        Ok(())
    }
}

/// How long and how often a step is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long it usually takes.
    pub expected: Duration,
    /// How long one attempt may take.
    pub deadline: Duration,
    /// How many attempts there are, at least 1.
    pub attempts: u32,
    /// The pause before the second attempt; it doubles with each further one, up to a minute.
    pub pause: Duration,
}

/// What a changed input asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnChange {
    /// The step is run again, and so is what comes after it.
    Rerun,
    /// The step is run again; nothing that comes after it depends on what changed.
    Alone,
    /// The node cannot be changed in place: it must be recreated, which only the user may decide.
    Recreate,
}

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// The result is in place.
    InPlace,
    /// It is not, and why, in a few words.
    Missing(String),
    /// It is not, because the node has to be rebooted first, and why. After a run the engine does that and
    /// asks again.
    RebootPending(String),
}

/// What a run achieved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// What was learnt, for later steps and for the journal. No secrets.
    pub facts: BTreeMap<String, String>,
    /// The identity of the node's machine, when the step made or found it.
    pub machine: Option<String>,
    /// Whether the node must be rebooted before the step counts. The engine does that and proves it.
    pub reboot_wanted: bool,
    /// Whether the run itself has already asked the node and found the result in place.
    pub proven: bool,
}

/// What a step is given to work with.
pub struct Context {
    /// The lane that it belongs to.
    pub lane: LaneName,
    /// What makes and reaches the machines.
    pub provider: Arc<dyn Provider>,
    /// Output and stop.
    pub io: Io,
    /// The clock.
    pub clock: Clock,
    /// Writes to the journal.
    pub recorder: Recorder,
    /// What the journal knows.
    pub known: Known,
    /// The machine that the journal knows for this lane.
    pub machine: Option<String>,
    /// Whether the step was done before with other inputs.
    pub changed: bool,
}

/// A view of what the journal knows, always up to date.
#[derive(Clone, Default)]
pub struct Known(Arc<RwLock<State>>);

impl Known {
    /// A view of `state`.
    #[must_use]
    pub fn new(state: State) -> Self {
        Self(Arc::new(RwLock::new(state)))
    }

    /// Reads the state. Keep it short: the journal waits.
    pub fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn write(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Context {
    /// The channel to this lane's node.
    #[must_use]
    pub fn channel(&self) -> Arc<dyn Channel> {
        self.provider.channel(&self.lane)
    }

    /// A fact that a finished step of any lane has left.
    #[must_use]
    pub fn fact(&self, lane: &LaneName, step: &str, key: &str) -> Option<String> {
        self.known
            .read(|state| state.fact(lane, step, key).map(str::to_owned))
    }
}

/// A short hash of a text: enough to see that something changed.
#[must_use]
pub fn short_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..12].to_owned()
}

/// A short hash of each of a step's inputs, as the journal keeps them.
#[must_use]
pub fn hashed_inputs(step: &dyn Step) -> BTreeMap<String, String> {
    step.inputs()
        .into_iter()
        .map(|(name, value)| (name, short_hash(&value)))
        .collect()
}

/// The fingerprint of a step: changes when any input does.
#[must_use]
pub fn fingerprint(step: &dyn Step) -> String {
    let mut hasher = blake3::Hasher::new();
    for (name, value) in step.inputs() {
        // Lengths keep `ab`+`c` and `a`+`bc` apart.
        for part in [&name, &value] {
            hasher.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    }
    hasher.finalize().to_hex()[..16].to_owned()
}
