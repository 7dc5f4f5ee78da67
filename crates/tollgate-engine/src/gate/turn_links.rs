//! Which requests of a client form one turn, for the taint rule (S-30).
//!
//! A client may say in which session and conversation it asks, and name the turn that a request
//! continues. Sessions and conversations are what its model has read, so all requests in one of them
//! are one turn. A name of a turn only joins requests: it never separates one from what was read in
//! its conversation. Names belong to a principal; nobody reaches the turns of another.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_core::turn::{Principal, Taint, TaintLinks, TurnId};

/// How long an untrusted result counts where nobody says when a turn ends: a client that runs its
/// own loop, in a session or a conversation.
pub const TAINT_HOLDS: Duration = Duration::from_secs(10 * 60);

/// Sessions, conversations and turns whose taint is remembered. Beyond this, whoever has the most
/// makes room.
const MAX_LINKS: usize = 16_384;

/// What links a request to others of its principal.
#[derive(Debug, Clone, Copy)]
pub struct TurnLink<'a> {
    /// Session and conversation, the outer one first. A request of an outer one that names no inner
    /// one may be about any of them.
    pub contexts: &'a [Arc<str>],
    /// Turns that it continues: ids that the gateway told, or names of the client's own.
    pub turns: &'a [Arc<str>],
    pub start: TurnStart,
    /// The client is told the id of the turn, and can continue it elsewhere.
    pub is_announced: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TurnStart {
    #[default]
    Continue,
    /// A user has spoken since the last request.
    Begin,
}

/// The taint of sessions, conversations and turns. No principal pushes out what another's says by
/// having many.
#[derive(Default)]
pub(crate) struct SessionTaints {
    principals: Mutex<HashMap<Principal, PrincipalLinks>>,
    clock: AtomicU64,
    refused: AtomicU64,
}

#[derive(Default)]
struct PrincipalLinks(HashMap<LinkKey, LinkedTaint>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum LinkKey {
    /// The names of a session and its conversation, the outer one first.
    Contexts(Box<[Arc<str>]>),
    /// An id that the gateway told.
    Announced(Box<str>),
    /// A client's own name of a turn, outside of every session and conversation.
    Named(Arc<str>),
}

struct LinkedTaint {
    /// By requests of exactly this name.
    own: Arc<Taint>,
    /// By requests of inner names.
    inner: Arc<Taint>,
    used: Instant,
}

impl SessionTaints {
    /// Somebody has to agree to a call because of what was read.
    pub(crate) fn count_question(&self) {
        self.clock.fetch_add(1, Ordering::Relaxed);
    }

    /// A call was refused because of what was read.
    pub(crate) fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> [(&'static str, u64); 2] {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        [("asked", count(&self.clock)), ("refused", count(&self.refused))]
    }

    /// The taint of a request that is linked to others; `id` is that of its turn.
    pub(crate) fn open(
        &self,
        principal: &Principal,
        link: TurnLink<'_>,
        id: Option<TurnId>,
        now: Instant,
    ) -> Arc<Taint> {
        let mut all = self.principals.lock();
        // Each request adds a few at most.
        if all.values().map(|links| links.0.len()).sum::<usize>() >= MAX_LINKS {
            make_room(&mut all, now);
        }
        let known = all.entry(principal.clone()).or_default();
        let mut links = known.contexts(link, now);
        let continued = known.continue_turn(link, now, &mut links);
        if let Some(id) = id.filter(|_| link.is_announced) {
            let turn = match continued {
                // Another id of the same turn: a chain of ids must not grow without end.
                Some(turn) => {
                    let outside = links.tainted_by.iter().find_map(|linked| linked.by(now));
                    outside.into_iter().for_each(|by| turn.note(&by, now));
                    turn
                }
                None => Arc::new(Taint::holding(TAINT_HOLDS, links.clone())),
            };
            known.announce(id, &turn, now);
            push(&mut links.taints, &turn);
            push(&mut links.tainted_by, &turn);
        }
        Arc::new(Taint::of_turn(links))
    }
}

impl PrincipalLinks {
    fn find(&mut self, key: LinkKey, now: Instant) -> &LinkedTaint {
        let fresh = || Arc::new(Taint::holding(TAINT_HOLDS, TaintLinks::default()));
        let linked = self.0.entry(key);
        let linked =
            linked.or_insert_with(|| LinkedTaint { own: fresh(), inner: fresh(), used: now });
        linked.used = now;
        linked
    }

    /// Links to the session and conversation.
    fn contexts(&mut self, link: TurnLink<'_>, now: Instant) -> TaintLinks {
        let mut links = TaintLinks::default();
        for end in 1..=link.contexts.len() {
            let linked = self.find(LinkKey::Contexts(link.contexts[..end].into()), now);
            if end < link.contexts.len() {
                links.taints.push(Arc::clone(&linked.inner));
                links.tainted_by.push(Arc::clone(&linked.own));
                continue;
            }
            if link.start == TurnStart::Begin {
                linked.own.clear();
                linked.inner.clear();
            }
            links.taints.push(Arc::clone(&linked.own));
            links.tainted_by.extend([Arc::clone(&linked.own), Arc::clone(&linked.inner)]);
        }
        links
    }

    /// Adds links to the turns that are named; returns the first one that the gateway told.
    fn continue_turn(
        &mut self,
        link: TurnLink<'_>,
        now: Instant,
        links: &mut TaintLinks,
    ) -> Option<Arc<Taint>> {
        let mut first = None;
        for name in link.turns {
            let turn = match self.0.get_mut(&LinkKey::Announced(Box::from(&**name))) {
                Some(linked) => {
                    linked.used = now;
                    first.get_or_insert_with(|| Arc::clone(&linked.own));
                    Arc::clone(&linked.own)
                }
                // A name of its own adds nothing to that of the conversation.
                None if !link.contexts.is_empty() => continue,
                None => {
                    let own = &self.find(LinkKey::Named(Arc::clone(name)), now).own;
                    if link.start == TurnStart::Begin {
                        own.clear();
                    }
                    Arc::clone(own)
                }
            };
            push(&mut links.taints, &turn);
            push(&mut links.tainted_by, &turn);
        }
        first
    }

    fn announce(&mut self, id: TurnId, turn: &Arc<Taint>, now: Instant) {
        let linked = LinkedTaint { own: Arc::clone(turn), inner: Arc::default(), used: now };
        self.0.insert(LinkKey::Announced(id.as_str().into()), linked);
    }
}

fn push(taints: &mut Vec<Arc<Taint>>, taint: &Arc<Taint>) {
    if !taints.iter().any(|known| Arc::ptr_eq(known, taint)) {
        taints.push(Arc::clone(taint));
    }
}

impl LinkedTaint {
    /// Whether somebody may still depend on it: something was read, or a request runs.
    fn is_needed(&self, now: Instant) -> bool {
        let is_running = Arc::strong_count(&self.own) > 1 || Arc::strong_count(&self.inner) > 1;
        is_running || self.own.by(now).is_some() || self.inner.by(now).is_some()
    }
}

/// At the cost of whoever has the most: of what says nothing, or else of the older half.
fn make_room(all: &mut HashMap<Principal, PrincipalLinks>, now: Instant) {
    let Some(PrincipalLinks(links)) = all.values_mut().max_by_key(|links| links.0.len()) else {
        return;
    };
    let before = links.len();
    links.retain(|_, linked| linked.is_needed(now));
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
    all.retain(|_, links| !links.0.is_empty());
}

#[cfg(test)]
mod tests;
