//! `wdev kubectl -- ARGS`

use std::ffi::OsString;
use std::process::Command;

use clap::Args;

use super::run::block_on;
use super::{Format, Globals, Overrides, kubeconfig, own_kubectl, session, signals};
use crate::clock::Clock;
use crate::config;
use crate::config::model::{Artifacts, ProviderName};
use crate::error::{Failure, Kind, Result};
use crate::home::SandboxFolder;
use crate::kubeconfig::{Access, file, kubectl};
use crate::process;
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wdev kubectl get nodes -o wide
  wdev kubectl -- --namespace kube-system get pods
  wdev kubectl --sandbox other -- exec -it web -- sh

Options before the first word of kubectl's are wdev's; what follows it, or `--`, goes to kubectl as it
is. kubectl's exit code is passed on.")]
pub(super) struct Arguments {
    /// What kubectl is given.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "ARGS"
    )]
    args: Vec<OsString>,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    globals.format(&[Format::Text])?;
    let (folder, record) = session::recorded(globals)?;
    let path = kubeconfig::made(&folder, &record)?;
    if record.provider == ProviderName::Sim {
        return Err(Box::new(
            Failure::new(Kind::Arguments, "a simulated cluster has no API server")
                .advise("`wdev exec cp -- kubectl get nodes` shows its nodes"),
        ));
    }
    let minor = record
        .release
        .as_ref()
        .map(|release| release.kubernetes.minor());
    let artifacts = artifacts(globals);
    let own = own_kubectl::at_hand(&folder, &record, &artifacts)?;
    let installed = which::which("kubectl").ok();
    let found = block_on(false, kubectl::program(own, installed, minor, Clock::new()));
    let program = match found {
        Ok(program) => program,
        Err(missing) if minor.is_some() && !artifacts.offline => {
            match own_kubectl::downloaded(&folder, &record, &artifacts, ui) {
                Ok(Some(program)) => program,
                Ok(None) => return Err(missing),
                Err(failed) => return Err(Box::new(missing.because(failed.message))),
            }
        }
        Err(failure) => return Err(failure),
    };
    let mut command = Command::new(&program);
    command.args(&arguments.args).env("KUBECONFIG", &path);
    if let Some(direct) = direct(&folder) {
        command.env("NO_PROXY", direct);
    }
    // On Windows this process stays, and Ctrl-C is kubectl's alone.
    let status = block_on(false, async {
        let _keys = cfg!(windows).then(signals::requests);
        process::become_program(&mut command).map_err(|error| {
            Box::new(
                Failure::new(Kind::Host, format!("cannot start `{}`", program.display()))
                    .because(error),
            )
        })
    })?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.unwrap_or(1))
}

/// Where downloads come from; a configuration that is broken or gone does not matter here.
fn artifacts(globals: &Globals) -> Artifacts {
    session::request(globals, &Overrides::default())
        .ok()
        .and_then(|request| config::load(&request).ok())
        .map(|loaded| loaded.config.artifacts)
        .unwrap_or_default()
}

/// `NO_PROXY` with the cluster's address, where a proxy would get in the way: it is on this host.
fn direct(folder: &SandboxFolder) -> Option<String> {
    let set = |names: &[&str]| {
        let mut values = names.iter().filter_map(|name| std::env::var(name).ok());
        values.find(|value| !value.is_empty())
    };
    set(&["HTTPS_PROXY", "https_proxy"])?;
    let access = Access::parse(&file::read(&folder.kubeconfig()).ok()??)?;
    let address = access.server.strip_prefix("https://")?.split(':').next()?;
    Some(match set(&["NO_PROXY", "no_proxy"]) {
        Some(others) => format!("{others},{address}"),
        None => address.to_owned(),
    })
}
