//! A worker is written into the user's `variables.yml`, or taken out of it, and all else stays as it is.

use std::path::PathBuf;

use super::model::{Config, Worker};
use super::yaml::quote;
use super::{Loaded, Origin, Problems, Request, files, load};
use crate::error::{Failure, Kind, io_failure};
use crate::yaml::edit::{self, Item};
use crate::yaml::tree;

/// The key of the list.
const WORKERS: &str = "workers";

/// A worker as somebody asks for it; what is not said is left to the defaults.
#[derive(Debug, Clone, Default)]
pub struct NewWorker {
    /// Its name.
    pub name: String,
    /// The Windows Server version.
    pub windows: Option<String>,
    /// Virtual processors.
    pub cpus: Option<u32>,
    /// Memory, as in `6GiB`.
    pub memory: Option<String>,
    /// Its address in the node subnet.
    pub address: Option<String>,
    /// Labels that it registers with.
    pub labels: Vec<(String, String)>,
    /// Taints that it registers with.
    pub taints: Vec<String>,
}

/// A change of the file that is not written yet.
#[derive(Debug)]
pub struct Change {
    /// The file.
    pub file: PathBuf,
    /// Its text before; none where there is no file.
    pub before: Option<String>,
    /// Its text afterwards.
    pub after: String,
    /// What it means then.
    pub loaded: Loaded,
    /// What was written down of other workers, so that they stay what they are.
    pub pinned: Vec<String>,
}

/// Why a file is not changed.
#[derive(Debug)]
pub enum Refused {
    /// What it would mean is no configuration.
    Problems(Problems),
    /// Anything else.
    Failure(Box<Failure>),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failure(Box::new(failure))
    }
}

impl From<Box<Failure>> for Refused {
    fn from(failure: Box<Failure>) -> Self {
        Self::Failure(failure)
    }
}

type Edited<T> = std::result::Result<T, Refused>;

impl NewWorker {
    /// On one line of YAML; with every key and text in double quotes it is JSON.
    fn flow(&self, quoted: bool) -> String {
        let text = |text: &str| scalar(text, quoted);
        let pair = |key: &str, value: &str| format!("{}: {value}", text(key));
        let mut keys = vec![pair("name", &text(&self.name))];
        let mut add = |key: &str, value: Option<String>| {
            keys.extend(value.map(|value| pair(key, &value)));
        };
        let one = |value: &Option<String>| value.as_deref().map(text);
        add("windows", one(&self.windows));
        add("cpus", self.cpus.map(|cpus| cpus.to_string()));
        add("memory", one(&self.memory));
        add("address", one(&self.address));
        let labels = self.labels.iter();
        let labels: Vec<String> = labels.map(|(key, value)| pair(key, &text(value))).collect();
        let taints: Vec<String> = self.taints.iter().map(|taint| text(taint)).collect();
        let some = |list: &[String], text: String| (!list.is_empty()).then_some(text);
        add(
            "labels",
            some(&labels, format!("{{{}}}", labels.join(", "))),
        );
        add("taints", some(&taints, format!("[{}]", taints.join(", "))));
        format!("{{{}}}", keys.join(", "))
    }
}

/// A text as YAML, `quoted` also where it need not be.
fn scalar(text: &str, quoted: bool) -> String {
    if quoted {
        serde_json::Value::from(text).to_string()
    } else {
        quote(text)
    }
}

/// The configuration with one more worker. `loaded` is what `request` gave, which may be one for the first.
///
/// # Errors
/// When the worker cannot be one, the workers are defined elsewhere, or another node would change.
pub fn with_worker(request: &Request, loaded: &Loaded, worker: &NewWorker) -> Edited<Change> {
    let config = &loaded.config;
    if addresses(config).any(|(name, _)| name == worker.name) {
        let message = format!("there is a node `{}` already", worker.name);
        return Err(Failure::new(Kind::Arguments, message)
            .advise("`wdev up` makes what is missing of it")
            .into());
    }
    if let Some((name, address)) =
        addresses(config).find(|(_, address)| worker.address.as_ref() == Some(address))
    {
        let message = format!("the address {address} is that of `{name}`");
        return Err(Failure::new(Kind::Arguments, message)
            .advise("take another one, or leave it to wdev: the next free one of `network.nodes`")
            .into());
    }
    let mut change = Draft::read(request, loaded)?;
    if !change.has_workers() {
        // Without the key there is one worker with every default; it is to stay.
        for worker in &config.workers {
            change.push(&NewWorker {
                name: worker.name.clone(),
                ..NewWorker::default()
            })?;
        }
    }
    change.push(worker)?;
    let after = change.load(request)?;
    let wanted = config.workers.len() + 1;
    let new = after.config.workers.last();
    if after.config.workers.len() != wanted || new.is_none_or(|new| new.name != worker.name) {
        return Err(Failure::new(
            Kind::Configuration,
            format!("the worker `{}` would not count", worker.name),
        )
        .because("something else than the file says what the workers are")
        .into());
    }
    if let Some(name) = differs(config, &after.config, None) {
        return Err(Failure::new(
            Kind::Configuration,
            format!("with this worker `{name}` would become another machine"),
        )
        .advise(format!("write down the address of `{name}` first"))
        .into());
    }
    Ok(change.done(after))
}

/// The configuration without the worker of that name, which it has. `loaded` is what `request` gave.
/// What other nodes have from the number or the order of workers is written down for them.
///
/// # Errors
/// When it is the only worker, the workers are defined elsewhere, or the rest is no configuration.
pub fn without_worker(request: &Request, loaded: &Loaded, name: &str) -> Edited<Change> {
    let config = &loaded.config;
    if config.workers.len() == 1 {
        let message = format!("`{name}` is the only worker, and a sandbox has at least one");
        return Err(Failure::new(Kind::Arguments, message)
            .advise("add another one first, or remove everything with `wdev destroy`")
            .into());
    }
    let mut change = Draft::read(request, loaded)?;
    let at = config.workers.iter().position(|worker| worker.name == name);
    let at = at.unwrap_or(config.workers.len());
    change.text = edit::remove(&change.text, WORKERS, at).map_err(|why| change.refused(&why))?;
    let rest: Vec<&Worker> = config.workers.iter().filter(|it| it.name != name).collect();
    let mut after = change.load(request)?;
    // The names first: whoever has none takes the next free number.
    for key in ["name", "address"] {
        for (index, was) in rest.iter().enumerate() {
            let now = after.config.workers.get(index);
            let (was_it, now_it) = match key {
                "name" => (was.name.clone(), now.map(|now| now.name.clone())),
                _ => (
                    was.address.to_string(),
                    now.map(|now| now.address.to_string()),
                ),
            };
            if now_it.as_ref() != Some(&was_it) {
                change.pin(index, key, &was_it, &was.name)?;
            }
        }
        after = change.load(request)?;
    }
    if let Some(other) = differs(config, &after.config, Some(name)) {
        return Err(Failure::new(
            Kind::Configuration,
            format!("without this worker `{other}` would become another machine"),
        )
        .advise(format!("write down the address of `{other}` first"))
        .into());
    }
    Ok(change.done(after))
}

/// The nodes with their addresses.
fn addresses(config: &Config) -> impl Iterator<Item = (&str, String)> {
    let control_plane = &config.control_plane;
    std::iter::once((
        control_plane.name.as_str(),
        control_plane.address.to_string(),
    ))
    .chain(
        config
            .workers
            .iter()
            .map(|worker| (worker.name.as_str(), worker.address.to_string())),
    )
}

/// A node, but for `except`, that is another one afterwards.
fn differs<'a>(before: &'a Config, after: &Config, except: Option<&str>) -> Option<&'a str> {
    if before.control_plane != after.control_plane {
        return Some(&before.control_plane.name);
    }
    let mut workers = before.workers.iter();
    let other = workers
        .find(|worker| Some(worker.name.as_str()) != except && !after.workers.contains(worker));
    other.map(|worker| worker.name.as_str())
}

/// The file's text on its way.
struct Draft {
    file: PathBuf,
    before: Option<String>,
    text: String,
    pinned: Vec<String>,
}

impl Draft {
    fn read(request: &Request, loaded: &Loaded) -> Edited<Self> {
        let file = loaded.file.clone();
        let before = match &file {
            Some(file) => {
                let text = std::fs::read_to_string(file);
                Some(text.map_err(|error| io_failure("read", file, &error))?)
            }
            None => None,
        };
        let draft = Self {
            file: file.unwrap_or_else(|| loaded.dir.join(files::NAMES[0])),
            text: before.clone().unwrap_or_default(),
            before,
            pinned: Vec::new(),
        };
        let start = std::path::absolute(&request.start).unwrap_or_default();
        let shown = files::shown(&draft.file, &start);
        let elsewhere = match loaded.effective.at(WORKERS).place.origin() {
            Origin::File { file, .. } if file == shown => {
                // The keys of the predecessor say what the workers are without this one.
                (!draft.has_workers()).then(|| "the predecessor's keys in it".to_owned())
            }
            Origin::Default | Origin::Derived { .. } => None,
            other => Some(other.to_string()),
        };
        match elsewhere {
            None => Ok(draft),
            Some(origin) => Err(Failure::new(
                Kind::Configuration,
                format!("`workers` of `{shown}` does not say what the workers are"),
            )
            .because(format!("that is said by {origin}"))
            .advise("change it there, then run `wdev up`; or let the file say it")
            .into()),
        }
    }

    fn has_workers(&self) -> bool {
        let root = tree::parse(&self.text);
        root.is_ok_and(|root| root.get(WORKERS).is_some_and(|list| !list.is_null()))
    }

    fn refused(&self, why: &str) -> Refused {
        let file = self.file.display();
        Failure::new(Kind::Configuration, format!("cannot change `{file}`"))
            .because(why)
            .advise("change `workers` by hand, then run `wdev up`; nothing was touched")
            .into()
    }

    fn push(&mut self, worker: &NewWorker) -> Edited<()> {
        let flow = &worker.flow(edit::quotes_keys(&self.text, WORKERS, None));
        let item = Item {
            list: WORKERS,
            flow: flow.clone(),
            block: &|indent, _| format!("{indent}- {flow}"),
            indent: "  ",
        };
        let root = tree::parse(&self.text).map_err(|why| self.refused(&why))?;
        self.text = if root.is_null() {
            self.with_first(flow)
        } else {
            edit::insert(&self.text, &item).map_err(|why| self.refused(&why))?
        };
        Ok(())
    }

    /// A file without any key, which may hold comments.
    fn with_first(&self, flow: &str) -> String {
        let newline = if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let between = if self.text.is_empty() || self.text.ends_with('\n') {
            ""
        } else {
            newline
        };
        let text = &self.text;
        format!("{text}{between}{WORKERS}:{newline}  - {flow}{newline}")
    }

    fn pin(&mut self, at: usize, key: &str, value: &str, worker: &str) -> Edited<()> {
        let quoted = edit::quotes_keys(&self.text, WORKERS, Some(at));
        self.text = edit::add_key(&self.text, WORKERS, at, key, &scalar(value, quoted))
            .map_err(|why| self.refused(&why))?;
        self.pinned.push(format!("{key}: {value} of `{worker}`"));
        Ok(())
    }

    fn load(&self, request: &Request) -> Edited<Loaded> {
        let text = self.text.strip_prefix('\u{feff}').unwrap_or(&self.text);
        let request = Request {
            text: Some(text.to_owned()),
            first_worker: false,
            ..request.clone()
        };
        load(&request).map_err(Refused::Problems)
    }

    fn done(self, loaded: Loaded) -> Change {
        Change {
            file: self.file,
            before: self.before,
            after: self.text,
            loaded,
            pinned: self.pinned,
        }
    }
}
