//! Model registry and provider clients: URLs, keys, timeouts, retries, fallbacks. Called by the
//! agent loop and by fronts that pass a request through. Knows no agents and no tools.

use std::sync::Arc;

use tollgate_core::agent::OFFLINE;
use tollgate_engine::clock::Clock;
use tollgate_engine::embedding::Embedder;

use crate::settings::{self, LlmSettings, ProviderKind, RemoteEmbeddingSettings};

mod ask_error;
mod concurrency_limit;
mod config_error;
mod delta_stream;
mod embedding;
mod endpoint;
mod error_mapping;
mod fallback_chain;
mod forwarded_headers;
mod gen_ai_span;
mod label;
mod message_stream;
mod model;
mod pass_through;
mod realtime_socket;
mod remote;
mod response_head;
mod retry_backoff;
mod retry_hint;
mod urls;

pub use ask_error::{AskError, RetryTarget};
pub use config_error::{ModelConfigError, ProviderSetupError, ProviderUrlError};
pub use delta_stream::DeltaStream;
pub use endpoint::{
    EmbeddingTexts, EmbeddingVectors, ForwardedContent, ForwardedRequest, SideEndpoint,
};
pub use fallback_chain::{ChainAnswer, FallbackChain};
pub use forwarded_headers::carry;
pub(crate) use gen_ai_span::{provider_name, record_usage};
pub use message_stream::MessageStream;
pub use model::ModelHandle;
pub use pass_through::{PassThroughBody, PassThroughError, PassThroughRequest, usage};
pub use realtime_socket::{ProviderSocket, socket_config};

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

/// A provider and its endpoint; `None`: in process.
struct ProviderEntry {
    name: String,
    kind: ProviderKind,
    remote: Option<Arc<RemoteProvider>>,
}

impl ModelRegistry {
    /// Unchanged providers keep the connections and concurrency slots that they have in `earlier`.
    /// Fails if a provider is unusable, for example because its URL is invalid.
    pub fn new(
        settings: &LlmSettings,
        clock: Arc<dyn Clock>,
        earlier: Option<&Self>,
    ) -> Result<Self, ModelConfigError> {
        let providers = settings.providers.iter().map(|provider| provider_entry(provider, earlier));
        let providers = providers.collect::<Result<Vec<_>, _>>()?;
        let mut models = Self { models: Vec::new(), providers, clock };
        for model in &settings.models {
            models.models.push(Arc::new(models.serve(model.clone())?));
        }
        if models.by_name(OFFLINE).is_none() {
            models.models.push(Arc::new(models.serve(settings::ModelSettings::offline())?));
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
            model.settings.id == id && model.settings.provider.as_ref() == Some(&provider.name)
        };
        let known = self.models.iter().find(alike).map(|model| model.settings.clone());
        let settings = known.unwrap_or_else(|| unlisted_model_settings(provider, id));
        self.serve(settings::ModelSettings { name: name.to_owned(), ..settings }).ok().map(Arc::new)
    }

    /// Whether the config has a model of this name.
    pub fn is_listed(&self, name: &str) -> bool {
        self.by_name(name).is_some()
    }

    /// All models of the config, and `offline`.
    pub fn list(&self) -> &[Arc<ModelHandle>] {
        &self.models
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
            served.remote.as_ref().ok_or_else(|| ModelConfigError::NoEmbeddings(name.clone()))?;
        let clock = Arc::clone(&self.clock);
        Ok(Arc::new(embedding::RemoteEmbedder::new(settings, Arc::clone(remote), clock)?))
    }

    fn by_name(&self, name: &str) -> Option<&Arc<ModelHandle>> {
        self.models.iter().find(|model| model.settings.name == name)
    }

    fn serve(&self, model: settings::ModelSettings) -> Result<ModelHandle, ModelConfigError> {
        let clock = Arc::clone(&self.clock);
        let Some(name) = &model.provider else { return Ok(ModelHandle::in_process(model, clock)) };
        let served = self.providers.iter().find(|served| served.name == *name);
        let served = served.ok_or_else(|| ModelConfigError::UnknownProvider {
            model: model.name.clone(),
            provider: name.clone(),
        })?;
        match &served.remote {
            Some(remote) => ModelHandle::remote(model, Arc::clone(remote), clock),
            None => Ok(ModelHandle::in_process(model, clock)),
        }
    }
}

fn provider_entry(
    provider: &settings::ProviderSettings,
    earlier: Option<&ModelRegistry>,
) -> Result<ProviderEntry, ModelConfigError> {
    let settings::ProviderSettings { name, kind, .. } = provider;
    let remote = match kind {
        ProviderKind::Offline => None,
        ProviderKind::OpenAi
        | ProviderKind::Anthropic
        | ProviderKind::Gemini
        | ProviderKind::Deepgram => {
            let earlier = earlier.into_iter().flat_map(|models| &models.providers);
            let mut kept = earlier.filter_map(|served| served.remote.as_ref());
            match kept.find(|remote| remote.settings == *provider) {
                Some(remote) => Some(Arc::clone(remote)),
                None => Some(Arc::new(RemoteProvider::new(provider.clone())?)),
            }
        }
    };
    Ok(ProviderEntry { name: name.clone(), kind: *kind, remote })
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
