//! What the results of tools looked like, for those who write the next program.
//!
//! Only of tools that do not say themselves what they return. A name in a result may be somebody's
//! data: what one principal's results taught, no other is shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use quick_cache::sync::Cache;
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use serde_json::value::RawValue;
use tollgate_core::code_mode::{LearnedShape, ResultShape};
use tollgate_core::id::ToolId;
use tollgate_core::json;
use tollgate_core::tool::{ContentHash, Tool};
use tollgate_core::turn::Principal;

/// Parts of all lessons together, some ten megabytes. What was not used for longest goes first.
const MAX_LEARNED_PARTS: u64 = 100_000;
/// What a lesson takes beside its parts, as if it were some.
const OVERHEAD: u64 = 5;
/// Lessons that are thought to be there.
const EXPECTED_TYPES: usize = 2_048;
/// So few that the largest lesson is small beside what each may hold.
const SHARDS: usize = 4;
/// A larger result teaches no more than a small one, and takes longer to read.
const MAX_LEARNED_BYTES: usize = 64 << 10;
/// Results of a tool that are all looked at, unless it is settled before.
const ALWAYS_SAMPLED: u32 = 64;
/// Of those after them, one in so many is looked at.
const SAMPLE_INTERVAL: u32 = 16;

pub(crate) struct LearnedTypes(Cache<LearnedTypeKey, Arc<LearnedType>, LearnedTypeWeighter>);

/// Types are learned for each principal: results may tell what others must not know.
#[derive(Clone, PartialEq, Eq, Hash)]
struct LearnedTypeKey {
    principal: Principal,
    tool: ToolId,
}

struct LearnedType {
    of: ContentHash,
    learned: LearnedShape,
    /// Results that came, looked at or not.
    results: AtomicU32,
}

#[derive(Clone)]
struct LearnedTypeWeighter;

impl Weighter<LearnedTypeKey, Arc<LearnedType>> for LearnedTypeWeighter {
    fn weight(&self, _: &LearnedTypeKey, lesson: &Arc<LearnedType>) -> u64 {
        OVERHEAD + lesson.learned.parts() as u64
    }
}

impl Default for LearnedTypes {
    fn default() -> Self {
        let mut options = OptionsBuilder::new();
        options
            .weight_capacity(MAX_LEARNED_PARTS)
            .estimated_items_capacity(EXPECTED_TYPES)
            .shards(SHARDS);
        let options = options.build().expect("all that is needed is said");
        Self(Cache::with_options(
            options,
            LearnedTypeWeighter,
            DefaultHashBuilder::default(),
            Default::default(),
        ))
    }
}

impl LearnedTypes {
    /// A tool that changed has everything to teach again. Of two results that come at the same
    /// moment one may be lost: there will be others.
    pub(super) fn take(&self, principal: &Principal, tool: &Tool, result: &RawValue) {
        if tool.output.is_some() || result.get().len() > MAX_LEARNED_BYTES {
            return;
        }
        let key = LearnedTypeKey { principal: principal.clone(), tool: tool.id.clone() };
        let known = self.0.get(&key).filter(|it| it.of == tool.hash);
        if known.as_ref().is_some_and(|it| !it.wants_another()) {
            return;
        }
        let Ok(value) = json::value(result.get()) else { return };
        let mut learned = known.as_ref().map(|it| it.learned.clone()).unwrap_or_default();
        learned.learn(&value);
        if known.as_ref().is_none_or(|it| it.learned != learned) {
            let results = known.map_or(1, |it| it.results.load(Ordering::Relaxed));
            let lesson = LearnedType { of: tool.hash, learned, results: AtomicU32::new(results) };
            self.0.insert(key, Arc::new(lesson));
        }
    }

    pub(super) fn shape(&self, principal: &Principal, tool: &ToolId) -> Option<Arc<ResultShape>> {
        let key = LearnedTypeKey { principal: principal.clone(), tool: tool.clone() };
        let lesson = self.0.get(&key)?;
        lesson.learned.shape().map(Arc::clone)
    }
}

impl LearnedType {
    /// Counts a result, and says whether it is to be looked at.
    fn wants_another(&self) -> bool {
        let before = self.results.fetch_add(1, Ordering::Relaxed);
        let is_eager = before < ALWAYS_SAMPLED && !self.learned.is_settled();
        is_eager || before.is_multiple_of(SAMPLE_INTERVAL)
    }
}

#[cfg(test)]
mod tests;
