//! Import plan: decides for each entry whether it is new, identical to an existing one, or clashes
//! with one of the same name.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tollgate_config::edit::{self, ConfigEdit};
use tollgate_core::secret::Secret;

use crate::cli::import::ImportArgs;
use crate::command_error::CommandError;
use crate::import::variables::{ExistingEntry, VariableNames, refers};
use crate::import::{ImportedConfig, ImportedEntry, fold_name};
use crate::output::Output;
use crate::prompt;

/// How to resolve a name clash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameClashPolicy {
    Ask,
    Overwrite,
    Skip,
    Rename,
    /// Unresolved: there is no terminal to ask on, and no flag was given.
    Leave,
}

impl NameClashPolicy {
    pub(super) fn of(args: &ImportArgs, output: Output) -> Self {
        match () {
            () if args.overwrite => Self::Overwrite,
            () if args.skip => Self::Skip,
            () if args.rename => Self::Rename,
            () if prompt::is_possible(output) && !args.dry_run => Self::Ask,
            () => Self::Leave,
        }
    }
}

/// Entries of the config by section and name, including the planned ones.
pub(super) struct ConfiguredEntries(BTreeMap<(String, String), ConfiguredEntry>);

struct ConfiguredEntry {
    /// The name as written. The lookup key is the normalized name.
    name: String,
    keys: Value,
}

impl ConfiguredEntries {
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

    fn get(&self, section: &str, name: &str) -> Option<&ConfiguredEntry> {
        self.0.get(&(section.to_owned(), fold_name(section, name)))
    }

    fn put(&mut self, section: &str, name: &str, keys: Value) {
        let entry = ConfiguredEntry { name: name.to_owned(), keys };
        self.0.insert((section.to_owned(), fold_name(section, name)), entry);
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
pub(super) enum ImportAction {
    Add,
    /// An identical entry exists.
    Same,
    /// Contains the name of the existing entry.
    Overwrite(String),
    Skip,
    Rename(String),
    /// A decision is needed.
    Open,
}

impl ImportAction {
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
            Self::Overwrite(_) => " (replaces the existing one)".to_owned(),
            Self::Skip => " (skipped: it already exists)".to_owned(),
            Self::Rename(name) => format!(" (as `{name}`: the name already exists)"),
            Self::Open => " (already exists)".to_owned(),
        }
    }
}

struct PlannedEntry {
    section: &'static str,
    found: ImportedEntry,
    step: ImportAction,
}

impl PlannedEntry {
    /// Adds the entry, so that later entries are checked against it.
    fn note(&self, known: &mut ConfiguredEntries) {
        let name = match &self.step {
            ImportAction::Add => &self.found.name,
            ImportAction::Overwrite(name) | ImportAction::Rename(name) => name,
            ImportAction::Same | ImportAction::Skip | ImportAction::Open => return,
        };
        known.put(self.section, name, json!(self.found.keys));
    }
}

pub(super) struct ImportPlan(Vec<PlannedEntry>);

impl ImportPlan {
    pub(super) async fn make(
        imported: &ImportedConfig,
        known: &mut ConfiguredEntries,
        variables: &VariableNames<'_>,
        given: &mut Vec<(String, Secret)>,
        clash: NameClashPolicy,
        output: Output,
    ) -> Result<Self, CommandError> {
        let mut lines = Vec::new();
        for found in &imported.servers {
            let there = known.get("servers", &found.name).map(|there| &there.keys);
            let there = match there {
                Some(there) if clash == NameClashPolicy::Rename => {
                    ExistingEntry::KeepsIfUnset(there)
                }
                Some(there) => ExistingEntry::Keeps(there),
                None => ExistingEntry::Nothing,
            };
            let mut fitted = variables.fit_entry(found, there, given);
            let step = step("servers", &fitted, known, clash, output).await?;
            if let ImportAction::Rename(_) = step {
                fitted = variables.fit_entry(found, ExistingEntry::Nothing, given);
            }
            let line = PlannedEntry { section: "servers", found: fitted, step };
            line.note(known);
            lines.push(line);
        }
        for other in &imported.others {
            // Only entries of servers can be removed from a file.
            let there = known.get(other.section, &other.found.name).map(|there| &there.keys);
            let keeps = there.map_or(ExistingEntry::Nothing, ExistingEntry::Keeps);
            let found = variables.fit_entry(&other.found, keeps, given);
            let step = match there {
                Some(there) if *there == json!(found.keys) => ImportAction::Same,
                Some(_) => ImportAction::Skip,
                None => ImportAction::Add,
            };
            let line = PlannedEntry { section: other.section, found, step };
            line.note(known);
            lines.push(line);
        }
        Ok(Self(lines))
    }

    pub(super) fn edits(&self) -> Vec<ConfigEdit> {
        let mut edits = Vec::new();
        for PlannedEntry { section, found, step } in &self.0 {
            let name = match step {
                ImportAction::Add => found.name.clone(),
                ImportAction::Rename(name) => name.clone(),
                ImportAction::Overwrite(there) => {
                    // Keep the existing name: agents may refer to it.
                    edits.push(ConfigEdit::Remove { name: there.clone() });
                    there.clone()
                }
                ImportAction::Same | ImportAction::Skip | ImportAction::Open => continue,
            };
            edits.push(match *section {
                "servers" => ConfigEdit::Add { name, server: found.keys.clone() },
                section => ConfigEdit::Insert { section, name, keys: found.keys.clone() },
            });
        }
        edits
    }

    /// The config keys of each server.
    pub(super) fn servers(&self) -> impl Iterator<Item = &Map<String, Value>> {
        let servers = self.0.iter().filter(|line| line.section == "servers");
        servers.map(|line| &line.found.keys)
    }

    /// Whether any entry that is not skipped refers to the variable.
    pub(super) fn names(&self, variable: &str) -> bool {
        let mut retained = self.0.iter().filter(|line| line.step != ImportAction::Skip);
        retained.any(|line| refers(&line.found, variable))
    }

    /// Whether a decision is still needed.
    pub(super) fn is_open(&self) -> bool {
        self.0.iter().any(|line| line.step == ImportAction::Open)
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = PlanLine<'_>> {
        self.0.iter().map(|line| PlanLine {
            section: line.section,
            name: &line.found.name,
            step: &line.step,
            notes: &line.found.notes,
        })
    }
}

/// What becomes of one entry, to print.
pub(super) struct PlanLine<'p> {
    pub(super) section: &'p str,
    pub(super) name: &'p str,
    pub(super) step: &'p ImportAction,
    pub(super) notes: &'p [String],
}

async fn step(
    section: &str,
    found: &ImportedEntry,
    known: &ConfiguredEntries,
    clash: NameClashPolicy,
    output: Output,
) -> Result<ImportAction, CommandError> {
    let Some(there) = known.get(section, &found.name) else { return Ok(ImportAction::Add) };
    if there.keys == json!(found.keys) {
        return Ok(ImportAction::Same);
    }
    let renamed = || ImportAction::Rename(known.free(section, &found.name));
    Ok(match clash {
        NameClashPolicy::Overwrite => ImportAction::Overwrite(there.name.clone()),
        NameClashPolicy::Skip => ImportAction::Skip,
        NameClashPolicy::Rename => renamed(),
        NameClashPolicy::Leave => ImportAction::Open,
        NameClashPolicy::Ask => {
            let question = format!("a server `{}` already exists", there.name);
            let choices = [("skip", 's'), ("overwrite", 'o'), ("rename", 'r')];
            match prompt::choose(output, &question, &choices).await? {
                'o' => ImportAction::Overwrite(there.name.clone()),
                'r' => renamed(),
                _ => ImportAction::Skip,
            }
        }
    })
}

/// Keeps only the requested entries.
pub(super) fn only(imported: &mut ImportedConfig, names: &[String]) {
    if names.is_empty() {
        return;
    }
    imported.servers.retain(|found| names.iter().any(|name| name.trim() == found.name));
    imported.others.clear();
}
