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
use tollgate_engine::model_usage::{ModelCaller, ModelUsageMeter, SessionModel, SessionUsageMeter};

use super::dial::{DialPlan, DialedProvider, ProviderSessionTarget, ServedBy};
use super::events::RealtimeOffer;
use super::protocol::RealtimeProtocol;
use super::translation;
use crate::error::LlmError;
use crate::provider::{LiveTarget, ModelHandle};
use crate::settings::ProviderTimeouts;
use crate::usage::limit_error;

/// Delays between reconnection attempts.
const RECONNECT_BACKOFF: &[Duration] =
    &[Duration::from_millis(250), Duration::from_millis(500), Duration::from_secs(1)];

/// A provider's connection that is being opened.
pub(super) type DialFuture = BoxFuture<'static, Result<DialedProvider, LlmError>>;

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
    /// The provider's protocol.
    pub live: RealtimeProtocol,
    /// The client's protocol; messages are translated if it is another one.
    pub client: RealtimeProtocol,
    pub model: Arc<ModelHandle>,
    /// The models that take over if this one fails, in order.
    pub others: Vec<Arc<ModelHandle>>,
    /// Where the model is served; `None` until a provider has accepted the session.
    pub served_at: Option<LiveTarget>,
    pub place: ProviderSessionTarget,
    /// Tier set from the start.
    pub tier: Option<Tier>,
    /// The caller's conversation id; without one the session is a new conversation.
    pub conversation: Option<String>,
    /// Turns that are queued behind those of this session.
    pub queue_depth: u32,
    /// Variables of the prompt.
    pub variables: BTreeMap<String, String>,
    /// Room in the limits on models; `None`: not taken yet.
    pub usage: Option<SessionUsageMeter>,
    /// What the provider was told of tools and prompt when the call was created. `None`: nothing.
    pub declared: Option<RealtimeOffer>,
}

impl SessionRequest {
    /// Takes room in the limits of the key, the agent and the model: before the provider is dialled.
    pub fn reserve(&mut self, meter: &Arc<ModelUsageMeter>) -> Result<(), LlmError> {
        self.usage = Some(self.take_usage(meter)?);
        Ok(())
    }

    /// The room that was taken, or takes it now.
    pub(super) fn take_usage(
        &mut self,
        meter: &Arc<ModelUsageMeter>,
    ) -> Result<SessionUsageMeter, LlmError> {
        if let Some(taken) = self.usage.take() {
            return Ok(taken);
        }
        let caller = ModelCaller {
            principal: self.party.principal.clone(),
            grant: self.party.grant.clone(),
            agent: Some(self.agent.id.clone()),
        };
        let settings = &self.model.settings;
        let model = SessionModel { name: &settings.name, id: &settings.id };
        meter.open_session(caller, model).map_err(|refused| limit_error(&refused))
    }

    /// Connects to the first place that accepts the session: of the model, then of the others.
    pub async fn dial(&self) -> Result<DialedProvider, LlmError> {
        let models = std::iter::once(&self.model).chain(&self.others).cloned();
        self.plan(models.collect()).dial().await
    }

    /// The same for a running session, as a future that borrows nothing from the request.
    pub(super) fn dial_models(&self, models: Vec<Arc<ModelHandle>>) -> DialFuture {
        let plan = self.plan(models);
        async move { plan.dial().await }.boxed()
    }

    /// Connects once more to the place that serves the session, or to another one of its model.
    pub(super) fn dial_again(&self) -> DialFuture {
        let plan = self.plan(vec![Arc::clone(&self.model)]);
        let plan = match &self.served_at {
            Some(target) => plan.only_at(target.clone()),
            None => plan,
        };
        async move { plan.dial().await }.boxed()
    }

    /// Time for the provider to accept the session.
    pub(super) fn connect_timeout(&self) -> Duration {
        let usual = ProviderTimeouts::default().connect;
        self.served_at.as_ref().map_or(usual, LiveTarget::connect_timeout)
    }

    fn plan(&self, models: Vec<Arc<ModelHandle>>) -> DialPlan {
        DialPlan::new(models, self.client, &self.place, self.party.trace.clone())
    }

    /// Another model serves the session from now on. The one before comes last among the others.
    pub(super) fn adopt(&mut self, served: &ServedBy) {
        self.served_at = Some(served.target.clone());
        self.live = translation::provider_protocol(self.client, &served.model);
        let mut ring = vec![Arc::clone(&self.model)];
        ring.append(&mut self.others);
        let is_it = |model: &Arc<ModelHandle>| model.settings.name == served.model.settings.name;
        let at = ring.iter().position(is_it).unwrap_or_default();
        ring.rotate_left(at);
        self.model = ring.remove(0);
        self.others = ring;
    }

    /// The provider's name of the model. Empty with Deepgram, where the client chooses the model
    /// behind the voice, unless the config sets an `id` for the requested one.
    pub(super) fn model_id(&self) -> String {
        let settings = &self.model.settings;
        if self.live == RealtimeProtocol::Deepgram && settings.id == settings.name {
            return String::new();
        }
        let target = self.served_at.as_ref();
        target.map_or_else(|| settings.id.clone(), |it| it.model_id().to_owned())
    }

    /// Reconnects a running session: with retries, so that one rejection does not end a call.
    pub(super) fn redial_later(&self) -> DialFuture {
        let attempts: Vec<_> =
            RECONNECT_BACKOFF.iter().map(|pause| (*pause, self.dial_again())).collect();
        let first = self.dial_again();
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
}
