//! Joins a worker to the cluster.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::guest::{GuestStep, done};
use super::readiness::explain;
use crate::channel::{Mode, Os, Report, Script, Secret};
use crate::engine::step::{Context, Done, Probe, Step};
use crate::error::{Failure, Kind, Result};
use crate::names::LaneName;

/// The name of the secret that carries a join token.
pub const TOKEN: &str = "join_token";

/// Joins a worker with a token of its own, which the control plane makes for it and removes afterwards, and
/// which is in no log, journal or argument list.
pub struct Join {
    /// The script on the worker.
    pub script: GuestStep,
    /// The script on the control plane that makes a token.
    pub token: GuestStep,
    /// The script on the control plane that removes it.
    pub end: GuestStep,
    /// The control plane.
    pub control_plane: LaneName,
    /// Whether the node runs a kubelet of the user's own.
    pub own_kubelet: bool,
}

impl Join {
    async fn ask(&self, cx: &Context) -> Result<Report> {
        let probe = self.script.script_for(Mode::Probe);
        cx.channel().run(&probe, &cx.io).await
    }

    /// Runs a script on the control plane, for this join alone: no earlier run's may count as this one.
    async fn on_control_plane(&self, mut script: Script, cx: &Context) -> Result<Report> {
        script.fingerprint = format!("{}-{}", cx.lane, jiff::Timestamp::now().as_nanosecond());
        let control_plane = cx.provider.channel(&self.control_plane);
        control_plane.run(&script, &cx.io).await
    }

    /// Makes a token. Secrets: [`TOKEN`], and what else the node needs to trust the cluster.
    async fn make_token(
        &self,
        forget_node: bool,
        cx: &Context,
    ) -> Result<BTreeMap<String, Secret>> {
        let mut script = self.token.script_for(Mode::Run);
        if forget_node {
            // No secret, but like one it is for this run alone and no part of the fingerprint.
            let given = Secret::new("yes");
            script.secrets.insert("forget_node".to_owned(), given);
        }
        let made = self.on_control_plane(script, cx).await?;
        if made.secrets.contains_key(TOKEN) {
            return Ok(made.secrets);
        }
        Err(Box::new(
            Failure::new(
                Kind::Step,
                format!("`{}` made no join token", self.control_plane),
            )
            .because("its script ended well but reported none"),
        ))
    }

    /// A token that cannot be removed now ends by itself; the next join of this node removes it too.
    async fn remove_token(&self, cx: &Context) {
        let script = self.end.script_for(Mode::Run);
        if let Err(failure) = self.on_control_plane(script, cx).await {
            cx.io.note(format!(
                "the join token could not be removed ({failure}); it ends by itself"
            ));
        }
    }
}

#[async_trait]
impl Step for Join {
    told_by!(script);

    fn needs_secret(&self) -> bool {
        true
    }

    fn script(&self) -> Option<Script> {
        Some(self.script.script_for(Mode::Run))
    }

    async fn probe(&self, cx: &Context) -> Result<Probe> {
        self.script.ask(cx).await
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        let found = self.ask(cx).await?;
        if found.in_place {
            // A join that an earlier run began has ended well since; a token for it would be wasted.
            self.remove_token(cx).await;
            return Ok(Done {
                proven: true,
                ..Done::default()
            });
        }
        // What joins anew gets a node object of its own. What the cluster only does not know, or what could
        // not ask, may still be a working node.
        let state = found.facts.get("state").map(String::as_str);
        let forget_node = matches!(state, Some("untouched" | "half"));
        let mut script = self.script.script_for(Mode::Run);
        script.secrets = self.make_token(forget_node, cx).await?;
        let joined = cx.channel().run(&script, &cx.io).await;
        self.remove_token(cx).await;
        let explained = joined.map_err(|mut failure| {
            if self.script.os == Os::Windows && failure.kind == Kind::Step {
                explain(&mut failure, self.own_kubelet);
            }
            failure
        });
        Ok(done(explained?))
    }

    async fn verify(&self, cx: &Context, done: &Done) -> Result<()> {
        self.script.verify(cx, done).await
    }
}
