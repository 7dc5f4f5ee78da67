//! Session request: caller, agent and model of a realtime session, all decided before it starts.
//! Created by the fronts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tollgate_core::agent::{Agent, RequestedTier};
use tollgate_core::budget::Tier;
use tollgate_core::filter::RequestFilter;
use tollgate_core::lease::RevocableLease;
use tollgate_core::trace::Trace;
use tollgate_core::turn::{Actor, Principal, PrincipalGrant};
use tollgate_engine::gate::TurnRequest;

use super::protocol::RealtimeProtocol;
use crate::error::LlmError;
use crate::provider::{ModelHandle, ProviderSocket};

/// Delays between reconnection attempts.
const RECONNECT_BACKOFF: &[Duration] =
    &[Duration::from_millis(250), Duration::from_millis(500), Duration::from_secs(1)];

/// The principal of a session, and its permissions.
#[derive(Debug, Clone)]
pub struct SessionParty {
    pub principal: Principal,
    /// Revocation ends the session.
    pub lease: RevocableLease,
    /// `None`: the principal has no limits of its own.
    pub grant: Option<Arc<PrincipalGrant>>,
    pub agent: Arc<str>,
    /// Restrictions set by the request itself.
    pub narrow: RequestFilter,
    pub override_right: TierOverrideRight,
    /// Trace that the session belongs to.
    pub trace: Option<Arc<Trace>>,
}

/// Whether a tier above the agent's ceiling may be requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierOverrideRight {
    Held,
    Lacking,
}

impl SessionParty {
    pub(super) fn turn_request(&self, budget: RequestedTier) -> TurnRequest<'_> {
        TurnRequest {
            actor: Actor { principal: self.principal.clone(), lease: self.lease.clone() },
            grant: self.grant.clone(),
            agent: Some(&self.agent),
            budget,
            narrow: Some(&self.narrow).filter(|narrow| !narrow.is_nothing()),
            trace: self.trace.clone(),
            link: None,
        }
    }

    /// Tier request with the caller's override right applied.
    pub(super) fn tier_override(&self, tier: Tier) -> RequestedTier {
        match self.override_right {
            TierOverrideRight::Held => RequestedTier::Override(tier),
            TierOverrideRight::Lacking => RequestedTier::Selected(tier),
        }
    }
}

/// A session to start.
pub struct SessionRequest {
    pub party: SessionParty,
    pub agent: Agent,
    pub live: RealtimeProtocol,
    pub model: Arc<ModelHandle>,
    pub place: ProviderSessionTarget,
    /// Tier set from the start.
    pub tier: Option<Tier>,
    /// The caller's conversation id; without one the session is a new conversation.
    pub conversation: Option<String>,
    /// Turns that are queued behind those of this session.
    pub queue_depth: u32,
    /// Variables of the prompt.
    pub variables: BTreeMap<String, String>,
}

/// Target of the session at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderSessionTarget {
    /// A new session.
    New,
    /// An existing call (sideband) or session (GPT-Live).
    Attached(String),
    /// The API version that a Gemini client requests, such as `v1beta`.
    Version(String),
}

impl SessionRequest {
    /// Connects to the provider.
    pub async fn dial(&self) -> Result<ProviderSocket, LlmError> {
        self.dial_later().await
    }

    /// The same as a future that borrows nothing from the request.
    pub(super) fn dial_later(&self) -> BoxFuture<'static, Result<ProviderSocket, LlmError>> {
        let model = Arc::clone(&self.model);
        let path = self.path();
        let query = self.query();
        let trace = self.party.trace.clone();
        async move {
            let query: Vec<(&str, &str)> =
                query.iter().map(|(key, value)| (*key, value.as_str())).collect();
            model.connect(&path, &query, trace.as_deref()).await
        }
        .boxed()
    }

    /// The provider's name of the model. Empty with Deepgram, where the client chooses the model
    /// behind the voice, unless the config sets an `id` for the requested one.
    pub(super) fn model_id(&self) -> String {
        let settings = &self.model.settings;
        let is_clients = self.live == RealtimeProtocol::Deepgram && settings.id == settings.name;
        if is_clients { String::new() } else { settings.id.clone() }
    }

    /// Reconnects a running session: with retries, so that one rejection does not end a call.
    pub(super) fn redial_later(&self) -> BoxFuture<'static, Result<ProviderSocket, LlmError>> {
        let attempts: Vec<_> =
            RECONNECT_BACKOFF.iter().map(|pause| (*pause, self.dial_later())).collect();
        let first = self.dial_later();
        async move {
            let mut dialled = first.await;
            for (pause, attempt) in attempts {
                if dialled.is_ok() {
                    break;
                }
                // Jitter: sessions that lost their provider together must not reconnect together.
                tokio::time::sleep(pause.mul_f64(rand::random_range(0.5..1.5))).await;
                dialled = attempt.await;
            }
            dialled
        }
        .boxed()
    }

    fn path(&self) -> String {
        match (self.live, &self.place) {
            (RealtimeProtocol::OpenAi | RealtimeProtocol::OpenAiSideband, _) => {
                "/realtime".to_owned()
            }
            (RealtimeProtocol::GptLive, ProviderSessionTarget::Attached(session)) => {
                format!("/live/sessions/{}/attach", segment(session))
            }
            (RealtimeProtocol::GptLive, _) => "/live/sessions".to_owned(),
            (RealtimeProtocol::Deepgram, _) => "/agent/converse".to_owned(),
            (RealtimeProtocol::Gemini, place) => {
                let version = match place {
                    ProviderSessionTarget::Version(version) => segment(version),
                    ProviderSessionTarget::New | ProviderSessionTarget::Attached(_) => {
                        "v1beta".to_owned()
                    }
                };
                let service = "GenerativeService.BidiGenerateContent";
                format!("/ws/google.ai.generativelanguage.{version}.{service}")
            }
        }
    }

    fn query(&self) -> Vec<(&'static str, String)> {
        match (self.live, &self.place) {
            (RealtimeProtocol::OpenAiSideband, ProviderSessionTarget::Attached(call)) => {
                vec![("call_id", call.clone())]
            }
            (RealtimeProtocol::OpenAi | RealtimeProtocol::OpenAiSideband, _) => {
                vec![("model", self.model.settings.id.clone())]
            }
            (
                RealtimeProtocol::GptLive | RealtimeProtocol::Deepgram | RealtimeProtocol::Gemini,
                _,
            ) => Vec::new(),
        }
    }
}

/// Removes characters that could change the path.
fn segment(text: &str) -> String {
    let is_plain = |sign: &char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-');
    text.chars().filter(is_plain).take(200).collect()
}
