//! `variables.yml` to a validated [`Config`], each value with its origin.
//!
//! Files, environment and flags are layers of one tree ([`layer`]); the merged tree is held against
//! the one list of keys ([`keys`], [`walk`]); what nobody wrote is derived ([`mod@derive`]); then what must
//! hold between values is checked ([`check`]). Every mistake is collected on the way.

mod amount;
mod build;
mod check;
mod derive;
mod diagnostic;
mod files;
mod item;
mod keys;
mod layer;
mod legacy;
mod machines;
mod migrate;
pub mod model;
mod ranges;
mod reference;
mod render;
mod scalar;
mod schema;
mod secret;
mod show;
mod source;
mod suggest;
mod table;
mod text;
mod version;
mod walk;
pub mod workers;
mod yaml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::diagnostic::{Diagnostic, Problems, Severity};
pub use self::migrate::migrate;
pub use self::model::Config;
pub use self::reference::reference;
pub use self::schema::schema;
pub use self::secret::redact_url;
pub use self::show::{show_json, show_yaml};
pub use self::source::Origin;
pub(crate) use self::suggest::nearest;
pub use self::text::is_sandbox_name;

/// The containerd that every node gets when nobody asks for another.
#[must_use]
pub fn default_containerd() -> Option<String> {
    keys::data("container_runtime.containerd")
}

use self::diagnostic::Sink;
use self::item::Item;
use self::source::{Place, Source};
use self::table::TOP;
use self::yaml::{Node, NodeKind};

/// What to read a configuration from. An empty request in a folder without `variables.yml` gives
/// every default.
#[derive(Clone, Default)]
pub struct Request {
    /// `--config`: this file and nothing else.
    pub file: Option<PathBuf>,
    /// The main file's text, in the place of what is in it; also where it does not exist yet.
    pub text: Option<String>,
    /// The folder to look in, and that relative paths in variables and flags start from. Only this
    /// one, not those above it. Empty for the current folder.
    pub start: PathBuf,
    /// The environment. Besides `WDEV_*`, `HOME` or `USERPROFILE` says what `~` is.
    pub env: Vec<(String, String)>,
    /// Flags: the dotted key such as `kubernetes.version`, the text, and the flag as typed.
    pub flags: Vec<(String, String, String)>,
    /// The host's memory in MiB, to warn when the nodes want more; see [`host_memory_mib`]. Without
    /// it nothing is compared.
    pub host_memory_mib: Option<u64>,
    /// Whether the first worker is about to be written, so that an empty list is no mistake yet.
    pub first_worker: bool,
}

/// A configuration that was read.
#[derive(Clone)]
pub struct Loaded {
    /// The values.
    pub config: Config,
    /// The folder that the sandbox lives in, absolute: the file's, or the one that was looked in.
    pub dir: PathBuf,
    /// The file, absolute, if there is one.
    pub file: Option<PathBuf>,
    /// Where each value came from, by its path such as `cni.version` or `workers[0].memory`.
    pub origins: BTreeMap<String, Origin>,
    /// Remarks: keys of the predecessor that were understood.
    pub notes: Vec<Diagnostic>,
    /// What is probably not wanted.
    pub warnings: Vec<Diagnostic>,
    effective: Item,
}

impl Loaded {
    /// A remark on the value at `path`, such as `workers[0].windows`, or with `key` on its key, where
    /// the user wrote it; where nobody did, on what stands around it, and on nothing where nobody wrote that.
    #[must_use]
    pub fn remark(
        &self,
        severity: Severity,
        path: &str,
        key: bool,
        message: impl Into<String>,
    ) -> Diagnostic {
        let mut place = self.effective.place_of(path, key);
        // The place of the whole is that of its topmost layer: of any flag.
        if std::ptr::eq(place, &raw const self.effective.place) {
            place = &Place::Default;
        }
        Diagnostic::error(message).severity(severity).at(place)
    }
}

// Values may hold passwords: debug output names only what cannot.
impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded")
            .field("config", &self.config)
            .field("dir", &self.dir)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request")
            .field("file", &self.file)
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}

/// Reads a configuration: `variables.yml`, `variables.local.yml` over it, `WDEV_*` over that, flags on
/// top. Returns every mistake at once.
pub fn load(request: &Request) -> Result<Loaded, Problems> {
    let mut sink = Sink::default();
    let start = std::path::absolute(&request.start)
        .or_else(|_| std::env::current_dir())
        .unwrap_or_else(|_| request.start.clone());
    let home = home(request);
    let named = request.file.as_ref().map(|file| start.join(file));
    let dir = named
        .as_deref()
        .and_then(Path::parent)
        .unwrap_or(&start)
        .to_path_buf();
    let found = files::find(&dir, named.as_deref(), &start, &mut sink);
    let given = request.text.as_ref().map(|text| {
        let main = found.main.clone();
        let path = main.unwrap_or_else(|| dir.join(files::NAMES[0]));
        let shown = files::shown(&path, &start);
        let folder = path.parent().unwrap_or(&start).to_path_buf();
        Arc::new(Source::new(shown, folder, text.clone()))
    });

    // A file that cannot be read leaves its values unknown: then no check between values makes sense.
    let mut whole = sink.errors.is_empty();
    let mut merged = Node::new(NodeKind::Map(Vec::new()), Place::Default);
    let main = match given {
        Some(given) => Some(Ok(given)),
        None => found.main.as_ref().map(Err),
    };
    for path in main.into_iter().chain(found.local.as_ref().map(Err)) {
        let source = match path {
            Ok(given) => Some(given),
            Err(path) => files::read(path, &start, &mut sink),
        };
        let read = source.and_then(|source| yaml::parse(&source, &mut sink));
        match read {
            Some(node) if is_map(&node, &mut sink) => {
                let node = legacy::convert(node, &mut sink);
                merged = layer::merge(merged, node, &TOP);
            }
            _ => whole = false,
        }
    }
    let variables = layer::environment(request, &mut sink);
    merged = layer::merge(merged, variables, &TOP);
    let flags = layer::flags(request, &mut sink);
    merged = layer::merge(merged, flags, &TOP);

    let mut walker = walk::Walker {
        start: &start,
        home: home.as_deref(),
        sink: &mut sink,
    };
    let mut effective = walker.root(&merged);
    derive::derive(&mut effective);
    if whole {
        check::check(&effective, request, &mut sink);
    }
    if !sink.errors.is_empty() {
        return Err(sink.into_problems());
    }
    let mut origins = BTreeMap::new();
    effective.origins("", &mut origins);
    Ok(Loaded {
        config: build::config(&effective),
        dir,
        file: found.main,
        origins,
        notes: sink.notes,
        warnings: sink.warnings,
        effective,
    })
}

/// The memory of this host in MiB.
#[must_use]
pub fn host_memory_mib() -> Option<u64> {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    Some(system.total_memory() / (1024 * 1024)).filter(|mib| *mib > 0)
}

/// An empty file is one without keys; any other thing than a map is a mistake.
fn is_map(node: &Node, sink: &mut Sink) -> bool {
    match node.kind {
        NodeKind::Null | NodeKind::Map(_) => true,
        NodeKind::Scalar(_) | NodeKind::List(_) => {
            sink.push(
                Diagnostic::error(format!("the top level is {}", node.what()))
                    .at(&node.place)
                    .allow("keys with values, as in `cni: calico`"),
            );
            false
        }
    }
}

fn home(request: &Request) -> Option<PathBuf> {
    let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    let named = request
        .env
        .iter()
        .find(|(name, text)| name == variable && !text.is_empty());
    named
        .map(|(_, text)| PathBuf::from(text))
        .or_else(|| etcetera::home_dir().ok())
}
