//! The answer cache, for tools that declare a time to live. Answers are stored as the server sent
//! them, so that each consumer can shape them with its own caps.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quick_cache::sync::{Cache as Quick, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use serde_json::value::RawValue;
use tollgate_core::id::ToolId;
use tollgate_core::json::{self, Object};
use tollgate_core::policy::Permitted;
use tollgate_core::tool::{CacheScope, ContentHash};
use tollgate_core::turn::Principal;
use tollgate_mcp::{memory_budget, meta};

use super::exact_numbers;

/// Of all answers together, and of one.
const TOTAL_BYTES: u64 = 64 << 20;
const MAX_ENTRY_BYTES: usize = 1 << 20;
/// Divisor of the memory limit, for all answers together.
const SHARE_OF_MEMORY: u64 = 16;
/// Overhead of an entry.
const ENTRY_BYTES: usize = 256;
/// A rough estimate, for the size of the tables.
const EXPECTED_ENTRIES: usize = 16 << 10;
/// Few enough that one answer fits into each shard, and enough for many threads.
const SHARDS: usize = 16;
/// Keys of `_meta` that do not affect a tool.
const TRACE_KEYS: &[&str] = &["traceparent", "tracestate", "baggage"];
const OWN_KEYS: &str = "dev.tollgate/";

pub(super) struct AnswerCache {
    entries: Quick<CacheKey, Arc<CachedAnswer>, CacheWeighter>,
}

/// Calls with equal keys have equal answers, within the time to live. A tool that its server
/// changed is a different tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CacheKey {
    tool: ToolId,
    hash: ContentHash,
    /// Canonical JSON.
    arguments: Arc<str>,
    /// `None`: shared by all principals.
    principal: Option<Principal>,
}

impl CacheKey {
    /// `None` if the request carries more than tool and arguments, or has numbers that change when
    /// parsed: then it is never equal to another.
    pub(super) fn of(principal: &Principal, request: &Permitted<'_>) -> Option<Self> {
        let tool = request.tool()?;
        let arguments = request.arguments()?;
        let params = request.params();
        let known = |key: &str| matches!(key, "name" | "arguments" | "_meta");
        if !params.iter().all(|(key, _)| known(key)) || says_more(params) {
            return None;
        }
        if !params.get("arguments").is_none_or(|text| exact_numbers::are_exact(text.get())) {
            return None;
        }
        Some(Self {
            tool: tool.id.clone(),
            hash: tool.hash,
            arguments: json::canonical(arguments).into(),
            principal: match tool.terms.scope {
                CacheScope::Private => Some(principal.clone()),
                CacheScope::Public => None,
            },
        })
    }

    fn bytes(&self) -> usize {
        let principal = self.principal.as_ref().map_or(0, |it| it.as_str().len());
        self.arguments.len() + principal + ENTRY_BYTES
    }
}

/// Whether `_meta` contains anything else that is forwarded and may affect the answer.
fn says_more(params: &Object<'_>) -> bool {
    let Some(mut meta) = params.object("_meta") else { return false };
    meta::strip_hop_keys(&mut meta);
    let idle = |key: &str| TRACE_KEYS.contains(&key) || key.starts_with(OWN_KEYS);
    !meta.iter().all(|(key, _)| idle(key))
}

pub(super) struct CachedAnswer {
    pub(super) result: Box<RawValue>,
    /// When the call was made, and when its answer came.
    pub(super) called_at: Instant,
    pub(super) came: Instant,
}

/// A cached answer.
pub(super) struct CacheHit {
    pub(super) result: Box<RawValue>,
    pub(super) age: Duration,
}

impl AnswerCache {
    pub(super) fn new() -> Self {
        let share = memory_budget::share_of_memory_limit(SHARE_OF_MEMORY);
        let total = share.map_or(TOTAL_BYTES, |share| TOTAL_BYTES.min(share as u64));
        let options = OptionsBuilder::new()
            .shards(SHARDS)
            .estimated_items_capacity(EXPECTED_ENTRIES)
            .weight_capacity(total)
            .build()
            .expect("both capacities are given");
        let hasher = DefaultHashBuilder::default();
        let lifecycle = DefaultLifecycle::default();
        Self { entries: Quick::with_options(options, CacheWeighter, hasher, lifecycle) }
    }

    /// The answer for `key`, if it is not older than `good_for`.
    pub(super) fn get(&self, key: &CacheKey, good_for: Duration, now: Instant) -> Option<CacheHit> {
        let kept = self.entries.get(key)?;
        let age = now.saturating_duration_since(kept.came);
        if age >= good_for {
            self.entries.remove_if(key, |it| Arc::ptr_eq(it, &kept));
            return None;
        }
        Some(CacheHit { result: kept.result.clone(), age })
    }

    /// Returns whether it was stored. An answer to an earlier call never replaces that of a later
    /// one.
    pub(super) fn put(&self, key: &CacheKey, kept: CachedAnswer) -> bool {
        let is_outdated =
            self.entries.peek(key).is_some_and(|newer| newer.called_at > kept.called_at);
        let fits = kept.result.get().len() + key.bytes() <= MAX_ENTRY_BYTES;
        if fits && !is_outdated {
            self.entries.insert(key.clone(), Arc::new(kept));
        }
        fits && !is_outdated
    }
}

#[derive(Debug, Clone)]
struct CacheWeighter;

impl Weighter<CacheKey, Arc<CachedAnswer>> for CacheWeighter {
    fn weight(&self, key: &CacheKey, kept: &Arc<CachedAnswer>) -> u64 {
        (key.bytes() + kept.result.get().len()) as u64
    }
}

#[cfg(test)]
mod tests;
