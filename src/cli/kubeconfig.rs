//! `wdev kubeconfig`

use std::path::{Path, PathBuf};

use clap::Args;

use super::run::block_on;
use super::session::Existing;
use super::{Format, Globals, session, signals};
use crate::clock::Clock;
use crate::error::{Failure, Kind, Result};
use crate::home::SandboxFolder;
use crate::kubeconfig::lock::{Held, lock};
use crate::kubeconfig::merge::{Merge, announce, merge, unmerge};
use crate::kubeconfig::merged::Merged;
use crate::kubeconfig::{Access, file};
use crate::plan::record::Record;
use crate::plan::steps::kubeconfig::name;
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  export KUBECONFIG=\"$(wdev kubeconfig --path)\"
  wdev kubeconfig --merge --use              then plain kubectl talks to the sandbox
  wdev kubeconfig --remove

`--merge` and `--remove` change the first file of KUBECONFIG, or .kube/config in your home folder, and
nothing in it but the sandbox's own entries. `wdev destroy` removes them too.")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(super) struct Arguments {
    /// Print where the sandbox's kubeconfig is, instead of the text.
    #[arg(long, conflicts_with_all = ["merge", "remove"])]
    path: bool,
    /// Add cluster, user and context to your own kubeconfig; prints the context's name.
    #[arg(long, conflicts_with = "remove")]
    merge: bool,
    /// With `--merge`: make it the current context.
    #[arg(long = "use", requires = "merge")]
    use_it: bool,
    /// Take out again what `--merge` has added, wherever that was.
    #[arg(long)]
    remove: bool,
}

pub(super) fn run(globals: &Globals, arguments: &Arguments, ui: &Ui) -> Result<u8> {
    globals.format(&[Format::Text])?;
    if arguments.remove {
        let Existing { folder, .. } = session::existing(globals)?;
        let _lock = folder.lock("kubeconfig")?;
        let failures = remove_all(&folder, ui);
        return match failures.into_iter().next() {
            Some(failure) => Err(Box::new(failure)),
            None => Ok(0),
        };
    }
    if arguments.merge {
        let (folder, record, _lock) = session::held(globals, "kubeconfig")?;
        let path = made(&folder, &record)?;
        add(&folder, &record, &path, arguments.use_it, ui)?;
        return Ok(0);
    }
    let (folder, record) = session::recorded(globals)?;
    let path = made(&folder, &record)?;
    if arguments.path {
        ui.out(&format!("{}\n", path.display()))?;
    } else {
        ui.out(&file::read(&path)?.unwrap_or_default())?;
    }
    Ok(0)
}

/// The sandbox's kubeconfig.
///
/// # Errors
/// `NotReady` when it has no cluster yet.
pub(super) fn made(folder: &SandboxFolder, record: &Record) -> Result<PathBuf> {
    let path = folder.kubeconfig();
    if path.is_file() {
        return Ok(path);
    }
    Err(Box::new(
        Failure::new(
            Kind::NotReady,
            format!("the sandbox `{}` has no cluster yet", record.sandbox),
        )
        .because(format!("there is no `{}`", path.display()))
        .advise("`wdev up` makes it; `wdev status` tells how far it is"),
    ))
}

fn add(folder: &SandboxFolder, record: &Record, path: &Path, use_it: bool, ui: &Ui) -> Result<()> {
    let files = file::files(&|name| std::env::var_os(name))?;
    let Some(user_file) = files.first() else {
        return Ok(());
    };
    let text = file::read(path)?.unwrap_or_default();
    let access = Access::parse(&text).ok_or_else(|| {
        Failure::new(Kind::Host, format!("`{}` is damaged", path.display()))
            .advise("remove it, and `wdev up` brings it again")
    })?;
    let wanted = Merge {
        access: &access,
        name: &name(&record.sandbox),
        unique: &record.network,
        file: user_file,
        others: &files,
        record: &folder.merged(),
        use_it,
    };
    announce(wanted.record, user_file)?;
    let outcome = locked(user_file, |held| merge(&wanted, held))?;
    let shown = user_file.display();
    let context = &outcome.name;
    ui.err(&if outcome.changed {
        format!("merged into `{shown}` as `{context}`")
    } else {
        format!("`{shown}` has it already, as `{context}`")
    });
    if !use_it {
        ui.err(&format!("try `kubectl --context {context} get nodes`"));
    }
    if file::is_open(user_file) {
        ui.err(&format!(
            "warning: others may read `{shown}`, which holds the key to the cluster"
        ));
    }
    ui.out(&format!("{context}\n"))
}

/// Takes out all that was merged; what could not be taken out comes back. The sandbox's lock is held.
pub(super) fn remove_all(folder: &SandboxFolder, ui: &Ui) -> Vec<Failure> {
    let record = folder.merged();
    let merged = match Merged::read(&record) {
        Ok(merged) => merged,
        Err(failure) => return vec![*failure],
    };
    let mut failures = Vec::new();
    for merged in merged.files {
        let user_file = &merged.file;
        match locked(user_file, |held| unmerge(&record, user_file, held)) {
            Ok(true) => ui.err(&format!(
                "`{}` was removed from `{}`",
                merged.name,
                user_file.display()
            )),
            Ok(false) => {}
            Err(failure) if merged.name.is_empty() => failures.push(*failure),
            Err(failure) => failures.push(failure.advise(format!(
                "what wdev merged there is called `{}`",
                merged.name
            ))),
        }
    }
    failures
}

/// Does it while the kubeconfig is locked. No signal ends it half-way; while it waits, every one does.
fn locked<T>(user_file: &Path, work: impl FnOnce(&Held) -> Result<T>) -> Result<T> {
    block_on(false, async {
        let mut requests = signals::requests();
        tokio::select! {
            biased;
            held = lock(user_file, Clock::new()) => work(&held?),
            Some(name) = requests.recv() => Err(Box::new(
                Failure::new(Kind::Interrupted, "interrupted").because(name),
            )),
        }
    })
}
