//! One request of a user to an agent: what it may see and call, and until when.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::agent::Record;
use crate::budget::Deadline;
use crate::call::CallId;
use crate::glob::Glob;
use crate::memory::{Audience, Name, Namespace, Scope};
use crate::rate::RateLimit;
use crate::trace::Trace;
use crate::view::View;

/// Everything that is decided once for a turn and holds for all calls inside it.
#[derive(Debug, Clone)]
pub struct Turn {
    pub id: TurnId,
    /// When somebody began to wait for it.
    pub began: Instant,
    pub principal: Principal,
    /// `None`: nothing of its own limits the principal.
    pub grant: Option<Arc<Grant>>,
    /// Listing and calling use this same view.
    pub view: Arc<View>,
    /// The wall for the whole tool phase; `None` leaves the limits of each call.
    pub deadline: Option<Deadline>,
    /// The call that runs a program, if these are a program's calls.
    pub within: Option<CallId>,
    /// What it is part of; `None`: nobody follows it.
    pub trace: Option<Arc<Trace>>,
}

impl Turn {
    /// One that nothing limits but its view.
    pub fn open(id: TurnId, began: Instant, principal: Principal, view: Arc<View>) -> Self {
        Self { id, began, principal, grant: None, view, deadline: None, within: None, trace: None }
    }

    /// How long its tools have in all, from its beginning; `None`: no budget.
    pub fn span(&self) -> Option<Duration> {
        self.deadline.map(|wall| wall.left(self.began))
    }

    /// What of the memory can be seen in it.
    pub fn scope(&self) -> Scope {
        let tenant = self.grant.as_ref().and_then(|grant| grant.tenant.as_ref());
        let namespace = Namespace::of(tenant, &self.view.memory.namespace);
        Scope::of_agent(namespace, self.view.agent.clone())
    }

    /// For whom its agent keeps what it is told to keep.
    pub fn audience(&self) -> Audience {
        match self.view.memory.record {
            Record::Shared => Audience::Shared,
            Record::Own | Record::Nothing => Audience::Only(self.view.agent.clone()),
        }
    }
}

/// What the calls of one turn have in common. Sorted by time, and guessable by nobody, as calls are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnId(CallId);

impl TurnId {
    pub fn new(at: SystemTime, random: u128) -> Self {
        Self(CallId::new(at, random))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who is asking over the network. Handles and sessions belong to one principal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal(Arc<str>);

impl Principal {
    pub fn named(name: &str) -> Self {
        Self(name.into())
    }

    /// Whoever can reach the loopback address, while no keys are configured.
    pub fn local() -> Self {
        Self::named("local")
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How far a principal may go, beside its agents and rights.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grant {
    /// Exposed names and globs; `None`: all that its agents see.
    pub tools: Option<Vec<Glob>>,
    pub rate_limit: Option<RateLimit>,
    /// Calls that may run at the same time; `None`: the usual number.
    pub concurrent: Option<u32>,
    /// In whose memory it is at home; `None`: where there is only one tenant.
    pub tenant: Option<Name>,
}
