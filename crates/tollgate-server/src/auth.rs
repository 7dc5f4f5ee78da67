//! From the headers of a request to who is asking. Nothing else in a request says who that is.
//! Keys are known by their SHA-256 only, and looked up by it: no comparison can be timed.

use std::collections::HashMap;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use ring::digest::{SHA256, digest};
use tollgate_core::id::AgentId;
use tollgate_core::secret::Secret;
use tollgate_core::turn::Principal;

use crate::problem::Problem;

mod rights;

pub use rights::{Right, Rights};

/// A key of the config, as far as the front has to know it.
#[derive(Debug, Clone)]
pub struct Key {
    pub name: String,
    pub secret: Secret,
    /// `None`: every agent. An empty list: none.
    pub agents: Option<Vec<AgentId>>,
    pub rights: Rights,
}

/// Who may come in. Without any keys, whoever can reach the loopback address.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    known: HashMap<[u8; 32], Visitor>,
}

/// Who was let in, and what they may do. A request that carries one in its extensions has been
/// admitted already.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    pub(crate) principal: Principal,
    agents: Option<Arc<[AgentId]>>,
    pub(crate) rights: Rights,
}

/// Who asks, and for which agent.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) principal: Principal,
    pub(crate) agent: Option<String>,
    pub(crate) rights: Rights,
}

const NO_KEY: Problem = Problem::new(
    StatusCode::UNAUTHORIZED,
    "no_key",
    "send a key as `authorization: Bearer …` or `x-api-key`",
);
const WRONG_KEY: Problem =
    Problem::new(StatusCode::UNAUTHORIZED, "wrong_key", "this key is not known here");
const NOT_YOUR_AGENT: Problem =
    Problem::new(StatusCode::FORBIDDEN, "not_your_agent", "this key is not for that agent");

impl Keys {
    pub(crate) fn new(keys: &[Key]) -> Self {
        let entry = |key: &Key| {
            let visitor = Visitor {
                principal: Principal::named(&format!("key:{}", key.name)),
                agents: key.agents.as_deref().map(Into::into),
                rights: key.rights,
            };
            (hashed(key.secret.reveal().as_bytes()), visitor)
        };
        Self { known: keys.iter().map(entry).collect() }
    }

    /// Whether the request may come in at all, and as whom.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<Visitor, Problem> {
        if self.known.is_empty() {
            return Ok(Visitor::local());
        }
        let presented = presented(headers).ok_or(NO_KEY)?;
        self.known.get(&hashed(presented)).cloned().ok_or(WRONG_KEY)
    }

    /// Who was let in with this request, or may come in with it now.
    pub(crate) fn visitor(&self, request: &Parts) -> Result<Visitor, Problem> {
        match request.extensions.get::<Visitor>() {
            Some(visitor) => Ok(visitor.clone()),
            None => self.admit(&request.headers),
        }
    }
}

impl Visitor {
    /// Whoever asks from this machine while there are no keys, or from within this process.
    pub(crate) fn local() -> Self {
        Self { principal: Principal::local(), agents: None, rights: Rights::ALL }
    }

    /// A key that is for some agents only never reaches another one.
    pub(crate) fn identify(self, named: Option<String>) -> Result<Identity, Problem> {
        let agent = match (&self.agents, named) {
            (None, named) => named,
            (Some(agents), None) => Some(agents.first().ok_or(NOT_YOUR_AGENT)?.to_string()),
            (Some(agents), Some(named)) if agents.iter().any(|it| it.as_str() == named) => {
                Some(named)
            }
            (Some(_), Some(_)) => return Err(NOT_YOUR_AGENT),
        };
        Ok(Identity { principal: self.principal, agent, rights: self.rights })
    }
}

fn presented(headers: &HeaderMap) -> Option<&[u8]> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let (scheme, key) = value.as_bytes().split_at_checked(7)?;
        return scheme.eq_ignore_ascii_case(b"bearer ").then(|| key.trim_ascii());
    }
    headers.get("x-api-key").map(|value| value.as_bytes().trim_ascii())
}

fn hashed(key: &[u8]) -> [u8; 32] {
    digest(&SHA256, key).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests;
