//! On whose behalf something is asked: all that decides what can be seen and done, read in one
//! place, so that no front can forget a part of it.

use std::net::IpAddr;
use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;
use tollgate_core::agent::Wish;
use tollgate_core::budget::Tier;
use tollgate_core::filter::Narrow;
use tollgate_core::text::shortened;
use tollgate_core::trace::Trace;
use tollgate_core::turn::{Actor, Grant, Principal, Turn};
use tollgate_engine::gate::{Asked, Gate, TurnLink, UnknownAgent};
use tollgate_mcp::header::read_trace;

use crate::auth::{Identity, Keys, Lease, Peer, Reach, Right, Rights, Visitor};
use crate::fields;
use crate::filters;
use crate::followed::Following;
use crate::problem::Problem;

const AGENT: &str = "x-tollgate-agent";
const TIER: &str = "x-tollgate-tier";
const CONVERSATION: &str = "x-tollgate-conversation";
const TURN: &str = "x-tollgate-turn";

/// Of a name that a client gives its conversation or turn. Two that begin alike are then taken for
/// one, which only makes the taint rule stricter.
const MAX_LINK_CHARS: usize = 256;

/// Which other requests belong to the same turn, for a client that runs its own loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) name: Arc<str>,
    /// Whether this request is the first of its turn.
    pub(crate) begins: bool,
}

impl Link {
    pub(crate) fn continued(name: &str) -> Self {
        Self { name: shortened(name, MAX_LINK_CHARS).into(), begins: false }
    }

    /// By the names that a client gives, if it gives any.
    pub(crate) fn named(conversation: Option<&str>, turn: Option<&str>) -> Option<Self> {
        match (conversation, turn) {
            (None, None) => None,
            (Some(conversation), None) => Some(Self::continued(conversation)),
            (conversation, Some(turn)) => Some(Self::continued(&format!(
                "turn {turn} of {}",
                conversation.unwrap_or_default()
            ))),
        }
    }

    pub(crate) fn read(sent: &Parts) -> Result<Option<Self>, Problem> {
        Ok(Self::named(header(sent, CONVERSATION)?, header(sent, TURN)?))
    }

    pub(crate) fn as_turn_link(&self) -> TurnLink<'_> {
        match self.begins {
            true => TurnLink::Begin(&self.name),
            false => TurnLink::Continue(&self.name),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Who {
    pub(crate) principal: Principal,
    pub(crate) rights: Rights,
    /// `None`: nothing of its own limits the principal.
    pub(crate) grant: Option<Arc<Grant>>,
    /// `None`: the default agent.
    pub(crate) agent: Option<Arc<str>>,
    pub(crate) reach: Reach,
    /// The tier that was named.
    pub(crate) tier: Option<Tier>,
    /// What the request itself takes away.
    pub(crate) narrow: Narrow,
    /// For how long they may ask.
    pub(crate) lease: Lease,
    /// What the request is part of.
    pub(crate) trace: Option<Arc<Trace>>,
    /// From where; `None`: from within this process.
    pub(crate) address: Option<IpAddr>,
    /// `None`: nothing links it to other requests.
    pub(crate) link: Option<Link>,
}

/// What a request says beside its headers. It goes before them.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    pub(crate) agent: Option<String>,
    pub(crate) tier: Option<Tier>,
}

impl Who {
    pub(crate) fn read(keys: &Keys, sent: &Parts, wishes: Wishes) -> Result<Self, Problem> {
        let agent = match (wishes.agent, header(sent, AGENT)?) {
            (None, Some(named)) => Some(named.to_owned()),
            (agent, _) => agent,
        };
        // One that is none is refused, also where another goes before it.
        let named = header(sent, TIER)?.map(|text| fields::tier(TIER, text)).transpose()?;
        let tier = wishes.tier.or(named);
        let narrow = filters::by_headers(&sent.headers)?;
        let Identity { principal, agent, reach, rights, grant, lease } =
            keys.visitor(sent)?.identify(agent)?;
        let agent = agent.map(Into::into);
        let trace = match sent.extensions.get::<Following>() {
            Some(Following(trace)) => Some(Arc::clone(trace)),
            None => read_trace(&sent.headers).map(Arc::new),
        };
        let address = sent.extensions.get::<Peer>().and_then(|peer| peer.address);
        let link = Link::read(sent)?;
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

    /// Whoever asks from within this process.
    pub(crate) fn local(agent: Option<&str>, narrow: Narrow) -> Self {
        let Visitor { principal, rights, grant, lease, .. } = Visitor::local();
        let (agent, reach) = (agent.map(Into::into), Reach::Everybody);
        let (tier, trace, address) = (None, None, None);
        // One pipe is one client.
        let link = Some(Link::continued("pipe"));
        Self { principal, rights, grant, agent, reach, tier, narrow, lease, trace, address, link }
    }

    /// The same, with more taken away.
    #[must_use]
    pub(crate) fn narrowed(self, more: Narrow) -> Self {
        Self { narrow: self.narrow.and(more), ..self }
    }

    /// The same, as part of what the request's `_meta` says, which is nearer than its headers.
    #[must_use]
    pub(crate) fn part_of(self, inner: Option<Trace>) -> Self {
        let Some(inner) = inner else { return self };
        let trace = inner.or(self.trace.as_deref());
        Self { trace: Some(Arc::new(trace)), ..self }
    }

    /// The only way to ask the gate for what can be seen.
    pub(crate) fn asked(&self, budget: Wish) -> Asked<'_> {
        Asked {
            actor: Actor { principal: self.principal.clone(), lease: self.lease.terms().clone() },
            grant: self.grant.clone(),
            agent: self.agent.as_deref(),
            budget,
            narrow: Some(&self.narrow).filter(|narrow| !narrow.is_nothing()),
            trace: self.trace.clone(),
            link: self.link.as_ref().map(Link::as_turn_link),
        }
    }

    /// Opens a turn of exactly the tier that was named. Up to the agent's ceiling it only
    /// narrows, and anybody may do that; above it is an override, which is a right.
    pub(crate) fn turn<E>(&self, gate: &Gate) -> Result<Turn, E>
    where
        E: From<UnknownAgent> + From<Problem>,
    {
        let turn = gate.turn(self.asked(self.wish()))?;
        let given = turn.view.tier;
        match self.tier {
            Some(tier) if given < tier => {
                let why = format!("`{tier}` is above the agent's ceiling, `{given}`");
                Err(Right::OverrideTier.lacking(&why).into())
            }
            Some(_) | None => Ok(turn),
        }
    }

    pub(crate) fn wish(&self) -> Wish {
        match self.tier {
            None => Wish::Ceiling,
            Some(tier) if self.rights.has(Right::OverrideTier) => Wish::Override(tier),
            Some(tier) => Wish::Selected(tier),
        }
    }
}

/// The only value of the header; one that stands twice could be read in two ways.
pub(crate) fn header<'h>(sent: &'h Parts, name: &str) -> Result<Option<&'h str>, Problem> {
    let mut values = sent.headers.get_all(name).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value,
        (Some(_), Some(_)) => return Err(bad_header(name, "there once")),
    };
    std::str::from_utf8(value.as_bytes()).map(Some).map_err(|_| bad_header(name, "text"))
}

pub(crate) fn bad_header(name: &str, expected: &str) -> Problem {
    let detail = format!("`{name}` must be {expected}");
    Problem::told(StatusCode::BAD_REQUEST, "bad_header", detail)
}
