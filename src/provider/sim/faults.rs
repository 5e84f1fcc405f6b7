//! What is to go wrong in a simulated world: said by script, or drawn by seed.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::draw::draw;
use super::world::Node;
use crate::error::{Failure, Kind, Result};
use crate::names::LaneName;

/// The pseudo script that stands for making a machine.
pub(super) const CREATE: &str = "create";
/// The pseudo script that stands for a reboot.
pub(super) const REBOOT: &str = "reboot";

/// A way to go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The script ends half-way with exit code 1; the creation of a machine fails and leaves nothing.
    Fail,
    /// The machine loses its power half-way through the script.
    Die,
    /// The script says and does nothing more, and never ends.
    Stall,
    /// The connection breaks; the script goes on.
    Cut,
    /// The connection breaks and the script dies.
    CutLost,
    /// Everything takes ten times as long.
    Slow,
    /// The machine never comes back from this reboot.
    Never,
    /// The machine boots once more soon after it came back.
    Twice,
    /// The machine takes eight minutes to boot.
    Late,
    /// The machine does not hear the request to reboot.
    Lost,
    /// The machine is made but never answers, until it is mended.
    Half,
    /// Windows itself reboots half-way through the script, which is lost.
    Restart,
    /// The host reboots half-way through the script: every machine is off.
    Host,
    /// The services that the script started stop as soon as it has ended.
    Stops,
    /// After this reboot Windows wants another one before anything counts.
    Pending,
    /// After this reboot the Host Networking Service does not answer until it is repaired.
    Hns,
}

/// The faults around reboots.
pub const REBOOT_FAULTS: &[FaultKind] = &[
    FaultKind::Die,
    FaultKind::Never,
    FaultKind::Twice,
    FaultKind::Late,
    FaultKind::Lost,
    FaultKind::Restart,
    FaultKind::Host,
    FaultKind::Stops,
    FaultKind::Pending,
    FaultKind::Hns,
];

const SCRIPT_KINDS: &[FaultKind] = &[
    FaultKind::Fail,
    FaultKind::Die,
    FaultKind::Stall,
    FaultKind::Cut,
    FaultKind::CutLost,
    FaultKind::Slow,
    FaultKind::Restart,
    FaultKind::Stops,
    FaultKind::Host,
];
const REBOOT_KINDS: &[FaultKind] = &[
    FaultKind::Never,
    FaultKind::Twice,
    FaultKind::Late,
    FaultKind::Lost,
    FaultKind::Pending,
    FaultKind::Hns,
];
const CREATE_KINDS: &[FaultKind] = &[FaultKind::Fail, FaultKind::Half];

impl FaultKind {
    const fn word(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Die => "die",
            Self::Stall => "stall",
            Self::Cut => "cut",
            Self::CutLost => "cut-lost",
            Self::Slow => "slow",
            Self::Never => "never",
            Self::Twice => "twice",
            Self::Late => "late",
            Self::Lost => "lost",
            Self::Half => "half",
            Self::Restart => "restart",
            Self::Host => "host",
            Self::Stops => "stops",
            Self::Pending => "pending",
            Self::Hns => "hns",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The kinds that make sense for a script, `create` or `reboot`.
fn kinds_for(script: &str) -> &'static [FaultKind] {
    match script {
        CREATE => CREATE_KINDS,
        REBOOT => REBOOT_KINDS,
        _ => SCRIPT_KINDS,
    }
}

/// A fault that somebody asked for: `NODE/SCRIPT=KIND[:once|:always|:N]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// None stands for every node.
    node: Option<LaneName>,
    /// None stands for every script, but neither `create` nor `reboot`.
    script: Option<String>,
    kind: FaultKind,
    /// How often it strikes each script of each node.
    times: u32,
}

impl Fault {
    /// Reads a fault as a user writes it; without a count it strikes once. `docs/simulator.md` has the
    /// syntax.
    ///
    /// # Errors
    /// `Arguments`, with what is allowed.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: String| {
            Box::new(
                Failure::new(
                    Kind::Arguments,
                    format!("cannot understand the fault `{text}`"),
                )
                .because(why)
                .advise("write `NODE/SCRIPT=KIND`, `NODE/SCRIPT=KIND:always` or `NODE/SCRIPT=KIND:3`, such as `winw1/features=die:once`"),
            )
        };
        let (place, what) = text
            .split_once('=')
            .ok_or_else(|| wrong("there is no `=`".to_owned()))?;
        let (node, script) = place
            .split_once('/')
            .ok_or_else(|| wrong("there is no `/` before the `=`".to_owned()))?;
        if node.is_empty() || script.is_empty() {
            return Err(wrong(
                "the node and the script must be named, or be `*`".to_owned(),
            ));
        }
        let (kind, times) = what.split_once(':').unwrap_or((what, "once"));
        let kinds = kinds_for(script);
        let kind = kinds
            .iter()
            .copied()
            .find(|known| known.word() == kind)
            .ok_or_else(|| wrong(unknown_kind(kind, script, kinds)))?;
        let times = match times {
            "once" => 1,
            "always" => u32::MAX,
            number => number
                .parse()
                .ok()
                .filter(|times| *times > 0)
                .ok_or_else(|| {
                    wrong(format!(
                        "`{number}` is not a count: it may be `once`, `always` or a number from 1"
                    ))
                })?,
        };
        Ok(Self {
            node: (node != "*").then(|| LaneName::from(node)),
            script: (script != "*").then(|| script.to_owned()),
            kind,
            times,
        })
    }

    /// The node that it strikes, unless it strikes every one.
    #[must_use]
    pub fn node(&self) -> Option<&LaneName> {
        self.node.as_ref()
    }

    /// The step whose script it strikes, where one is named: not for `*`, `create` and `reboot`.
    #[must_use]
    pub fn step(&self) -> Option<&str> {
        self.script
            .as_deref()
            .filter(|script| ![CREATE, REBOOT].contains(script))
    }

    fn matches(&self, node: &LaneName, script: &str) -> bool {
        self.node.as_ref().is_none_or(|wanted| wanted == node)
            && match &self.script {
                Some(wanted) => wanted == script,
                None => script != CREATE && script != REBOOT,
            }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node.as_ref().map_or("*", LaneName::as_str);
        let script = self.script.as_deref().unwrap_or("*");
        write!(f, "{node}/{script}={}", self.kind)?;
        match self.times {
            u32::MAX => f.write_str(":always"),
            1 => f.write_str(":once"),
            times => write!(f, ":{times}"),
        }
    }
}

fn unknown_kind(kind: &str, script: &str, kinds: &[FaultKind]) -> String {
    let allowed: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
    let near = kinds
        .iter()
        .map(|known| (strsim::damerau_levenshtein(known.word(), kind), known))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= 2)
        .map(|(_, known)| format!("; did you mean `{known}`?"))
        .unwrap_or_default();
    format!(
        "`{kind}` is not a fault of `{script}`: it may be {}{near}",
        allowed.join(", ")
    )
}

/// Faults that are drawn by the world's seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomFaults {
    /// How many faults at most strike each script, creation or reboot of each node.
    pub per_script_limit: u32,
    /// How probable a fault is at each start, in percent.
    pub rate_percent: u8,
    /// Which there are; without it all but a reboot of the host, which strikes every node at once.
    pub kinds: Option<&'static [FaultKind]>,
}

impl RandomFaults {
    fn has(&self, kind: FaultKind) -> bool {
        match self.kinds {
            Some(kinds) => kinds.contains(&kind),
            None => kind != FaultKind::Host,
        }
    }
}

/// Everything that is to go wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    /// What somebody asked for; the first that matches strikes.
    pub scripted: Vec<Fault>,
    /// What is left to chance.
    pub random: Option<RandomFaults>,
}

impl Faults {
    /// Counts a start of `script` and says what goes wrong in it.
    pub(super) fn strike(
        &self,
        seed: u64,
        name: &LaneName,
        node: &mut Node,
        script: &str,
    ) -> Option<FaultKind> {
        let occurrence = node.starts.entry(script.to_owned()).or_default();
        *occurrence = occurrence.saturating_add(1);
        let occurrence = occurrence.to_string();
        for fault in self.scripted.iter().filter(|f| f.matches(name, script)) {
            let struck = node.struck.entry(format!("{fault} {script}")).or_default();
            if *struck < fault.times {
                *struck += 1;
                return Some(fault.kind);
            }
        }
        let random = self.random?;
        let parts = [name.as_str(), script, &occurrence];
        let roll = draw(seed, &[&["roll"], parts.as_slice()].concat());
        if roll % 100 >= u64::from(random.rate_percent) {
            return None;
        }
        let struck = node.struck.entry(format!("random {script}")).or_default();
        if *struck >= random.per_script_limit {
            return None;
        }
        let kinds: Vec<FaultKind> = kinds_for(script)
            .iter()
            .copied()
            .filter(|kind| random.has(*kind))
            .collect();
        if kinds.is_empty() {
            return None;
        }
        *struck += 1;
        let choice = draw(seed, &[&["kind"], parts.as_slice()].concat());
        let index = usize::try_from(choice % kinds.len() as u64).unwrap_or_default();
        kinds.get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_read_and_written_in_the_same_words() {
        for (text, written) in [
            ("winw1/features=die", "winw1/features=die:once"),
            ("*/join=fail:1", "*/join=fail:once"),
            ("winw1/*=cut-lost:3", "winw1/*=cut-lost:3"),
            ("*/reboot=never:always", "*/reboot=never:always"),
            ("cp/create=half", "cp/create=half:once"),
        ] {
            let fault = Fault::parse(text).unwrap();
            assert_eq!(fault.to_string(), written);
            assert_eq!(Fault::parse(written).unwrap(), fault);
        }
    }

    #[test]
    fn a_wrong_fault_says_what_is_allowed() {
        for (text, words) in [
            ("", "no `=`"),
            ("features=die", "no `/`"),
            ("/features=die", "must be named"),
            ("winw1/=die", "must be named"),
            ("winw1/features=dye", "did you mean `die`?"),
            ("winw1/features=never", "`cut-lost`"),
            ("winw1/reboot=stall", "`twice`"),
            ("winw1/create=die", "`half`"),
            ("winw1/features=die:0", "`0` is not a count"),
            ("winw1/features=die:", "`` is not a count"),
            ("winw1/features=die:often", "`often` is not a count"),
        ] {
            let failure = Fault::parse(text).unwrap_err();
            assert_eq!(failure.kind, Kind::Arguments);
            assert!(failure.to_string().contains(words), "{failure}");
        }
    }

    #[test]
    fn every_script_does_not_mean_creation_and_reboot() {
        let fault = Fault::parse("*/*=fail").unwrap();
        let node = LaneName::from("cp");
        assert!(fault.matches(&node, "join"));
        assert!(!fault.matches(&node, CREATE) && !fault.matches(&node, REBOOT));
    }
}
