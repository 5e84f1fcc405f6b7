//! Finding and reading the configuration's files.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::diagnostic::Diagnostic;
use super::diagnostic::Sink;
use super::layer::start_of;
use super::source::{Place, Source, Span};

/// The names that are looked for.
pub(crate) const NAMES: [&str; 2] = ["variables.yml", "variables.yaml"];
/// A larger file is no configuration.
const MAX_BYTES: u64 = 1024 * 1024;

/// The files of a configuration.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) main: Option<PathBuf>,
    pub(crate) local: Option<PathBuf>,
}

/// Looks for the files: `file`, or what lies in `folder`; and the local override beside it.
pub(crate) fn find(folder: &Path, file: Option<&Path>, start: &Path, sink: &mut Sink) -> Found {
    let (main, stem) = match file {
        Some(file) => {
            let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned());
            (Some(file.to_path_buf()), stem.unwrap_or_default())
        }
        None => (
            one_of(folder, &NAMES.map(str::to_owned), start, sink),
            "variables".to_owned(),
        ),
    };
    let names = [format!("{stem}.local.yml"), format!("{stem}.local.yaml")];
    Found {
        main,
        local: one_of(folder, &names, start, sink),
    }
}

/// The one of two names that is there. Both are one too many.
fn one_of(folder: &Path, names: &[String; 2], start: &Path, sink: &mut Sink) -> Option<PathBuf> {
    // A broken link is there too: it has to be reported, not passed over.
    let mut present = names
        .iter()
        .map(|name| folder.join(name))
        .filter(|path| path.symlink_metadata().is_ok());
    let first = present.next()?;
    if let Some(second) = present.next() {
        let (one, two) = (shown(&first, start), shown(&second, start));
        sink.push(
            Diagnostic::error(format!("`{one}` and `{two}` are both there"))
                .note("keep one of them, or name one with `--config`"),
        );
        return None;
    }
    Some(first)
}

/// `path` as a user would write it from `start`.
pub(crate) fn shown(path: &Path, start: &Path) -> String {
    path.strip_prefix(start)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Reads a file. What is wrong with it goes into `sink`.
pub(crate) fn read(path: &Path, start: &Path, sink: &mut Sink) -> Option<Arc<Source>> {
    let shown = shown(path, start);
    match bytes(path, &shown).and_then(|bytes| decode(bytes, &shown)) {
        Ok(text) => {
            let folder = path.parent().unwrap_or(start).to_path_buf();
            let source = Arc::new(Source::new(shown, folder, text));
            if let Some(at) = source.text.find('\0') {
                sink.push(nul(&source, at));
                return None;
            }
            Some(source)
        }
        Err(problem) => {
            sink.push(*problem);
            None
        }
    }
}

fn bytes(path: &Path, shown: &str) -> Result<Vec<u8>, Box<Diagnostic>> {
    let wrong = |message: String| {
        let mut diagnostic = Diagnostic::error(message);
        diagnostic.file = Some(shown.to_owned());
        Box::new(diagnostic)
    };
    let cannot = |error: &std::io::Error| {
        let mut problem = wrong(format!("cannot read `{shown}`: {error}"));
        problem.note = match error.kind() {
            ErrorKind::NotFound => Some(
                "without `--config`, `variables.yml` in the current folder is read if it is there"
                    .to_owned(),
            ),
            ErrorKind::PermissionDenied => Some("check who may read it".to_owned()),
            _ => None,
        };
        problem
    };
    let about = std::fs::metadata(path).map_err(|error| cannot(&error))?;
    if about.is_dir() {
        let mut problem = wrong(format!("`{shown}` is a folder, not a file"));
        problem.suggestion = NAMES
            .iter()
            .map(|name| path.join(name))
            .find(|inner| inner.is_file())
            .map(|inner| inner.display().to_string());
        return Err(problem);
    }
    if !about.is_file() {
        return Err(wrong(format!("`{shown}` is not a regular file")));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| cannot(&error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(wrong(format!(
            "`{shown}` is larger than 1 MiB, too large for a configuration"
        )));
    }
    Ok(bytes)
}

/// Bytes to text, without the byte order mark that some editors write.
fn decode(mut bytes: Vec<u8>, shown: &str) -> Result<String, Box<Diagnostic>> {
    if bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
        bytes.drain(..3);
    }
    let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(error.as_bytes().get(..good).unwrap_or_default());
        let mut problem = Diagnostic::error(format!("`{shown}` is not UTF-8 text"));
        problem.file = Some(shown.to_owned());
        if utf16 {
            problem.note = Some(
                "it looks like UTF-16, which Windows PowerShell writes with `>`; save it as UTF-8"
                    .to_owned(),
            );
        } else {
            let line = before.rsplit('\n').next().unwrap_or_default();
            problem.line = Some(before.matches('\n').count() + 1);
            problem.col = Some(line.chars().count() + 1);
            problem.note = Some("save it as UTF-8".to_owned());
        }
        Box::new(problem)
    })
}

fn nul(source: &Arc<Source>, at: usize) -> Diagnostic {
    let before = source.text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let span = Span {
        line: before.matches('\n').count() + 1,
        col: line.chars().count() + 1,
        len: 1,
        at,
    };
    let place = match start_of(source) {
        Place::File(source, _) => Place::File(source, span),
        other => other,
    };
    Diagnostic::error("the file holds a NUL character").at(&place)
}
