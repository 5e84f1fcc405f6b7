//! A step that waits for the cluster: when it fails, the cluster did not become ready.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::guest::GuestStep;
use crate::channel::{Os, Script};
use crate::diagnose::{Said, classify};
use crate::engine::step::{Context, Done, Limits, OnChange, Probe, Step};
use crate::error::{Failure, Kind, Result};
use crate::names::StepId;

/// A [`GuestStep`] whose failures are [`Kind::NotReady`] rather than [`Kind::Step`].
#[derive(Debug, Clone)]
pub struct Readiness {
    /// The script.
    pub script: GuestStep,
    /// Whether the node runs a kubelet of the user's own.
    pub own_kubelet: bool,
}

impl Readiness {
    fn not_ready(&self, mut failure: Box<Failure>) -> Box<Failure> {
        // What is permanent was not waited for: this version cannot do it at all.
        if failure.kind != Kind::Step || failure.permanent {
            return failure;
        }
        failure.kind = Kind::NotReady;
        if self.script.os == Os::Windows {
            explain(&mut failure, self.own_kubelet);
        }
        failure
    }
}

/// What stands in a script's words about a service that does not run, by `Get-WdevTrouble` of
/// powershell/parts/node.ps1.
const DEAD: [&str; 2] = [
    "the service kubelet is stopped",
    "the service kubelet is paused",
];

/// Adds what is known of a failure by the words of the node's services and of its kubelet. A kubelet of the
/// user's own that does not run is [`Kind::Check`].
pub(super) fn explain(failure: &mut Failure, own_kubelet: bool) {
    let text = failure.causes.join("\n");
    let said = Said {
        // No class of Vagrant's: it tells whose words these are.
        class: "Kubelet".to_owned(),
        text: text.clone(),
    };
    if let Some(known) = classify(&said).filter(|known| known.id.starts_with("kubelet-")) {
        failure.causes.insert(0, known.message.clone());
        failure.advice.extend(known.advice.iter().cloned());
        failure.permanent |= known.permanent;
    }
    if own_kubelet && DEAD.iter().any(|words| text.contains(words)) {
        failure.kind = Kind::Check;
        failure
            .advice
            .push("the kubelet is your own build: its last words are above".to_owned());
    }
}

#[async_trait]
impl Step for Readiness {
    fn id(&self) -> StepId {
        self.script.id()
    }

    fn title(&self) -> String {
        self.script.title()
    }

    fn purpose(&self) -> String {
        self.script.purpose()
    }

    fn phase(&self) -> &'static str {
        self.script.phase()
    }

    fn inputs(&self) -> BTreeMap<String, String> {
        self.script.inputs()
    }

    fn limits(&self) -> Limits {
        self.script.limits()
    }

    fn on_change(&self, changed: &[String]) -> OnChange {
        self.script.on_change(changed)
    }

    fn script(&self) -> Option<Script> {
        self.script.script()
    }

    async fn probe(&self, cx: &Context) -> Result<Probe> {
        self.script.probe(cx).await
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        self.script
            .run(cx)
            .await
            .map_err(|failure| self.not_ready(failure))
    }

    async fn verify(&self, cx: &Context, done: &Done) -> Result<()> {
        self.script
            .verify(cx, done)
            .await
            .map_err(|failure| self.not_ready(failure))
    }

    async fn undo(&self, cx: &Context) -> Result<()> {
        self.script.undo(cx).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(words: &str, own: bool) -> Failure {
        let failure = Failure::new(Kind::NotReady, "the script `node-ready` failed on `winw1`");
        let mut failure = failure.because(words);
        explain(&mut failure, own);
        failure
    }

    #[test]
    fn the_kubelets_last_words_say_what_it_is_and_whose() {
        let words = "winw1 is not Ready: the service kubelet does not run\n\
             the service kubelet is stopped, with exit code 1\nError: unknown flag: --no-such-flag";
        let failure = explained(words, false);
        assert_eq!((failure.kind, failure.permanent), (Kind::NotReady, true));
        assert_eq!(
            failure.causes,
            ["the kubelet does not know one of its arguments", words]
        );
        assert!(
            failure
                .advice
                .iter()
                .any(|it| it.contains("extra_args.kubelet"))
        );
        assert_eq!(explained(words, true).kind, Kind::Check);
        // It runs: nobody's build is to blame.
        let waiting = "winw1 is not Ready: Ready is False: cni plugin not initialized";
        assert_eq!(explained(waiting, true).kind, Kind::NotReady);
        let unheard = explained("something else", false);
        assert_eq!(unheard.causes, ["something else"]);
    }
}
