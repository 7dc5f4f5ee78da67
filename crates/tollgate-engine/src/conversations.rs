//! Cooldown (anti-spam) of deep turns.
//!
//! Keeps for each conversation what the tier selector needs: the number of turns, and the time of
//! the last deep one. In memory only; a conversation that was evicted simply starts over.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_core::budget::Tier;
use tollgate_core::tier_selector::{
    SelectorRules, TierChoice, TierSelector, TranscriptStage, TurnHistory, Utterance,
};
use tollgate_core::turn::Principal;

/// Conversations kept. The half that was active last is always among them.
pub const MAX_CONVERSATIONS: usize = 10_000;
/// A conversation that was silent for this long is over.
pub const CONVERSATION_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Bytes at either end of an id that are hashed, beside its length.
const HASHED_ID_BYTES: usize = 256;

#[derive(Default)]
pub struct Conversations {
    /// Keyed, so that nobody can choose an id that collides with another conversation.
    hasher: RandomState,
    remembered: Mutex<ConversationCache>,
}

/// A turn, as the tier selector sees it.
#[derive(Debug, Clone, Copy)]
pub struct SelectorRequest<'a> {
    pub principal: &'a Principal,
    /// The caller's id of the conversation. Without one nothing is kept, and no turn counts as the
    /// first.
    pub conversation: Option<&'a str>,
    pub utterance: Utterance<'a>,
    /// With the keywords of the agent.
    pub selector: &'a TierSelector,
    pub rules: &'a SelectorRules,
    /// The agent's highest tier; `None`: it has none.
    pub ceiling: Option<Tier>,
}

impl Conversations {
    /// Chooses the tier and records the turn. A partial utterance is not a turn yet, and a turn
    /// counts as deep only if it still is under the agent's ceiling.
    pub fn choose(&self, request: &SelectorRequest<'_>, now: Instant) -> TierChoice {
        let cues = request.selector.hear(&request.utterance);
        let choose = |history| {
            cues.choose(history, request.rules).cap_at(request.ceiling.unwrap_or(Tier::Deep))
        };
        let Some(key) = self.key(request) else { return choose(TurnHistory::Unknown) };
        // Read and written under one lock: of two simultaneous deep turns only one can be the
        // first.
        let mut remembered = self.remembered.lock();
        let past = remembered.get(key).filter(|past| !past.is_over(now));
        let choice = choose(past.map_or(ConversationPast::NONE, |past| past.history(now)));
        if request.utterance.form == TranscriptStage::Final {
            remembered.insert(key, ConversationPast::next(past, choice.tier, now));
        }
        choice
    }

    fn key(&self, request: &SelectorRequest<'_>) -> Option<u64> {
        let id = request.conversation.filter(|id| !id.is_empty())?.as_bytes();
        let head = &id[..id.len().min(HASHED_ID_BYTES)];
        let tail = &id[id.len().saturating_sub(HASHED_ID_BYTES)..];
        Some(self.hasher.hash_one((request.principal, id.len(), head, tail)))
    }
}

#[derive(Debug, Clone, Copy)]
struct ConversationPast {
    turns: u32,
    last: Instant,
    deep: Option<Instant>,
}

impl ConversationPast {
    const NONE: TurnHistory = TurnHistory::Known { turns: 0, since_deep: None };

    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) >= CONVERSATION_TIMEOUT
    }

    fn history(&self, now: Instant) -> TurnHistory {
        let since_deep = self.deep.map(|deep| now.saturating_duration_since(deep));
        TurnHistory::Known { turns: self.turns, since_deep }
    }

    fn next(past: Option<Self>, tier: Tier, now: Instant) -> Self {
        let deep = if tier == Tier::Deep { Some(now) } else { past.and_then(|past| past.deep) };
        Self { turns: past.map_or(0, |past| past.turns).saturating_add(1), last: now, deep }
    }
}

/// Two generations: an active conversation is young; when there are too many young ones they become
/// the old generation, and the previous one is dropped.
#[derive(Default)]
struct ConversationCache {
    young: HashMap<u64, ConversationPast>,
    old: HashMap<u64, ConversationPast>,
}

impl ConversationCache {
    fn get(&self, key: u64) -> Option<ConversationPast> {
        self.young.get(&key).or_else(|| self.old.get(&key)).copied()
    }

    fn insert(&mut self, key: u64, past: ConversationPast) {
        if self.young.len() >= MAX_CONVERSATIONS / 2 && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, past);
    }
}

#[cfg(test)]
mod tests;
