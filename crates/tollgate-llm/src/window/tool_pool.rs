//! Tool pool: an agent's tools prepared for selection, built once per view and shared by all of its
//! turns. Expensive parts (word index, token counts) are computed on first use and cached.

use std::collections::HashMap;
use std::sync::OnceLock;

use tollgate_core::glob::{self, Glob};
use tollgate_core::relevance::{RelevanceDocument, RelevanceIndex};

use crate::conversation::Function;
use crate::tokens::{self, CountPrecision};

/// A tool that may be shown to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferCandidate {
    pub function: Function,
    /// For people; only used for its words.
    pub title: Option<String>,
}

#[derive(Debug, Default)]
pub struct ToolPool {
    /// Sorted by name.
    tools: Vec<PooledTool>,
    places: HashMap<String, usize>,
    index: OnceLock<RelevanceIndex>,
}

#[derive(Debug)]
struct PooledTool {
    candidate: OfferCandidate,
    standing: PoolPinState,
    at_most: OnceLock<u64>,
    estimated: OnceLock<u64>,
    exact: OnceLock<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PoolPinState {
    /// Shown in every turn.
    Pinned,
    Usual,
}

impl ToolPool {
    /// Of two tools with the same name the first is kept.
    pub fn new(candidates: impl IntoIterator<Item = OfferCandidate>, pinned: &[Glob]) -> Self {
        let mut candidates: Vec<OfferCandidate> = candidates.into_iter().collect();
        candidates.sort_by(|one, two| one.function.name.cmp(&two.function.name));
        candidates.dedup_by(|two, one| one.function.name == two.function.name);
        let name = |it: &OfferCandidate| it.function.name.clone();
        let places = candidates.iter().enumerate().map(|(at, it)| (name(it), at)).collect();
        let tools = candidates.into_iter().map(|candidate| {
            let is_pinned = glob::any(pinned, &candidate.function.name);
            let standing = if is_pinned { PoolPinState::Pinned } else { PoolPinState::Usual };
            PooledTool {
                candidate,
                standing,
                at_most: OnceLock::new(),
                estimated: OnceLock::new(),
                exact: OnceLock::new(),
            }
        });
        Self { tools: tools.collect(), places, index: OnceLock::new() }
    }

    pub fn len(&self) -> usize {
        self.tools.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The tool at this index; indexes are in the order of names.
    pub fn function(&self, place: usize) -> &Function {
        &self.tools[place].candidate.function
    }

    pub fn name(&self, place: usize) -> &str {
        &self.function(place).name
    }

    pub fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    pub fn is_pinned(&self, place: usize) -> bool {
        self.tools[place].standing == PoolPinState::Pinned
    }

    /// Tokens of the tool, without the overhead around it.
    pub fn tokens(&self, place: usize, precision: CountPrecision) -> u64 {
        let pooled = &self.tools[place];
        let known = match precision {
            CountPrecision::AtMost => &pooled.at_most,
            CountPrecision::Estimated => &pooled.estimated,
            CountPrecision::Exact => &pooled.exact,
        };
        *known.get_or_init(|| tokens::function(&pooled.candidate.function, precision))
    }

    /// Word index of all tools.
    pub fn index(&self) -> &RelevanceIndex {
        self.index.get_or_init(|| {
            RelevanceIndex::new(self.tools.iter().map(|pooled| {
                let OfferCandidate { function, title } = &pooled.candidate;
                RelevanceDocument {
                    name: &function.name,
                    title: title.as_deref(),
                    description: function.description.as_deref(),
                    parameters: function.parameters.as_ref(),
                }
            }))
        })
    }
}
