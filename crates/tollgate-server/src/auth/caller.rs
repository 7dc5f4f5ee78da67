//! The authenticated caller and its permissions.

use std::sync::Arc;
use std::time::SystemTime;

use http::StatusCode;
use tollgate_core::id::AgentId;
use tollgate_core::lease::LeaseTerm;
use tollgate_core::rate::RateLimit;
use tollgate_core::turn::{Principal, PrincipalGrant};

use super::client_secret::ClientSecret;
use super::{ApiKey, CallerLease, CallerReach, Right, Rights};
use crate::api_error::ApiError;

/// Present in the extensions of every request that was authenticated.
#[derive(Debug, Clone)]
pub(crate) struct AuthenticatedCaller {
    pub(crate) principal: Principal,
    agents: Option<Arc<[AgentId]>>,
    pub(crate) rights: Rights,
    /// `None`: no limits of its own.
    pub(crate) grant: Option<Arc<PrincipalGrant>>,
    pub(crate) lease: CallerLease,
    by: CallerAuthMethod,
    /// The client secret that it presented, if any.
    client_secret: Option<Arc<ClientSecret>>,
}

/// How the caller was authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallerAuthMethod {
    /// A key, the admin token, or a call from within this process.
    Proof,
    /// A token of the issuer.
    Token,
    /// A local connection, while there are no keys.
    Place,
}

/// The principal of a request, and its agent.
#[derive(Debug)]
pub(crate) struct ResolvedIdentity {
    pub(crate) principal: Principal,
    pub(crate) agent: Option<String>,
    pub(crate) reach: CallerReach,
    pub(crate) rights: Rights,
    pub(crate) grant: Option<Arc<PrincipalGrant>>,
    pub(crate) lease: CallerLease,
}

const NOT_YOUR_AGENT: ApiError =
    ApiError::new(StatusCode::FORBIDDEN, "not_your_agent", "this key is not for that agent");
const ADMIN_ONLY: ApiError = ApiError::new(
    StatusCode::UNAUTHORIZED,
    "admin_only",
    "this requires the token in `admin.token` of the data directory, or an admin key",
);

impl AuthenticatedCaller {
    /// A caller within this process.
    pub(crate) fn local() -> Self {
        Self {
            principal: Principal::local(),
            agents: None,
            rights: Rights::ALL,
            grant: None,
            lease: CallerLease::endless(),
            by: CallerAuthMethod::Proof,
            client_secret: None,
        }
    }

    /// A caller on this machine while there are no keys.
    pub(super) fn passer_by(lease: CallerLease) -> Self {
        let rights = [Right::Execute, Right::OverrideTier, Right::AnyModel].into_iter().collect();
        Self { rights, lease, by: CallerAuthMethod::Place, ..Self::local() }
    }

    /// The holder of the admin token, which anybody who can read the data directory has.
    pub(super) fn admin() -> Self {
        Self { principal: Principal::from_name("admin"), ..Self::local() }
    }

    pub(super) fn holding(key: &ApiKey, lease: CallerLease) -> Self {
        Self {
            principal: principal(&key.name),
            agents: key.agents.as_deref().map(Into::into),
            rights: key.rights,
            grant: (key.grant != PrincipalGrant::default()).then(|| Arc::new(key.grant.clone())),
            lease,
            by: CallerAuthMethod::Proof,
            client_secret: None,
        }
    }

    pub(super) fn with_token(
        principal: Principal,
        agents: Option<&[AgentId]>,
        rights: Rights,
        grant: &PrincipalGrant,
        lease: CallerLease,
    ) -> Self {
        let grant = (*grant != PrincipalGrant::default()).then(|| Arc::new(grant.clone()));
        let agents = agents.map(Into::into);
        let by = CallerAuthMethod::Token;
        Self { principal, agents, rights, grant, lease, by, client_secret: None }
    }

    /// A telephone line without a key: it may call tools, and nothing else.
    pub(crate) fn of_line(name: &str, rate_limit: Option<RateLimit>, term: &LeaseTerm) -> Self {
        let grant = PrincipalGrant { rate_limit, ..PrincipalGrant::default() };
        Self {
            principal: Principal::from_name(name),
            agents: None,
            rights: [Right::Execute].into_iter().collect(),
            grant: rate_limit.map(|_| Arc::new(grant)),
            lease: CallerLease::of(term, None),
            by: CallerAuthMethod::Proof,
            client_secret: None,
        }
    }

    /// The same caller, as long as `term` is in force.
    pub(crate) fn while_in_force(self, term: &LeaseTerm) -> Self {
        Self { lease: self.lease.and(term), ..self }
    }

    pub(super) fn has_token(&self) -> bool {
        self.by == CallerAuthMethod::Token
    }

    /// The same caller under another lease.
    pub(super) fn with_lease(&self, lease: &CallerLease) -> Self {
        Self { lease: lease.clone(), ..self.clone() }
    }

    /// The same caller, limited to what a client secret allows. Its sessions may outlast the
    /// secret, but not the caller's own credential.
    pub(super) fn with_client_secret(&self, secret: &Arc<ClientSecret>) -> Self {
        let kept = [Right::Execute, Right::AnyModel];
        Self {
            agents: Some([secret.grant.agent.clone()].into()),
            rights: self.rights.iter().filter(|right| kept.contains(right)).collect(),
            client_secret: Some(Arc::clone(secret)),
            ..self.clone()
        }
    }

    pub(crate) fn client_secret(&self) -> Option<&Arc<ClientSecret>> {
        self.client_secret.as_ref()
    }

    /// The same caller, limited to the lifetime of a login.
    pub(super) fn for_no_longer_than(self, login: &LeaseTerm, until: SystemTime) -> Self {
        Self { lease: self.lease.within(login, until), ..self }
    }

    /// The agents that the caller may use. `None`: all of them.
    pub(crate) fn agents(&self) -> Option<&[AgentId]> {
        self.agents.as_deref()
    }

    /// Refuses callers that are known only by their address.
    pub(crate) fn must_be_proven(&self) -> Result<(), ApiError> {
        match self.by {
            CallerAuthMethod::Place => Err(ADMIN_ONLY),
            CallerAuthMethod::Proof | CallerAuthMethod::Token => Ok(()),
        }
    }

    pub(crate) fn need(&self, right: Right) -> Result<(), ApiError> {
        match self.by {
            CallerAuthMethod::Place if !self.rights.has(right) => Err(ADMIN_ONLY),
            CallerAuthMethod::Place | CallerAuthMethod::Proof | CallerAuthMethod::Token => {
                self.rights.need(right)
            }
        }
    }

    /// Resolves the agent. A key that is restricted to some agents never reaches another one.
    pub(crate) fn identify(self, named: Option<String>) -> Result<ResolvedIdentity, ApiError> {
        let reach = match (&self.client_secret, &self.agents) {
            (Some(secret), _) => secret.grant.reach,
            (None, None) => CallerReach::Everybody,
            (None, Some(_)) => CallerReach::Agents,
        };
        let agent = match (&self.agents, named) {
            (None, named) => named,
            (Some(agents), None) => Some(agents.first().ok_or(NOT_YOUR_AGENT)?.to_string()),
            (Some(agents), Some(named)) if agents.iter().any(|it| it.as_str() == named) => {
                Some(named)
            }
            (Some(_), Some(_)) => return Err(NOT_YOUR_AGENT),
        };
        let Self { principal, rights, grant, lease, .. } = self;
        Ok(ResolvedIdentity { principal, agent, reach, rights, grant, lease })
    }
}

fn principal(name: &str) -> Principal {
    Principal::from_name(&format!("key:{name}"))
}
