//! How far downloads are: one line for all that go on together, told now and then.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::BinaryBytes;

use crate::channel::Io;
use crate::clock::Clock;
use crate::event::text::duration_text;

/// The least time between two lines.
const BETWEEN: Duration = Duration::from_secs(2);
/// The time over which the rate is measured.
const WINDOW: Duration = Duration::from_secs(10);

/// All downloads of one call.
pub struct Tally {
    clock: Clock,
    io: Io,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    files: Vec<File>,
    samples: VecDeque<(Duration, u64)>,
    told: Duration,
}

struct File {
    name: String,
    bytes: u64,
    total: Option<u64>,
    /// From the network, with what had to be fetched again.
    received: u64,
    /// The most that has ever been there.
    reached: u64,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Waiting,
    Coming,
    There,
}

/// One download among them.
#[derive(Clone)]
pub struct Meter {
    tally: Arc<Tally>,
    index: usize,
}

impl Tally {
    /// One of the files with these names; a meter for each of them.
    pub fn meters<'a>(
        names: impl IntoIterator<Item = &'a str>,
        clock: Clock,
        io: &Io,
    ) -> Vec<Meter> {
        let files: Vec<File> = names
            .into_iter()
            .map(|name| File {
                name: name.to_owned(),
                bytes: 0,
                total: None,
                received: 0,
                reached: 0,
                phase: Phase::Waiting,
            })
            .collect();
        let count = files.len();
        let tally = Arc::new(Self {
            clock,
            io: io.clone(),
            state: Mutex::new(State {
                files,
                samples: VecDeque::new(),
                told: clock.elapsed(),
            }),
        });
        let meter = |index| Meter {
            tally: Arc::clone(&tally),
            index,
        };
        (0..count).map(meter).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Meter {
    /// It comes; `bytes` of `total` are there.
    pub fn begin(&self, bytes: u64, total: Option<u64>) {
        self.file(|file| {
            file.bytes = bytes;
            file.total = total;
            file.phase = Phase::Coming;
        });
    }

    /// More has come.
    pub fn add(&self, bytes: u64) {
        self.file(|file| {
            file.bytes += bytes;
            file.received += bytes;
            file.reached = file.reached.max(file.bytes);
        });
        let mut state = self.tally.state();
        let now = self.tally.clock.elapsed();
        if let Some(line) = state.line(now) {
            drop(state);
            self.tally.io.note(line);
        }
    }

    /// It is there.
    pub fn end(&self) {
        self.file(|file| {
            file.total = Some(file.bytes);
            file.phase = Phase::There;
        });
    }

    /// The most that has been there: what had to be fetched again does not count.
    pub fn reached(&self) -> u64 {
        let state = self.tally.state();
        state.files.get(self.index).map_or(0, |file| file.reached)
    }

    fn file(&self, change: impl FnOnce(&mut File)) {
        if let Some(file) = self.tally.state().files.get_mut(self.index) {
            change(file);
        }
    }
}

impl State {
    /// What there is to tell now, when it is time.
    fn line(&mut self, now: Duration) -> Option<String> {
        if now.saturating_sub(self.told) < BETWEEN {
            return None;
        }
        self.told = now;
        let received = self.files.iter().map(|file| file.received).sum();
        self.samples.push_back((now, received));
        while self.samples.len() > 2
            && self
                .samples
                .front()
                .is_some_and(|(at, _)| now.saturating_sub(*at) > WINDOW)
        {
            self.samples.pop_front();
        }
        Some(self.text())
    }

    fn text(&self) -> String {
        let coming = self.files.iter().filter(|file| file.phase == Phase::Coming);
        let names: Vec<&str> = coming.map(|file| file.name.as_str()).collect();
        let begun = || {
            self.files
                .iter()
                .filter(|file| file.phase != Phase::Waiting)
        };
        let bytes: u64 = begun().map(|file| file.bytes).sum();
        let total: Option<u64> = begun().map(|file| file.total).sum();
        let mut text = if self.files.len() > 1 {
            let there = self.files.iter().filter(|file| file.phase == Phase::There);
            format!("{} of {} files, ", there.count(), self.files.len())
        } else {
            format!("{}: ", names.join(", "))
        };
        text += &BinaryBytes(bytes).to_string();
        if let Some(total) = total {
            let _ = write!(text, " of {}", BinaryBytes(total));
        }
        if let Some(rate) = self.rate() {
            let _ = write!(text, ", {}/s", BinaryBytes(rate));
            let all_known = self.files.iter().all(|file| file.total.is_some());
            if let Some(total) = total.filter(|_| all_known && rate > 0) {
                let left = Duration::from_secs(total.saturating_sub(bytes) / rate);
                let _ = write!(text, ", {} left", duration_text(left));
            }
        }
        if self.files.len() > 1 {
            let _ = write!(text, ": {}", names.join(", "));
        }
        text
    }

    /// Bytes a second.
    fn rate(&self) -> Option<u64> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let took = last.0.saturating_sub(first.0).as_millis();
        let came = u128::from(last.1.saturating_sub(first.1));
        u64::try_from((came * 1000).checked_div(took)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, bytes: u64, total: Option<u64>, phase: Phase) -> File {
        File {
            name: name.to_owned(),
            bytes,
            total,
            received: bytes,
            reached: bytes,
            phase,
        }
    }

    #[test]
    fn a_line_tells_how_much_how_fast_and_how_long() {
        let mut state = State {
            files: vec![file("kubelet", 20 << 20, Some(70 << 20), Phase::Coming)],
            samples: VecDeque::from([(Duration::ZERO, 0)]),
            told: Duration::ZERO,
        };
        assert_eq!(state.line(Duration::from_secs(1)), None);
        assert_eq!(
            state.line(Duration::from_secs(2)).unwrap(),
            "kubelet: 20.00 MiB of 70.00 MiB, 10.00 MiB/s, 5.0 s left"
        );
        // Nothing is said of an end that nobody knows.
        state.files.push(file("runc", 0, None, Phase::Waiting));
        state.files.push(file("crictl", 10, Some(10), Phase::There));
        assert_eq!(
            state.line(Duration::from_secs(4)).unwrap(),
            "1 of 3 files, 20.00 MiB of 70.00 MiB, 5.00 MiB/s: kubelet"
        );
    }
}
