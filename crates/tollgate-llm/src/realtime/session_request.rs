//! Who comes to talk, with which agent, to which model: all that is decided before a live session
//! begins. Made by the fronts.

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

/// Between attempts to come back.
const RECONNECT_BACKOFF: &[Duration] =
    &[Duration::from_millis(250), Duration::from_millis(500), Duration::from_secs(1)];

/// On whose behalf.
#[derive(Debug, Clone)]
pub struct SessionParty {
    pub principal: Principal,
    /// Until when it may go on.
    pub lease: RevocableLease,
    /// `None`: nothing of its own limits the principal.
    pub grant: Option<Arc<PrincipalGrant>>,
    pub agent: Arc<str>,
    /// What the request itself takes away.
    pub narrow: RequestFilter,
    pub override_right: TierOverrideRight,
    /// What the session is part of.
    pub trace: Option<Arc<Trace>>,
}

/// Whether a tier above the agent's ceiling may be insisted on.
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

    /// The wish of somebody who insists.
    pub(super) fn tier_override(&self, tier: Tier) -> RequestedTier {
        match self.override_right {
            TierOverrideRight::Held => RequestedTier::Override(tier),
            TierOverrideRight::Lacking => RequestedTier::Selected(tier),
        }
    }
}

/// One session that is to be.
pub struct SessionRequest {
    pub party: SessionParty,
    pub agent: Agent,
    pub live: RealtimeProtocol,
    pub model: Arc<ModelHandle>,
    pub place: ProviderSessionTarget,
    /// Insisted on from the start.
    pub tier: Option<Tier>,
    /// As the caller names it; without a name the session is a conversation of its own.
    pub conversation: Option<String>,
    /// Turns that wait behind those of this session.
    pub queue_depth: u32,
    /// Of the prompt.
    pub variables: BTreeMap<String, String>,
}

/// Where at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderSessionTarget {
    /// A session of one's own.
    New,
    /// One that there is: a call (sideband) or a session (GPT-Live).
    Attached(String),
    /// The version that a Gemini client asks for, such as `v1beta`.
    Version(String),
}

impl SessionRequest {
    /// Connects to the provider.
    pub async fn dial(&self) -> Result<ProviderSocket, LlmError> {
        self.dial_later().await
    }

    /// The same for later: it keeps nothing of the visit.
    pub(super) fn dial_later(&self) -> BoxFuture<'static, Result<ProviderSocket, LlmError>> {
        let (model, path, query) = (Arc::clone(&self.model), self.path(), self.query());
        let trace = self.party.trace.clone();
        async move {
            let query: Vec<(&str, &str)> =
                query.iter().map(|(key, value)| (*key, value.as_str())).collect();
            model.connect(&path, &query, trace.as_deref()).await
        }
        .boxed()
    }

    /// The model as its provider calls it. Of Deepgram's a client chooses the model behind the voice,
    /// unless the config gives an `id` to the one that it asked for: nothing then.
    pub(super) fn model_id(&self) -> String {
        let settings = &self.model.settings;
        let is_clients = self.live == RealtimeProtocol::Deepgram && settings.id == settings.name;
        if is_clients { String::new() } else { settings.id.clone() }
    }

    /// The same for a session that is under way: one refusal does not end a call.
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
                // Sessions that lost their provider together do not come back together.
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

/// Signs that could lead elsewhere are left out of a path.
fn segment(text: &str) -> String {
    let is_plain = |sign: &char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-');
    text.chars().filter(is_plain).take(200).collect()
}
