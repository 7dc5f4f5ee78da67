//! Models of a fake provider, and requests to ask them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tollgate_core::secret::Secret;
use tollgate_engine::clock::{Clock, SystemClock};
use tollgate_llm::conversation::{
    ChatMessage, ChatRequest, ChatResponse, ChatRole, GenerationOptions, ResponseDelivery,
    ToolChoice,
};
use tollgate_llm::delta::{ResponseAssembly, ResponseDelta};
use tollgate_llm::error::LlmError;
use tollgate_llm::extra::Extra;
use tollgate_llm::provider::{DeltaStream, ModelHandle, ModelRegistry};
use tollgate_llm::settings::{
    self, LlmSettings, ProviderApi, ProviderKind, ProviderTimeouts, ToolMode,
};

pub(crate) const KEY: &str = "sk-canary-0123456789";

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

pub(crate) fn provider(kind: ProviderKind, address: SocketAddr) -> settings::ProviderSettings {
    settings::ProviderSettings {
        name: "fake".to_owned(),
        kind,
        base_url: Some(format!("http://{address}")),
        api_key: Some(Secret::new(KEY)),
        cloud: None,
        endpoints: Vec::new(),
        headers: Vec::new(),
        patience: ProviderTimeouts {
            answer: Duration::from_secs(5),
            silence: Duration::from_secs(5),
            ..ProviderTimeouts::default()
        },
        concurrent: 8,
        retries: 0,
    }
}

pub(crate) fn model(name: &str) -> settings::ModelSettings {
    settings::ModelSettings {
        name: name.to_owned(),
        id: format!("{name}-id"),
        provider: Some("fake".to_owned()),
        context_window: 8_192,
        max_output: 1_024,
        tool_mode: ToolMode::Native,
        api: ProviderApi::Chat,
        store: false,
        behaves_like: None,
        pool: settings::PoolSettings::default(),
    }
}

/// The one model of a provider.
pub(crate) fn serve_one(provider: settings::ProviderSettings) -> Arc<ModelHandle> {
    let settings = LlmSettings { providers: vec![provider], models: vec![model("m")] };
    ModelRegistry::new(&settings, clock(), None).unwrap().find("m").unwrap()
}

pub(crate) fn anthropic(address: SocketAddr) -> Arc<ModelHandle> {
    serve_one(provider(ProviderKind::Anthropic, address))
}

pub(crate) fn request(text: &str) -> ChatRequest {
    ChatRequest {
        model: "as the client says".to_owned(),
        messages: vec![ChatMessage::text(ChatRole::User, text)].into(),
        tools: Vec::new(),
        tool_choice: ToolChoice::Unsaid,
        options: GenerationOptions { max_output: Some(64), ..GenerationOptions::default() },
        delivery: ResponseDelivery::Whole,
        extra: Extra::none(),
    }
}

/// All that comes, put together; a failure with what came before it.
pub(crate) async fn read_stream(
    mut answering: DeltaStream,
) -> Result<ChatResponse, (String, LlmError)> {
    let mut assembly = ResponseAssembly::default();
    let mut text = String::new();
    while let Some(step) = answering.next().await {
        match step {
            Ok(delta) => {
                if let ResponseDelta::Grow { text: more, .. } = &delta {
                    text.push_str(more);
                }
                assembly.add(&delta);
            }
            Err(failure) => {
                assert!(answering.next().await.is_none(), "nothing follows a failure");
                return Err((text, failure));
            }
        }
    }
    Ok(assembly.finish().expect("a stream without a failure ends"))
}
