//! From a wish to the text that would be written: nothing is touched here. Blocks.

use std::path::Path;

use serde_json::{Map, Value};
use tollgate_server::operator::{Change, Order, Refused, Shown, Switch};

use super::origin::{Candidate, Origin};
use crate::config::edit::{self, Edit};
use crate::config::file::{Snapshot, Unwritten, Version};
use crate::config::masked::Masks;
use crate::config::{self, DEFAULT, Report};
use crate::failure::Failure;

/// A change that was proved and is not made yet.
pub(crate) struct Draft {
    /// What it replaces; `None` makes a new file.
    before: Option<Snapshot>,
    text: String,
    pub(crate) diff: String,
    pub(crate) candidate: Candidate,
    paste: Paste,
}

/// What to do by hand if the file cannot be written. Covers what was covered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Paste {
    words: String,
    /// The lines to write, where there are any.
    yaml: Option<String>,
}

impl Paste {
    fn of(edit: &Edit) -> Self {
        Self { words: edit.paste(), yaml: edit.yaml() }
    }
}

pub(super) fn show(origin: &Origin, masks: &Masks) -> Result<Shown, Trouble> {
    let snapshot = origin.snapshot()?;
    let (file, version, text) = match &snapshot {
        Some(it) => (Some(origin.path().display().to_string()), it.version.clone(), &*it.text),
        None => (None, Version::of(DEFAULT.as_bytes()), DEFAULT),
    };
    let text = masks.cover(origin.path(), text)?;
    let (values, writable) = (config::values(&text), config::file::is_writable(origin.path()));
    Ok(Shown { file, version: version.as_str().to_owned(), text, values, writable })
}

pub(crate) fn draft(origin: &Origin, masks: &Masks, order: &Order) -> Result<Draft, Trouble> {
    let before = origin.snapshot()?;
    let (old, version) = match &before {
        Some(it) => (it.text.as_str(), it.version.clone()),
        None => (DEFAULT, Version::of(DEFAULT.as_bytes())),
    };
    if order.version.as_ref().is_some_and(|wanted| wanted != version.as_str()) {
        return Err(Trouble::OtherVersion);
    }
    let path = origin.path();
    let (text, paste) = changed(path, masks, (&order.change, old))?;
    proved(origin, masks, before, (text, paste))
}

/// Several changes as one.
pub(crate) fn draft_edits(
    origin: &Origin,
    masks: &Masks,
    edits: &[Edit],
) -> Result<Draft, Trouble> {
    let before = origin.snapshot()?;
    let paste = match edits {
        [one] => Paste::of(one),
        several => {
            let words: Vec<String> = several.iter().map(Edit::paste).collect();
            Paste { words: words.join("\n"), yaml: None }
        }
    };
    let mut text = before.as_ref().map_or(DEFAULT, |it| it.text.as_str()).to_owned();
    for edit in edits {
        let applied = edit::apply(origin.path(), &text, edit);
        text = applied.map_err(|why| Trouble::of(why, &paste))?;
    }
    proved(origin, masks, before, (text, paste))
}

fn proved(
    origin: &Origin,
    masks: &Masks,
    before: Option<Snapshot>,
    (text, paste): (String, Paste),
) -> Result<Draft, Trouble> {
    let path = origin.path();
    let (old, version) = match &before {
        Some(before) => (before.text.as_str(), before.version_with(&text)),
        None => (DEFAULT, Version::of(text.as_bytes())),
    };
    let candidate = origin.candidate(&text, version)?;
    let diff = edit::diff(path, &masks.cover(path, old)?, &masks.cover(path, &text)?);
    Ok(Draft { before, text, diff, candidate, paste })
}

impl Draft {
    /// Writes what was drafted, if the file is still what it was drafted for.
    pub(crate) fn write(&self, origin: &Origin) -> Result<(), Trouble> {
        let written = match &self.before {
            Some(before) if before.text == self.text => return Ok(()),
            Some(before) => before.write(&self.text),
            None => config::file::create(origin.path(), &self.text),
        };
        written.map(drop).map_err(|why| Trouble::Unwritten { why, paste: self.paste.clone() })
    }
}

/// The text after the change, and what to do by hand instead.
fn changed(
    path: &Path,
    masks: &Masks,
    (change, old): (&Change, &str),
) -> Result<(String, Paste), Trouble> {
    let edited = |edits: &[Edit], paste: Paste| -> Result<(String, Paste), Trouble> {
        let mut text = old.to_owned();
        for edit in edits {
            text = edit::apply(path, &text, edit).map_err(|why| Trouble::of(why, &paste))?;
        }
        Ok((text, paste))
    };
    match change {
        Change::Text(text) => {
            let paste = Paste { words: "write it yourself".to_owned(), yaml: Some(text.clone()) };
            Ok((masks.uncover(path, text, old)?, paste))
        }
        Change::Add { name, server, agents } => {
            let paste = Paste::of(&Edit::Add { name: name.clone(), server: server.clone() });
            let mut server = server.clone();
            masks.uncover_keys(path, &mut server, old)?;
            let add = Edit::Add { name: name.clone(), server };
            let shown = shown_to(agents, name, &config::values(old))?;
            edited(&[vec![add], shown].concat(), paste)
        }
        Change::Replace { name, server } => {
            let paste = Paste::of(&Edit::Add { name: name.clone(), server: server.clone() });
            edited(&replacing(path, masks, (name, server), old)?, paste)
        }
        Change::Remove { name } => {
            let edit = Edit::Remove { name: name.clone() };
            let paste = Paste::of(&edit);
            edited(&[edit], paste)
        }
        Change::Switch { name, to } => match edit::is_enabled(&config::values(old), name) {
            Some(is) if is == (*to == Switch::On) => Ok((old.to_owned(), Paste::default())),
            _ => {
                let (key, value) = ("enabled".to_owned(), Some(Value::Bool(*to == Switch::On)));
                let edit = Edit::Set { section: "servers", name: name.clone(), key, value };
                let paste = Paste::of(&edit);
                edited(&[edit], paste)
            }
        },
    }
}

/// Key by key: those that stay as they are keep their place and their comments.
fn replacing(
    path: &Path,
    masks: &Masks,
    (name, wanted): (&str, &Map<String, Value>),
    old: &str,
) -> Result<Vec<Edit>, Trouble> {
    let shown = config::values(&masks.cover(path, old)?);
    let before = edit::entry(&shown, name);
    let before = before.ok_or_else(|| edit::Refused::Unknown(name.to_owned()))?;
    let mut new = wanted.clone();
    new.retain(|key, value| before.get(key) != Some(value));
    masks.uncover_keys(path, &mut new, old)?;
    let to = |key, value| Edit::Set { section: "servers", name: name.to_owned(), key, value };
    let gone = before.keys().filter(|key| !wanted.contains_key(*key));
    let gone = gone.map(|key| to(key.clone(), None));
    // First what is new: an entry is never empty in between.
    Ok(new.into_iter().map(|(key, value)| to(key, Some(value))).chain(gone).collect())
}

/// Lets agents see all tools of a server that is new. Nothing is visible that no list lets in.
fn shown_to(agents: &[String], server: &str, old: &Value) -> Result<Vec<Edit>, Trouble> {
    let pattern = old["names"]["pattern"].as_str().unwrap_or("{server}_{tool}");
    let is_safe = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    let server: String = server.chars().map(|it| if is_safe(it) { it } else { '_' }).collect();
    let glob = pattern.replace("{server}", &server).replace("{tool}", "*");
    let shown = agents.iter().map(|agent| {
        let missing = || edit::Refused::Missing { section: "agents", name: agent.clone() };
        if !pattern.contains("{server}") {
            let why = "tools go by names without their server's".to_owned();
            let words = format!("name its tools in `agents.{agent}.tools` yourself");
            return Err(Trouble::Odd { why, paste: Paste { words, yaml: None } });
        }
        let mut tools = match &edit::thing(old, "agents", agent).ok_or_else(missing)?["tools"] {
            Value::Array(tools) => tools.clone(),
            _ => Vec::new(),
        };
        tools.push(Value::from(glob.clone()));
        let (key, value) = ("tools".to_owned(), Some(Value::Array(tools)));
        Ok(Edit::Set { section: "agents", name: agent.clone(), key, value })
    });
    shown.collect()
}

/// Why a change is not made. Nothing was touched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("the config has mistakes: {0}")]
    Mistakes(Box<Report>),
    #[error("the config is not what it was when you read it")]
    OtherVersion,
    #[error(transparent)]
    Edit(#[from] edit::Refused),
    #[error("the file is written in a way that is not changed by itself ({why}); {}", paste.words)]
    Odd { why: String, paste: Paste },
    #[error("{why}; {}", paste.words)]
    Unwritten { why: Unwritten, paste: Paste },
}

impl Trouble {
    fn of(refused: edit::Refused, paste: &Paste) -> Self {
        match refused {
            edit::Refused::Odd { why, .. } => Self::Odd { why, paste: paste.clone() },
            other => Self::Edit(other),
        }
    }
}

impl From<Report> for Trouble {
    fn from(report: Report) -> Self {
        Self::Mistakes(Box::new(report))
    }
}

impl From<Trouble> for Refused {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Mistakes(report) | Trouble::Edit(edit::Refused::Unreadable(report)) => {
                Self::Mistakes(report.to_json())
            }
            Trouble::OtherVersion => Self::OtherVersion,
            Trouble::Edit(edit::Refused::Exists(name)) => Self::ServerExists(name),
            Trouble::Edit(why @ edit::Refused::Taken { .. }) => Self::Conflict(why.to_string()),
            Trouble::Edit(edit::Refused::Unknown(name)) => Self::UnknownServer(name),
            Trouble::Edit(edit::Refused::Missing { name, .. }) => Self::UnknownAgent(name),
            Trouble::Edit(why @ edit::Refused::Odd { .. }) => {
                Self::Unwritable { why: why.to_string(), yaml: None }
            }
            Trouble::Odd { ref paste, .. }
            | Trouble::Unwritten { why: Unwritten::ReadOnly { .. }, ref paste } => {
                Self::Unwritable { why: trouble.to_string(), yaml: paste.yaml.clone() }
            }
            Trouble::Unwritten { why: why @ Unwritten::Changed(_), .. } => {
                Self::Conflict(why.to_string())
            }
            Trouble::Unwritten { why, .. } => Self::Failed(why.to_string()),
        }
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Mistakes(report) | Trouble::Edit(edit::Refused::Unreadable(report)) => {
                Self::Config(report)
            }
            Trouble::Unwritten { why: why @ Unwritten::Changed(_), .. } => {
                Self::Failed(why.to_string())
            }
            other => Self::Failed(other.to_string()),
        }
    }
}
