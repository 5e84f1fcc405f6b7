//! Scripts: they belong to the machine, run one at a time, and count once.

use std::sync::Arc;

use wdev::channel::effect::Condition;
use wdev::channel::{Effect, Io};
use wdev::error::Kind;
use wdev::provider::sim::{Memory, Store};
use wdev::stop::{Level, StopSource};

use super::{Lab, SECOND, file, running, script, service, settings};

fn slow() -> Vec<Effect> {
    vec![file("/a"), Effect::Takes(60_000), file("/b")]
}

#[tokio::test(start_paused = true)]
async fn a_script_that_nobody_watches_any_more_goes_on_and_is_not_repeated() {
    let lab = Lab::new();
    lab.up("cp").await;
    let cut = lab
        .clock
        .timeout(SECOND * 10, lab.does("cp", "s", &slow()))
        .await;
    assert!(cut.is_none());
    let missing = lab.channel("cp");
    let shown = missing.exec(&["cat".into(), "/b".into()], &lab.io).await;
    assert_eq!(shown.unwrap(), 1, "not written yet");

    lab.does("cp", "s", &slow()).await.unwrap();
    assert!(lab.heard("waiting for `s`"));
    assert!(lab.heard("`s` was finished by an earlier run"));
    assert_eq!(lab.completed("cp", "s"), 1);
    assert_eq!(lab.missing("cp", &slow()).await, None);
}

#[tokio::test(start_paused = true)]
async fn it_also_ends_when_nobody_comes_for_a_long_time() {
    let lab = Lab::new();
    lab.up("cp").await;
    let _ = lab
        .clock
        .timeout(SECOND * 10, lab.does("cp", "s", &slow()))
        .await;
    lab.clock.sleep(SECOND * 3600).await;
    let before = lab.clock.elapsed();
    lab.does("cp", "s", &slow()).await.unwrap();
    assert_eq!(lab.clock.elapsed(), before, "there was nothing to wait for");
    assert_eq!(lab.completed("cp", "s"), 1);
}

#[tokio::test(start_paused = true)]
async fn another_script_waits_for_the_one_left_behind_and_then_runs() {
    let lab = Lab::new();
    lab.up("cp").await;
    let _ = lab
        .clock
        .timeout(SECOND * 10, lab.does("cp", "s", &slow()))
        .await;
    let needs_b = [Effect::Needs {
        condition: Condition::File("/b".to_owned()),
        message: "no b".to_owned(),
    }];
    lab.does("cp", "t", &needs_b).await.unwrap();
    assert_eq!((lab.completed("cp", "s"), lab.completed("cp", "t")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_crashed_engine_leaves_its_script_to_the_world() {
    let world = Arc::new(Memory::default());
    let first = Lab::open(settings(Store::Memory(Arc::clone(&world))));
    first.up("cp").await;
    let _ = first
        .clock
        .timeout(SECOND * 10, first.does("cp", "s", &slow()))
        .await;
    drop(first);
    let second = Lab::open(settings(Store::Memory(world)));
    second.does("cp", "s", &slow()).await.unwrap();
    assert!(second.heard("waiting for `s`"));
    assert_eq!(second.completed("cp", "s"), 1);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_returns_at_once_and_the_script_goes_on() {
    let lab = Lab::new();
    lab.up("cp").await;
    let source = StopSource::new();
    let io = Io {
        stop: source.stop(),
        ..lab.io.clone()
    };
    let channel = lab.channel("cp");
    let long = script("cp", "s", &slow());
    let start = lab.clock.elapsed();
    let (failure, ()) = tokio::join!(channel.run(&long, &io), async {
        lab.clock.sleep(SECOND * 10).await;
        source.raise(Level::Interrupt);
    });
    assert_eq!(failure.unwrap_err().kind, Kind::Interrupted);
    assert_eq!(lab.clock.elapsed(), start + SECOND * 10);
    lab.does("cp", "s", &slow()).await.unwrap();
    assert_eq!(lab.completed("cp", "s"), 1);
}

#[tokio::test(start_paused = true)]
async fn two_at_once_run_one_after_the_other() {
    let lab = Lab::new();
    lab.up("cp").await;
    let work = [Effect::Takes(30_000)];
    let start = lab.clock.elapsed();
    let (one, two) = tokio::join!(lab.does("cp", "one", &work), lab.does("cp", "two", &work));
    one.unwrap();
    two.unwrap();
    assert!(lab.clock.elapsed() >= start + SECOND * 60);
}

#[tokio::test(start_paused = true)]
async fn a_finished_script_is_repeated_only_when_its_work_was_undone_or_its_inputs_changed() {
    let lab = Lab::new();
    lab.up("cp").await;
    let write = [file("/a")];
    lab.does("cp", "s", &write).await.unwrap();
    lab.does("cp", "s", &write).await.unwrap();
    assert_eq!(lab.completed("cp", "s"), 1);
    let other = Effect::File {
        path: "/a".to_owned(),
        content: "y".to_owned(),
    };
    lab.does("cp", "drift", &[other]).await.unwrap();
    let missing = lab.missing("cp", &write).await;
    assert_eq!(missing.as_deref(), Some("/a is another one"));
    lab.does("cp", "s", &write).await.unwrap();
    assert_eq!(lab.completed("cp", "s"), 2);
    assert_eq!(lab.missing("cp", &write).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_service_does_not_start_without_what_it_needs() {
    let lab = Lab::new();
    lab.up("cp").await;
    lab.up("winw1").await;
    for (node, words) in [
        ("cp", "Job for kubelet.service failed"),
        ("winw1", "Service 'kubelet (kubelet)' cannot be started"),
    ] {
        let unknown = lab
            .does(node, "u", &[running("kubelet")])
            .await
            .unwrap_err();
        assert_eq!(unknown.kind, Kind::Step);
        let effects = [
            service("containerd", &[]),
            service("kubelet", &["containerd"]),
            running("kubelet"),
        ];
        let failure = lab.does(node, "s", &effects).await.unwrap_err();
        assert!(failure.to_string().contains(words), "{failure}");
        assert_eq!(lab.completed(node, "s"), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_unmet_need_fails_in_the_words_of_the_real_tool() {
    let lab = Lab::new();
    lab.up("winw1").await;
    let feature = Effect::Feature("Containers".to_owned());
    lab.does("winw1", "features", &[feature]).await.unwrap();
    let effects = [
        Effect::Needs {
            condition: Condition::Feature("Containers".to_owned()),
            message: "hcsshim: the Host Compute Service is not available".to_owned(),
        },
        file("C:/a"),
    ];
    let failure = lab.does("winw1", "runtime", &effects).await.unwrap_err();
    assert_eq!(failure.kind, Kind::Step);
    assert!(failure.to_string().contains("Host Compute Service"));
    assert!(lab.heard("Host Compute Service"));
    lab.reboot("winw1").await;
    lab.does("winw1", "runtime", &effects).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_script_for_another_operating_system_is_refused() {
    let lab = Lab::new();
    lab.up("winw1").await;
    let failure = lab.run("winw1", &script("cp", "s", &[])).await.unwrap_err();
    assert!(failure.permanent && failure.to_string().contains("is for Linux"));
}

#[tokio::test(start_paused = true)]
async fn commands_are_few_and_the_rest_is_not_pretended() {
    let lab = Lab::new();
    lab.up("cp").await;
    let exec = |line: &str| {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let channel = lab.channel("cp");
        let io = lab.io.clone();
        async move { channel.exec(&argv, &io).await.unwrap() }
    };
    assert_eq!((exec("true").await, exec("false").await), (0, 1));
    assert_eq!(exec("hostname").await, 0);
    assert!(lab.heard("cp") && lab.heard("simulation"));
    assert_eq!(exec("rm -rf /").await, 127);
    assert!(lab.heard("the simulator does not know `rm"));
    assert_eq!(exec("cat /etc/x").await, 1);
    lab.does("cp", "s", &[file("/etc/x")]).await.unwrap();
    assert_eq!(exec("cat /etc/x").await, 0);
}
