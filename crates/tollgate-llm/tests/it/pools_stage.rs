//! Pools of a model: endpoints and providers on fake sockets.

use std::sync::Arc;
use std::time::Duration;

use tollgate_core::secret::Secret;
use tollgate_engine::spans::TraceScope;
use tollgate_llm::error::LlmError;
use tollgate_llm::provider::{
    DeltaStream, FallbackChain, ModelHandle, ModelRegistry, TargetReport,
};
use tollgate_llm::settings::{
    EndpointSettings, LlmSettings, ModelProviderSettings, ModelSettings, PoolSettings,
    ProviderKind, ProviderSettings, RoutePolicy,
};

use crate::fake::Fake;
use crate::stage::{clock, model, provider, request};

pub(crate) fn endpoint(name: &str, fake: &Fake) -> EndpointSettings {
    EndpointSettings {
        name: name.to_owned(),
        base_url: Some(format!("http://{}", fake.address)),
        api_key: Some(Secret::new(format!("sk-of-{name}-0123456789"))),
        region: None,
        weight: 1,
    }
}

/// Model `m` at the endpoints of one provider, which are named `one`, `two` and so on.
pub(crate) fn endpoints(fakes: &[&Fake], pool: PoolSettings) -> LlmSettings {
    let names = ["one", "two", "three"];
    let endpoints = names.iter().zip(fakes).map(|(name, fake)| endpoint(name, fake)).collect();
    let provider =
        ProviderSettings { endpoints, ..provider(ProviderKind::Anthropic, fakes[0].address) };
    LlmSettings { providers: vec![provider], models: vec![ModelSettings { pool, ..model("m") }] }
}

pub(crate) fn route(route: RoutePolicy) -> PoolSettings {
    PoolSettings { route: Some(route), ..PoolSettings::default() }
}

pub(crate) fn at(provider: &str, id: &str) -> ModelProviderSettings {
    ModelProviderSettings {
        provider: provider.to_owned(),
        id: id.to_owned(),
        weight: 1,
        price: None,
    }
}

pub(crate) struct Pool {
    pub(crate) registry: ModelRegistry,
}

impl Pool {
    pub(crate) fn new(settings: &LlmSettings) -> Self {
        Self { registry: ModelRegistry::new(settings, clock(), None).unwrap() }
    }

    pub(crate) fn model(&self) -> Arc<ModelHandle> {
        self.registry.find("m").unwrap()
    }

    /// The answer to one request, within this time.
    pub(crate) async fn ask(&self, within: Option<Duration>) -> Result<String, LlmError> {
        let model = [self.model()];
        let clock = clock();
        let chain = FallbackChain {
            models: &model,
            clock: &*clock,
            until: within.map(|time| clock.now() + time),
            follow: &TraceScope::default(),
            on_fallback: &|note| panic!("there is one model: {note:?}"),
        };
        Ok(chain.ask(|_| Ok(request("hello"))).await?.answer.text())
    }

    pub(crate) async fn stream(&self) -> DeltaStream {
        self.model().stream(&request("hello")).await.unwrap()
    }

    /// What is known of the target at this endpoint or provider.
    pub(crate) fn target(&self, name: &str) -> TargetReport {
        let is_it = |it: &TargetReport| it.endpoint.as_deref().unwrap_or(&it.provider) == name;
        self.registry.targets().into_iter().find(is_it).unwrap()
    }
}
