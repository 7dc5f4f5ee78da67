//! Client of the MCP registry: published servers, and the config entry for each.
//!
//! `entry` and its parts are pure. `McpRegistryClient` sends the requests, through the engine's
//! guarded client. All content of the registry is untrusted: nothing in it is expanded, run or
//! opened.

use serde_json::{Map, Value, json};
use tollgate_core::text::{percent_encoded, truncate_chars};
use tollgate_engine::web::fetch::OperatorHttpClient;

mod docker_flag_allowlist;
mod entry;
mod install_option;
mod package_inputs;
mod untrusted_text;

/// Entries of one page.
const PAGE: usize = 20;

#[derive(Debug, Clone, PartialEq)]
pub struct McpRegistryPage {
    pub servers: Vec<McpRegistryEntry>,
    /// Cursor of the next page.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct McpRegistryEntry {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub version: String,
    /// https only.
    pub website: Option<String>,
    /// Ways to install it. Empty if none is supported here.
    pub choices: Vec<InstallOption>,
}

/// One way to install a server.
#[derive(Debug, Clone, PartialEq)]
pub struct InstallOption {
    /// `npm`, `pypi`, `oci`, `nuget` or `remote`.
    pub kind: &'static str,
    /// The command or the URL.
    pub label: String,
    /// With its config keys.
    pub server: Map<String, Value>,
    pub needs: Vec<RequiredVariable>,
}

/// A variable that has to be set where the gateway runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredVariable {
    pub name: String,
    pub description: String,
    pub secret: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpRegistryError {
    #[error("the registry is unavailable: {0}")]
    Unreachable(String),
    #[error("the registry answered {0}")]
    Status(u16),
    #[error("the registry's response is not a list of servers")]
    Strange,
    #[error("the registry has no server `{0}`")]
    Unknown(String),
}

/// HTTP client of a registry.
pub struct McpRegistryClient {
    url: String,
    fetch: OperatorHttpClient,
}

impl McpRegistryClient {
    pub fn new(url: &str) -> Result<Self, McpRegistryError> {
        let url = url.trim_end_matches('/').to_owned();
        let fetch = OperatorHttpClient::new(&url)
            .map_err(|error| McpRegistryError::Unreachable(error.to_string()))?;
        Ok(Self { url, fetch })
    }

    /// Servers whose names contain these words.
    pub async fn search(
        &self,
        words: &str,
        cursor: Option<&str>,
    ) -> Result<McpRegistryPage, McpRegistryError> {
        let mut query = format!("servers?limit={PAGE}&version=latest");
        if !words.is_empty() {
            query.push_str(&format!("&search={}", percent_encoded(words)));
        }
        if let Some(cursor) = cursor {
            query.push_str(&format!("&cursor={}", percent_encoded(cursor)));
        }
        let body = self.get(&query).await?;
        entry::page(&body).ok_or(McpRegistryError::Strange)
    }

    /// The newest version of a server.
    pub async fn find(&self, name: &str) -> Result<McpRegistryEntry, McpRegistryError> {
        let unknown = || McpRegistryError::Unknown(truncate_chars(name, 100));
        let body =
            match self.get(&format!("servers/{}/versions/latest", percent_encoded(name))).await {
                Ok(body) => body,
                Err(McpRegistryError::Status(404)) => return Err(unknown()),
                Err(other) => return Err(other),
            };
        let entry = entry::entry(&body).ok_or(McpRegistryError::Strange)?;
        // Refuse an entry with another name than the requested one.
        if entry.name == name { Ok(entry) } else { Err(unknown()) }
    }

    /// Requests the current version of the API, and falls back to the previous one.
    async fn get(&self, path: &str) -> Result<Value, McpRegistryError> {
        let mut status = 404;
        for version in ["v0.1", "v0"] {
            let url = format!("{}/{version}/{path}", self.url);
            let fetched = self.fetch.get(&url).await;
            let fetched =
                fetched.map_err(|error| McpRegistryError::Unreachable(error.to_string()))?;
            status = fetched.status.as_u16();
            match fetched.body {
                Some(body) if fetched.status.is_success() => return Ok(body),
                None if fetched.status.is_success() => return Err(McpRegistryError::Strange),
                _ if status == 404 => {}
                _ => break,
            }
        }
        Err(McpRegistryError::Status(status))
    }
}

impl McpRegistryPage {
    /// In the shape of `GET /api/registry`.
    pub fn to_json(&self) -> Value {
        let servers: Vec<Value> = self.servers.iter().map(McpRegistryEntry::to_json).collect();
        json!({"servers": servers, "next": self.next})
    }
}

impl McpRegistryEntry {
    fn to_json(&self) -> Value {
        let choices: Vec<Value> = self.choices.iter().map(InstallOption::to_json).collect();
        json!({
            "name": self.name, "title": self.title, "description": self.description,
            "version": self.version, "website": self.website, "choices": choices,
        })
    }
}

impl InstallOption {
    fn to_json(&self) -> Value {
        let need = |it: &RequiredVariable| json!({"name": it.name, "description": it.description, "secret": it.secret});
        let needs: Vec<Value> = self.needs.iter().map(need).collect();
        json!({"kind": self.kind, "label": self.label, "server": self.server, "needs": needs})
    }
}

/// A short name for a server of the registry: `io.github.a/mcp-weather` is `weather`.
pub fn short_name(name: &str) -> String {
    crate::import::name_of_package(name)
}

#[cfg(test)]
mod tests;
