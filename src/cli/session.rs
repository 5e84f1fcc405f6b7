//! What a command works on: the configuration, the sandbox's folder, the record of what it was made of.

use std::path::{Path, PathBuf};

use super::{Globals, Overrides};
use crate::config::{self, Diagnostic, Loaded, Problems, Request};
use crate::error::{Failure, Kind, Result};
use crate::home::{Lock, SandboxFolder};
use crate::plan::record::Record;
use crate::ui::{Ui, Verbosity};

/// A loaded configuration with the sandbox that it is for.
pub struct Session {
    /// The configuration.
    pub loaded: Loaded,
    /// The sandbox's folder, which need not exist.
    pub folder: SandboxFolder,
}

/// A sandbox that was up before, whatever its configuration says now.
pub struct Existing {
    /// Its name.
    pub name: String,
    /// Its folder, which exists.
    pub folder: SandboxFolder,
    /// What it was last made of; none when its first `up` did not get that far.
    pub record: Option<Record>,
}

/// Loads the configuration of this folder; tells its notes and warnings.
///
/// # Errors
/// `Configuration` with every mistake.
pub fn load(globals: &Globals, overrides: &Overrides, ui: &Ui) -> Result<Session> {
    load_from(&request(globals, overrides)?, ui)
}

/// Loads a configuration; tells its notes and warnings.
///
/// # Errors
/// `Configuration` with every mistake.
pub fn load_from(request: &Request, ui: &Ui) -> Result<Session> {
    let loaded = config::load(request).map_err(|problems| invalid(&problems, ui))?;
    let remarks: Vec<Diagnostic> = loaded
        .notes
        .iter()
        .chain(&loaded.warnings)
        .cloned()
        .collect();
    if !remarks.is_empty() && ui.verbosity() > Verbosity::Quiet {
        ui.err(&Problems(remarks).render(ui.err_colored()));
    }
    let folder = SandboxFolder::new(&one_name(loaded.dir.clone()), &loaded.config.sandbox);
    Ok(Session { loaded, folder })
}

/// Tells every mistake with its place, and returns the failure that stands for them.
pub fn invalid(problems: &Problems, ui: &Ui) -> Box<Failure> {
    ui.err(&problems.render(ui.err_colored()));
    let message = match problems.0.len() {
        1 => "the configuration has a mistake".to_owned(),
        count => format!("the configuration has {count} mistakes"),
    };
    Box::new(
        Failure::new(Kind::Configuration, message)
            .advise("nothing was touched; mend the lines above"),
    )
}

/// What to load a configuration from.
///
/// # Errors
/// `Arguments` when a `--set` is not `KEY=VALUE`.
pub fn request(globals: &Globals, overrides: &Overrides) -> Result<Request> {
    let mut flags = Vec::new();
    let mut flag = |key: &str, value: Option<&String>, name: &str| {
        if let Some(value) = value {
            flags.push((key.to_owned(), value.clone(), name.to_owned()));
        }
    };
    flag("sandbox", globals.sandbox.as_ref(), "--sandbox");
    flag("provider", overrides.provider.as_ref(), "--provider");
    flag("cni", overrides.cni.as_ref(), "--cni");
    flag(
        "kubernetes.version",
        overrides.kubernetes_version.as_ref(),
        "--kubernetes-version",
    );
    let offline = overrides.offline.then(|| true.to_string());
    flag("artifacts.offline", offline.as_ref(), "--offline");
    for set in &overrides.set {
        let Some((key, value)) = set.split_once('=') else {
            return Err(Box::new(
                Failure::new(Kind::Arguments, format!("`--set {set}` has no value")).advise(
                    "write it as `--set KEY=VALUE`, such as `--set control_plane.memory=6GiB`",
                ),
            ));
        };
        flags.push((
            key.trim().to_owned(),
            value.to_owned(),
            format!("--set {key}"),
        ));
    }
    Ok(Request {
        file: globals.config.clone(),
        text: None,
        start: current_folder()?,
        // What is not text cannot be a value of ours.
        env: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        flags,
        host_memory_mib: config::host_memory_mib(),
        first_worker: false,
    })
}

/// The sandbox that the arguments or the configuration name. A configuration that is broken or gone
/// does not hide a sandbox.
///
/// # Errors
/// `NotFound` when there is none.
pub fn existing(globals: &Globals) -> Result<Existing> {
    let (name, folder) = named(globals)?;
    if !folder.exists() {
        return Err(not_found(&name, &project(globals)?));
    }
    let record = Record::find(&folder)?;
    Ok(Existing {
        name,
        folder,
        record,
    })
}

/// The name and the folder, which need not exist, of the sandbox that is meant.
///
/// # Errors
/// `NotFound` when the name cannot be one.
pub fn named(globals: &Globals) -> Result<(String, SandboxFolder)> {
    let project = project(globals)?;
    let name = match &globals.sandbox {
        Some(name) => name.clone(),
        None => name_without_flag(globals, &project)?,
    };
    // Any other name could lead out of `.wdev`, to a folder that is not ours.
    if !config::is_sandbox_name(&name) {
        return Err(not_found(&name, &project));
    }
    let folder = SandboxFolder::new(&project, &name);
    Ok((name, folder))
}

/// The sandbox with its record.
///
/// # Errors
/// `NotFound` when there is none or nothing of it was made yet.
pub fn recorded(globals: &Globals) -> Result<(SandboxFolder, Record)> {
    let Existing {
        name,
        folder,
        record,
    } = existing(globals)?;
    match record {
        Some(record) => Ok((folder, record)),
        None => Err(not_found(&name, &project(globals)?)),
    }
}

/// The sandbox with its record, taken for `command`: nobody changes what it was made of meanwhile.
///
/// # Errors
/// As [`recorded`]; `Busy` when another run has it.
pub fn held(globals: &Globals, command: &str) -> Result<(SandboxFolder, Record, Lock)> {
    let (folder, _) = recorded(globals)?;
    let lock = folder.lock(command)?;
    // What was read before is what it was.
    let (folder, record) = recorded(globals)?;
    Ok((folder, record, lock))
}

fn name_without_flag(globals: &Globals, project: &Path) -> Result<String> {
    if let Ok(loaded) = config::load(&request(globals, &Overrides::default())?) {
        return Ok(loaded.config.sandbox);
    }
    let mut names = names_in(project);
    match names.len() {
        1 => Ok(names.remove(0)),
        0 => Err(not_found("default", project)),
        _ => Err(Box::new(
            Failure::new(Kind::Configuration, "cannot tell which sandbox you mean")
                .because("the configuration is invalid, see `wdev validate`")
                .advise(format!(
                    "name it: `--sandbox` with one of {}",
                    names.join(", ")
                )),
        )),
    }
}

/// The folder that `.wdev` is in.
fn project(globals: &Globals) -> Result<PathBuf> {
    let start = current_folder()?;
    let file = globals.config.as_ref().map(|file| start.join(file));
    Ok(one_name(match file.as_deref().and_then(Path::parent) {
        Some(parent) => parent.to_owned(),
        None => start,
    }))
}

/// The folder by one name, whatever way leads there: the index and the machines' names depend on it.
fn one_name(folder: PathBuf) -> PathBuf {
    let found = if cfg!(windows) {
        // One case and no short names. A form that begins with `\\?\`, as for a share, is nothing that
        // Vagrant understands.
        dunce::canonicalize(&folder)
            .ok()
            .filter(|found| !found.as_os_str().as_encoded_bytes().starts_with(br"\\?\"))
            .map_or_else(|| std::path::absolute(&folder), Ok)
    } else {
        std::fs::canonicalize(&folder)
    };
    found.unwrap_or(folder)
}

fn current_folder() -> Result<PathBuf> {
    std::env::current_dir().map_err(|error| {
        Box::new(
            Failure::new(Kind::Host, "cannot tell what the current folder is")
                .because(error)
                .advise("change to a folder that exists"),
        )
    })
}

/// The sandboxes of a project.
#[must_use]
pub fn names_in(project: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(project.join(".wdev"))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    names
}

fn not_found(name: &str, project: &Path) -> Box<Failure> {
    let failure = Failure::new(
        Kind::NotFound,
        format!("there is no sandbox `{name}` in `{}`", project.display()),
    );
    let names = names_in(project);
    let failure = if names.is_empty() || names == [name] {
        failure
    } else {
        failure.because(format!("there are: {}", names.join(", ")))
    };
    Box::new(failure.advise("make it with `wdev up`, or list all with `wdev list`"))
}
