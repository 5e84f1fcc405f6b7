//! The rows of the live display as the progress bars of indicatif.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use owo_colors::OwoColorize;

use super::canvas::Canvas;
use super::row::{Row, Tone};

/// How often indicatif lays the rows out while they change one by one, per second; [`Bars::set`] has
/// them laid out once more when all are up to date.
const LAYOUTS: u8 = 10;

/// Progress bars one below the other.
pub(super) struct Bars {
    multi: MultiProgress,
    rows: Vec<(ProgressBar, Row)>,
    colored: bool,
    unicode: bool,
}

impl Bars {
    pub(super) fn new(canvas: Canvas, colored: bool, unicode: bool) -> Self {
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(canvas), LAYOUTS);
        Self {
            multi: MultiProgress::with_draw_target(target),
            rows: Vec::new(),
            colored,
            unicode,
        }
    }

    /// Lays `rows` out, in place of all earlier ones.
    pub(super) fn set(&mut self, rows: Vec<Row>) {
        while self.rows.len() > rows.len() {
            if let Some((bar, _)) = self.rows.pop() {
                self.multi.remove(&bar);
            }
        }
        for (i, row) in rows.into_iter().enumerate() {
            if let Some((bar, shown)) = self.rows.get_mut(i) {
                if *shown == row {
                    continue;
                }
                apply(bar, &row, self.colored, self.unicode);
                *shown = row;
            } else {
                let bar = self.multi.add(ProgressBar::no_length());
                apply(&bar, &row, self.colored, self.unicode);
                self.rows.push((bar, row));
            }
        }
        // What comes after a suspension is laid out whatever the rate.
        self.multi.suspend(|| ());
    }
}

fn apply(bar: &ProgressBar, row: &Row, colored: bool, unicode: bool) {
    let template = match &row.bar {
        Some(of) => {
            format!(
                "{{prefix}}{{bar:{}}} {{pos:>2}}/{{len:<2}} {{msg}}",
                of.columns
            )
        }
        None => "{prefix}".to_owned(),
    };
    // The colour belongs to the template, so that it is the whole row's.
    let template = toned(&template, row.tone, colored);
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style.progress_chars(if unicode { "━╸─" } else { "=>-" }));
    }
    // indicatif has no row for a bar without any text.
    let text = if row.text.is_empty() { " " } else { &row.text };
    bar.set_prefix(text.to_owned());
    if let Some(of) = &row.bar {
        bar.set_message(of.after.clone());
        bar.update(|state| {
            state.set_len(of.len as u64);
            state.set_pos(of.pos as u64);
        });
    }
}

/// `text` in the colour of `tone`.
pub(super) fn toned(text: &str, tone: Tone, colored: bool) -> String {
    if !colored {
        return text.to_owned();
    }
    match tone {
        Tone::Normal => text.to_owned(),
        Tone::Dim => text.dimmed().to_string(),
        Tone::Good => text.green().to_string(),
        Tone::Bad => text.red().bold().to_string(),
        Tone::Loud => text.yellow().bold().to_string(),
    }
}
