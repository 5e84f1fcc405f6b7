//! Joins a worker to the cluster.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::guest::{GuestStep, done};
use crate::channel::{Mode, Secret};
use crate::engine::step::{Context, Done, Probe, Step};
use crate::error::{Failure, Kind, Result};
use crate::names::LaneName;

/// The name of the secret that carries a join token.
pub const TOKEN: &str = "join_token";

/// Joins a worker with a token of its own, which the control plane makes for it and which is in no
/// log, journal or argument list.
pub struct Join {
    /// The script on the worker.
    pub script: GuestStep,
    /// The script on the control plane that makes a token.
    pub token: GuestStep,
    /// The control plane.
    pub control_plane: LaneName,
}

#[async_trait]
impl Step for Join {
    told_by!(script);

    fn needs_secret(&self) -> bool {
        true
    }

    async fn probe(&self, cx: &Context) -> Result<Probe> {
        self.script.ask(cx).await
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        // A join that an earlier run began may have ended well since; a token for it would be wasted.
        if self.script.ask(cx).await? == Probe::InPlace {
            return Ok(Done {
                proven: true,
                ..Done::default()
            });
        }
        let control_plane = cx.provider.channel(&self.control_plane);
        let mut token = self.token.script_for(Mode::Run);
        // Every join has a token of its own: no earlier run's script may count as this one.
        token.fingerprint = format!("{}-{}", cx.lane, jiff::Timestamp::now().as_nanosecond());
        let made = control_plane.run(&token, &cx.io).await?;
        let token = made.secrets.get(TOKEN).cloned().ok_or_else(|| {
            Failure::new(
                Kind::Step,
                format!("`{}` made no join token", self.control_plane),
            )
            .because("its script ended well but reported none")
        })?;
        let mut script = self.script.script_for(Mode::Run);
        script.secrets = BTreeMap::from([(TOKEN.to_owned(), Secret::clone(&token))]);
        let report = cx.channel().run(&script, &cx.io).await?;
        Ok(done(report))
    }

    async fn verify(&self, cx: &Context, done: &Done) -> Result<()> {
        self.script.verify(cx, done).await
    }
}
