//! The live display, as a terminal shows it.

use std::sync::{Arc, Mutex};

use wdev::event::board::Board;
use wdev::event::terminal::{Screen, Terminal};
use wdev::event::{Body, Decision, Event, Sink, Stream};
use wdev::ui::Verbosity;

use crate::sample::{
    after_ms, event, events, lane_info, output, play, sample_run, started_with, step_finished,
    step_info, step_started,
};

/// A terminal in memory.
#[derive(Clone)]
struct Fake {
    parser: Arc<Mutex<vt100::Parser>>,
    bytes: Arc<Mutex<usize>>,
}

impl Fake {
    fn new(rows: u16, columns: u16) -> Self {
        Self {
            parser: Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 1000))),
            bytes: Arc::default(),
        }
    }

    fn display(&self, verbosity: Verbosity, unicode: bool) -> Terminal {
        Terminal::on(Box::new(self.clone()), verbosity, false, unicode)
    }

    fn contents(&self) -> String {
        self.parser.lock().expect("no panic").screen().contents()
    }
}

impl Screen for Fake {
    fn size(&self) -> (usize, usize) {
        let (rows, columns) = self.parser.lock().expect("no panic").screen().size();
        (rows.into(), columns.into())
    }

    fn write(&mut self, text: &str) {
        *self.bytes.lock().expect("no panic") += text.len();
        let mut parser = self.parser.lock().expect("no panic");
        parser.process(text.as_bytes());
    }
}

/// Everything but the end, so that the display still stands.
fn unfinished() -> Vec<Event> {
    let mut run = sample_run();
    run.retain(|e| {
        !matches!(
            e.body,
            Body::RunFinished { .. } | Body::Interrupting { .. } | Body::StepCancelled { .. }
        )
    });
    run
}

#[test]
fn the_display_at_80_columns() {
    let fake = Fake::new(24, 80);
    let mut terminal = fake.display(Verbosity::Normal, true);
    play(&mut terminal, &unfinished());
    terminal.tick(after_ms(95_000));
    insta::assert_snapshot!(fake.contents());
}

#[test]
fn the_display_at_40_columns() {
    let fake = Fake::new(24, 40);
    let mut terminal = fake.display(Verbosity::Normal, false);
    for (i, event) in unfinished().iter().enumerate() {
        terminal.event(event);
        // Drawing often must come to the same as drawing once.
        if i % 3 == 0 {
            terminal.draw();
        }
    }
    terminal.tick(after_ms(95_000));
    insta::assert_snapshot!(fake.contents());
}

#[test]
fn at_the_end_only_what_is_finished_stays() {
    let fake = Fake::new(24, 80);
    let mut terminal = fake.display(Verbosity::Normal, true);
    for event in &sample_run() {
        terminal.event(event);
        terminal.draw();
    }
    insta::assert_snapshot!(fake.contents());
    let before = fake.contents();
    drop(terminal);
    assert_eq!(fake.contents(), before);
}

#[test]
fn a_display_that_is_dropped_leaves_a_clean_screen_and_a_cursor() {
    let fake = Fake::new(24, 80);
    let mut terminal = fake.display(Verbosity::Normal, true);
    play(&mut terminal, &unfinished());
    terminal.draw();
    assert!(fake.contents().contains("steps,"), "{}", fake.contents());
    drop(terminal);
    let contents = fake.contents();
    assert!(!contents.contains("steps,"), "{contents}");
    let parser = fake.parser.lock().expect("no panic");
    let (row, column) = parser.screen().cursor_position();
    assert_eq!(column, 0);
    let rows = parser.screen().rows(0, 80);
    assert_eq!(usize::from(row), rows.filter(|row| !row.is_empty()).count());
    assert!(!parser.screen().hide_cursor());
}

fn many(lanes: usize, steps: usize) -> Vec<Event> {
    let infos = (0..lanes)
        .map(|lane| {
            let steps = (0..steps)
                .map(|step| step_info(&format!("s{step}"), &format!("Step {step}"), Decision::Run));
            lane_info(&format!("winw{lane}"), "worker", steps.collect())
        })
        .collect();
    let mut script = vec![(0, started_with(infos, true))];
    for step in 0..steps {
        let step = format!("s{step}");
        for lane in 0..lanes {
            let lane = format!("winw{lane}");
            script.push((0, step_started(&lane, &step, 1)));
            script.push((0, output(&lane, &step, Stream::Stdout, "working")));
            script.push((1, step_finished(&lane, &step, 1)));
        }
    }
    events(script)
}

#[test]
fn a_lane_has_a_bar_that_fills() {
    let filled = |columns: u16, events: usize| {
        let fake = Fake::new(24, columns);
        let mut terminal = fake.display(Verbosity::Normal, false);
        play(&mut terminal, &many(1, 4)[..events]);
        terminal.draw();
        let contents = fake.contents();
        let row = contents.lines().find(|line| line.starts_with("winw0 "));
        let row = row.expect("a row for the lane").to_owned();
        (row.matches('=').count(), row)
    };
    // Three events a step, after the one for the start.
    for columns in [60, 80, 120] {
        let (none, _) = filled(columns, 1);
        let (half, row) = filled(columns, 7);
        let (all, _) = filled(columns, 13);
        assert_eq!(none, 0);
        assert!(row.contains(" 2/4"), "{row}");
        assert!(half >= 4 && half == all / 2, "{half} of {all}: {row}");
    }
}

#[test]
fn two_hundred_nodes_fit_on_any_screen() {
    for (rows, columns) in [(24, 80), (24, 40), (10, 20), (3, 10), (1, 1), (60, 200)] {
        let mut board = Board::default();
        for (i, event) in many(200, 3).iter().enumerate() {
            board.event(event);
            if i % 97 == 0 {
                let frame = board.frame(columns, rows);
                assert!(frame.len() <= rows, "{} of {rows}", frame.len());
                for row in frame {
                    assert!(row.width() <= columns, "{columns}: {row:?}");
                }
            }
        }
    }
}

#[test]
fn of_two_hundred_nodes_those_that_work_are_shown() {
    let fake = Fake::new(24, 80);
    let mut terminal = fake.display(Verbosity::Normal, true);
    terminal.event(&many(200, 3)[0]);
    terminal.event(&event(1, 0, step_started("winw150", "s0", 1)));
    let text = "日本語 output";
    terminal.event(&event(2, 0, output("winw150", "s0", Stream::Stdout, text)));
    terminal.draw();
    insta::assert_snapshot!(fake.contents());
}

#[test]
fn drawing_is_bounded_however_much_happens() {
    let fake = Fake::new(24, 80);
    let mut terminal = fake.display(Verbosity::Normal, true);
    let run = many(200, 20);
    play(&mut terminal, &run[..run.len() - 1]);
    // Without a drawing nothing goes to the screen, whatever the number of events.
    assert_eq!(*fake.bytes.lock().expect("no panic"), 0);
    terminal.draw();
    let drawn = *fake.bytes.lock().expect("no panic");
    terminal.draw();
    assert_eq!(*fake.bytes.lock().expect("no panic"), drawn, "nothing new");
    terminal.tick(after_ms(1000));
    let frame = *fake.bytes.lock().expect("no panic") - drawn;
    assert!(frame < 24 * 100, "{frame} bytes for a frame");
}

#[test]
fn a_narrower_terminal_leaves_nothing_of_the_old_display() {
    let fake = Fake::new(24, 80);
    let mut terminal = fake.display(Verbosity::Normal, true);
    play(&mut terminal, &unfinished());
    terminal.draw();
    // As terminals do that keep text when they become narrower: what is too long is wrapped.
    let text = fake.contents().replace('\n', "\r\n");
    let mut narrow = vt100::Parser::new(24, 50, 1000);
    narrow.process(text.as_bytes());
    narrow.process(b"\r\n");
    *fake.parser.lock().expect("no panic") = narrow;
    terminal.tick(after_ms(95_000));
    let contents = fake.contents();
    assert_eq!(contents.matches("steps,").count(), 1, "{contents}");
    assert_eq!(contents.matches("SIMULATION").count(), 2, "{contents}");
    assert_eq!(contents.matches("FAILED  ").count(), 1, "{contents}");
}

#[test]
fn what_others_print_stands_above_the_display() {
    let fake = Fake::new(24, 80);
    let mut terminal = fake.display(Verbosity::Normal, true);
    let printer = terminal.printer();
    play(&mut terminal, &unfinished());
    printer.print("a warning of the logs");
    let seen = printer.suspend(|| fake.contents());
    assert!(seen.contains("a warning of the logs"));
    assert!(!seen.contains("steps,"), "{seen}");
    assert!(fake.contents().contains("steps,"));
    drop(terminal);
    printer.print("after the end");
    assert!(
        fake.contents().ends_with("after the end"),
        "{}",
        fake.contents()
    );
}

#[test]
fn verbose_shows_output_above_the_display() {
    let fake = Fake::new(24, 80);
    let mut terminal = fake.display(Verbosity::Verbose, true);
    play(&mut terminal, &sample_run());
    assert!(
        fake.contents()
            .contains("cp     kernel      | modprobe: busy"),
        "{}",
        fake.contents()
    );
}
