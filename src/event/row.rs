//! A row of the live display, as data.

use super::text::{cut, width as columns_of};

/// How a line is meant, for its colour; its words say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As any other.
    Normal,
    /// Less important.
    Dim,
    /// All is well.
    Good,
    /// Something is wrong.
    Bad,
    /// To be noticed.
    Loud,
}

/// A row of the display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What it says, up to the bar.
    pub text: String,
    /// The bar of a lane, where there is room for one.
    pub bar: Option<Bar>,
    /// How it is meant.
    pub tone: Tone,
}

/// A bar, followed by `pos/len` and the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    /// The width of the bar alone.
    pub columns: usize,
    /// The steps that ended.
    pub pos: usize,
    /// All steps.
    pub len: usize,
    /// What follows the numbers.
    pub after: String,
}

impl Row {
    pub(super) fn new(text: &str, width: usize, tone: Tone) -> Self {
        Self {
            text: cut(text, width).into_owned(),
            bar: None,
            tone,
        }
    }

    /// The columns that the row takes.
    #[must_use]
    pub fn width(&self) -> usize {
        let bar = self.bar.as_ref().map_or(0, |bar| {
            let digits = bar.len.to_string().len();
            bar.columns + 2 * digits + 3 + columns_of(&bar.after)
        });
        columns_of(&self.text) + bar
    }
}
