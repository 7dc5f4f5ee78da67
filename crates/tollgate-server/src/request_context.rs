//! Request context: principal, agent, rights, tier and filters of a request, read in one place so
//! that no front can forget a part.

use std::net::IpAddr;
use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;
use tollgate_core::agent::RequestedTier;
use tollgate_core::budget::Tier;
use tollgate_core::filter::RequestFilter;
use tollgate_core::text::truncate_chars;
use tollgate_core::trace::Trace;
use tollgate_core::turn::{Actor, Principal, PrincipalGrant, Turn};
use tollgate_engine::gate::{Gate, TurnLink, TurnRequest, TurnStart, UnknownAgentError};
use tollgate_mcp::header::read_trace;

use crate::api_error::ApiError;
use crate::auth::{
    AuthenticatedCaller, Authenticator, CallerLease, CallerReach, ConnectionPeer, ResolvedIdentity,
    Right, Rights,
};
use crate::fields;
use crate::filters;

const AGENT: &str = "x-tollgate-agent";
const TIER: &str = "x-tollgate-tier";
const CONVERSATION: &str = "x-tollgate-conversation";
const TURN: &str = "x-tollgate-turn";
const QUEUE_DEPTH: &str = "x-tollgate-queue-depth";

/// Limit on a client's name for its conversation or turn. Two names with the same beginning are
/// treated as one, which only makes the taint rule stricter.
const MAX_LINK_CHARS: usize = 256;

/// Links the request to others of its principal, for the taint rule.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestLink {
    /// Session and conversation, the outer one first.
    contexts: Vec<Arc<str>>,
    /// The turns that it continues.
    turns: Vec<Arc<str>>,
    pub(crate) start: TurnStart,
    /// Whether the answer tells the id of the turn.
    pub(crate) is_announced: bool,
}

impl RequestLink {
    pub(crate) fn within(context: &str) -> Self {
        Self { contexts: vec![shorten(context)], ..Self::default() }
    }

    pub(crate) fn read(sent: &Parts) -> Result<Self, ApiError> {
        Ok(Self::default().with_names(header(sent, CONVERSATION)?, header(sent, TURN)?))
    }

    /// Adds the client's names, if any.
    #[must_use]
    pub(crate) fn with_names(mut self, conversation: Option<&str>, turn: Option<&str>) -> Self {
        self.contexts.extend(conversation.map(shorten));
        self.turns.extend(turn.map(shorten));
        self
    }

    /// The same link inside another context.
    #[must_use]
    pub(crate) fn inside(mut self, context: &str) -> Self {
        self.contexts.insert(0, shorten(context));
        self
    }

    /// `None`: linked to nothing.
    pub(crate) fn as_turn_link(&self) -> Option<TurnLink<'_>> {
        let Self { contexts, turns, .. } = self;
        let is_linked = !contexts.is_empty() || !turns.is_empty() || self.is_announced;
        is_linked.then_some(TurnLink {
            contexts,
            turns,
            start: self.start,
            is_announced: self.is_announced,
        })
    }
}

fn shorten(name: &str) -> Arc<str> {
    truncate_chars(name, MAX_LINK_CHARS).into()
}

/// What a request is part of, for whoever reads it.
#[derive(Clone)]
pub(crate) struct RequestTrace(pub(crate) Arc<Trace>);

#[derive(Debug, Clone)]
pub(crate) struct RequestContext {
    pub(crate) principal: Principal,
    pub(crate) rights: Rights,
    /// `None`: no limits of its own.
    pub(crate) grant: Option<Arc<PrincipalGrant>>,
    /// `None`: the default agent.
    pub(crate) agent: Option<Arc<str>>,
    pub(crate) reach: CallerReach,
    /// The requested tier.
    pub(crate) tier: Option<Tier>,
    /// Filter of the request itself.
    pub(crate) narrow: RequestFilter,
    /// Lease of the caller.
    pub(crate) lease: CallerLease,
    /// Parent trace of the request.
    pub(crate) trace: Option<Arc<Trace>>,
    /// Client address. `None`: a request of this process.
    pub(crate) address: Option<IpAddr>,
    pub(crate) link: RequestLink,
}

/// Settings beside the headers. They take precedence.
#[derive(Debug, Default)]
pub(crate) struct RequestOverrides {
    pub(crate) agent: Option<String>,
    pub(crate) tier: Option<Tier>,
}

impl RequestContext {
    pub(crate) fn read(
        keys: &Authenticator,
        sent: &Parts,
        wishes: RequestOverrides,
    ) -> Result<Self, ApiError> {
        let agent = match (wishes.agent, header(sent, AGENT)?) {
            (None, Some(named)) => Some(named.to_owned()),
            (agent, _) => agent,
        };
        // An invalid tier is refused, even if another setting overrides it.
        let named = header(sent, TIER)?.map(|text| fields::tier(TIER, text)).transpose()?;
        let tier = wishes.tier.or(named);
        let narrow = filters::by_headers(&sent.headers)?;
        let ResolvedIdentity { principal, agent, reach, rights, grant, lease } =
            keys.visitor(sent)?.identify(agent)?;
        let agent = agent.map(Into::into);
        let trace = match sent.extensions.get::<RequestTrace>() {
            Some(RequestTrace(trace)) => Some(Arc::clone(trace)),
            None => read_trace(&sent.headers).map(Arc::new),
        };
        let address = sent.extensions.get::<ConnectionPeer>().and_then(|peer| peer.address);
        let link = RequestLink::read(sent)?;
        Ok(Self {
            principal,
            rights,
            grant,
            agent,
            reach,
            tier,
            narrow,
            lease,
            trace,
            address,
            link,
        })
    }

    /// A caller within this process.
    pub(crate) fn local(agent: Option<&str>, narrow: RequestFilter) -> Self {
        let AuthenticatedCaller { principal, rights, grant, lease, .. } =
            AuthenticatedCaller::local();
        let agent = agent.map(Into::into);
        let reach = CallerReach::Everybody;
        let tier = None;
        let trace = None;
        let address = None;
        // One pipe is one client.
        let link = RequestLink::within("pipe");
        Self { principal, rights, grant, agent, reach, tier, narrow, lease, trace, address, link }
    }

    /// A telephone call, whose caller is known by its line. It takes nothing from the headers.
    pub(crate) fn of_call(identity: ResolvedIdentity, sent: &Parts, call: &str) -> Self {
        let ResolvedIdentity { principal, agent, reach, rights, grant, lease } = identity;
        let trace = sent.extensions.get::<RequestTrace>().map(|trace| Arc::clone(&trace.0));
        Self {
            principal,
            rights,
            grant,
            agent: agent.map(Into::into),
            reach,
            tier: None,
            narrow: RequestFilter::default(),
            lease,
            trace,
            address: sent.extensions.get::<ConnectionPeer>().and_then(|peer| peer.address),
            link: RequestLink::default().with_names((!call.is_empty()).then_some(call), None),
        }
    }

    /// The same context with a further filter.
    #[must_use]
    pub(crate) fn with_narrow(self, more: RequestFilter) -> Self {
        Self { narrow: self.narrow.and(more), ..self }
    }

    /// The same context with the trace of `_meta`, which takes precedence over the headers.
    #[must_use]
    pub(crate) fn part_of(self, inner: Option<Trace>) -> Self {
        let Some(inner) = inner else { return self };
        let trace = inner.or(self.trace.as_deref());
        Self { trace: Some(Arc::new(trace)), ..self }
    }

    /// The only way to request a view from the gate.
    pub(crate) fn turn_request(&self, budget: RequestedTier) -> TurnRequest<'_> {
        TurnRequest {
            actor: Actor { principal: self.principal.clone(), lease: self.lease.terms().clone() },
            grant: self.grant.clone(),
            agent: self.agent.as_deref(),
            budget,
            narrow: Some(&self.narrow).filter(|narrow| !narrow.is_nothing()),
            trace: self.trace.clone(),
            link: self.link.as_turn_link(),
        }
    }

    /// Opens a turn with exactly the requested tier. A tier up to the agent's ceiling is always
    /// allowed, because it only restricts. A tier above it needs the right to override.
    pub(crate) fn turn<E>(&self, gate: &Gate) -> Result<Turn, E>
    where
        E: From<UnknownAgentError> + From<ApiError>,
    {
        let turn = gate.turn(self.turn_request(self.wish()))?;
        let given = turn.view.tier;
        match self.tier {
            Some(tier) if given < tier => {
                let why = format!("`{tier}` exceeds the agent's ceiling, `{given}`");
                Err(Right::OverrideTier.lacking(&why).into())
            }
            Some(_) | None => Ok(turn),
        }
    }

    pub(crate) fn wish(&self) -> RequestedTier {
        match self.tier {
            None => RequestedTier::Ceiling,
            Some(tier) if self.rights.has(Right::OverrideTier) => RequestedTier::Override(tier),
            Some(tier) => RequestedTier::Selected(tier),
        }
    }
}

/// The only value of the header. A repeated header is ambiguous and refused.
pub(crate) fn header<'h>(sent: &'h Parts, name: &str) -> Result<Option<&'h str>, ApiError> {
    let mut values = sent.headers.get_all(name).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value,
        (Some(_), Some(_)) => return Err(bad_header(name, "there once")),
    };
    std::str::from_utf8(value.as_bytes()).map(Some).map_err(|_| bad_header(name, "text"))
}

/// How many turns wait behind this one, by its header.
pub(crate) fn queue_depth(sent: &Parts) -> Result<u32, ApiError> {
    let Some(text) = header(sent, QUEUE_DEPTH)? else { return Ok(0) };
    text.parse().map_err(|_| bad_header(QUEUE_DEPTH, "a whole number, 0 or more"))
}

pub(crate) fn bad_header(name: &str, expected: &str) -> ApiError {
    let detail = format!("`{name}` must be {expected}");
    ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_header", detail)
}
