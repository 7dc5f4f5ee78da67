//! Operations of the config actor: read, validate, write and apply, with blocking work off the
//! serving threads. The actor decides when.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tollgate_engine::audit::Decision;
use tollgate_engine::notices::Notice;
use tollgate_engine::settings::Server;
use tollgate_mcp::tasks::{self, Task};
use tollgate_server::config_service::{
    ApplyMode, ConfigChangeRequest, ConfigChangeSummary, ConfigServiceError, ProposedServer,
    RedactedConfig, ReloadEffect, ServerConfigEntry,
};

use tollgate_config::file::ConfigVersion;
use tollgate_config::secret_masking::SecretMasks;
use tollgate_config::{Config, ConfigReport};
use tracing::warn;

use super::change::{self, ConfigChangeError, ConfigDraft};
use super::effect::{self, StartupConfig};
use super::entry;
use super::file_source::{ConfigCandidate, ConfigFileSource, ConfigFileState};
use super::login::{self, LoginTask};
use crate::app::App;

pub(super) struct ConfigStore {
    app: Arc<App>,
    fixed: StartupConfig,
    /// The active config.
    now: Config,
    origin: ConfigFileSource,
    /// The content that was read last, valid or not.
    seen: Option<String>,
    masks: Arc<SecretMasks>,
    /// Login tasks by server name.
    logins: HashMap<String, Task>,
}

/// A change, and its effect if it was applied.
pub(super) struct StoredConfigChange {
    pub(super) summary: ConfigChangeSummary,
    pub(super) applied: Option<ReloadEffect>,
}

impl ConfigStore {
    pub(super) fn new(
        app: Arc<App>,
        config: Config,
        version: &ConfigVersion,
        origin: ConfigFileSource,
    ) -> Self {
        Self {
            app,
            fixed: StartupConfig::new(config.clone()),
            now: config,
            origin,
            seen: Some(version.as_str().to_owned()),
            masks: Arc::new(SecretMasks::new()),
            logins: HashMap::new(),
        }
    }

    pub(super) async fn show(&self) -> Result<RedactedConfig, ConfigServiceError> {
        let origin = self.origin.clone();
        let masks = Arc::clone(&self.masks);
        Ok(beside(move || change::show(&origin, &masks)).await??)
    }

    pub(super) async fn entry(
        &self,
        name: String,
    ) -> Result<Option<ServerConfigEntry>, ConfigServiceError> {
        let origin = self.origin.clone();
        let masks = Arc::clone(&self.masks);
        Ok(beside(move || entry::show(&origin, &masks, &name)).await??)
    }

    pub(super) async fn prove(
        &self,
        proposed: ProposedServer,
    ) -> Result<Server, ConfigServiceError> {
        let origin = self.origin.clone();
        let masks = Arc::clone(&self.masks);
        Ok(beside(move || entry::prove(&origin, &masks, proposed)).await??)
    }

    /// Runs in the background. Replaces an earlier login to the same server.
    pub(super) fn login(&mut self, name: String, by: String, reply: login::LoginLinkSender) {
        let servers = &self.now.settings.servers;
        let Some(server) = servers.iter().find(|it| it.id.as_str() == name) else {
            let _ = reply.send(Err(ConfigServiceError::UnknownServer(name)));
            return;
        };
        let store = Arc::clone(self.app.store());
        let gate = Arc::clone(self.app.gate());
        let login = LoginTask { server: server.clone(), by, store, gate };
        self.logins.insert(name, tasks::spawn("login", login.run(reply)));
    }

    /// The content of the file, if it is new.
    pub(super) async fn look(&self) -> ConfigFileState {
        self.find(self.seen.clone()).await
    }

    /// The content of the file.
    pub(super) async fn read(&self) -> ConfigFileState {
        self.find(None).await
    }

    async fn find(&self, seen: Option<String>) -> ConfigFileState {
        let origin = self.origin.clone();
        let name = origin.path().display().to_string();
        let found = beside(move || origin.look(seen.as_deref())).await;
        found.unwrap_or_else(|why| {
            let content = why.to_string();
            ConfigFileState::Bad { report: ConfigReport::about(&name, content.clone()), content }
        })
    }

    pub(super) fn saw(&mut self, content: String) {
        self.seen = Some(content);
    }

    /// Applies a validated config.
    pub(super) async fn apply(
        &mut self,
        candidate: ConfigCandidate,
    ) -> Result<ReloadEffect, ConfigReport> {
        let ConfigCandidate { config, version, .. } = candidate;
        let name = self.origin.path().display().to_string();
        effect::admit(&name, &config).await?;
        let certified = self.app.certify(&config).await;
        certified.map_err(|why| ConfigReport::about(&name, why.to_string()))?;
        let changes = self.app.reconfigure(&config).await;
        let effect = effect::of(changes, self.fixed.keys_needing_restart(&config));
        self.origin.became_file();
        self.seen = Some(version.as_str().to_owned());
        self.now = config;
        Ok(effect)
    }

    /// A description of the files that the config names, if they changed since they were read.
    pub(super) async fn changed_files(&self) -> Option<String> {
        self.app.changed_files().await
    }

    /// Applies the same config again, with all referenced files read anew.
    pub(super) async fn reload_builtin_files(&self) -> Result<ReloadEffect, ConfigReport> {
        let certified = self.app.certify(&self.now).await;
        let changes = self.app.reconfigure(&self.now).await;
        let name = self.origin.path().display().to_string();
        certified.map_err(|why| ConfigReport::about(&name, why.to_string()))?;
        Ok(effect::of(changes, self.fixed.keys_needing_restart(&self.now)))
    }

    pub(super) async fn change(
        &mut self,
        order: ConfigChangeRequest,
    ) -> Result<StoredConfigChange, ConfigServiceError> {
        let origin = self.origin.clone();
        let masks = Arc::clone(&self.masks);
        let mode = order.mode;
        let draft = beside(move || change::draft(&origin, &masks, &order)).await??;
        let next = &draft.candidate.config;
        let name = self.origin.path().display().to_string();
        effect::admit(&name, next).await.map_err(ConfigChangeError::from)?;
        let diff = draft.diff.clone();
        let report = draft.candidate.report.to_json();
        let version = draft.candidate.version.as_str().to_owned();
        let render = |effect: ReloadEffect| ConfigChangeSummary { version, diff, report, effect };
        if mode == ApplyMode::Try {
            let effect =
                effect::predict_effect(&self.now, next, self.fixed.keys_needing_restart(next));
            return Ok(StoredConfigChange { summary: render(effect), applied: None });
        }
        let origin = self.origin.clone();
        let written = beside(move || draft.write(&origin).map(|()| draft)).await?;
        let ConfigDraft { candidate, .. } = written?;
        let effect = self.apply(candidate).await.map_err(ConfigChangeError::from)?;
        Ok(StoredConfigChange { summary: render(effect.clone()), applied: Some(effect) })
    }

    pub(super) fn registry(&self) -> String {
        self.now.registry.clone()
    }

    pub(super) fn file(&self) -> &Path {
        self.origin.path()
    }

    /// Writes an audit row. The change stays in force even if that fails.
    pub(super) async fn note(&self, decision: Decision) {
        if let Err(error) = self.app.gate().ledger().note(decision).await {
            warn!(%error, "cannot write a config change to the audit trail");
        }
    }

    pub(super) fn announce(&self, notice: Notice) {
        self.app.gate().announce(notice);
    }
}

/// Runs on the blocking thread pool. A panic there becomes an error here.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ConfigServiceError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| {
        ConfigServiceError::Failed("reading the config failed (internal error)".to_owned())
    })
}
