//! From the headers of a request to who is asking. Nothing else in a request says who that is.
//! Keys are known by their SHA-256 only, and looked up by it: no comparison can be timed.

use std::collections::HashMap;

use http::{HeaderMap, StatusCode, header};
use ring::digest::{SHA256, digest};
use tollgate_core::id::AgentId;
use tollgate_core::secret::Secret;
use tollgate_core::turn::Principal;

use crate::problem::Problem;

/// A key of the config, as far as the front has to know it.
#[derive(Debug, Clone)]
pub struct Key {
    pub name: String,
    pub secret: Secret,
    /// `None`: every agent.
    pub agents: Option<Vec<AgentId>>,
}

/// Who may come in. Without any keys, whoever can reach the loopback address.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    known: HashMap<Vec<u8>, Holder>,
}

#[derive(Debug)]
struct Holder {
    principal: Principal,
    agents: Option<Vec<AgentId>>,
}

/// Who asks, and for which agent.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) principal: Principal,
    pub(crate) agent: Option<String>,
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
            let principal = Principal::named(&format!("key:{}", key.name));
            let holder = Holder { principal, agents: key.agents.clone() };
            (hashed(key.secret.reveal().as_bytes()), holder)
        };
        Self { known: keys.iter().map(entry).collect() }
    }

    /// Whether the request may come in at all.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<(), Problem> {
        self.holder(headers).map(|_| ())
    }

    /// Who asks. A key that is for some agents only never reaches another one.
    pub(crate) fn identify(
        &self,
        headers: &HeaderMap,
        named: Option<String>,
    ) -> Result<Identity, Problem> {
        let Some(holder) = self.holder(headers)? else {
            return Ok(Identity { principal: Principal::local(), agent: named });
        };
        let agent = match (&holder.agents, named) {
            (None, named) => named,
            (Some(agents), None) => agents.first().map(ToString::to_string),
            (Some(agents), Some(named)) if agents.iter().any(|it| it.as_str() == named) => {
                Some(named)
            }
            (Some(_), Some(_)) => return Err(NOT_YOUR_AGENT),
        };
        Ok(Identity { principal: holder.principal.clone(), agent })
    }

    /// `None` while no keys are configured.
    fn holder(&self, headers: &HeaderMap) -> Result<Option<&Holder>, Problem> {
        if self.known.is_empty() {
            return Ok(None);
        }
        let presented = presented(headers).ok_or(NO_KEY)?;
        self.known.get(&hashed(presented)).map(Some).ok_or(WRONG_KEY)
    }
}

fn presented(headers: &HeaderMap) -> Option<&[u8]> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let (scheme, key) = value.as_bytes().split_at_checked(7)?;
        return scheme.eq_ignore_ascii_case(b"bearer ").then(|| key.trim_ascii());
    }
    headers.get("x-api-key").map(|value| value.as_bytes().trim_ascii())
}

fn hashed(key: &[u8]) -> Vec<u8> {
    digest(&SHA256, key).as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue};
    use tollgate_core::id::AgentId;
    use tollgate_core::secret::Secret;

    use super::{Key, Keys};

    /// Who comes in with this header, or the code of the refusal.
    fn check(keys: &Keys, sent: Option<(&str, &str)>, agent: Option<&str>) -> String {
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = sent {
            let name = HeaderName::try_from(name).unwrap();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
        }
        match keys.identify(&headers, agent.map(str::to_owned)) {
            Ok(identity) => format!("{} {:?}", identity.principal.as_str(), identity.agent),
            Err(problem) => problem.code.to_owned(),
        }
    }

    #[test]
    fn s_10_only_a_key_of_the_config_comes_in_and_only_to_its_agents() {
        let agents = Some(vec![AgentId::parse("sage").unwrap()]);
        let key = |name: &str, agents| Key {
            name: name.to_owned(),
            secret: Secret::new(format!("secret-{name}")),
            agents,
        };
        let keys = Keys::new(&[key("ops", None), key("phone", agents)]);
        let bearer = |key: &str| format!("Bearer {key}");
        assert_eq!(check(&keys, None, None), "no_key");
        let ops = bearer("secret-ops");
        assert_eq!(check(&keys, Some(("authorization", &ops)), Some("x")), "key:ops Some(\"x\")");
        assert_eq!(check(&keys, Some(("x-api-key", "secret-ops")), None), "key:ops None");
        let phone = bearer("secret-phone");
        let phone = Some(("authorization", &*phone));
        assert_eq!(check(&keys, phone, None), "key:phone Some(\"sage\")");
        assert_eq!(check(&keys, phone, Some("barkeep")), "not_your_agent");
        for wrong in
            ["Bearer ' OR 1=1--", "Bearer ", "Bearer secret", "Basic secret-ops", "secret-ops"]
        {
            let refused = check(&keys, Some(("authorization", wrong)), None);
            assert!(["no_key", "wrong_key"].contains(&&*refused), "{wrong}: {refused}");
        }
        assert_eq!(check(&Keys::default(), None, Some("a")), "local Some(\"a\")");
    }
}
