//! Handle to the config actor: sends requests, and holds the result of the last reload.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tollgate_config::file::is_writable;
use tollgate_config::{ProcessEnvironment, edit};
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_engine::settings::Server;
use tollgate_server::config_service::{
    ClientSetup, ConfigChangeRequest, ConfigChangeSummary, ConfigFileStatus, ConfigService,
    ConfigServiceError, GatewayAuthMode, GatewayEndpoint, ImportCandidate, ImportPreview,
    ProposedServer, RedactedConfig, ReloadAttempt, ReloadCounts, ReloadOutcome, ServerConfigEntry,
};

use super::ConfigActorRequest;
use crate::connect::{self, Snippet, SnippetAccess, SnippetTarget};
use crate::import::variables::VariableNames;
use crate::import::{self, ImportContext, ImportedConfig, ImportedEntry, SecretPlacement};
use crate::mcp_registry::McpRegistryClient;

pub struct ReloadHandle {
    asks: mpsc::Sender<ConfigActorRequest>,
    noted: Mutex<LastReload>,
    path: PathBuf,
}

#[derive(Default)]
struct LastReload {
    last: Option<ReloadAttempt>,
    tally: ReloadCounts,
}

impl ReloadHandle {
    pub(super) fn new(asks: mpsc::Sender<ConfigActorRequest>, path: PathBuf) -> Self {
        Self { asks, noted: Mutex::default(), path }
    }

    pub(super) fn note(&self, attempt: &ReloadAttempt) {
        let mut noted = self.noted.lock();
        match attempt.result {
            ReloadOutcome::Applied(_) => noted.tally.applied += 1,
            ReloadOutcome::Refused(_) => noted.tally.refused += 1,
            ReloadOutcome::Unchanged => {}
        }
        noted.last = Some(attempt.clone());
    }

    async fn ask<T>(
        &self,
        ask: impl FnOnce(oneshot::Sender<T>) -> ConfigActorRequest,
    ) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(ask(reply)).await.ok()?;
        answer.await.ok()
    }
}

/// Timeout for the link from an authorization server.
const LOGIN_LINK_TIMEOUT: Duration = Duration::from_secs(30);
const STOPPING: &str = "the gateway is stopping";

#[async_trait]
impl ConfigService for ReloadHandle {
    async fn config(&self) -> Result<RedactedConfig, ConfigServiceError> {
        let shown = self.ask(ConfigActorRequest::Show).await;
        shown.unwrap_or_else(|| Err(ConfigServiceError::Failed(STOPPING.to_owned())))
    }

    fn file(&self) -> ConfigFileStatus {
        let path = &self.path;
        let shown = path.symlink_metadata().is_ok().then(|| path.display().to_string());
        ConfigFileStatus { path: shown, writable: is_writable(path) }
    }

    async fn server(&self, name: &str) -> Result<Option<ServerConfigEntry>, ConfigServiceError> {
        let entry = self.ask(|reply| ConfigActorRequest::Entry(name.to_owned(), reply)).await;
        entry.unwrap_or_else(|| Err(ConfigServiceError::Failed(STOPPING.to_owned())))
    }

    async fn login(&self, name: &str, by: &str) -> Result<String, ConfigServiceError> {
        let name = name.to_owned();
        let by = by.to_owned();
        let login = self.ask(|reply| ConfigActorRequest::Login { name, by, reply });
        match tokio::time::timeout(LOGIN_LINK_TIMEOUT, login).await {
            Ok(link) => {
                link.unwrap_or_else(|| Err(ConfigServiceError::Failed(STOPPING.to_owned())))
            }
            Err(_) => {
                let why = "the authorization server did not answer in time".to_owned();
                Err(ConfigServiceError::NotLoggedIn(why))
            }
        }
    }

    async fn prove(&self, proposed: ProposedServer) -> Result<Server, ConfigServiceError> {
        let proved = self.ask(|reply| ConfigActorRequest::Prove(Box::new(proposed), reply)).await;
        proved.unwrap_or_else(|| Err(ConfigServiceError::Failed(STOPPING.to_owned())))
    }

    async fn change(
        &self,
        order: ConfigChangeRequest,
    ) -> Result<ConfigChangeSummary, ConfigServiceError> {
        let changed = self.ask(|reply| ConfigActorRequest::Change(Box::new(order), reply)).await;
        changed.unwrap_or_else(|| Err(ConfigServiceError::Failed(STOPPING.to_owned())))
    }

    async fn import(
        &self,
        text: &str,
        name: Option<&str>,
    ) -> Result<ImportPreview, ConfigServiceError> {
        let shown = self.config().await?;
        // Large texts take long to parse, so it runs on the blocking pool.
        let text = text.to_owned();
        let name = name.map(str::to_owned);
        let read = tokio::task::spawn_blocking(move || {
            let secrets = SecretPlacement::InTheEnvironment;
            let context = ImportContext {
                name: name.as_deref(),
                file: None,
                client: None,
                secrets,
                given: &[],
            };
            import::read(&text, &context)
        });
        let read = read
            .await
            .map_err(|_| ConfigServiceError::Failed("it could not be read".to_owned()))?;
        let mut imported = read.map_err(|why| ConfigServiceError::Unreadable(why.to_string()))?;
        VariableNames::of(&shown.values, &ProcessEnvironment).fit(&mut imported);
        Ok(build_offer(imported, &shown.values))
    }

    fn connect(&self, reach: &GatewayEndpoint) -> Vec<ClientSetup> {
        let access = match reach.door {
            GatewayAuthMode::Open => SnippetAccess::Open,
            GatewayAuthMode::Locked => SnippetAccess::Keyed,
        };
        let target = SnippetTarget {
            base: reach.url.clone(),
            agent: reach.agent.clone(),
            model: reach.model.clone(),
            access,
            config: None,
            data: None,
        };
        connect::snippets(&target).into_iter().map(connection).collect()
    }

    async fn registry(
        &self,
        words: &str,
        cursor: Option<&str>,
    ) -> Result<Value, ConfigServiceError> {
        let url = self.ask(ConfigActorRequest::Registry).await;
        let url = url.ok_or_else(|| ConfigServiceError::Failed(STOPPING.to_owned()))?;
        let found = async { McpRegistryClient::new(&url)?.search(words, cursor).await };
        let page = found.await.map_err(|why| ConfigServiceError::Elsewhere(why.to_string()))?;
        Ok(page.to_json())
    }

    async fn reload(&self, by: &str) -> ReloadAttempt {
        let attempt = self.ask(|reply| ConfigActorRequest::Reload(by.to_owned(), reply)).await;
        attempt.unwrap_or_else(|| ReloadAttempt {
            at: SystemClock.wall(),
            by: by.to_owned(),
            result: ReloadOutcome::Refused(STOPPING.to_owned()),
            report: Value::Null,
        })
    }

    fn last(&self) -> (Option<ReloadAttempt>, ReloadCounts) {
        let noted = self.noted.lock();
        (noted.last.clone(), noted.tally)
    }
}

/// The imported entries, marked where the config has one of the same name.
fn build_offer(imported: ImportedConfig, config: &Value) -> ImportPreview {
    let entry = |section: &str, found: ImportedEntry| {
        let ImportedEntry { name, keys, notes } = found;
        let folded = |name: &str| import::fold_name(section, name);
        let clash = edit::names(config, section).iter().any(|it| folded(it) == folded(&name));
        ImportCandidate { name, keys, clash, notes }
    };
    let servers = imported.servers.into_iter().map(|found| entry("servers", found)).collect();
    let others = imported.others.into_iter();
    let others =
        others.map(|other| (other.section.to_owned(), entry(other.section, other.found))).collect();
    let dropped = imported.dropped.into_iter().map(|it| (it.what, it.why)).collect();
    let given = imported.given;
    ImportPreview { format: imported.format.to_owned(), servers, others, dropped, given }
}

fn connection(snippet: Snippet) -> ClientSetup {
    let Snippet { id, name, file, language, text, link, note } = snippet;
    let id = id.to_owned();
    let name = name.to_owned();
    let language = language.to_owned();
    ClientSetup { id, name, file, language, text, link, note }
}
