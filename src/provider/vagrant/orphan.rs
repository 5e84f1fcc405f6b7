//! A Vagrant that has outlived the wdev that started it.
//!
//! It goes on with its work and keeps the machine's lock. Everybody waits for it but `destroy`, for
//! which that work is worth nothing.

use std::ffi::OsString;
use std::path::Path;

use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

/// Kills every Vagrant that works on `node` in the folder `dir`, with all that it has started, unless
/// the wdev with the process id `starter` still runs. Returns how many processes were told to end.
pub(super) fn end(dir: &Path, node: &str, starter: Option<u32>) -> usize {
    let mut system = System::new();
    let what = ProcessRefreshKind::nothing()
        .with_cmd(UpdateKind::Always)
        .with_environ(UpdateKind::Always);
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, what);
    if starter.is_some_and(|pid| system.process(Pid::from_u32(pid)).is_some()) {
        return 0;
    }
    let mut variable = OsString::from("VAGRANT_CWD=");
    variable.push(dir);
    let works_on_it = |process: &&Process| {
        process.environ().contains(&variable)
            && process
                .cmd()
                .iter()
                .any(|word| word == "--machine-readable")
            && process.cmd().iter().any(|word| word == node)
    };
    let found: Vec<Pid> = system
        .processes()
        .values()
        .filter(works_on_it)
        .map(Process::pid)
        .collect();
    // Each was made the leader of a session of its own; what it has started is in that session.
    let in_session = |process: &&Process| {
        let session = process.session_id();
        found.contains(&process.pid()) || session.is_some_and(|session| found.contains(&session))
    };
    system
        .processes()
        .values()
        .filter(in_session)
        .filter(|process| process.kill())
        .count()
}
