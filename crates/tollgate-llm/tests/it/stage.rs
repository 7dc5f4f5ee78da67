//! Models of a fake provider, and requests to ask them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tollgate_core::secret::Secret;
use tollgate_engine::clock::{Clock, SystemClock};
use tollgate_llm::conversation::{Delivery, Message, Options, Request, Response, Role, ToolChoice};
use tollgate_llm::delta::{Assembly, Delta};
use tollgate_llm::extra::Extra;
use tollgate_llm::failure::Failure;
use tollgate_llm::provider::{Answering, Model, Models};
use tollgate_llm::settings::{self, Api, Patience, ProviderKind, Settings, ToolMode};

pub(crate) const KEY: &str = "sk-canary-0123456789";

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

pub(crate) fn provider(kind: ProviderKind, address: SocketAddr) -> settings::Provider {
    settings::Provider {
        name: "fake".to_owned(),
        kind,
        base_url: Some(format!("http://{address}")),
        api_key: Some(Secret::new(KEY)),
        headers: Vec::new(),
        patience: Patience { answer: Duration::from_secs(5), silence: Duration::from_secs(5) },
        concurrent: 8,
        retries: 0,
    }
}

pub(crate) fn model(name: &str) -> settings::Model {
    settings::Model {
        name: name.to_owned(),
        id: format!("{name}-id"),
        provider: Some("fake".to_owned()),
        context_window: 8_192,
        max_output: 1_024,
        tool_mode: ToolMode::Native,
        api: Api::Chat,
    }
}

/// The one model of a provider.
pub(crate) fn served(provider: settings::Provider) -> Arc<Model> {
    let settings = Settings { providers: vec![provider], models: vec![model("m")] };
    Models::new(&settings, clock(), None).unwrap().find("m").unwrap()
}

pub(crate) fn anthropic(address: SocketAddr) -> Arc<Model> {
    served(provider(ProviderKind::Anthropic, address))
}

pub(crate) fn request(text: &str) -> Request {
    Request {
        model: "as the client says".to_owned(),
        messages: vec![Message::text(Role::User, text)],
        tools: Vec::new(),
        tool_choice: ToolChoice::Unsaid,
        options: Options { max_output: Some(64), ..Options::default() },
        delivery: Delivery::Whole,
        extra: Extra::none(),
    }
}

/// All that comes, put together; a failure with what came before it.
pub(crate) async fn heard(mut answering: Answering) -> Result<Response, (String, Failure)> {
    let mut assembly = Assembly::default();
    let mut text = String::new();
    while let Some(step) = answering.next().await {
        match step {
            Ok(delta) => {
                if let Delta::Grow { text: more, .. } = &delta {
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
