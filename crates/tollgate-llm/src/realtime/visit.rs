//! Who comes to talk, with which agent, to which model: all that is decided before a live session
//! begins. Made by the fronts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tollgate_core::agent::{Agent, Wish};
use tollgate_core::budget::Tier;
use tollgate_core::filter::Narrow;
use tollgate_core::lease::Lease;
use tollgate_core::trace::Trace;
use tollgate_core::turn::{Actor, Grant, Principal};
use tollgate_engine::gate::Asked;

use super::live::Live;
use crate::failure::Failure;
use crate::provider::{Model, Socket};

/// Between attempts to come back.
const PAUSES: &[Duration] =
    &[Duration::from_millis(250), Duration::from_millis(500), Duration::from_secs(1)];

/// On whose behalf.
#[derive(Debug, Clone)]
pub struct Party {
    pub principal: Principal,
    /// Until when it may go on.
    pub lease: Lease,
    /// `None`: nothing of its own limits the principal.
    pub grant: Option<Arc<Grant>>,
    pub agent: Arc<str>,
    /// What the request itself takes away.
    pub narrow: Narrow,
    pub override_right: OverrideRight,
    /// What the session is part of.
    pub trace: Option<Arc<Trace>>,
}

/// Whether a tier above the agent's ceiling may be insisted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverrideRight {
    Held,
    Lacking,
}

impl Party {
    pub(super) fn asked(&self, budget: Wish) -> Asked<'_> {
        Asked {
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
    pub(super) fn insisting(&self, tier: Tier) -> Wish {
        match self.override_right {
            OverrideRight::Held => Wish::Override(tier),
            OverrideRight::Lacking => Wish::Selected(tier),
        }
    }
}

/// One session that is to be.
pub struct Visit {
    pub party: Party,
    pub agent: Agent,
    pub live: Live,
    pub model: Arc<Model>,
    pub place: Place,
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
pub enum Place {
    /// A session of one's own.
    New,
    /// One that there is: a call (sideband) or a session (GPT-Live).
    Attached(String),
    /// The version that a Gemini client asks for, such as `v1beta`.
    Version(String),
}

impl Visit {
    /// Connects to the provider.
    pub async fn dial(&self) -> Result<Socket, Failure> {
        self.dialled().await
    }

    /// The same for later: it keeps nothing of the visit.
    pub(super) fn dialled(&self) -> BoxFuture<'static, Result<Socket, Failure>> {
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
        let is_clients = self.live == Live::Deepgram && settings.id == settings.name;
        if is_clients { String::new() } else { settings.id.clone() }
    }

    /// The same for a session that is under way: one refusal does not end a call.
    pub(super) fn dialled_again(&self) -> BoxFuture<'static, Result<Socket, Failure>> {
        let attempts: Vec<_> = PAUSES.iter().map(|pause| (*pause, self.dialled())).collect();
        let first = self.dialled();
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
            (Live::OpenAi | Live::OpenAiSideband, _) => "/realtime".to_owned(),
            (Live::GptLive, Place::Attached(session)) => {
                format!("/live/sessions/{}/attach", segment(session))
            }
            (Live::GptLive, _) => "/live/sessions".to_owned(),
            (Live::Deepgram, _) => "/agent/converse".to_owned(),
            (Live::Gemini, place) => {
                let version = match place {
                    Place::Version(version) => segment(version),
                    Place::New | Place::Attached(_) => "v1beta".to_owned(),
                };
                let service = "GenerativeService.BidiGenerateContent";
                format!("/ws/google.ai.generativelanguage.{version}.{service}")
            }
        }
    }

    fn query(&self) -> Vec<(&'static str, String)> {
        match (self.live, &self.place) {
            (Live::OpenAiSideband, Place::Attached(call)) => vec![("call_id", call.clone())],
            (Live::OpenAi | Live::OpenAiSideband, _) => {
                vec![("model", self.model.settings.id.clone())]
            }
            (Live::GptLive | Live::Deepgram | Live::Gemini, _) => Vec::new(),
        }
    }
}

/// Signs that could lead elsewhere are left out of a path.
fn segment(text: &str) -> String {
    let is_plain = |sign: &char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-');
    text.chars().filter(is_plain).take(200).collect()
}
