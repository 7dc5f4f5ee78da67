//! What becomes of each thing that was found: whether it is new, there already, or in the way of
//! another of its name.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tollgate_core::secret::Secret;

use crate::cli::import::Import;
use crate::config::edit::{self, Edit};
use crate::failure::Failure;
use crate::import::variables::{There, Variables, refers};
use crate::import::{Found, Imported, folded};
use crate::output::Output;
use crate::prompt;

/// What to do about a name that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clash {
    Ask,
    Overwrite,
    Skip,
    Rename,
    /// Nobody can be asked, and nothing was said.
    Leave,
}

impl Clash {
    pub(super) fn of(wanted: &Import, output: Output) -> Self {
        match () {
            () if wanted.overwrite => Self::Overwrite,
            () if wanted.skip => Self::Skip,
            () if wanted.rename => Self::Rename,
            () if prompt::is_possible(output) && !wanted.dry_run => Self::Ask,
            () => Self::Leave,
        }
    }
}

/// What the config has, by section and name; grows with what is planned.
pub(super) struct Known(BTreeMap<(String, String), Entry>);

struct Entry {
    /// As it is written; it is found by what it is taken for.
    name: String,
    keys: Value,
}

impl Known {
    pub(super) fn of(config: &Value) -> Self {
        let mut known = Self(BTreeMap::new());
        for section in ["servers", "agents", "providers", "models"] {
            for name in edit::names(config, section) {
                let entry = match &config[section] {
                    Value::Array(items) => items.iter().find(|it| it["name"] == name.as_str()),
                    map => map.get(&name),
                };
                let entry = entry.cloned().unwrap_or(Value::Null);
                known.put(section, &name, without_name(entry));
            }
        }
        known
    }

    fn get(&self, section: &str, name: &str) -> Option<&Entry> {
        self.0.get(&(section.to_owned(), folded(section, name)))
    }

    fn put(&mut self, section: &str, name: &str, keys: Value) {
        let entry = Entry { name: name.to_owned(), keys };
        self.0.insert((section.to_owned(), folded(section, name)), entry);
    }

    fn free(&self, section: &str, name: &str) -> String {
        let names = (2..).map(|number| {
            let tail = format!("_{number}");
            let head: String = name.chars().take(64 - tail.len()).collect();
            head + &tail
        });
        let mut names = names;
        names.find(|name| self.get(section, name).is_none()).unwrap_or_default()
    }
}

fn without_name(mut entry: Value) -> Value {
    if let Value::Object(keys) = &mut entry {
        keys.shift_remove("name");
    }
    entry
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Add,
    /// It is there, word for word.
    Same,
    /// What is there is called that.
    Overwrite(String),
    Skip,
    Rename(String),
    /// Somebody has to say what.
    Open,
}

impl Step {
    pub(super) fn sign(&self) -> &'static str {
        match self {
            Self::Add | Self::Rename(_) => "+",
            Self::Same => "=",
            Self::Overwrite(_) => "~",
            Self::Skip | Self::Open => "!",
        }
    }

    pub(super) fn id(&self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Same => "same",
            Self::Overwrite(_) => "overwrite",
            Self::Skip => "skip",
            Self::Rename(_) => "rename",
            Self::Open => "clash",
        }
    }

    pub(super) fn words(&self) -> String {
        match self {
            Self::Add => String::new(),
            Self::Same => " (there already)".to_owned(),
            Self::Overwrite(_) => " (replaces one of this name)".to_owned(),
            Self::Skip => " (left out: there is one of this name)".to_owned(),
            Self::Rename(name) => format!(" (as `{name}`: there is one of this name)"),
            Self::Open => " (there is one of this name)".to_owned(),
        }
    }
}

struct Line {
    section: &'static str,
    found: Found,
    step: Step,
}

impl Line {
    /// The next one has to get along with it.
    fn note(&self, known: &mut Known) {
        let name = match &self.step {
            Step::Add => &self.found.name,
            Step::Overwrite(name) | Step::Rename(name) => name,
            Step::Same | Step::Skip | Step::Open => return,
        };
        known.put(self.section, name, json!(self.found.keys));
    }
}

pub(super) struct Plan(Vec<Line>);

impl Plan {
    pub(super) async fn make(
        imported: &Imported,
        known: &mut Known,
        (variables, given): (&Variables<'_>, &mut Vec<(String, Secret)>),
        (clash, output): (Clash, Output),
    ) -> Result<Self, Failure> {
        let mut lines = Vec::new();
        for found in &imported.servers {
            let there = known.get("servers", &found.name).map(|there| &there.keys);
            let there = match there {
                Some(there) if clash == Clash::Rename => There::KeepsIfUnset(there),
                Some(there) => There::Keeps(there),
                None => There::Nothing,
            };
            let mut fitted = variables.fitted(found, there, given);
            let step = step(("servers", &fitted), known, (clash, output)).await?;
            if let Step::Rename(_) = step {
                fitted = variables.fitted(found, There::Nothing, given);
            }
            let line = Line { section: "servers", found: fitted, step };
            line.note(known);
            lines.push(line);
        }
        for other in &imported.others {
            // Only servers are taken out of a file again.
            let there = known.get(other.section, &other.found.name).map(|there| &there.keys);
            let keeps = there.map_or(There::Nothing, There::Keeps);
            let found = variables.fitted(&other.found, keeps, given);
            let step = match there {
                Some(there) if *there == json!(found.keys) => Step::Same,
                Some(_) => Step::Skip,
                None => Step::Add,
            };
            let line = Line { section: other.section, found, step };
            line.note(known);
            lines.push(line);
        }
        Ok(Self(lines))
    }

    pub(super) fn edits(&self) -> Vec<Edit> {
        let mut edits = Vec::new();
        for Line { section, found, step } in &self.0 {
            let name = match step {
                Step::Add => found.name.clone(),
                Step::Rename(name) => name.clone(),
                Step::Overwrite(there) => {
                    // Agents may name it: it stays what it is called.
                    edits.push(Edit::Remove { name: there.clone() });
                    there.clone()
                }
                Step::Same | Step::Skip | Step::Open => continue,
            };
            edits.push(match *section {
                "servers" => Edit::Add { name, server: found.keys.clone() },
                section => Edit::Insert { section, name, keys: found.keys.clone() },
            });
        }
        edits
    }

    /// The keys of each server.
    pub(super) fn servers(&self) -> impl Iterator<Item = &Map<String, Value>> {
        let servers = self.0.iter().filter(|line| line.section == "servers");
        servers.map(|line| &line.found.keys)
    }

    /// Whether a variable is named in anything that is not left out.
    pub(super) fn names(&self, variable: &str) -> bool {
        let mut kept = self.0.iter().filter(|line| line.step != Step::Skip);
        kept.any(|line| refers(&line.found, variable))
    }

    /// Whether somebody still has to say something.
    pub(super) fn is_open(&self) -> bool {
        self.0.iter().any(|line| line.step == Step::Open)
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = (&str, String, &Step, &[String])> {
        self.0.iter().map(|line| {
            (line.section, line.found.name.clone(), &line.step, line.found.notes.as_slice())
        })
    }
}

async fn step(
    (section, found): (&str, &Found),
    known: &Known,
    (clash, output): (Clash, Output),
) -> Result<Step, Failure> {
    let Some(there) = known.get(section, &found.name) else { return Ok(Step::Add) };
    if there.keys == json!(found.keys) {
        return Ok(Step::Same);
    }
    let renamed = || Step::Rename(known.free(section, &found.name));
    Ok(match clash {
        Clash::Overwrite => Step::Overwrite(there.name.clone()),
        Clash::Skip => Step::Skip,
        Clash::Rename => renamed(),
        Clash::Leave => Step::Open,
        Clash::Ask => {
            let question = format!("there is a server `{}` already", there.name);
            let choices = [("skip", 's'), ("overwrite", 'o'), ("rename", 'r')];
            match prompt::choose(output, &question, &choices).await? {
                'o' => Step::Overwrite(there.name.clone()),
                'r' => renamed(),
                _ => Step::Skip,
            }
        }
    })
}

/// Leaves out what was not asked for.
pub(super) fn only(imported: &mut Imported, names: &[String]) {
    if names.is_empty() {
        return;
    }
    imported.servers.retain(|found| names.iter().any(|name| name.trim() == found.name));
    imported.others.clear();
}
