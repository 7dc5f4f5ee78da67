//! Effect of a new config on the running gateway: what changes, what needs a restart, and what is
//! refused.

use std::time::Duration;

use tollgate_config::{Config, ConfigReport};
use tollgate_core::id::ServerId;
use tollgate_engine::ServerChanges;
use tollgate_llm::settings::{EmbeddingSettings, ProviderSettings};
use tollgate_server::config_service::ReloadEffect;

use crate::app;
use crate::command_error::CommandError;

/// Settings that cannot change while the gateway runs.
pub(super) struct StartupConfig(Config);

impl StartupConfig {
    pub(super) fn new(started_with: Config) -> Self {
        Self(started_with)
    }

    /// Keys that differ from the running settings and take effect at the next start.
    pub(super) fn keys_needing_restart(&self, next: &Config) -> Vec<String> {
        let now = &self.0;
        let changed = [
            ("listen", now.listen != next.listen),
            ("data", now.data != next.data),
            ("database", now.settings.memory.database != next.settings.memory.database),
            ("memory.embedding", meanings(now) != meanings(next)),
            ("limits.in_flight", now.front.in_flight != next.front.in_flight),
            ("limits.per_key", now.front.per_key != next.front.per_key),
            ("limits.streams_per_key", now.front.streams_per_key != next.front.streams_per_key),
            ("limits.live_sessions", now.front.live_sessions != next.front.live_sessions),
            ("limits.live_per_key", now.front.live_per_key != next.front.live_per_key),
            ("limits.connections", now.front.connections != next.front.connections),
            ("limits.sessions", now.front.sessions != next.front.sessions),
            ("limits.sessions_per_key", now.front.sessions_per_key != next.front.sessions_per_key),
            (
                "limits.sessions_per_address",
                now.front.sessions_per_address != next.front.sessions_per_address,
            ),
            (
                "limits.connections_per_address",
                now.front.connections_per_address != next.front.connections_per_address,
            ),
            ("shutdown", shutdown(now) != shutdown(next)),
            ("limits.json_values", now.front.json.values != next.front.json.values),
            ("limits.json_depth", now.front.json.depth != next.front.json.depth),
            ("limits.body_bytes_per_s", now.front.body_bytes_per_s != next.front.body_bytes_per_s),
            ("limits.memory_mb", now.front.memory != next.front.memory),
            ("telemetry", now.otlp != next.otlp),
            ("environment", now.settings.environment != next.settings.environment),
        ];
        changed.into_iter().filter(|(_, is)| *is).map(|(key, _)| key.to_owned()).collect()
    }
}

fn shutdown(config: &Config) -> (Duration, Duration) {
    (config.front.grace, config.front.drain)
}

/// Source of embeddings: the model, and the provider that serves it.
fn meanings(config: &Config) -> (Option<&EmbeddingSettings>, Option<&ProviderSettings>) {
    let embedding = config.embedding.as_ref();
    let served = match embedding {
        Some(EmbeddingSettings::Served(served)) => Some(&served.provider),
        Some(EmbeddingSettings::Local(_)) | None => None,
    };
    let provider = config.llm.providers.iter().find(|provider| Some(&provider.name) == served);
    (embedding, provider)
}

/// Checks that the config can run at all.
pub(super) async fn admit(file: &str, next: &Config) -> Result<(), ConfigReport> {
    let about = |why: CommandError| ConfigReport::about(file, why.to_string());
    app::fit(next).map_err(about)?;
    app::certifiable(next).await.map_err(about)
}

pub(super) fn of(changes: ServerChanges, needs_restart: Vec<String>) -> ReloadEffect {
    let ServerChanges { added, removed, restarted, unchanged } = changes;
    ReloadEffect { added, removed, restarted, unchanged, needs_restart }
}

/// Predicts the effect on the servers.
pub(super) fn predict_effect(
    now: &Config,
    next: &Config,
    needs_restart: Vec<String>,
) -> ReloadEffect {
    let mut effect = ReloadEffect { needs_restart, ..ReloadEffect::default() };
    for server in &next.settings.servers {
        let was = now.settings.servers.iter().find(|was| was.id == server.id);
        let list = match was {
            None => &mut effect.added,
            Some(was) if server.runs_like(was) => &mut effect.unchanged,
            Some(_) => &mut effect.restarted,
        };
        list.push(server.id.clone());
    }
    let stays = |id: &ServerId| next.settings.servers.iter().any(|server| server.id == *id);
    let ids = now.settings.servers.iter().map(|server| &server.id);
    effect.removed = ids.filter(|id| !stays(id)).cloned().collect();
    effect
}
