//! Imports MCP servers and related settings from config files of other programs.
//!
//! Pure: the input is a text, the output is servers and a report of what was dropped. Used by
//! `tollgate import` and `POST /api/import`. Handles neither files nor the terminal. Only
//! `variables` looks at the existing config.

use std::path::Path;

use serde_json::{Map, Value};
use tollgate_core::secret::Secret;

use crate::client_apps::ClientApp;

mod ava;
mod bifrost;
mod codex;
mod collector;
mod command_line;
mod common_keys;
mod document;
mod frugalroute;
mod glyphoxa;
mod goose;
mod install_link;
mod jsonc;
mod mcp_servers;
mod name;
mod opencode;
mod provider;
mod server_draft;
mod source_map;
mod tollgate_yaml;
mod toml;
mod variable_syntax;
pub mod variables;
mod vscode;
mod zed;

pub use document::parse_document;
pub(crate) use jsonc::SYNTAX as JSONC_SYNTAX;
pub use name::{fold_name, of_package as name_of_package, variable};

use collector::ImportCollector;
use server_draft::ServerDraft;
use tollgate_config::sounds_secret;

/// Result of an import.
#[derive(Debug)]
pub struct ImportedConfig {
    /// Detected format: `Cursor`, `Bifrost`, `a command line`.
    pub format: &'static str,
    pub servers: Vec<ImportedEntry>,
    /// Agents, providers and models.
    pub others: Vec<ImportedSectionEntry>,
    pub dropped: Vec<DroppedItem>,
    /// Variables that replace secrets written out in the source.
    pub given: Vec<(String, Secret)>,
}

/// An entry with its config keys.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedEntry {
    pub name: String,
    pub keys: Map<String, Value>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ImportedSectionEntry {
    /// `agents`, `providers` or `models`.
    pub section: &'static str,
    pub found: ImportedEntry,
}

/// A part of the source without an equivalent here. Never contains a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedItem {
    pub what: String,
    pub why: String,
}

/// Where a secret that was written out is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretPlacement {
    InTheFile,
    InTheEnvironment,
}

/// Information beside the text itself.
#[derive(Debug, Clone, Copy)]
pub struct ImportContext<'a> {
    /// Name for a server without one.
    pub name: Option<&'a str>,
    pub file: Option<&'a Path>,
    /// The program it belongs to, if known.
    pub client: Option<&'static ClientApp>,
    pub secrets: SecretPlacement,
    /// Variables from texts read before: each name has one value.
    pub given: &'a [(String, Secret)],
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error("it contains nothing to import")]
    Nothing,
    #[error("it is larger than {0} MiB")]
    TooLarge(usize),
    #[error("{0}")]
    Syntax(String),
    #[error(
        "it contains no list of MCP servers; supported are `mcpServers`, `servers`, `mcp_servers`, \
         `context_servers`, `mcp`, `extensions`, a command line and a URL"
    )]
    Unknown,
    #[error("`{0}` needs a shell, which is not used here; write the program and its arguments")]
    Shell(String),
}

/// `~/.claude.json` contains histories, too.
const LARGEST_MIB: usize = 16;

pub fn read(text: &str, context: &ImportContext<'_>) -> Result<ImportedConfig, ImportError> {
    if text.len() > LARGEST_MIB << 20 {
        return Err(ImportError::TooLarge(LARGEST_MIB));
    }
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err(ImportError::Nothing);
    }
    let client = context.client.or_else(|| context.file.and_then(ClientApp::of_file));
    let mut sheet = ImportCollector::new(context.secrets, context.given, client);
    if let Some(inside) = install_link::open_link(text) {
        let (name, text) = inside?;
        if install_link::open_link(text.trim()).is_some() {
            return Err(ImportError::Syntax("the link contains another link".to_owned()));
        }
        let name = name.or_else(|| context.name.map(str::to_owned));
        return read(&text, &ImportContext { name: name.as_deref(), ..*context });
    }
    if command_line::is_line(text) {
        command_line::read(text, context.name, &mut sheet)?;
    } else {
        document::read(text, context, &mut sheet)?;
    }
    Ok(sheet.finish())
}

/// Whether a text is or contains a secret.
pub fn looks_secret(text: &str) -> bool {
    ImportCollector::looks_secret(text)
}

/// Secret words of a command line.
pub fn secrets_of_command(words: &[String]) -> Vec<String> {
    secrets_of(|draft, sheet| draft.command(sheet, words))
}

/// Secret parts of a URL.
pub fn secrets_of_url(url: &str) -> Vec<String> {
    let user = url.split_once("://").map_or("", |(_, rest)| rest).split(['/', '?', '#']).next();
    let user =
        user.and_then(|authority| authority.rsplit_once('@')).map(|(user, _)| user.to_owned());
    user.into_iter().chain(secrets_of(|draft, sheet| draft.url(sheet, url, None))).collect()
}

fn secrets_of(write: impl FnOnce(&mut ServerDraft, &mut ImportCollector<'_>)) -> Vec<String> {
    let mut sheet = ImportCollector::new(SecretPlacement::InTheEnvironment, &[], None);
    let mut draft = ServerDraft::new(&mut sheet, "any");
    write(&mut draft, &mut sheet);
    sheet.finish().given.into_iter().map(|(_, secret)| secret.reveal().to_owned()).collect()
}

/// A server described by its parts. Must not be shown: it contains the token.
pub struct ServerDescription<'a> {
    pub name: &'a str,
    pub transport: Option<&'a str>,
    pub reached: DescribedTransport<'a>,
    pub env: Vec<(String, String)>,
    pub headers: Vec<(String, String)>,
    pub token: Option<&'a str>,
}

#[derive(Debug)]
pub enum DescribedTransport<'a> {
    ByCommand(&'a [String]),
    At(&'a str),
}

/// The same config keys as from a file, with the same handling of secrets.
pub fn from_description(server: ServerDescription<'_>, secrets: SecretPlacement) -> ImportedConfig {
    let mut sheet = ImportCollector::new(secrets, &[], None);
    let mut draft = ServerDraft::new(&mut sheet, server.name);
    match server.reached {
        DescribedTransport::ByCommand(words) => {
            server.transport.into_iter().for_each(|transport| draft.put("transport", transport));
            draft.command(&mut sheet, words);
        }
        DescribedTransport::At(url) => draft.url(&mut sheet, url, server.transport),
    }
    let mut careful = |pairs: Vec<(String, String)>| -> Vec<(String, String)> {
        let careful = |(name, value): (String, String)| {
            // A PIN has only digits. Files contain too many such numbers, but this one was typed by
            // a person.
            let is_pin = sounds_secret(&name) && value.parse::<u32>().is_ok();
            if is_pin {
                let reference = sheet.externalize_secret(server.name, &name, &value);
                return (name, reference);
            }
            (name, value)
        };
        pairs.into_iter().map(careful).collect()
    };
    let env = careful(server.env);
    let headers = careful(server.headers);
    draft.env(&mut sheet, env);
    draft.headers(&mut sheet, headers);
    server.token.into_iter().for_each(|token| draft.token(&mut sheet, token));
    sheet.server(draft.into_found());
    sheet.finish()
}

#[cfg(test)]
mod tests;
