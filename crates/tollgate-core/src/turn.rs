//! A turn, one request of a user to an agent: its view, permissions and deadline.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use crate::agent::RecordPolicy;
use crate::budget::Deadline;
use crate::call::CallId;
use crate::call_policy::CallPolicy;
use crate::glob::Glob;
use crate::id::ServerId;
use crate::lease::RevocableLease;
use crate::memory::{Audience, MemoryName, MemoryScope, Namespace};
use crate::model_usage::ModelLimit;
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
    /// Until when it may go on: all that is done in it stops when this ends.
    pub lease: RevocableLease,
    /// `None`: nothing of its own limits the principal.
    pub grant: Option<Arc<PrincipalGrant>>,
    /// Listing and calling use this same view.
    pub view: Arc<View>,
    /// The rules it began with: a reload does not change them.
    pub policy: Arc<CallPolicy>,
    /// The wall for the whole tool phase; `None` leaves the limits of each call.
    pub deadline: Option<Deadline>,
    /// The call that runs a program, if these are a program's calls.
    pub within: Option<CallId>,
    /// What it is part of; `None`: nobody follows it.
    pub trace: Option<Arc<Trace>>,
    /// Whether it has read what an untrusted server said: the same for all calls of the turn.
    pub taint: Arc<Taint>,
    /// How many tool calls a model may make in it; `None`: its client runs the loop itself.
    pub calls: Option<Arc<CallBudget>>,
}

impl Turn {
    /// One that nothing limits but its view and its lease.
    pub fn open(
        id: TurnId,
        began: Instant,
        actor: Actor,
        view: Arc<View>,
        policy: Arc<CallPolicy>,
    ) -> Self {
        let Actor { principal, lease } = actor;
        Self {
            id,
            began,
            principal,
            lease,
            grant: None,
            view,
            policy,
            deadline: None,
            within: None,
            trace: None,
            taint: Arc::default(),
            calls: None,
        }
    }

    pub fn actor(&self) -> Actor {
        Actor { principal: self.principal.clone(), lease: self.lease.clone() }
    }

    /// How long its tools have in all, from its beginning; `None`: no budget.
    pub fn span(&self) -> Option<Duration> {
        self.deadline.map(|wall| wall.remaining(self.began))
    }

    /// What of the memory can be seen in it.
    pub fn scope(&self) -> MemoryScope {
        let tenant = self.grant.as_ref().and_then(|grant| grant.tenant.as_ref());
        let namespace = Namespace::of(tenant, &self.view.memory.namespace);
        MemoryScope::of_agent(namespace, self.view.agent.clone())
    }

    /// For whom its agent keeps what it is told to keep.
    pub fn audience(&self) -> Audience {
        match self.view.memory.record {
            RecordPolicy::Shared => Audience::Shared,
            RecordPolicy::Own | RecordPolicy::Nothing => Audience::Only(self.view.agent.clone()),
        }
    }
}

/// Remembers that words of an untrusted server were read, by whoever chooses the next call
/// (prompt injection, S-30). Shared by all that belongs to one turn; never by two principals.
#[derive(Debug, Default)]
pub struct Taint {
    /// How long it holds after the last such result; `None`: as long as the turn.
    holds: Option<Duration>,
    read: Mutex<Option<UntrustedRead>>,
    links: TaintLinks,
}

/// What a turn has in common with requests outside it, such as those of its conversation.
#[derive(Debug, Clone, Default)]
pub struct TaintLinks {
    /// What is read in the turn counts for these, too.
    pub taints: Vec<Arc<Taint>>,
    /// What was read there counts for the turn.
    pub tainted_by: Vec<Arc<Taint>>,
}

#[derive(Debug, Clone)]
struct UntrustedRead {
    /// The first server that was heard.
    by: ServerId,
    last: Instant,
}

impl Taint {
    /// One of its own, for a turn that ends.
    pub fn of_turn(links: TaintLinks) -> Self {
        Self { links, ..Self::default() }
    }

    /// For requests of which nobody says when they end.
    pub fn holding(holds: Duration, links: TaintLinks) -> Self {
        Self { holds: Some(holds), links, ..Self::default() }
    }

    /// Something that the server said is about to be read.
    pub fn note(&self, server: &ServerId, now: Instant) {
        match &mut *self.read.lock() {
            Some(read) if self.is_within(read, now) => read.last = read.last.max(now),
            read => *read = Some(UntrustedRead { by: server.clone(), last: now }),
        }
        self.links.taints.iter().for_each(|linked| linked.note(server, now));
    }

    /// The first untrusted server that was heard, while that still counts.
    pub fn by(&self, now: Instant) -> Option<ServerId> {
        let own = self.read.lock().clone().filter(|read| self.is_within(read, now));
        let own = own.map(|read| read.by);
        own.or_else(|| self.links.tainted_by.iter().find_map(|linked| linked.by(now)))
    }

    /// A user has spoken: what was read before does not count for what follows.
    pub fn clear(&self) {
        *self.read.lock() = None;
    }

    fn is_within(&self, read: &UntrustedRead, now: Instant) -> bool {
        self.holds.is_none_or(|holds| now.saturating_duration_since(read.last) < holds)
    }
}

/// Counts the tool calls of a turn against its limit: those that a model makes and those of its
/// programs are one count (denial of wallet, S-33).
#[derive(Debug)]
pub struct CallBudget {
    limit: u32,
    used: AtomicU32,
}

impl CallBudget {
    pub fn new(limit: u32) -> Self {
        Self { limit, used: AtomicU32::new(0) }
    }

    pub fn used_calls(&self) -> u32 {
        self.used.load(Ordering::Relaxed)
    }

    /// Counts calls that were decided on already, even beyond the limit.
    pub fn count(&self, calls: u32) {
        let _ = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            Some(used.saturating_add(calls))
        });
    }

    /// Counts calls that are to be made together: all of them, or none if there are too few left.
    pub fn take(&self, calls: u32) -> Result<(), CallLimitError> {
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(calls).filter(|used| *used <= self.limit)
        });
        let refused =
            |used| CallLimitError { limit: self.limit, left: self.limit.saturating_sub(used) };
        taken.map(|_| ()).map_err(refused)
    }
}

/// A turn has too few tool calls left for what it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "limit_reached: a turn is limited to {limit} tool calls, including those of programs, and this \
     one has {left} left; answer with what you know"
)]
pub struct CallLimitError {
    pub limit: u32,
    pub left: u32,
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

const LOCAL_PRINCIPAL: &str = "local";

impl Principal {
    pub fn from_name(name: &str) -> Self {
        Self(name.into())
    }

    /// Whoever can reach the loopback address, while no keys are configured.
    pub fn local() -> Self {
        Self::from_name(LOCAL_PRINCIPAL)
    }

    /// Whether it is [`Self::local`].
    pub fn is_local(&self) -> bool {
        self.as_str() == LOCAL_PRINCIPAL
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A principal, and until when it may act. There is no turn without both.
#[derive(Debug, Clone)]
pub struct Actor {
    pub principal: Principal,
    pub lease: RevocableLease,
}

impl Actor {
    /// Whom nobody can take anything away from: the gateway itself, and its owner at the terminal.
    pub fn endless(principal: Principal) -> Self {
        Self { principal, lease: RevocableLease::endless() }
    }
}

/// How far a principal may go, beside its agents and rights.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PrincipalGrant {
    /// Exposed names and globs; `None`: all that its agents see.
    pub tools: Option<Vec<Glob>>,
    pub rate_limit: Option<RateLimit>,
    /// On the use of models, instead of those of every key.
    pub model_limits: Option<Vec<ModelLimit>>,
    /// Calls that may run at the same time; `None`: the usual number.
    pub concurrent: Option<u32>,
    /// In whose memory it is at home; `None`: where there is only one tenant.
    pub tenant: Option<MemoryName>,
}

#[cfg(test)]
mod tests {
    use super::{CallBudget, CallLimitError};

    #[test]
    fn s_33_calls_made_together_are_all_counted_or_none() {
        let budget = CallBudget::new(8);
        budget.count(1);
        assert_eq!(budget.take(5), Ok(()));
        assert_eq!(budget.take(3), Err(CallLimitError { limit: 8, left: 2 }));
        assert_eq!(budget.take(u32::MAX), Err(CallLimitError { limit: 8, left: 2 }));
        assert_eq!((budget.take(2), budget.used_calls()), (Ok(()), 8));
        budget.count(u32::MAX);
        assert_eq!(budget.take(1), Err(CallLimitError { limit: 8, left: 0 }));
    }
}
