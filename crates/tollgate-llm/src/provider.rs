//! Model registry and provider clients: URLs, keys, timeouts, retries, fallbacks. Called by the
//! agent loop and by fronts that pass a request through. Knows no agents and no tools.

use std::sync::Arc;

use tollgate_core::agent::OFFLINE;
use tollgate_engine::clock::Clock;
use tollgate_engine::embedding::Embedder;

use crate::settings::{self, LlmSettings, ProviderKind, RemoteEmbeddingSettings};

mod access_token;
mod ask_error;
mod aws_error;
mod aws_event_stream;
mod aws_role;
mod aws_signature;
mod cloud_body;
mod concurrency_limit;
mod config_error;
mod delta_stream;
mod embedding;
mod endpoint;
mod error_mapping;
mod event_source;
mod fallback_chain;
mod forwarded_headers;
mod gen_ai_span;
mod label;
mod message_stream;
mod model;
mod pass_through;
mod pool;
mod realtime_calls;
mod realtime_socket;
mod remote;
mod renewed_value;
mod response_head;
mod retry_backoff;
mod retry_hint;
mod session_candidates;
mod side_endpoint;
mod target_health;
mod urls;

pub use ask_error::{AskError, RetryTarget};
pub use config_error::{ModelConfigError, ProviderSetupError, ProviderUrlError};
pub use delta_stream::DeltaStream;
pub use endpoint::{EmbeddingVectors, ForwardedContent, ForwardedRequest};
pub use fallback_chain::{ChainAnswer, FallbackChain};
pub use forwarded_headers::carry;
pub(crate) use gen_ai_span::{provider_name, record_usage};
pub use message_stream::MessageStream;
pub use model::ModelHandle;
pub use pass_through::{
    PassThroughBody, PassThroughError, PassThroughRequest, StreamInterruption, usage,
};
pub use pool::LiveTarget;
pub use realtime_calls::{CALLS_PATH, ProviderCallAnswer, ProviderCallError, ProviderCallRequest};
pub use realtime_socket::{ProviderSocket, socket_config};
pub(crate) use session_candidates::{LiveCandidate, dial_order};
pub use side_endpoint::SideEndpoint;
pub use target_health::{
    FIRST_TOKEN_BUCKETS, FirstTokenTimes, TargetCounts, TargetReport, TargetStatus,
};

use endpoint::ModelEndpoint;
use pool::{LiveTargets, Target, TargetPool};
use remote::RemoteProvider;

/// Longer names are rejected without a lookup.
const MAX_MODEL_NAME_BYTES: usize = 256;

/// Context window of a model that is not in the config.
const DEFAULT_CONTEXT_WINDOW: u32 = 128_000;
const DEFAULT_MAX_OUTPUT: u32 = 4_096;

/// Registry of all models. Rebuilt when the config changes.
pub struct ModelRegistry {
    models: Vec<Arc<ModelHandle>>,
    providers: Vec<ProviderEntry>,
    clock: Arc<dyn Clock>,
}

/// A provider and its endpoints; none: in process.
struct ProviderEntry {
    name: String,
    kind: ProviderKind,
    remotes: Vec<Arc<RemoteProvider>>,
}

/// Whether a model is in the config, and so is counted under its own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModelListing {
    Listed,
    Unlisted,
}

impl ModelRegistry {
    /// Unchanged providers keep the connections and concurrency slots that they have in `earlier`.
    /// Fails if a provider is unusable, for example because its URL is invalid.
    pub fn new(
        settings: &LlmSettings,
        clock: Arc<dyn Clock>,
        earlier: Option<&Self>,
    ) -> Result<Self, ModelConfigError> {
        let providers =
            settings.providers.iter().map(|provider| provider_entry(provider, &clock, earlier));
        let providers = providers.collect::<Result<Vec<_>, _>>()?;
        let mut models = Self { models: Vec::new(), providers, clock };
        for model in &settings.models {
            models.models.push(Arc::new(models.serve(model.clone(), ModelListing::Listed)?));
        }
        if models.by_name(OFFLINE).is_none() {
            let offline = settings::ModelSettings::offline();
            models.models.push(Arc::new(models.serve(offline, ModelListing::Listed)?));
        }
        Ok(models)
    }

    /// Finds a model by name, or as `provider/anything`. The built-in `offline` always exists.
    pub fn find(&self, name: &str) -> Option<Arc<ModelHandle>> {
        if let Some(model) = self.by_name(name) {
            return Some(Arc::clone(model));
        }
        let (provider, id) = name.split_once('/')?;
        let provider = self.providers.iter().find(|served| served.name == provider)?;
        let is_name =
            !id.is_empty() && name.len() <= MAX_MODEL_NAME_BYTES && !id.contains(char::is_control);
        if !is_name {
            return None;
        }
        let alike = |model: &&Arc<ModelHandle>| {
            let mut places = model.settings.providers().into_iter();
            places.any(|it| it.id == id && it.provider == provider.name)
        };
        let known = self.models.iter().find(alike).map(|model| settings::ModelSettings {
            id: id.to_owned(),
            provider: Some(provider.name.clone()),
            pool: settings::PoolSettings::default(),
            ..model.settings.clone()
        });
        let listing = if known.is_some() { ModelListing::Listed } else { ModelListing::Unlisted };
        let settings = known.unwrap_or_else(|| unlisted_model_settings(provider, id));
        let settings = settings::ModelSettings { name: name.to_owned(), ..settings };
        self.serve(settings, listing).ok().map(Arc::new)
    }

    /// Whether the config has a model of this name.
    pub fn is_listed(&self, name: &str) -> bool {
        self.by_name(name).is_some()
    }

    /// All models of the config, and `offline`.
    pub fn list(&self) -> &[Arc<ModelHandle>] {
        &self.models
    }

    /// Where the models of the config are served, each place once, and what was asked of models
    /// that are not in the config.
    pub fn targets(&self) -> Vec<TargetReport> {
        let mut reports: Vec<TargetReport> = Vec::new();
        for report in self.models.iter().flat_map(|model| model.targets()) {
            let is_same = |it: &TargetReport| {
                it.provider == report.provider
                    && it.endpoint == report.endpoint
                    && it.id == report.id
            };
            if !reports.iter().any(is_same) {
                reports.push(report);
            }
        }
        let now = self.clock.now();
        let remotes = self.providers.iter().flat_map(|provider| &provider.remotes);
        reports.extend(remotes.filter_map(|remote| remote.unlisted_report(now)));
        reports
    }

    /// A remote embedding model. Fails if its provider does not exist or has no embeddings.
    pub fn embedder(
        &self,
        settings: &RemoteEmbeddingSettings,
    ) -> Result<Arc<dyn Embedder>, ModelConfigError> {
        let name = &settings.provider;
        let served = self.providers.iter().find(|served| served.name == *name);
        let served =
            served.ok_or_else(|| ModelConfigError::UnknownEmbeddingProvider(name.clone()))?;
        let remote =
            served.remotes.first().ok_or_else(|| ModelConfigError::NoEmbeddings(name.clone()))?;
        let clock = Arc::clone(&self.clock);
        Ok(Arc::new(embedding::RemoteEmbedder::new(settings, Arc::clone(remote), clock)?))
    }

    fn by_name(&self, name: &str) -> Option<&Arc<ModelHandle>> {
        self.models.iter().find(|model| model.settings.name == name)
    }

    fn serve(
        &self,
        model: settings::ModelSettings,
        listing: ModelListing,
    ) -> Result<ModelHandle, ModelConfigError> {
        let clock = Arc::clone(&self.clock);
        let mut targets = Vec::new();
        let mut live = Vec::new();
        for place in model.providers() {
            let served = self.providers.iter().find(|served| served.name == place.provider);
            let served = served.ok_or_else(|| ModelConfigError::UnknownProvider {
                model: model.name.clone(),
                provider: place.provider.clone(),
            })?;
            for remote in &served.remotes {
                if model.is_live_at(served.kind) {
                    live.push(live_target(&place, remote, listing, &clock));
                    continue;
                }
                targets.push(target(&model, &place, remote, listing)?);
            }
        }
        if let Some(targets) = LiveTargets::new(live, model.route()) {
            return Ok(ModelHandle::live(model, targets, clock));
        }
        match TargetPool::new(&model, targets) {
            Some(pool) => Ok(ModelHandle::with_pool(model, pool, clock)),
            None => Ok(ModelHandle::in_process(model, clock)),
        }
    }
}

fn live_target(
    place: &settings::ModelProviderSettings,
    remote: &Arc<RemoteProvider>,
    listing: ModelListing,
    clock: &Arc<dyn Clock>,
) -> LiveTarget {
    let id = (listing == ModelListing::Listed).then_some(place.id.as_str());
    LiveTarget {
        remote: Arc::clone(remote),
        id: place.id.clone(),
        weight: place.weight.saturating_mul(remote.weight()),
        price: place.price,
        health: remote.health(id),
        clock: Arc::clone(clock),
    }
}

fn target(
    model: &settings::ModelSettings,
    place: &settings::ModelProviderSettings,
    remote: &Arc<RemoteProvider>,
    listing: ModelListing,
) -> Result<Target, ModelConfigError> {
    let here = settings::ModelSettings {
        id: place.id.clone(),
        provider: Some(place.provider.clone()),
        ..model.clone()
    };
    let id = (listing == ModelListing::Listed).then_some(place.id.as_str());
    Ok(Target {
        endpoint: ModelEndpoint::new(&here, Arc::clone(remote))?,
        weight: place.weight.saturating_mul(remote.weight()),
        price: place.price,
        health: remote.health(id),
    })
}

fn provider_entry(
    provider: &settings::ProviderSettings,
    clock: &Arc<dyn Clock>,
    earlier: Option<&ModelRegistry>,
) -> Result<ProviderEntry, ModelConfigError> {
    let settings::ProviderSettings { name, kind, .. } = provider;
    let remotes = match kind {
        ProviderKind::Offline => Vec::new(),
        ProviderKind::OpenAi
        | ProviderKind::Anthropic
        | ProviderKind::Gemini
        | ProviderKind::Deepgram => {
            let endpoints = endpoints(provider).into_iter();
            let remotes = endpoints.map(|(settings, endpoint)| {
                let earlier = earlier.into_iter().flat_map(|models| &models.providers);
                let mut kept = earlier.flat_map(|served| &served.remotes);
                match kept.find(|remote| remote.is_of(&settings, endpoint.as_ref())) {
                    Some(remote) => Ok(Arc::clone(remote)),
                    None => RemoteProvider::new(settings, endpoint, clock).map(Arc::new),
                }
            });
            remotes.collect::<Result<Vec<_>, _>>()?
        }
    };
    Ok(ProviderEntry { name: name.clone(), kind: *kind, remotes })
}

/// The provider's settings at each of its endpoints, with the endpoints that share its key. `None`: it
/// has no list of them.
fn endpoints(
    provider: &settings::ProviderSettings,
) -> Vec<(settings::ProviderSettings, Option<settings::EndpointSettings>)> {
    if provider.endpoints.is_empty() {
        return vec![(provider.clone(), None)];
    }
    let shared = settings::ProviderSettings { endpoints: Vec::new(), ..provider.clone() };
    let at = |endpoint: &settings::EndpointSettings| {
        let base_url = endpoint.base_url.clone().or_else(|| shared.base_url.clone());
        let api_key = endpoint.api_key.clone().or_else(|| shared.api_key.clone());
        let has_same_key = |it: &&settings::EndpointSettings| it.api_key == endpoint.api_key;
        let endpoints = provider.endpoints.iter().filter(has_same_key).cloned().collect();
        let cloud = match (&shared.cloud, &endpoint.region) {
            (Some(cloud), Some(region)) => Some(cloud.in_region(region)),
            (cloud, _) => cloud.clone(),
        };
        let settings =
            settings::ProviderSettings { base_url, api_key, cloud, endpoints, ..shared.clone() };
        (settings, Some(endpoint.clone()))
    };
    provider.endpoints.iter().map(at).collect()
}

/// Settings of a model that is not in the config, of a provider that is.
fn unlisted_model_settings(provider: &ProviderEntry, id: &str) -> settings::ModelSettings {
    let known = match provider.kind {
        ProviderKind::Offline => settings::ModelSettings::offline(),
        ProviderKind::OpenAi
        | ProviderKind::Anthropic
        | ProviderKind::Gemini
        | ProviderKind::Deepgram => settings::ModelSettings {
            context_window: DEFAULT_CONTEXT_WINDOW,
            max_output: DEFAULT_MAX_OUTPUT,
            ..settings::ModelSettings::offline()
        },
    };
    settings::ModelSettings { id: id.to_owned(), provider: Some(provider.name.clone()), ..known }
}
