//! Drafts config changes: from a request to the text to write, without side effects. Blocks.

use std::path::Path;

use serde_json::{Map, Value};
use tollgate_config::edit::{self, ConfigEdit};
use tollgate_config::file::{ConfigFileSnapshot, ConfigVersion, ConfigWriteError};
use tollgate_config::secret_masking::SecretMasks;
use tollgate_config::{self as config, ConfigReport, DEFAULT};
use tollgate_server::config_service::{
    ConfigChange, ConfigChangeRequest, ConfigServiceError, RedactedConfig, ServerSwitch,
};

use super::file_source::{ConfigCandidate, ConfigFileSource};
use crate::command_error::CommandError;

/// A validated change that is not written yet.
pub(crate) struct ConfigDraft {
    /// The content it replaces. `None` creates a new file.
    before: Option<ConfigFileSnapshot>,
    text: String,
    pub(crate) diff: String,
    pub(crate) candidate: ConfigCandidate,
    paste: ManualInstructions,
}

/// Instructions for a file that cannot be written. Redacted secrets stay redacted.
#[derive(Debug, Clone, Default)]
pub(crate) struct ManualInstructions {
    words: String,
    /// The lines to write, if any.
    yaml: Option<String>,
}

impl ManualInstructions {
    fn of(edit: &ConfigEdit) -> Self {
        Self { words: edit.paste(), yaml: edit.yaml() }
    }
}

pub(super) fn show(
    origin: &ConfigFileSource,
    masks: &SecretMasks,
) -> Result<RedactedConfig, ConfigChangeError> {
    let snapshot = origin.snapshot()?;
    let (file, version, text) = match &snapshot {
        Some(it) => (Some(origin.path().display().to_string()), it.version.clone(), &*it.text),
        None => (None, ConfigVersion::of(DEFAULT.as_bytes()), DEFAULT),
    };
    let text = masks.cover(origin.path(), text)?;
    let values = config::values(&text);
    let writable = config::file::is_writable(origin.path());
    Ok(RedactedConfig { file, version: version.as_str().to_owned(), text, values, writable })
}

pub(crate) fn draft(
    origin: &ConfigFileSource,
    masks: &SecretMasks,
    order: &ConfigChangeRequest,
) -> Result<ConfigDraft, ConfigChangeError> {
    let before = origin.snapshot()?;
    let (old, version) = match &before {
        Some(it) => (it.text.as_str(), it.version.clone()),
        None => (DEFAULT, ConfigVersion::of(DEFAULT.as_bytes())),
    };
    if order.version.as_ref().is_some_and(|requested| requested != version.as_str()) {
        return Err(ConfigChangeError::OtherVersion);
    }
    let path = origin.path();
    let (text, paste) = change_text(path, masks, &order.change, old)?;
    validate_draft(origin, masks, before, text, paste)
}

/// Several edits as one change.
pub(crate) fn draft_edits(
    origin: &ConfigFileSource,
    masks: &SecretMasks,
    edits: &[ConfigEdit],
) -> Result<ConfigDraft, ConfigChangeError> {
    let before = origin.snapshot()?;
    let paste = match edits {
        [one] => ManualInstructions::of(one),
        several => {
            let words: Vec<String> = several.iter().map(ConfigEdit::paste).collect();
            ManualInstructions { words: words.join("\n"), yaml: None }
        }
    };
    let mut text = before.as_ref().map_or(DEFAULT, |it| it.text.as_str()).to_owned();
    for edit in edits {
        let applied = edit::apply(origin.path(), &text, edit);
        text = applied.map_err(|why| ConfigChangeError::of(why, &paste))?;
    }
    validate_draft(origin, masks, before, text, paste)
}

fn validate_draft(
    origin: &ConfigFileSource,
    masks: &SecretMasks,
    before: Option<ConfigFileSnapshot>,
    text: String,
    paste: ManualInstructions,
) -> Result<ConfigDraft, ConfigChangeError> {
    let path = origin.path();
    let (old, version) = match &before {
        Some(before) => (before.text.as_str(), before.version_with(&text)),
        None => (DEFAULT, ConfigVersion::of(text.as_bytes())),
    };
    let candidate = origin.candidate(&text, version)?;
    let diff = edit::diff(path, &masks.cover(path, old)?, &masks.cover(path, &text)?);
    Ok(ConfigDraft { before, text, diff, candidate, paste })
}

impl ConfigDraft {
    /// Writes the draft, if the file is still the one it is based on.
    pub(crate) fn write(&self, origin: &ConfigFileSource) -> Result<(), ConfigChangeError> {
        let written = match &self.before {
            Some(before) if before.text == self.text => return Ok(()),
            Some(before) => before.write(&self.text),
            None => config::file::create(origin.path(), &self.text),
        };
        written
            .map(drop)
            .map_err(|why| ConfigChangeError::Unwritten { why, paste: self.paste.clone() })
    }
}

/// The text after the change, and the manual instructions.
fn change_text(
    path: &Path,
    masks: &SecretMasks,
    change: &ConfigChange,
    old: &str,
) -> Result<(String, ManualInstructions), ConfigChangeError> {
    let edited = |edits: &[ConfigEdit],
                  paste: ManualInstructions|
     -> Result<(String, ManualInstructions), ConfigChangeError> {
        let mut text = old.to_owned();
        for edit in edits {
            text =
                edit::apply(path, &text, edit).map_err(|why| ConfigChangeError::of(why, &paste))?;
        }
        Ok((text, paste))
    };
    match change {
        ConfigChange::Text(text) => {
            let paste =
                ManualInstructions { words: "add it by hand".to_owned(), yaml: Some(text.clone()) };
            Ok((masks.uncover(path, text, old)?, paste))
        }
        ConfigChange::Add { name, server, agents } => {
            let paste = ManualInstructions::of(&ConfigEdit::Add {
                name: name.clone(),
                server: server.clone(),
            });
            let mut server = server.clone();
            masks.uncover_keys(path, &mut server, old)?;
            let add = ConfigEdit::Add { name: name.clone(), server };
            let shown = shown_to(agents, name, &config::values(old))?;
            edited(&[vec![add], shown].concat(), paste)
        }
        ConfigChange::Replace { name, server } => {
            let paste = ManualInstructions::of(&ConfigEdit::Add {
                name: name.clone(),
                server: server.clone(),
            });
            edited(&replacing(path, masks, name, server, old)?, paste)
        }
        ConfigChange::Remove { name } => {
            let edit = ConfigEdit::Remove { name: name.clone() };
            let paste = ManualInstructions::of(&edit);
            edited(&[edit], paste)
        }
        ConfigChange::Switch { name, to } => match edit::is_enabled(&config::values(old), name) {
            Some(is) if is == (*to == ServerSwitch::On) => {
                Ok((old.to_owned(), ManualInstructions::default()))
            }
            _ => {
                let key = "enabled".to_owned();
                let value = Some(Value::Bool(*to == ServerSwitch::On));
                let edit = ConfigEdit::Set { section: "servers", name: name.clone(), key, value };
                let paste = ManualInstructions::of(&edit);
                edited(&[edit], paste)
            }
        },
    }
}

/// Key by key: unchanged keys keep their position and their comments.
fn replacing(
    path: &Path,
    masks: &SecretMasks,
    name: &str,
    requested: &Map<String, Value>,
    old: &str,
) -> Result<Vec<ConfigEdit>, ConfigChangeError> {
    let shown = config::values(&masks.cover(path, old)?);
    let before = edit::entry(&shown, name);
    let before = before.ok_or_else(|| edit::ConfigEditError::Unknown(name.to_owned()))?;
    let mut new = requested.clone();
    new.retain(|key, value| before.get(key) != Some(value));
    masks.uncover_keys(path, &mut new, old)?;
    let to = |key, value| ConfigEdit::Set { section: "servers", name: name.to_owned(), key, value };
    let gone = before.keys().filter(|key| !requested.contains_key(*key));
    let gone = gone.map(|key| to(key.clone(), None));
    // New keys first, so that an entry is never empty in between.
    Ok(new.into_iter().map(|(key, value)| to(key, Some(value))).chain(gone).collect())
}

/// Lets agents see all tools of a new server: without an entry in their lists nothing is visible.
fn shown_to(
    agents: &[String],
    server: &str,
    old: &Value,
) -> Result<Vec<ConfigEdit>, ConfigChangeError> {
    let pattern = old["names"]["pattern"].as_str().unwrap_or("{server}_{tool}");
    let is_safe = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    let server: String = server.chars().map(|it| if is_safe(it) { it } else { '_' }).collect();
    let glob = pattern.replace("{server}", &server).replace("{tool}", "*");
    let shown = agents.iter().map(|agent| {
        let missing = || edit::ConfigEditError::Missing { section: "agents", name: agent.clone() };
        if !pattern.contains("{server}") {
            let why = "tool names do not contain the server name".to_owned();
            let words = format!("add its tools to `agents.{agent}.tools` by hand");
            return Err(ConfigChangeError::Odd {
                why,
                paste: ManualInstructions { words, yaml: None },
            });
        }
        let mut tools = match &edit::named_entry(old, "agents", agent).ok_or_else(missing)?["tools"]
        {
            Value::Array(tools) => tools.clone(),
            _ => Vec::new(),
        };
        tools.push(Value::from(glob.clone()));
        let key = "tools".to_owned();
        let value = Some(Value::Array(tools));
        Ok(ConfigEdit::Set { section: "agents", name: agent.clone(), key, value })
    });
    shown.collect()
}

/// Why a change was refused. Nothing was modified.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigChangeError {
    #[error("the config is invalid: {0}")]
    Mistakes(Box<ConfigReport>),
    #[error("the config was changed after you read it")]
    OtherVersion,
    #[error(transparent)]
    Edit(#[from] edit::ConfigEditError),
    #[error("the layout of the file cannot be edited automatically ({why}); {}", paste.words)]
    Odd { why: String, paste: ManualInstructions },
    #[error("{why}; {}", paste.words)]
    Unwritten { why: ConfigWriteError, paste: ManualInstructions },
}

impl ConfigChangeError {
    fn of(refused: edit::ConfigEditError, paste: &ManualInstructions) -> Self {
        match refused {
            edit::ConfigEditError::Odd { why, .. } => Self::Odd { why, paste: paste.clone() },
            other => Self::Edit(other),
        }
    }
}

impl From<ConfigReport> for ConfigChangeError {
    fn from(report: ConfigReport) -> Self {
        Self::Mistakes(Box::new(report))
    }
}

impl From<ConfigChangeError> for ConfigServiceError {
    fn from(trouble: ConfigChangeError) -> Self {
        match trouble {
            ConfigChangeError::Mistakes(report)
            | ConfigChangeError::Edit(edit::ConfigEditError::Unreadable(report)) => {
                Self::Mistakes(report.to_json())
            }
            ConfigChangeError::OtherVersion => Self::OtherVersion,
            ConfigChangeError::Edit(edit::ConfigEditError::Exists(name)) => {
                Self::ServerExists(name)
            }
            ConfigChangeError::Edit(why @ edit::ConfigEditError::Taken { .. }) => {
                Self::Conflict(why.to_string())
            }
            ConfigChangeError::Edit(edit::ConfigEditError::Unknown(name)) => {
                Self::UnknownServer(name)
            }
            ConfigChangeError::Edit(edit::ConfigEditError::Missing { name, .. }) => {
                Self::UnknownAgent(name)
            }
            ConfigChangeError::Edit(why @ edit::ConfigEditError::Odd { .. }) => {
                Self::Unwritable { why: why.to_string(), yaml: None }
            }
            ConfigChangeError::Odd { ref paste, .. }
            | ConfigChangeError::Unwritten { why: ConfigWriteError::ReadOnly { .. }, ref paste } => {
                Self::Unwritable { why: trouble.to_string(), yaml: paste.yaml.clone() }
            }
            ConfigChangeError::Unwritten { why: why @ ConfigWriteError::Changed(_), .. } => {
                Self::Conflict(why.to_string())
            }
            ConfigChangeError::Unwritten { why, .. } => Self::Failed(why.to_string()),
        }
    }
}

impl From<ConfigChangeError> for CommandError {
    fn from(trouble: ConfigChangeError) -> Self {
        match trouble {
            ConfigChangeError::Mistakes(report)
            | ConfigChangeError::Edit(edit::ConfigEditError::Unreadable(report)) => {
                Self::Config(report)
            }
            ConfigChangeError::Unwritten { why: why @ ConfigWriteError::Changed(_), .. } => {
                Self::Failed(why.to_string())
            }
            other => Self::Failed(other.to_string()),
        }
    }
}
