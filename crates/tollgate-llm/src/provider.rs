//! Models that can be asked, and the providers that serve them: addresses, keys, timeouts, retries,
//! fallbacks. Called by the loop and by fronts that pass a request on. Knows no agents and no tools.

use std::sync::Arc;

use tollgate_core::agent::OFFLINE;
use tollgate_engine::clock::Clock;
use tollgate_engine::embedding::Embedder;

use crate::settings::{self, ProviderKind, ServedEmbedding, Settings};

mod address;
mod answering;
mod ask_error;
mod chain;
mod embedding;
mod endpoint;
mod forwarded;
mod hint;
mod label;
mod live;
mod model;
mod opened;
mod pass;
mod pause;
mod question;
mod remote;
mod slots;
mod verdict;

pub use answering::Answering;
pub use ask_error::{Again, AskError};
pub use chain::{Chain, Reached};
pub use forwarded::carry;
pub use live::{Socket, socket_config};
pub use model::Model;
pub use pass::{Passed, PassedBody, PassedError, usage};
pub(crate) use question::{provider_name, spent};

use remote::Remote;

/// Longer names are nobody's.
const LONGEST_NAME: usize = 256;

/// What a model can take of which only the name is known.
const UNKNOWN_WINDOW: u32 = 128_000;
const UNKNOWN_OUTPUT: u32 = 4_096;

/// What can be asked. Made anew when the config changes.
pub struct Models {
    models: Vec<Arc<Model>>,
    providers: Vec<Served>,
    clock: Arc<dyn Clock>,
}

/// A provider and where it is: `None` is in process.
struct Served {
    name: String,
    kind: ProviderKind,
    remote: Option<Arc<Remote>>,
}

impl Models {
    /// Providers that did not change keep the connections and the slots that they have in `earlier`.
    /// Fails, in words, if a provider cannot be reached by any means, such as a URL that is none.
    pub fn new(
        settings: &Settings,
        clock: Arc<dyn Clock>,
        earlier: Option<&Self>,
    ) -> Result<Self, String> {
        let providers = settings.providers.iter().map(|provider| served(provider, earlier));
        let providers = providers.collect::<Result<Vec<_>, _>>()?;
        let mut models = Self { models: Vec::new(), providers, clock };
        for model in &settings.models {
            models.models.push(Arc::new(models.serve(model.clone())?));
        }
        if models.by_name(OFFLINE).is_none() {
            models.models.push(Arc::new(models.serve(settings::Model::offline())?));
        }
        Ok(models)
    }

    /// By its name, or as `provider/anything`. The built-in `offline` is always there.
    pub fn find(&self, name: &str) -> Option<Arc<Model>> {
        if let Some(model) = self.by_name(name) {
            return Some(Arc::clone(model));
        }
        let (provider, id) = name.split_once('/')?;
        let provider = self.providers.iter().find(|served| served.name == provider)?;
        let is_name =
            !id.is_empty() && name.len() <= LONGEST_NAME && !id.contains(char::is_control);
        if !is_name {
            return None;
        }
        let alike = |model: &&Arc<Model>| {
            model.settings.id == id && model.settings.provider.as_ref() == Some(&provider.name)
        };
        let known = self.models.iter().find(alike).map(|model| model.settings.clone());
        let settings = known.unwrap_or_else(|| unlisted(provider, id));
        self.serve(settings::Model { name: name.to_owned(), ..settings }).ok().map(Arc::new)
    }

    /// As in the config, and `offline`.
    pub fn list(&self) -> &[Arc<Model>] {
        &self.models
    }

    /// A model of meanings. Fails, in words, if its provider is not there or has none.
    pub fn embedder(&self, settings: &ServedEmbedding) -> Result<Arc<dyn Embedder>, String> {
        let name = &settings.provider;
        let served = self.providers.iter().find(|served| served.name == *name);
        let served = served
            .ok_or_else(|| format!("the embedding names provider `{name}`, which is not there"))?;
        let remote = served.remote.as_ref().ok_or_else(|| embedding::without(name))?;
        let clock = Arc::clone(&self.clock);
        Ok(Arc::new(embedding::Served::new(settings, Arc::clone(remote), clock)?))
    }

    fn by_name(&self, name: &str) -> Option<&Arc<Model>> {
        self.models.iter().find(|model| model.settings.name == name)
    }

    fn serve(&self, model: settings::Model) -> Result<Model, String> {
        let clock = Arc::clone(&self.clock);
        let Some(name) = &model.provider else { return Ok(Model::in_process(model, clock)) };
        let served = self.providers.iter().find(|served| served.name == *name);
        let served = served.ok_or_else(|| {
            format!("model `{}` names provider `{name}`, which is not there", model.name)
        })?;
        match &served.remote {
            Some(remote) => Model::remote(model, Arc::clone(remote), clock),
            None => Ok(Model::in_process(model, clock)),
        }
    }
}

fn served(provider: &settings::Provider, earlier: Option<&Models>) -> Result<Served, String> {
    let settings::Provider { name, kind, .. } = provider;
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
                None => Some(Arc::new(Remote::new(provider.clone())?)),
            }
        }
    };
    Ok(Served { name: name.clone(), kind: *kind, remote })
}

/// A model that the config does not have, of a provider that it has.
fn unlisted(provider: &Served, id: &str) -> settings::Model {
    let known = match provider.kind {
        ProviderKind::Offline => settings::Model::offline(),
        ProviderKind::OpenAi
        | ProviderKind::Anthropic
        | ProviderKind::Gemini
        | ProviderKind::Deepgram => settings::Model {
            context_window: UNKNOWN_WINDOW,
            max_output: UNKNOWN_OUTPUT,
            ..settings::Model::offline()
        },
    };
    settings::Model { id: id.to_owned(), provider: Some(provider.name.clone()), ..known }
}
