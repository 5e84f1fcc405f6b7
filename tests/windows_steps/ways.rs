//! Every way that a run of a step may go on a doubled Windows: the first time, the second time, killed at any
//! change and run again.

use serde_json::Value;
use wdev::channel::Mode;

use crate::node::Node;

/// A step on a node that it finds in a certain state.
pub struct Scene<'a> {
    /// For what is printed.
    pub name: &'a str,
    /// The script.
    pub body: &'a str,
    /// What is given to it.
    pub secrets: &'a [(&'a str, &'a str)],
    /// Makes the node; nothing without PowerShell.
    pub node: &'a dyn Fn() -> Option<Node>,
    /// What the engine does for a run that wanted a reboot: the doubled node boots.
    pub boot: &'a dyn Fn(&Node),
    /// What must be the same in the end, whatever happened on the way: no times, no log.
    pub state: &'a dyn Fn(&Node) -> Value,
}

impl Scene<'_> {
    /// Runs the step as the engine does, reboots included, until the node says that it is done.
    fn finish(&self, node: &Node) {
        for _ in 0..4 {
            let report = node
                .call_with(self.body, Mode::Run, self.secrets, None)
                .done();
            if report.in_place {
                return;
            }
            if report.reboot_wanted {
                (self.boot)(node);
            }
            let probed = node
                .call_with(self.body, Mode::Probe, self.secrets, None)
                .done();
            if probed.in_place {
                return;
            }
            assert!(
                report.reboot_wanted,
                "{}: it ran to its end, but: {:?}",
                self.name, probed.why
            );
        }
        panic!("{}: it never comes to an end", self.name);
    }
}

/// Runs the step first, a second time (which changes nothing), and killed right before or right after every other one
/// of its changing calls (in a soak both, of each) and then again, which comes to the same state. Prints how many
/// kills that were.
pub fn every_way(scene: &Scene<'_>) {
    let Some(node) = (scene.node)() else { return };
    scene.finish(&node);
    let state = (scene.state)(&node);
    let calls = node.log().len();
    let _ = node
        .call_with(scene.body, Mode::Run, scene.secrets, None)
        .done();
    assert_eq!(
        node.log()[calls..],
        [] as [String; 0],
        "{}: the second time changes something",
        scene.name
    );
    assert_eq!(
        (scene.state)(&node),
        state,
        "{}: the second time",
        scene.name
    );

    let mut killed = 0;
    // Right after a call is nearly right before the next one: where it is to be quick, one stands for both.
    let (step, after, counted) = if crate::common::is_soak() {
        (1, 1, "before and after each")
    } else {
        (4, 3, "before or after every other one")
    };
    for (first, when) in [(1, "before"), (after, "after")] {
        for call in (first..).step_by(step) {
            let Some(node) = (scene.node)() else { return };
            let kill = format!("{when} {call}");
            let ended = node.call_with(scene.body, Mode::Run, scene.secrets, Some(&kill));
            if ended.0.is_some() {
                break;
            }
            killed += 1;
            scene.finish(&node);
            assert_eq!((scene.state)(&node), state, "{}: killed {kill}", scene.name);
        }
    }
    assert!(killed > 0, "{}: nothing was killed", scene.name);
    // Seen without `--nocapture`, as skipped tests are.
    crate::common::say(&format!(
        "{}: killed {counted} of its changing calls: {killed} times",
        scene.name
    ));
}
