//! Puts a sandbox's entries into a kubeconfig of its user, and takes them out again.
//!
//! An entry is ours when its name is the recorded one and it leads where ours did: the same authority,
//! the same certificate, the same cluster and user. What the user adds to it, such as a namespace, stays.
//! Nothing else of that name is ever touched.

use std::path::{Path, PathBuf};

use super::access::{Access, hash};
use super::edit::{Entry, insert, remove, set_current};
use super::file;
use super::lock::Held;
use super::merged::{InFile, Merged};
use crate::error::{Failure, Kind, Result};
use crate::yaml::tree::{Kind as NodeKind, Node, parse};

const LISTS: [&str; 3] = ["clusters", "contexts", "users"];
const CURRENT: &str = "current-context";
/// How many names are tried.
const NAMES: u32 = 9;

/// What is to be merged, and where.
pub struct Merge<'a> {
    /// What leads to the cluster.
    pub access: &'a Access,
    /// The name that the entries are to have.
    pub name: &'a str,
    /// The name that they have where the first is taken.
    pub unique: &'a str,
    /// The kubeconfig.
    pub file: &'a Path,
    /// The user's other kubeconfigs: a name that one of them has is taken.
    pub others: &'a [PathBuf],
    /// Where it is recorded what was merged.
    pub record: &'a Path,
    /// Whether it becomes the current context.
    pub use_it: bool,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The name of cluster, context and user.
    pub name: String,
    /// Whether the file was changed.
    pub changed: bool,
}

/// Notes that the kubeconfig is about to be locked, and perhaps changed. Before its lock is taken: a lock
/// that a killed wdev leaves is then found by whoever takes out what was merged.
///
/// # Errors
/// `Host` when the record cannot be read or written.
pub fn announce(record: &Path, file: &Path) -> Result<()> {
    let mut merged = Merged::read(record)?;
    if merged.of(file).is_some() {
        return Ok(());
    }
    merged.put(InFile::nothing(file));
    merged.write(record)
}

/// Merges. It was announced, and the kubeconfig's lock is held.
///
/// # Errors
/// `Host` when a file cannot be read, understood or written; then nothing was changed.
pub fn merge(merge: &Merge, _held: &Held) -> Result<Outcome> {
    let file = merge.file;
    let mut merged = Merged::read(merge.record)?;
    let before = file::read(file)?;
    let text = before.clone().unwrap_or_default();
    let root = understood(&text, file)?;
    let known = merged
        .of(file)
        .filter(|known| !known.name.is_empty())
        .cloned();
    let mut ours = known.clone().unwrap_or_else(|| InFile {
        created: before.is_none(),
        ..InFile::nothing(file)
    });
    let (authority, certificate) = (
        hash(&merge.access.authority),
        hash(&merge.access.certificate),
    );
    for (all, new) in [
        (&mut ours.authorities, &authority),
        (&mut ours.certificates, &certificate),
    ] {
        if !all.contains(new) {
            all.push(new.clone());
        }
    }
    ours.name = free_name(merge, &root, &ours)?;
    let cannot = |why: String| cannot_change(file, &why);
    let mut new = text.clone();
    // By another name, since somebody else took the one that they had.
    if let Some(known) = known.as_ref().filter(|known| known.name != ours.name) {
        new = without(&new, known).map_err(cannot)?;
    }
    for entry in merge.access.entries(&ours.name) {
        new = with(&new, &entry).map_err(cannot)?;
    }
    let current = current(&root);
    if merge.use_it && current.as_deref() != Some(&ours.name) {
        ours.context_before = current;
        new = set_current(&new, &ours.name).map_err(cannot)?;
    }
    // Before it is done: whenever wdev dies, the record knows what may stand there, old or new.
    merged.put(ours.clone());
    merged.write(merge.record)?;
    let changed = before.as_deref() != Some(&new);
    if changed {
        file::write(&file::target(file)?, &new)?;
    }
    let name = ours.name.clone();
    ours.authorities = vec![authority];
    ours.certificates = vec![certificate];
    merged.put(ours);
    merged.write(merge.record)?;
    Ok(Outcome { name, changed })
}

/// Takes out what was merged into the file; whether anything was there. Its lock is held.
///
/// # Errors
/// `Host` when the file cannot be read, understood or written; then it is as it was.
pub fn unmerge(record: &Path, file: &Path, _held: &Held) -> Result<bool> {
    let mut merged = Merged::read(record)?;
    let Some(ours) = merged.of(file).cloned() else {
        return Ok(false);
    };
    let before = file::read(file)?;
    let mut changed = false;
    if let Some(text) = before {
        let root = understood(&text, file)?;
        let mut new = without(&text, &ours).map_err(|why| cannot_change(file, &why))?;
        if new != text && current(&root).as_deref() == Some(&ours.name) {
            let back = ours.context_before.as_deref().unwrap_or_default();
            let known = !places(&root, "contexts", back).is_empty();
            let back = if known { back } else { "" };
            new = set_current(&new, back).map_err(|why| cannot_change(file, &why))?;
        }
        changed = new != text;
        let target = file::target(file)?;
        if changed && ours.created && is_bare(&new) {
            crate::home::remove_file(&target)?;
        } else if changed {
            file::write(&target, &new)?;
        }
    }
    merged.files.retain(|known| known.file != file);
    merged.write(record)?;
    Ok(changed)
}

/// The first name under which there is nothing that is not ours.
fn free_name(merge: &Merge, root: &Node, ours: &InFile) -> Result<String> {
    let mut others = Vec::new();
    for path in merge.others.iter().filter(|path| *path != merge.file) {
        // One that cannot be read hides no name that kubectl could see.
        let read = file::read(path).ok().flatten();
        others.extend(read.and_then(|text| parse(&text).ok()));
    }
    let numbered = (2..=NAMES).map(|number| format!("{}-{number}", merge.unique));
    let names = [
        ours.name.clone(),
        merge.name.to_owned(),
        merge.unique.to_owned(),
    ];
    let mut names = names
        .into_iter()
        .chain(numbered)
        .filter(|name| !name.is_empty());
    let free = |name: &String| {
        let in_file = InFile {
            name: name.clone(),
            ..ours.clone()
        };
        // Without a record, a context of that name is ours only where it leads to a cluster of ours.
        let recorded = *name == ours.name || !places(root, "clusters", name).is_empty();
        if !recorded && !places(root, "contexts", name).is_empty() {
            return false;
        }
        LISTS.iter().all(|list| {
            let all_ours = places(root, list, name)
                .iter()
                .all(|(_, item)| is_ours(root, list, item, &in_file));
            all_ours
                && others
                    .iter()
                    .all(|other| places(other, list, name).is_empty())
        })
    };
    names.find(free).ok_or_else(|| {
        Box::new(
            Failure::new(
                Kind::Host,
                format!("`{}` has no name left for this sandbox", merge.file.display()),
            )
            .because(format!(
                "`{}`, `{}` and those that follow name clusters, contexts or users that are not wdev's",
                merge.name, merge.unique
            ))
            .advise("rename or remove one of them"),
        )
    })
}

/// The text with this entry, once, where it has others of ours by that name or none.
fn with(text: &str, entry: &Entry) -> Result<String, String> {
    let root = parse(text)?;
    let places = places(&root, entry.list, &entry.name);
    if let [(_, item)] = places.as_slice()
        && item
            .get(entry.key)
            .is_some_and(|value| holds(value.in_document(&root), entry))
    {
        return Ok(text.to_owned());
    }
    let mut new = text.to_owned();
    for (at, _) in places.iter().rev() {
        new = remove(&new, entry.list, *at)?;
    }
    insert(&new, entry)
}

fn holds(value: &Node, entry: &Entry) -> bool {
    let mut fields = entry.fields.iter();
    fields.all(|(key, wanted)| value.get(key).and_then(Node::text) == Some(wanted))
}

/// The text without what is ours.
fn without(text: &str, ours: &InFile) -> Result<String, String> {
    let mut new = text.to_owned();
    let root = parse(text)?;
    for list in LISTS {
        for (at, item) in places(&root, list, &ours.name).iter().rev() {
            if is_ours(&root, list, item, ours) {
                new = remove(&new, list, *at)?;
            }
        }
    }
    Ok(new)
}

/// Whether an entry of our name leads where ours did.
fn is_ours(root: &Node, list: &str, item: &Node, ours: &InFile) -> bool {
    let value = |key: &str| item.get(key).map(|value| value.in_document(root));
    let text = |value: Option<&Node>, key: &str| {
        let found = value
            .and_then(|value| value.get(key))
            .map(|it| it.in_document(root));
        found.and_then(Node::text).map(str::to_owned)
    };
    let known = |found: Option<String>, all: &[String]| {
        found.is_some_and(|found| all.contains(&hash(&found)))
    };
    match list {
        "clusters" => known(
            text(value("cluster"), "certificate-authority-data"),
            &ours.authorities,
        ),
        "users" => known(
            text(value("user"), "client-certificate-data"),
            &ours.certificates,
        ),
        _ => ["cluster", "user"]
            .iter()
            .all(|key| text(value("context"), key).as_ref() == Some(&ours.name)),
    }
}

/// The entries of a list that have this name, with their places.
fn places<'a>(root: &'a Node, list: &str, name: &str) -> Vec<(usize, &'a Node)> {
    if name.is_empty() {
        return Vec::new();
    }
    let list = root.get(list).map(|list| list.in_document(root));
    let Some(NodeKind::List { items, .. }) = list.map(|list| &list.kind) else {
        return Vec::new();
    };
    let items = items.iter().map(|item| item.in_document(root)).enumerate();
    items
        .filter(|(_, item)| {
            let found = item.get("name").map(|found| found.in_document(root));
            found.and_then(Node::text) == Some(name)
        })
        .collect()
}

fn current(root: &Node) -> Option<String> {
    let found = root.get(CURRENT)?.in_document(root).text()?;
    Some(found.to_owned()).filter(|found| !found.is_empty())
}

/// The text as a tree, once it is a kubeconfig in which every name can be told.
fn understood(text: &str, file: &Path) -> Result<Node> {
    let root = parse(text).map_err(|why| no_kubeconfig(file, &why))?;
    let wrong = |why: &str| Err(no_kubeconfig(file, why));
    let NodeKind::Map { entries, .. } = &root.kind else {
        return if root.is_null() && root.range.is_empty() {
            Ok(root)
        } else {
            wrong("it is no map of keys")
        };
    };
    let kind = root.get("kind").map(|kind| kind.in_document(&root));
    if kind.is_some_and(|kind| !kind.is_null() && !kind.is("Config")) {
        return wrong("its `kind` is not `Config`");
    }
    for (at, (key, _)) in entries.iter().enumerate() {
        let Some(key) = key.text() else {
            return wrong("it has a key that is no plain text");
        };
        if key == "<<" {
            return wrong("it has a merge key (`<<`), behind which names may hide");
        }
        if entries.iter().skip(at + 1).any(|(other, _)| other.is(key)) {
            return wrong(&format!("the key `{key}` is there twice"));
        }
    }
    for list in LISTS {
        let Some(value) = root.get(list).map(|value| value.in_document(&root)) else {
            continue;
        };
        let named = match &value.kind {
            NodeKind::List { items, .. } => items.iter().all(|item| {
                let name = item.in_document(&root).get("name");
                name.is_some_and(|name| name.in_document(&root).text().is_some())
            }),
            _ => value.is_null(),
        };
        if !named {
            return wrong(&format!("its `{list}` is no list of things with a name"));
        }
    }
    Ok(root)
}

/// Whether nothing is left but what wdev writes into an empty file.
fn is_bare(text: &str) -> bool {
    let Ok(root) = parse(text) else {
        return false;
    };
    let NodeKind::Map { entries, .. } = &root.kind else {
        return root.is_null();
    };
    let empty = |value: &Node| match &value.kind {
        NodeKind::List { items, .. } => items.is_empty(),
        NodeKind::Map { entries, .. } => entries.is_empty(),
        NodeKind::Scalar { text, .. } => value.is_null() || text.is_empty(),
        NodeKind::Alias(_) => false,
    };
    let ours = |key: &Node| key.is("apiVersion") || key.is("kind");
    !text.contains('#') && entries.iter().all(|(key, value)| ours(key) || empty(value))
}

fn no_kubeconfig(file: &Path, why: &str) -> Box<Failure> {
    Box::new(
        Failure::new(
            Kind::Host,
            format!("`{}` cannot be understood as a kubeconfig", file.display()),
        )
        .because(why)
        .advise("mend it, or set `KUBECONFIG` to another file; nothing in it was touched"),
    )
}

fn cannot_change(file: &Path, why: &str) -> Box<Failure> {
    Box::new(
        Failure::new(Kind::Host, format!("cannot change `{}`", file.display()))
            .because(why)
            .advise(
                "`kubectl config view --raw --kubeconfig FILE` writes it anew in the usual form",
            )
            .advise("or set `KUBECONFIG` to another file; nothing in it was touched"),
    )
}
