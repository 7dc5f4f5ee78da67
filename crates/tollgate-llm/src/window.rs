//! Fits a request into a model's context window.
//!
//! `available = window − tools − system − messages − reserved`.
//!
//! First the least relevant tools are omitted, then a larger model is selected, then the request is
//! refused with the numbers. Nothing that the client sent is ever omitted. Called by the agent loop
//! before each round. Pure.

use std::collections::HashSet;

use tollgate_core::agent::ToolSearch;

use crate::conversation::{ChatRequest, Function, MessagePart, ToolChoice};
use crate::dialect::Dialect;
use crate::relevance;
use crate::tokens::{self, CountPrecision};

pub mod search;
mod too_long_error;
mod tool_pool;

pub use search::DisclosedTools;
pub use too_long_error::ContextTooLongError;
pub use tool_pool::{OfferCandidate, ToolPool};

/// The request to fit, and the tools that may go with it.
#[derive(Debug, Clone, Copy)]
pub struct WindowRequest<'a> {
    /// With its system prompt, and with the client's own tools: these are never omitted, and hide
    /// tools of the same names.
    pub request: &'a ChatRequest,
    pub pool: &'a ToolPool,
    /// Maximum tools of the pool shown at once. Pinned tools are shown even if there are more.
    pub max_tools: usize,
    pub search: ToolSearch,
    /// Tools that the model has found by search so far.
    pub disclosed: &'a DisclosedTools,
}

/// Context window of a model.
#[derive(Debug, Clone, Copy)]
pub struct ModelWindow<'a> {
    pub name: &'a str,
    pub window: u64,
    /// Reserved for the answer, unless the request asks for less.
    pub max_output: u64,
    /// Dialect of the model.
    pub dialect: Dialect,
}

/// The selected tools and model.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowFit {
    /// Index in the agent's list of models.
    pub model: usize,
    /// Indexes in the pool, ordered by name.
    pub included: Vec<usize>,
    /// Tools that were omitted for lack of room, ordered by name.
    pub pruned: Vec<String>,
    /// The search tool, with which the model finds omitted tools.
    pub search: Option<Function>,
    pub counts: WindowCounts,
}

/// Token counts by category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowCounts {
    pub window: u64,
    pub tools: u64,
    pub system: u64,
    pub messages: u64,
    pub reserved: u64,
    /// Margin for the model's own vocabulary.
    pub margin: u64,
    pub precision: CountPrecision,
}

impl WindowCounts {
    pub fn input(&self) -> u64 {
        self.tools.saturating_add(self.system).saturating_add(self.messages)
    }

    /// Tokens by which the window is exceeded.
    pub fn missing(&self) -> u64 {
        self.total().saturating_sub(self.window)
    }

    fn total(&self) -> u64 {
        self.input().saturating_add(self.margin).saturating_add(self.reserved)
    }
}

impl WindowFit {
    /// The tools to send, beside the client's own.
    pub fn tools<'s>(&'s self, pool: &'s ToolPool) -> impl Iterator<Item = &'s Function> {
        self.included.iter().map(|place| pool.function(*place)).chain(&self.search)
    }
}

/// The first model that the request fits into, with as many tools as there is room for. `models` is
/// in order of preference; a later one is selected only if its window is larger.
pub fn fit(
    window_request: &WindowRequest<'_>,
    models: &[ModelWindow<'_>],
) -> Result<WindowFit, ContextTooLongError> {
    // For the margin, tools are omitted and a larger model is selected. But it is no reason to
    // refuse a request that may fit: then the provider decides.
    first_of(window_request, models, VocabularyMargin::Reserved)
        .or_else(|_| first_of(window_request, models, VocabularyMargin::Waived))
}

/// Whether room is reserved for an unknown vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VocabularyMargin {
    Reserved,
    Waived,
}

fn first_of(
    window_request: &WindowRequest<'_>,
    models: &[ModelWindow<'_>],
    margin: VocabularyMargin,
) -> Result<WindowFit, ContextTooLongError> {
    let visible = visible(window_request);
    let mut tried: Vec<(String, WindowCounts)> = Vec::new();
    for (model, room) in models.iter().enumerate() {
        if tried.iter().any(|(_, counts)| counts.window >= room.window) {
            continue;
        }
        match fit_into(window_request, &visible, MeasuredWindow { room, margin }) {
            Ok(settled) => return Ok(settled.fit(window_request, model)),
            Err(counts) => tried.push((room.name.to_owned(), counts)),
        }
    }
    Err(ContextTooLongError { tried })
}

/// Indexes of the tools that are not hidden by a client's tool.
fn visible(window_request: &WindowRequest<'_>) -> Vec<usize> {
    let theirs: HashSet<&str> = window_request.request.client_tools().collect();
    let places = 0..window_request.pool.len();
    places.filter(|place| !theirs.contains(window_request.pool.name(*place))).collect()
}

/// A window being measured.
#[derive(Debug, Clone, Copy)]
struct MeasuredWindow<'a> {
    room: &'a ModelWindow<'a>,
    margin: VocabularyMargin,
}

fn fit_into(
    window_request: &WindowRequest<'_>,
    visible: &[usize],
    space: MeasuredWindow<'_>,
) -> Result<FittedTools, WindowCounts> {
    let (must, others) = split_pinned(window_request, visible);
    if window_request.search != ToolSearch::Always && visible.len() <= window_request.max_tools {
        let whole =
            ToolCandidates { must: must.clone(), may: others.clone(), ..ToolCandidates::default() };
        let settled =
            settle(window_request, &whole, space).ok().filter(|settled| settled.cut.is_empty());
        if let Some(settled) = settled {
            return Ok(settled);
        }
    }
    let candidates = match window_request.search {
        ToolSearch::Off => select_by_relevance(window_request, must, &others),
        ToolSearch::Auto | ToolSearch::Always => select_with_search(window_request, must, &others),
    };
    settle(window_request, &candidates, space)
}

/// The tools that are always shown, and all others, each ordered by name.
fn split_pinned(window_request: &WindowRequest<'_>, visible: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let named = match &window_request.request.tool_choice {
        ToolChoice::Named(name) => window_request.pool.place(name),
        _ => None,
    };
    visible
        .iter()
        .partition(|place| window_request.pool.is_pinned(**place) || named == Some(**place))
}

/// Tools that the model used before come first, then the most relevant ones.
fn select_by_relevance(
    window_request: &WindowRequest<'_>,
    must: Vec<usize>,
    others: &[usize],
) -> ToolCandidates {
    let others: HashSet<usize> = others.iter().copied().collect();
    let order = window_request.pool.index().order(&relevance::query(window_request.request));
    let mut seen = HashSet::new();
    let order = used_tools(window_request).into_iter().chain(order);
    let mut may: Vec<usize> =
        order.filter(|place| others.contains(place) && seen.insert(*place)).collect();
    let cut = may.split_off(window_request.max_tools.saturating_sub(must.len()).min(may.len()));
    ToolCandidates { must, may, cut, search: None }
}

/// Tools called in the conversation, latest first.
fn used_tools(window_request: &WindowRequest<'_>) -> Vec<usize> {
    let parts = window_request.request.messages.iter().rev().flat_map(|message| &message.parts);
    parts
        .filter_map(MessagePart::as_call)
        .filter_map(|call| window_request.pool.place(&call.name))
        .collect()
}

/// With a search tool: tools that were found or used, latest first. The model has to find the rest.
fn select_with_search(
    window_request: &WindowRequest<'_>,
    must: Vec<usize>,
    others: &[usize],
) -> ToolCandidates {
    let others: HashSet<usize> = others.iter().copied().collect();
    let found = window_request.disclosed.names().filter_map(|name| window_request.pool.place(name));
    let mut seen = HashSet::new();
    let mut may: Vec<usize> = found
        .chain(used_tools(window_request))
        .filter(|place| others.contains(place) && seen.insert(*place))
        .collect();
    let search = (may.len() < others.len()).then(|| search::tool(window_request));
    let spare = window_request.max_tools.saturating_sub(must.len() + usize::from(search.is_some()));
    let cut = may.split_off(spare.min(may.len()));
    ToolCandidates { must, may, cut, search }
}

/// The tools to show, before the window is considered.
#[derive(Default)]
struct ToolCandidates {
    must: Vec<usize>,
    /// Most relevant first.
    may: Vec<usize>,
    /// Beyond the maximum number of tools.
    cut: Vec<usize>,
    search: Option<Function>,
}

/// The tools that fit.
struct FittedTools {
    included: Vec<usize>,
    cut: Vec<usize>,
    search: Option<Function>,
    counts: WindowCounts,
}

impl FittedTools {
    fn fit(self, window_request: &WindowRequest<'_>, model: usize) -> WindowFit {
        let Self { mut included, mut cut, search, counts } = self;
        included.sort_unstable();
        cut.sort_unstable();
        let pruned =
            cut.into_iter().map(|place| window_request.pool.name(place).to_owned()).collect();
        WindowFit { model, included, pruned, search, counts }
    }
}

/// A set of tools measured against a window.
struct WeighedTools<'a> {
    request: &'a WindowRequest<'a>,
    candidates: &'a ToolCandidates,
    space: MeasuredWindow<'a>,
}

/// As many of the wanted tools as fit; if even the fixed part does not fit, the counts without any
/// optional tool.
fn settle(
    window_request: &WindowRequest<'_>,
    candidates: &ToolCandidates,
    space: MeasuredWindow<'_>,
) -> Result<FittedTools, WindowCounts> {
    let weighed = WeighedTools { request: window_request, candidates, space };
    let is_sure = weighed.count(CountPrecision::AtMost).missing() == 0;
    let mut counts = if is_sure {
        WindowCounts { margin: 0, ..weighed.count(CountPrecision::Estimated) }
    } else {
        weighed.count(CountPrecision::Exact)
    };
    let mut shown = candidates.may.len();
    while counts.missing() > 0 {
        let Some(last) = shown.checked_sub(1) else { return Err(counts) };
        counts.tools -= window_request.pool.tokens(candidates.may[last], counts.precision);
        counts.tools -= weighed.around(shown) - weighed.around(last);
        counts.margin = weighed.margin(&counts);
        shown = last;
    }
    let (may, cut) = candidates.may.split_at(shown);
    Ok(FittedTools {
        included: candidates.must.iter().chain(may).copied().collect(),
        cut: cut.iter().chain(&candidates.cut).copied().collect(),
        search: candidates.search.clone(),
        counts,
    })
}

impl WeighedTools<'_> {
    /// Counts with all wanted tools.
    fn count(&self, precision: CountPrecision) -> WindowCounts {
        let WindowRequest { request, pool, .. } = self.request;
        let ToolCandidates { must, may, search, .. } = self.candidates;
        let own = must.iter().chain(may).map(|place| pool.tokens(*place, precision));
        let search = search.iter().map(|tool| tokens::function(tool, precision));
        let theirs = tokens::tools(&request.tools, precision);
        let (system, messages) = tokens::conversation(request, precision);
        let asked_for = request.options.max_output.unwrap_or(u64::MAX);
        let mut counts = WindowCounts {
            window: self.space.room.window,
            tools: theirs + own.chain(search).sum::<u64>() + self.around(may.len()),
            system,
            messages,
            reserved: asked_for.min(self.space.room.max_output),
            margin: 0,
            precision,
        };
        counts.margin = self.margin(&counts);
        counts
    }

    /// An upper bound needs no margin: it holds for every vocabulary.
    fn margin(&self, counts: &WindowCounts) -> u64 {
        match (self.space.margin, counts.precision) {
            (VocabularyMargin::Reserved, CountPrecision::Estimated | CountPrecision::Exact) => {
                tokens::margin(counts.input(), self.space.room.dialect)
            }
            (VocabularyMargin::Waived, _) | (_, CountPrecision::AtMost) => 0,
        }
    }

    /// Overhead around the tools, with this many optional ones shown.
    fn around(&self, may: usize) -> u64 {
        let always = self.request.request.tools.len() + self.candidates.must.len();
        let search = usize::from(self.candidates.search.is_some());
        tokens::around_tools(always + search + may, self.space.room.dialect)
    }
}

#[cfg(test)]
mod tests;
