//! The same kind of worker on an emulated machine, with a kernel and an init system of its own: its reboots are
//! real ones.

use std::collections::BTreeSet;
use std::time::Duration;

use super::common;
use super::real::emulated::Emulated;
use super::real::{at_the_downloads, wait_for, wanted};

/// How long an emulated machine may take for anything that it does by itself.
const LIMIT: Duration = Duration::from_mins(10);
/// What the doubled Windows says of its boot.
const BOOT: &str = r#"(Get-CimInstance -ClassName Win32_Process -Filter "Name = 'wininit.exe'").CreationDate.Ticks"#;
/// Makes containerd a service that starts by itself.
const SERVICE: &str = r#"New-Service -Name containerd -DisplayName Containerd -StartupType Automatic -BinaryPathName '"C:\Program Files\containerd\containerd.exe" --run-service'; Start-Service -Name containerd"#;

#[test]
fn a_doubled_windows_reboots_for_real_and_starts_its_services_again() {
    if !wanted() {
        return;
    }
    if crate::common::count(0, 1) == 0 {
        common::allowed_skip("emulated machines that boot five times; run `make soak`");
        return;
    }
    let Some(sandbox) = Emulated::with_windows("windows", 5) else {
        return;
    };
    let events = at_the_downloads(&sandbox.start_up().end().with_code(4));
    let (begun, proven) = events.reboots("winw1");
    assert!(proven.len() >= 2, "reboots: {begun:?}, proven: {proven:?}");
    let boots: BTreeSet<_> = begun.iter().take(1).chain(&proven).collect();
    assert_eq!(
        boots.len(),
        1 + proven.len(),
        "a boot came back: {begun:?}, {proven:?}"
    );

    let powershell = |text: &str| {
        let ran = sandbox.run(&["exec", "winw1", "--", "powershell", "-Command", text]);
        ran.with_code(0).stdout.trim().to_owned()
    };
    sandbox.on_node(
        "winw1",
        "mkdir -p '/c/Program Files/containerd' && cd '/c/Program Files/containerd' && \
         printf 'MZ\\nwdev-test stand-in: containerd v1.6.20\\n' >containerd.exe && \
         printf 'version = 2\\n[plugins.\"io.containerd.grpc.v1.cri\"]\\n' >config.toml",
    );
    powershell(SERVICE);
    let status = "(Get-Service -Name containerd).Status";
    assert_eq!(powershell(status), "Running");
    let (boot, kernel) = (powershell(BOOT), sandbox.boot("winw1"));
    assert_eq!(powershell(BOOT), boot);

    // Not by wdev: somebody at the machine's console.
    let _ = sandbox.run(&[
        "exec",
        "winw1",
        "--",
        "powershell",
        "-Command",
        "shutdown.exe /r /t 0",
    ]);
    let id = [
        "exec",
        "winw1",
        "--",
        "cat",
        "/proc/sys/kernel/random/boot_id",
    ];
    wait_for("winw1 after its reboot", LIMIT, || {
        let now = sandbox.run(&id);
        (now.code == Some(0) && now.stdout.trim_end() != kernel).then_some(())
    });
    assert_ne!(powershell(BOOT), boot, "another boot, the same identity");
    assert_eq!(powershell(status), "Running", "it did not start by itself");
    let again = at_the_downloads(&sandbox.start_up().end().with_code(4));
    assert_eq!(again.started("winw1"), [""; 0], "it did something again");

    let _ = sandbox.run(&["destroy", "--yes"]).with_code(0);
    assert_eq!(sandbox.machines(), [""; 0], "machines are left");
}
