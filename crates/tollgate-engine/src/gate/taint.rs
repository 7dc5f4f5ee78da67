//! Taint tracking against prompt injection (S-30): a turn that has read a result of an untrusted
//! server is tainted, and its destructive calls need approval or are refused.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_core::approval;
use tollgate_core::call::{CallStatus, Decider, Outcome, ServerTrust};
use tollgate_core::id::ServerId;
use tollgate_core::policy::Permitted;
use tollgate_core::tool::FindingKind;
use tollgate_core::turn::{Principal, Taint, Turn};

use super::Gate;
use super::stages::StageResult;
use crate::answer;
use crate::recorder::CallRecording;

/// How long an untrusted result counts where nobody says when a turn ends: a client that runs its
/// own loop, in a session or a conversation.
pub const TAINT_HOLDS: Duration = Duration::from_secs(10 * 60);

/// Sessions and conversations whose taint is remembered. Beyond this, whoever has the most makes room.
const MAX_LINKS: usize = 16_384;

/// What links the requests of a client that runs its own loop to one turn.
#[derive(Debug, Clone, Copy)]
pub enum TurnLink<'a> {
    /// The same turn as other requests of this name: a session, a conversation.
    Continue(&'a str),
    /// The first request of a new turn under this name.
    Begin(&'a str),
}

impl Gate {
    /// Refuses a destructive call after a result of an untrusted server, where the config says so;
    /// the audit row says why.
    pub(super) fn refuse_tainted(
        &self,
        turn: &Turn,
        permitted: &Permitted<'_>,
        decided_by: Decider,
        recording: &mut CallRecording<'_>,
    ) -> StageResult<()> {
        let Some(tool) = permitted.tool() else { return Ok(()) };
        let checked = approval::refuse_tainted(turn, decided_by, tool, self.clock.now());
        checked.map_err(|tainted| {
            self.taints.count_refused();
            recording.target(&tool.id.server, Some(tool));
            recording.set_owned_detail(format!("taint: by a result of `{}`", tainted.by).into());
            answer::failure_reply(CallStatus::Denied, &tainted.to_string()).into()
        })
    }

    /// Taints the turn if the server whose words it reads is not trusted.
    pub(super) fn note_server(&self, turn: &Turn, server: &ServerId) {
        if turn.policy.results.of(server).trust == ServerTrust::Untrusted {
            turn.taint.note(server, self.clock.now());
        }
    }

    /// The turn reads what the tool of this name answered, in whichever request that was.
    pub fn note_answered(&self, turn: &Turn, exposed: &str) {
        if let Some(tool) = turn.view.tool(exposed) {
            self.note_server(turn, &tool.id.server);
        }
    }

    /// Somebody reads a result later than its call was answered.
    pub fn note_later(&self, taint: &Taint, outcome: &Outcome) {
        if let Some(origin) = outcome.origin.as_ref().filter(|origin| !origin.is_trusted()) {
            taint.note(&origin.server, self.clock.now());
        }
    }

    /// The same by whoever asks under this link.
    pub fn note_linked(&self, principal: &Principal, link: TurnLink<'_>, outcome: &Outcome) {
        let taint = self.taints.of(principal, link, self.clock.now());
        self.note_later(&taint, outcome);
    }

    /// How much was taken out of results since the start, by kind.
    pub fn removed_counts(&self) -> impl Iterator<Item = (FindingKind, u64)> {
        self.results.removed_counts()
    }

    /// Destructive calls after a result of an untrusted server, by what became of them.
    pub fn tainted_calls(&self) -> [(&'static str, u64); 2] {
        let SessionTaints { asked, refused, .. } = &self.taints;
        [("asked", asked.load(Ordering::Relaxed)), ("refused", refused.load(Ordering::Relaxed))]
    }

    /// What the requests of one turn share, for a client that keeps a session of its own.
    pub fn session_taint(&self) -> Arc<Taint> {
        Arc::new(Taint::new(self.clock.now(), Some(TAINT_HOLDS)))
    }
}

/// The taint of sessions and conversations. Each belongs to one principal, and no principal pushes
/// out what another's says by having many.
#[derive(Default)]
pub(crate) struct SessionTaints {
    principals: Mutex<HashMap<Principal, HashMap<Box<str>, LinkedTaint>>>,
    asked: AtomicU64,
    refused: AtomicU64,
}

struct LinkedTaint {
    taint: Arc<Taint>,
    used: Instant,
}

impl SessionTaints {
    /// Somebody has to agree to a call because of what was read.
    pub(crate) fn count_asked(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// A call was refused because of what was read.
    pub(crate) fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// The taint under this link; a fresh one if there is none, or if it has held long enough.
    pub(crate) fn of(&self, principal: &Principal, link: TurnLink<'_>, now: Instant) -> Arc<Taint> {
        let mut all = self.principals.lock();
        let known = all.get_mut(principal).and_then(|own| match link {
            TurnLink::Continue(name) => own.get_mut(name),
            TurnLink::Begin(_) => None,
        });
        if let Some(linked) = known.filter(|linked| !linked.taint.is_over(now)) {
            linked.used = now;
            return Arc::clone(&linked.taint);
        }
        if all.values().map(HashMap::len).sum::<usize>() >= MAX_LINKS {
            make_room(&mut all, now);
        }
        let (TurnLink::Continue(name) | TurnLink::Begin(name)) = link;
        let taint = Arc::new(Taint::new(now, Some(TAINT_HOLDS)));
        let linked = LinkedTaint { taint: Arc::clone(&taint), used: now };
        all.entry(principal.clone()).or_default().insert(name.into(), linked);
        taint
    }
}

/// At the cost of whoever has the most: of what says nothing, or else of the older half.
fn make_room(all: &mut HashMap<Principal, HashMap<Box<str>, LinkedTaint>>, now: Instant) {
    let Some(links) = all.values_mut().max_by_key(|links| links.len()) else { return };
    let before = links.len();
    links.retain(|_, linked| linked.taint.by(now).is_some());
    if links.len() == before {
        let mut used: Vec<Instant> = links.values().map(|linked| linked.used).collect();
        let middle = used.len() / 2;
        let (_, middle, _) = used.select_nth_unstable(middle);
        let middle = *middle;
        let mut spared = before - before / 2;
        links.retain(|_, linked| {
            let is_kept = linked.used >= middle && spared > 0;
            spared -= usize::from(is_kept);
            is_kept
        });
    }
    all.retain(|_, links| !links.is_empty());
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;
    use std::time::Duration;

    use tollgate_core::id::ServerId;
    use tollgate_core::turn::Principal;

    use super::{MAX_LINKS, SessionTaints, TAINT_HOLDS, TurnLink};
    use crate::clock::{Clock as _, SystemClock};

    #[test]
    fn s_30_two_principals_never_share_a_taint_and_push_out_only_their_own() {
        let taints = SessionTaints::default();
        let now = SystemClock.now();
        let ada = Principal::from_name("ada");
        let bob = Principal::from_name("bob");
        let web = ServerId::parse("web").unwrap();
        let of = |who: &Principal, name: &str, at| taints.of(who, TurnLink::Continue(name), at);
        of(&ada, "c", now).note(&web, now);
        assert_eq!(of(&ada, "c", now).by(now), Some(&web));
        assert_eq!(of(&bob, "c", now).by(now), None);
        assert_eq!(of(&ada, "other", now).by(now), None);
        let later = now + Duration::from_secs(1);
        // First such that say nothing, then such that do.
        for round in 0..2 {
            for number in 0..MAX_LINKS + 10 {
                let taint = of(&bob, &format!("{round} {number}"), later);
                if round == 1 {
                    taint.note(&web, later);
                }
            }
            let count: usize = taints.principals.lock().values().map(HashMap::len).sum();
            assert!(count <= MAX_LINKS, "{count}");
        }
        assert_eq!(of(&ada, "c", later).by(later), Some(&web));
    }

    #[test]
    fn s_30_a_turn_ends_when_its_client_begins_another_or_after_a_time() {
        let taints = SessionTaints::default();
        let now = SystemClock.now();
        let ada = Principal::from_name("ada");
        let web = ServerId::parse("web").unwrap();
        let first = taints.of(&ada, TurnLink::Begin("c"), now);
        first.note(&web, now);
        assert!(Arc::ptr_eq(&first, &taints.of(&ada, TurnLink::Continue("c"), now)));
        assert_eq!(taints.of(&ada, TurnLink::Begin("c"), now).by(now), None);
        let second = taints.of(&ada, TurnLink::Continue("c"), now);
        second.note(&web, now);
        let over = now + TAINT_HOLDS;
        assert_eq!(taints.of(&ada, TurnLink::Continue("c"), over).by(over), None);
    }
}
