//! stdout and stderr: results and progress, with or without colour.
//!
//! Results go to stdout, where an error matters; progress goes to stderr, where it does not.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use anstream::AutoStream;
use indicatif::{ProgressBar, ProgressStyle};

use crate::error::{Failure, Kind, Result};
use crate::event::json::{Json, JsonEnd};
use crate::event::logs::Logs;
use crate::event::plain::Plain;
use crate::event::report::{failure_text, summary_text};
use crate::event::terminal::Terminal;
use crate::event::text::clean;
use crate::event::{Body, Sink};

/// Whether to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless the environment speaks against it.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How much to tell about progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Only failures and warnings.
    Quiet,
    /// What happens.
    #[default]
    Normal,
    /// Also what the steps print.
    Verbose,
    /// Everything.
    Debug,
}

impl Verbosity {
    /// The verbosity of `--quiet` and the number of `-v`.
    #[must_use]
    pub const fn from_flags(quiet: bool, verbose: u8) -> Self {
        match (quiet, verbose) {
            (true, _) => Self::Quiet,
            (false, 0) => Self::Normal,
            (false, 1) => Self::Verbose,
            (false, _) => Self::Debug,
        }
    }
}

/// What the environment says about output. An empty variable counts as unset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact of the environment"
)]
pub struct Surroundings {
    /// `NO_COLOR` is set (<https://no-color.org>).
    pub no_color: bool,
    /// `CLICOLOR_FORCE` is set and not `0` (<https://bixense.com/clicolors/>).
    pub force_color: bool,
    /// `CI` is set and not `false`.
    pub ci: bool,
    /// `TERM` is `dumb`.
    pub dumb: bool,
    /// The terminal can show characters beyond ASCII.
    pub unicode: bool,
}

impl Surroundings {
    /// Reads the environment of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self::read(|name| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned()))
    }

    /// Reads an environment given as a function from a variable's name to its value.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| get(name).filter(|value| !value.is_empty());
        let unicode = if cfg!(windows) {
            // Windows Terminal and VS Code; the old console shows boxes with many fonts.
            set("WT_SESSION").is_some() || set("TERM_PROGRAM").is_some()
        } else {
            let locale = set("LC_ALL").or(set("LC_CTYPE")).or(set("LANG"));
            locale.is_some_and(|locale| {
                let locale = locale.to_ascii_lowercase();
                locale.contains("utf-8") || locale.contains("utf8")
            })
        };
        Self {
            no_color: set("NO_COLOR").is_some(),
            force_color: set("CLICOLOR_FORCE").is_some_and(|value| value != "0"),
            ci: set("CI").is_some_and(|value| value != "false"),
            dumb: set("TERM").is_some_and(|value| value == "dumb"),
            unicode,
        }
    }

    /// Whether a stream gets colours.
    #[must_use]
    pub const fn colored(self, choice: ColorChoice, terminal: bool) -> bool {
        match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if self.no_color => false,
            ColorChoice::Auto if self.force_color => true,
            ColorChoice::Auto => terminal && !self.dumb && !self.ci,
        }
    }

    /// Whether progress can be a display that redraws itself, rather than lines.
    #[must_use]
    pub const fn live(self, choice: ColorChoice, terminal: bool) -> bool {
        let unwanted = self.no_color && !matches!(choice, ColorChoice::Always);
        terminal && !self.dumb && !self.ci && !unwanted
    }
}

/// The form of what goes to stdout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// JSON, one document or one event a line.
    Json,
}

/// The writers of this process.
#[derive(Debug, Clone, Copy)]
pub struct Ui {
    choice: ColorChoice,
    verbosity: Verbosity,
    surroundings: Surroundings,
    stdout_is_terminal: bool,
    stderr_is_terminal: bool,
}

/// One line on stderr that is replaced by the next, or lines where there is no terminal. Its last line
/// goes when it is dropped.
#[derive(Debug)]
pub struct Progress {
    ui: Option<Ui>,
    line: Option<ProgressBar>,
}

impl Progress {
    /// Tells how far the work is.
    pub fn tell(&self, text: &str) {
        match (&self.line, &self.ui) {
            (Some(line), _) => line.set_message(clean(text)),
            (None, Some(ui)) => ui.err(text),
            (None, None) => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

/// The width for text that goes where no terminal tells one.
const PIPE_WIDTH: usize = 100;

impl Ui {
    /// Looks at the environment and at stdout and stderr.
    #[must_use]
    pub fn new(choice: ColorChoice, verbosity: Verbosity) -> Self {
        Self {
            choice,
            verbosity,
            surroundings: Surroundings::of_process(),
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
        }
    }

    /// How much to tell.
    #[must_use]
    pub const fn verbosity(&self) -> Verbosity {
        self.verbosity
    }

    /// Whether stdout gets colours.
    #[must_use]
    pub const fn out_colored(&self) -> bool {
        self.surroundings
            .colored(self.choice, self.stdout_is_terminal)
    }

    /// Whether stderr gets colours.
    #[must_use]
    pub const fn err_colored(&self) -> bool {
        self.surroundings
            .colored(self.choice, self.stderr_is_terminal)
    }

    /// The width to lay text out for on stdout, in columns.
    #[must_use]
    pub fn out_width(&self) -> usize {
        width_of(&console::Term::stdout(), self.stdout_is_terminal)
    }

    /// The width to lay text out for on stderr, in columns.
    #[must_use]
    pub fn err_width(&self) -> usize {
        width_of(&console::Term::stderr(), self.stderr_is_terminal)
    }

    /// Writes a result to stdout, exactly as given; colours in it are removed where stdout gets none.
    ///
    /// # Errors
    ///
    /// [`Kind::ReaderGone`] when nobody reads any more: the caller passes it on, and `main` exits with
    /// 0 without a word. [`Kind::Host`] for any other error, such as a full disk.
    pub fn out(&self, text: &str) -> Result<()> {
        let mut stdout = stream(io::stdout(), self.out_colored());
        stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
            .map_err(|error| write_failure("the result", &error))
    }

    /// Writes progress or a message to stderr, with a newline. Errors are ignored.
    pub fn err(&self, text: &str) {
        let mut stderr = stream(io::stderr(), self.err_colored());
        let _ = stderr.write_all(format!("{}\n", text.trim_end_matches('\n')).as_bytes());
    }

    /// Where work that is no run tells how far it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let live = self.surroundings.live(self.choice, self.stderr_is_terminal);
        let shown = self.verbosity > Verbosity::Quiet;
        Progress {
            ui: shown.then_some(*self),
            line: (shown && live && Terminal::possible()).then(|| {
                let bar = ProgressBar::new_spinner();
                bar.with_style(
                    ProgressStyle::with_template("{wide_msg}")
                        .unwrap_or_else(|_| ProgressStyle::default_spinner()),
                )
            }),
        }
    }

    /// Tells a failure on stderr, with the command to go on with (`""` for none). Says nothing about
    /// [`Kind::ReaderGone`].
    pub fn failure(&self, failure: &Failure, next: &str) {
        if failure.kind != Kind::ReaderGone {
            let colored = self.err_colored();
            self.err(&failure_text(failure, self.err_width(), colored, next));
        }
    }

    /// Everything that shall listen to a run: the progress on stderr (none in JSON), JSON lines on
    /// stdout, and log files in `logs`. The handle tells whether all JSON was written.
    #[must_use]
    pub fn sinks(
        &self,
        format: Format,
        logs: Option<PathBuf>,
    ) -> (Vec<Box<dyn Sink>>, Option<JsonEnd>) {
        let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
        let mut end = None;
        let mut logs = logs.map(Logs::new);
        let live = self.surroundings.live(self.choice, self.stderr_is_terminal);
        if format == Format::Json {
            let json = Json::new(Box::new(io::stdout()));
            end = Some(json.end());
            sinks.push(Box::new(json));
        } else if live && self.verbosity > Verbosity::Quiet && Terminal::possible() {
            let terminal = Terminal::stderr(
                self.verbosity,
                self.err_colored(),
                self.surroundings.unicode,
            );
            let printer = terminal.printer();
            logs = logs.map(|logs| logs.warnings_to(move |text| printer.print(text)));
            sinks.push(Box::new(terminal));
        } else {
            let stderr = stream(io::stderr(), self.err_colored());
            let plain = Plain::new(Box::new(stderr), self.verbosity, self.err_colored());
            sinks.push(Box::new(plain));
        }
        if let Some(logs) = logs {
            sinks.push(Box::new(logs));
        }
        (sinks, end)
    }

    /// Tells the end of a run, given its [`Body::RunFinished`]: the summary on stdout (in JSON it is in
    /// the event already; with `--quiet` it is left out), then the failure on stderr with `next`, the
    /// command to go on with. Nothing for other events.
    ///
    /// # Errors
    ///
    /// As [`Self::out`]; the failure of the run itself is told, not returned.
    pub fn conclude(&self, finished: &Body, format: Format, next: &str) -> Result<()> {
        let Body::RunFinished {
            outcome,
            took_ms,
            simulated,
            failure,
            summary,
        } = finished
        else {
            return Ok(());
        };
        let mut written = Ok(());
        if format == Format::Text && self.verbosity > Verbosity::Quiet {
            let took = Duration::from_millis(*took_ms);
            let width = self.out_width();
            let text = summary_text(summary, *outcome, took, *simulated, width);
            written = self.out(&format!("\n{text}"));
        }
        if let Some(failure) = failure {
            self.err("");
            self.failure(failure, next);
        }
        written
    }
}

/// Whether a question can be asked: stdin and stderr are terminals, nobody said `--no-input`, and this
/// is no CI job.
#[must_use]
pub fn prompts_possible(no_input: bool) -> bool {
    !no_input
        && io::stdin().is_terminal()
        && io::stderr().is_terminal()
        && !Surroundings::of_process().ci
}

/// The failure for an error on stdout, where `what` was to be written.
pub(crate) fn write_failure(what: &str, error: &io::Error) -> Box<Failure> {
    // Windows reports a closed pipe as ERROR_NO_DATA (232) too, which std maps to BrokenPipe.
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Box::new(Failure::new(
            Kind::ReaderGone,
            "the reader of stdout is gone",
        ));
    }
    let failure = Failure::new(Kind::Host, format!("cannot write {what} to stdout")).because(error);
    Box::new(if error.kind() == io::ErrorKind::StorageFull {
        failure.advise("free some disk space, then run the same again")
    } else {
        failure
    })
}

fn stream<S: anstream::stream::RawStream>(stream: S, colored: bool) -> AutoStream<S> {
    let choice = if colored {
        anstream::ColorChoice::Always
    } else {
        anstream::ColorChoice::Never
    };
    AutoStream::new(stream, choice)
}

fn width_of(term: &console::Term, terminal: bool) -> usize {
    match term.size_checked() {
        Some((_, columns)) if terminal && columns > 0 => usize::from(columns),
        _ => PIPE_WIDTH,
    }
}
