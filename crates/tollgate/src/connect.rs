//! Setup snippets for client programs: for each, the text for its config file, or a code sample.
//!
//! Pure. Used by `tollgate connect` and `GET /api/connect`. Handles neither files nor keys:
//! `TOLLGATE_KEY` is the placeholder for a key.

use serde_json::{Value, json};

use crate::client_apps::{CLIENTS, ClientApp, ClientFilePath};

mod client_file;
mod diff_redaction;
mod install_link;
mod json_insert;
mod sdk;

pub use client_file::{ClientFileMergeError, merge_entry};
pub use diff_redaction::redact_diff;

/// Placeholder for a key.
pub const KEY: &str = "TOLLGATE_KEY";
/// Name of the gateway in config files of clients.
pub const NAME: &str = "tollgate";

/// Address of the gateway, and the agent to use there.
#[derive(Debug, Clone)]
pub struct SnippetTarget {
    /// `http://127.0.0.1:8655`, without a trailing slash.
    pub base: String,
    /// Agent whose tools are used. `None`: the agent of the key.
    pub agent: Option<String>,
    /// Agent that chat requests name as their model.
    pub model: String,
    pub access: SnippetAccess,
    /// Config file for clients that start `tollgate mcp`.
    pub config: Option<String>,
    /// The data directory, if one was given.
    pub data: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnippetAccess {
    Open,
    Keyed,
}

/// Setup of one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    pub id: &'static str,
    pub name: &'static str,
    /// File that it belongs to, if any.
    pub file: Option<String>,
    pub language: &'static str,
    pub text: String,
    /// Install link for a person to open.
    pub link: Option<String>,
    pub note: Option<String>,
}

/// File format of a client's server list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientFileFormat {
    Json { root: &'static str },
    Toml { root: &'static str },
    Yaml { root: &'static str },
}

/// All snippets, clients first.
pub fn snippets(target: &SnippetTarget) -> Vec<Snippet> {
    let clients = CLIENTS.iter().map(|client| of_client(client, target));
    clients.chain(sdk::snippets(target)).collect()
}

pub fn snippet(id: &str, target: &SnippetTarget) -> Option<Snippet> {
    let id = ClientApp::find(id).map_or(id, |client| client.id);
    snippets(target).into_iter().find(|snippet| snippet.id == id)
}

/// Default file for a client's entry.
pub fn usual_place(client: &ClientApp) -> Option<ClientFilePath> {
    // `~/.claude.json` is a state file of Claude Code itself.
    let is_own = |place: &&ClientFilePath| {
        client.id == "claude-code" || !matches!(place, ClientFilePath::Here(_))
    };
    client.places.iter().find(is_own).copied()
}

pub fn form(client: &ClientApp) -> ClientFileFormat {
    match client.id {
        "vscode" => ClientFileFormat::Json { root: "servers" },
        "codex" => ClientFileFormat::Toml { root: "mcp_servers" },
        "zed" => ClientFileFormat::Json { root: "context_servers" },
        "opencode" => ClientFileFormat::Json { root: "mcp" },
        "goose" => ClientFileFormat::Yaml { root: "extensions" },
        _ => ClientFileFormat::Json { root: "mcpServers" },
    }
}

/// The entry of this gateway in a client's file.
pub fn entry(client: &ClientApp, target: &SnippetTarget) -> Value {
    let url = target.mcp();
    let headers = target.headers();
    let mut entry = match client.id {
        "claude-desktop" => return json!({"command": "tollgate", "args": target.arguments()}),
        "claude-code" | "vscode" => json!({"type": "http", "url": url}),
        "copilot-cli" => json!({"type": "http", "url": url, "tools": ["*"]}),
        "gemini-cli" => json!({ "httpUrl": url }),
        "windsurf" => json!({ "serverUrl": url }),
        "opencode" => json!({"type": "remote", "url": url, "enabled": true}),
        "goose" => json!({
            "type": "streamable_http", "name": NAME, "uri": url, "enabled": true, "timeout": 300,
        }),
        "cline" => json!({"type": "streamableHttp", "url": url}),
        _ => json!({ "url": url }),
    };
    if let Some(headers) = headers {
        let key = if client.id == "codex" { "http_headers" } else { "headers" };
        entry[key] = headers;
    }
    entry
}

fn of_client(client: &'static ClientApp, target: &SnippetTarget) -> Snippet {
    let entry = entry(client, target);
    let (language, text) = match form(client) {
        ClientFileFormat::Json { root } => {
            let text = format!("{:#}\n", json!({ root: { NAME: entry } }));
            ("json", text)
        }
        ClientFileFormat::Toml { root } => ("toml", client_file::toml_table(root, &entry)),
        ClientFileFormat::Yaml { root } => ("yaml", client_file::yaml_block(root, &entry)),
    };
    Snippet {
        id: client.id,
        name: client.name,
        file: usual_place(client).map(ClientFilePath::display_path),
        language,
        text,
        link: install_link::of(client, target),
        note: note(client, target),
    }
}

fn note(client: &ClientApp, target: &SnippetTarget) -> Option<String> {
    let url = target.mcp();
    let header = match target.access {
        SnippetAccess::Keyed => format!(" --header 'Authorization: Bearer {KEY}'"),
        SnippetAccess::Open => String::new(),
    };
    match client.id {
        "claude-code" => Some(format!("or: claude mcp add --transport http {NAME} {url}{header}")),
        "codex" if target.access == SnippetAccess::Open => {
            Some(format!("or: codex mcp add {NAME} --url {url}"))
        }
        "claude-desktop" => {
            let why = "it supports only programs, so it starts `tollgate mcp`, a separate gateway: \
                       `tollgate` must be on its path";
            Some(match target.config {
                Some(_) => why.to_owned(),
                None => format!("{why}, and `--config FILE` names your config"),
            })
        }
        "cline" => Some("Roo Code writes `\"type\": \"streamable-http\"`".to_owned()),
        _ => None,
    }
}

impl SnippetTarget {
    /// The MCP endpoint.
    pub fn mcp(&self) -> String {
        match &self.agent {
            Some(agent) => format!("{}/mcp/{agent}", self.base),
            None => format!("{}/mcp", self.base),
        }
    }

    fn headers(&self) -> Option<Value> {
        match self.access {
            SnippetAccess::Keyed => Some(json!({ "Authorization": format!("Bearer {KEY}") })),
            SnippetAccess::Open => None,
        }
    }

    /// Arguments of `tollgate` for programs that support only stdio.
    fn arguments(&self) -> Vec<String> {
        let mut words = vec!["mcp".to_owned()];
        let lines = [("--agent", &self.agent), ("--config", &self.config), ("--data", &self.data)];
        for (flag, value) in lines {
            if let Some(value) = value {
                words.extend([flag.to_owned(), value.clone()]);
            }
        }
        words
    }
}

#[cfg(test)]
mod tests;
