//! From a wish to the text that would be written: nothing is touched here. Blocks.

use serde_json::Value;
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
    /// What to do by hand if the file cannot be written.
    paste: String,
}

pub(super) fn show(origin: &Origin, masks: &Masks) -> Result<Shown, Trouble> {
    let snapshot = origin.snapshot()?;
    let (file, version, text) = match &snapshot {
        Some(it) => (Some(origin.path().display().to_string()), it.version.clone(), &*it.text),
        None => (None, Version::of(DEFAULT.as_bytes()), DEFAULT),
    };
    let text = masks.cover(origin.path(), text)?;
    let values = config::values(&text);
    Ok(Shown { file, version: version.as_str().to_owned(), text, values })
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
    let (text, paste) = match edit(&order.change, old) {
        Wish::Text(text) => (masks.uncover(path, text, old)?, "write it yourself".to_owned()),
        Wish::Edit(edit) => (edit::apply(path, old, &edit)?, edit.paste()),
        Wish::Nothing => (old.to_owned(), String::new()),
    };
    let version = match &before {
        Some(before) => before.version_with(&text),
        None => Version::of(text.as_bytes()),
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

enum Wish<'a> {
    Text(&'a str),
    Edit(Edit),
    /// It is so already.
    Nothing,
}

fn edit<'a>(change: &'a Change, old: &str) -> Wish<'a> {
    match change {
        Change::Text(text) => Wish::Text(text),
        Change::Add { name, server } => {
            Wish::Edit(Edit::Add { name: name.clone(), server: server.clone() })
        }
        Change::Remove { name } => Wish::Edit(Edit::Remove { name: name.clone() }),
        Change::Switch { name, to } => match edit::is_enabled(&config::values(old), name) {
            Some(is) if is == (*to == Switch::On) => Wish::Nothing,
            _ => Wish::Edit(Edit::Set {
                name: name.clone(),
                key: "enabled".to_owned(),
                value: Some(Value::Bool(*to == Switch::On)),
            }),
        },
    }
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
    #[error("{why}; {paste}")]
    Unwritten { why: Unwritten, paste: String },
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
            Trouble::Edit(edit::Refused::Unknown(name)) => Self::UnknownServer(name),
            Trouble::Edit(why @ edit::Refused::Odd { .. }) => Self::Unwritable(why.to_string()),
            Trouble::Unwritten { why: why @ Unwritten::Changed(_), .. } => {
                Self::Conflict(why.to_string())
            }
            Trouble::Unwritten { why: Unwritten::ReadOnly { .. }, .. } => {
                Self::Unwritable(trouble.to_string())
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
