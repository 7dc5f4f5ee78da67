//! The plain HTTP API: what an agent sees, the tier of a turn, and one call at a time.

use http::StatusCode;
use http::request::Parts;
use tollgate_core::budget::Tier;
use tollgate_core::turn::Turn;
use tollgate_engine::gate::UnknownAgent;

use crate::auth::{Identity, Rights};
use crate::fields;
use crate::mcp::Front;
use crate::named::Named;
use crate::problem::Problem;

mod execute;
mod leaderboard;
mod results;
mod shown;
mod tier;
mod view;

pub(crate) use execute::execute;
pub(crate) use results::results;
pub(crate) use tier::tier;
pub(crate) use view::tools;

/// Which agent, within which budget: the request's own words first, then its headers.
struct Wishes {
    agent: Option<String>,
    tier: Option<Tier>,
}

impl Wishes {
    fn turn(self, front: &Front, sent: &Parts) -> Result<(Turn, Rights), Problem> {
        let (Identity { principal, agent, rights, grant, .. }, tier) =
            self.identify(front, sent)?;
        let named = Named { tier, rights, grant: grant.as_ref() };
        let turn = named.turn::<Problem>(&front.gate, principal, agent.as_deref())?;
        Ok((turn, rights))
    }

    fn identify(self, front: &Front, sent: &Parts) -> Result<(Identity, Option<Tier>), Problem> {
        let agent = match self.agent {
            None => header(sent, "x-tollgate-agent")?.map(str::to_owned),
            agent => agent,
        };
        let tier = match (self.tier, header(sent, TIER)?) {
            (None, Some(text)) => Some(fields::tier(TIER, text)?),
            (tier, _) => tier,
        };
        Ok((front.keys.visitor(sent)?.identify(agent)?, tier))
    }
}

const TIER: &str = "x-tollgate-tier";

fn header<'h>(sent: &'h Parts, name: &str) -> Result<Option<&'h str>, Problem> {
    let Some(value) = sent.headers.get(name) else { return Ok(None) };
    std::str::from_utf8(value.as_bytes()).map(Some).map_err(|_| bad_header(name, "text"))
}

fn bad_header(name: &str, expected: &str) -> Problem {
    let detail = format!("`{name}` must be {expected}");
    Problem::told(StatusCode::BAD_REQUEST, "bad_header", detail)
}

impl From<UnknownAgent> for Problem {
    fn from(unknown: UnknownAgent) -> Self {
        Self::told(StatusCode::NOT_FOUND, "unknown_agent", unknown.to_string())
    }
}
