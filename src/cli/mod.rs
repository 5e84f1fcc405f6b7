//! The command line: one file per command, each with its arguments and one call.

mod ask;
mod cache;
mod completion;
mod config;
mod destroy;
mod exec;
mod fetch;
mod halt;
mod kubeconfig;
mod kubectl;
mod licence;
mod list;
mod lock;
mod man;
mod node;
mod own_kubectl;
mod plan;
mod preflight;
mod provider;
mod release;
mod render;
mod run;
mod session;
mod signals;
mod ssh;
mod standing;
mod status;
mod up;
mod validate;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::error::{Failure, Result};
use crate::ui::{ColorChoice, Ui, Verbosity, write_failure};

/// Real Kubernetes clusters with Windows nodes on your own machine.
///
/// wdev reads `variables.yml`, makes the machines through Vagrant, installs Kubernetes with kubeadm
/// and can be stopped and started again at any moment. Results go to standard output, progress to
/// standard error.
#[derive(Debug, Parser)]
#[command(name = "wdev", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  wdev up --cni calico --provider sim   try the whole flow without any machine
  wdev plan                             see what `up` would do, and why
  wdev status -o json                   what stands, for scripts
  wdev exec winw1 -- hostname           run a command on a node
  wdev kubectl get nodes                talk to the cluster
  wdev destroy --yes                    remove everything

Exit codes are stable: see docs/exit-codes.md.";

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub struct Globals {
    /// The sandbox to work on, instead of the one that variables.yml names.
    #[arg(long, short, global = true, value_name = "NAME")]
    sandbox: Option<String>,
    #[allow(clippy::doc_markdown, reason = "help is no Markdown")]
    /// The configuration file, instead of variables.yml in this folder [env: WDEV_CONFIG].
    // Not clap's `env`: that refuses an empty variable, which counts as none everywhere else.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How results are written.
    #[arg(
        long,
        short,
        global = true,
        value_name = "FORMAT",
        default_value = "text"
    )]
    output: Format,
    /// Never ask; what would have to be asked is an error.
    #[arg(long, global = true)]
    no_input: bool,
    /// Answer every question with yes.
    #[arg(long, short, global = true)]
    yes: bool,
    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
    /// Show more: output of steps with -v, everything with -vv.
    #[arg(long, short, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Show results and errors only.
    #[arg(long, short, global = true)]
    quiet: bool,
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs; versioned, see docs/events.md.
    Json,
    /// For programs and people.
    Yaml,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make the sandbox, or complete it.
    Up(up::Arguments),
    /// Shut the machines down; `up` starts them again.
    Halt(halt::Arguments),
    /// Remove the machines and everything that belongs to the sandbox.
    Destroy(destroy::Arguments),
    /// Show the nodes, their addresses, and how the last run ended.
    Status(status::Arguments),
    /// Show what `up` would do, and why. Changes nothing.
    Plan(plan::Arguments),
    /// Write the Vagrantfile and all scripts, to read or to use by hand.
    Render(render::Arguments),
    /// Check the configuration and show every mistake.
    Validate(validate::Arguments),
    /// Show or migrate the configuration.
    Config(config::Arguments),
    /// List all sandboxes of this host.
    List(list::Arguments),
    /// Fetch everything that `up` will need into the cache.
    Fetch(fetch::Arguments),
    /// Remove what is kept for the next sandbox and nothing uses.
    Cache(cache::Arguments),
    /// Write down every version and every file of the sandbox, for `up --locked`.
    Lock(lock::Arguments),
    /// Add a worker, or remove one.
    Node(node::Arguments),
    /// Run a command on a node; its exit code is passed on.
    Exec(exec::Arguments),
    /// Open a shell on a node.
    Ssh(ssh::Arguments),
    /// Print the cluster's kubeconfig, or add it to your own.
    Kubeconfig(kubeconfig::Arguments),
    /// Run kubectl on the cluster; its exit code is passed on.
    Kubectl(kubectl::Arguments),
    /// Print the completion script of a shell.
    Completion(completion::Arguments),
    /// Print the manual page.
    Man(man::Arguments),
}

/// Values that stand over the configuration.
#[derive(Debug, Clone, Default, Args)]
pub struct Overrides {
    #[allow(clippy::doc_markdown, reason = "help is no Markdown")]
    /// The provider: auto, virtualbox, hyperv, vmware_desktop, libvirt, docker, sim.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// The network plugin: calico, antrea, flannel, none.
    #[arg(long, value_name = "NAME")]
    cni: Option<String>,
    /// The Kubernetes version, such as 1.36 or ci/latest.
    #[arg(long, value_name = "VERSION")]
    kubernetes_version: Option<String>,
    /// Download nothing: use what is in the cache.
    #[arg(long)]
    offline: bool,
    /// Any other value of variables.yml, such as `control_plane.memory=6GiB`.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Runs the command line of this process; returns the exit code.
#[must_use]
pub fn main() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are results, mistakes are errors; clap knows which is which.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            return match error.print() {
                Err(lost) if !error.use_stderr() => {
                    let failure = write_failure("the help", &lost);
                    Ui::new(ColorChoice::Auto, Verbosity::Normal).failure(&failure, "");
                    failure.kind.exit_code()
                }
                _ => code,
            };
        }
    };
    let verbosity = Verbosity::from_flags(cli.globals.quiet, cli.globals.verbose);
    let ui = Ui::new(cli.globals.color, verbosity);
    match dispatch(cli, &ui) {
        Ok(code) => code,
        Err(failure) => {
            ui.failure(&failure, "");
            failure.kind.exit_code()
        }
    }
}

fn dispatch(cli: Cli, ui: &Ui) -> Result<u8> {
    let Cli {
        mut globals,
        command,
    } = cli;
    if globals.config.is_none() {
        let named = std::env::var_os("WDEV_CONFIG").filter(|file| !file.is_empty());
        globals.config = named.map(PathBuf::from);
    }
    match command {
        Command::Up(arguments) => up::run(&globals, &arguments, ui),
        Command::Halt(arguments) => halt::run(&globals, &arguments, ui),
        Command::Destroy(arguments) => destroy::run(&globals, &arguments, ui),
        Command::Status(arguments) => status::run(&globals, &arguments, ui),
        Command::Plan(arguments) => plan::run(&globals, &arguments, ui),
        Command::Render(arguments) => render::run(&globals, &arguments, ui),
        Command::Validate(arguments) => validate::run(&globals, &arguments, ui),
        Command::Config(arguments) => config::run(&globals, &arguments, ui),
        Command::List(arguments) => list::run(&globals, &arguments, ui),
        Command::Fetch(arguments) => fetch::run(&globals, &arguments, ui),
        Command::Cache(arguments) => cache::run(&globals, &arguments, ui),
        Command::Lock(arguments) => lock::run(&globals, &arguments, ui),
        Command::Node(arguments) => node::run(&globals, &arguments, ui),
        Command::Exec(arguments) => exec::run(&globals, &arguments, ui),
        Command::Ssh(arguments) => ssh::run(&globals, &arguments, ui),
        Command::Kubeconfig(arguments) => kubeconfig::run(&globals, &arguments, ui),
        Command::Kubectl(arguments) => kubectl::run(&globals, &arguments, ui),
        Command::Completion(arguments) => completion::run(&globals, &arguments, ui),
        Command::Man(arguments) => man::run(&globals, &arguments, ui),
    }
}

impl Globals {
    /// Refuses a format that a command cannot write.
    fn format(&self, allowed: &[Format]) -> Result<Format> {
        if allowed.contains(&self.output) {
            return Ok(self.output);
        }
        let names: Vec<String> = allowed
            .iter()
            .filter_map(ValueEnum::to_possible_value)
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        Err(Box::new(
            Failure::new(
                crate::error::Kind::Arguments,
                "this command cannot write that format",
            )
            .because(format!("it knows {}", names.join(", "))),
        ))
    }
}
