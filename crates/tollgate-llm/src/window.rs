//! What fits into a model's window: `available = window − tools − system − messages − reserved`.
//!
//! Tools that have least to do with the turn go first, then a larger model is taken, then the request
//! is refused with the numbers. Nothing that the client sent is ever left out. Called by the loop
//! before each round. Pure; asks nobody.

use std::collections::HashSet;

use tollgate_core::agent::ToolSearch;

use crate::conversation::{Function, Part, Request, ToolChoice};
use crate::dialect::Dialect;
use crate::relevance;
use crate::tokens::{self, Precision};

mod refusal;
pub mod search;
mod stock;

pub use refusal::TooLong;
pub use search::Disclosed;
pub use stock::{Candidate, Stock};

/// What is to be sent, and the tools that may go with it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// With its system prompt, and with the client's own tools: these are never left out, and hide
    /// tools of the same names.
    pub request: &'a Request,
    pub stock: &'a Stock,
    /// Of the stock, at once. Pinned tools are shown even if they are more.
    pub max_tools: usize,
    pub search: ToolSearch,
    /// What the model found so far.
    pub disclosed: &'a Disclosed,
}

/// A model, as far as room goes.
#[derive(Debug, Clone, Copy)]
pub struct Room<'a> {
    pub name: &'a str,
    pub window: u64,
    /// Reserved for the answer, unless the request asks for less.
    pub max_output: u64,
    /// In which the model is spoken to.
    pub dialect: Dialect,
}

/// What is sent, and to which model.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Its place in the agent's list.
    pub model: usize,
    /// Places in the stock, by name.
    pub kept: Vec<usize>,
    /// What the model would have been shown if there was room, by name.
    pub pruned: Vec<String>,
    /// The tool by which the model finds those that it was not shown.
    pub search: Option<Function>,
    pub counts: Counts,
}

/// Where the room goes, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    pub window: u64,
    pub tools: u64,
    pub system: u64,
    pub messages: u64,
    pub reserved: u64,
    /// What the model's own vocabulary may make more of it.
    pub margin: u64,
    pub precision: Precision,
}

impl Counts {
    pub fn input(&self) -> u64 {
        self.tools.saturating_add(self.system).saturating_add(self.messages)
    }

    /// What the window is short of.
    pub fn missing(&self) -> u64 {
        self.taken().saturating_sub(self.window)
    }

    fn taken(&self) -> u64 {
        self.input().saturating_add(self.margin).saturating_add(self.reserved)
    }
}

impl Fit {
    /// The tools to send, beside the client's own.
    pub fn tools<'s>(&'s self, stock: &'s Stock) -> impl Iterator<Item = &'s Function> {
        self.kept.iter().map(|place| stock.function(*place)).chain(&self.search)
    }
}

/// The first of the models that the request fits into, with as many of the tools as there is room
/// for. `models` in order of preference; a later one is taken only if its window is larger.
pub fn fit(asked: &Asked<'_>, models: &[Room<'_>]) -> Result<Fit, TooLong> {
    // For a margin tools are left out, and a larger model is taken. It is no reason to refuse what
    // may fit: then the provider has the last word.
    first_of(asked, models, Margin::Kept).or_else(|_| first_of(asked, models, Margin::Waived))
}

/// Whether room is left for a vocabulary that nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Margin {
    Kept,
    Waived,
}

fn first_of(asked: &Asked<'_>, models: &[Room<'_>], margin: Margin) -> Result<Fit, TooLong> {
    let visible = visible(asked);
    let mut tried: Vec<(String, Counts)> = Vec::new();
    for (model, room) in models.iter().enumerate() {
        if tried.iter().any(|(_, counts)| counts.window >= room.window) {
            continue;
        }
        match fit_into(asked, &visible, Space { room, margin }) {
            Ok(settled) => return Ok(settled.fit(asked, model)),
            Err(counts) => tried.push((room.name.to_owned(), counts)),
        }
    }
    Err(TooLong { tried })
}

/// The places of the tools that no client's tool hides.
fn visible(asked: &Asked<'_>) -> Vec<usize> {
    let theirs: HashSet<&str> = asked.request.client_tools().collect();
    let places = 0..asked.stock.len();
    places.filter(|place| !theirs.contains(asked.stock.name(*place))).collect()
}

/// One room, as it is measured.
#[derive(Debug, Clone, Copy)]
struct Space<'a> {
    room: &'a Room<'a>,
    margin: Margin,
}

fn fit_into(asked: &Asked<'_>, visible: &[usize], space: Space<'_>) -> Result<Settled, Counts> {
    let (must, others) = must(asked, visible);
    if asked.search != ToolSearch::Always && visible.len() <= asked.max_tools {
        let whole = Wanted { must: must.clone(), may: others.clone(), ..Wanted::default() };
        let settled = settle(asked, &whole, space).ok().filter(|settled| settled.cut.is_empty());
        if let Some(settled) = settled {
            return Ok(settled);
        }
    }
    let wanted = match asked.search {
        ToolSearch::Off => ranked(asked, must, &others),
        ToolSearch::Auto | ToolSearch::Always => searched(asked, must, &others),
    };
    settle(asked, &wanted, space)
}

/// The tools that are shown in any case, and all others, each by name.
fn must(asked: &Asked<'_>, visible: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let named = match &asked.request.tool_choice {
        ToolChoice::Named(name) => asked.stock.place(name),
        _ => None,
    };
    visible.iter().partition(|place| asked.stock.is_pinned(**place) || named == Some(**place))
}

/// What the model used before comes first, then what has most to do with the turn.
fn ranked(asked: &Asked<'_>, must: Vec<usize>, others: &[usize]) -> Wanted {
    let others: HashSet<usize> = others.iter().copied().collect();
    let order = asked.stock.index().order(&relevance::query(asked.request));
    let mut seen = HashSet::new();
    let order = used(asked).into_iter().chain(order);
    let mut may: Vec<usize> =
        order.filter(|place| others.contains(place) && seen.insert(*place)).collect();
    let cut = may.split_off(asked.max_tools.saturating_sub(must.len()).min(may.len()));
    Wanted { must, may, cut, search: None }
}

/// The tools that the conversation has calls of, the latest first.
fn used(asked: &Asked<'_>) -> Vec<usize> {
    let parts = asked.request.messages.iter().rev().flat_map(|message| &message.parts);
    parts.filter_map(Part::as_call).filter_map(|call| asked.stock.place(&call.name)).collect()
}

/// With a search: what was found or used, the latest first. The rest is for the model to find.
fn searched(asked: &Asked<'_>, must: Vec<usize>, others: &[usize]) -> Wanted {
    let others: HashSet<usize> = others.iter().copied().collect();
    let found = asked.disclosed.names().filter_map(|name| asked.stock.place(name));
    let mut seen = HashSet::new();
    let mut may: Vec<usize> = found
        .chain(used(asked))
        .filter(|place| others.contains(place) && seen.insert(*place))
        .collect();
    let search = (may.len() < others.len()).then(|| search::tool(asked));
    let spare = asked.max_tools.saturating_sub(must.len() + usize::from(search.is_some()));
    let cut = may.split_off(spare.min(may.len()));
    Wanted { must, may, cut, search }
}

/// What is to be shown, before anybody looked at the room.
#[derive(Default)]
struct Wanted {
    must: Vec<usize>,
    /// The most relevant first.
    may: Vec<usize>,
    /// Too many already.
    cut: Vec<usize>,
    search: Option<Function>,
}

/// What there is room for.
struct Settled {
    kept: Vec<usize>,
    cut: Vec<usize>,
    search: Option<Function>,
    counts: Counts,
}

impl Settled {
    fn fit(self, asked: &Asked<'_>, model: usize) -> Fit {
        let Self { mut kept, mut cut, search, counts } = self;
        kept.sort_unstable();
        cut.sort_unstable();
        let pruned = cut.into_iter().map(|place| asked.stock.name(place).to_owned()).collect();
        Fit { model, kept, pruned, search, counts }
    }
}

/// One set of tools that is weighed against one room.
struct Weighed<'a> {
    asked: &'a Asked<'a>,
    wanted: &'a Wanted,
    space: Space<'a>,
}

/// As many of the wanted tools as there is room for; the counts without any that may go if there
/// is none.
fn settle(asked: &Asked<'_>, wanted: &Wanted, space: Space<'_>) -> Result<Settled, Counts> {
    let weighed = Weighed { asked, wanted, space };
    let is_sure = weighed.count(Precision::AtMost).missing() == 0;
    let mut counts = match is_sure {
        true => Counts { margin: 0, ..weighed.count(Precision::Estimated) },
        false => weighed.count(Precision::Exact),
    };
    let mut shown = wanted.may.len();
    while counts.missing() > 0 {
        let Some(last) = shown.checked_sub(1) else { return Err(counts) };
        counts.tools -= asked.stock.tokens(wanted.may[last], counts.precision);
        counts.tools -= weighed.around(shown) - weighed.around(last);
        counts.margin = weighed.margin(&counts);
        shown = last;
    }
    let (may, cut) = wanted.may.split_at(shown);
    Ok(Settled {
        kept: wanted.must.iter().chain(may).copied().collect(),
        cut: cut.iter().chain(&wanted.cut).copied().collect(),
        search: wanted.search.clone(),
        counts,
    })
}

impl Weighed<'_> {
    /// With all that is wanted.
    fn count(&self, precision: Precision) -> Counts {
        let Asked { request, stock, .. } = self.asked;
        let Wanted { must, may, search, .. } = self.wanted;
        let own = must.iter().chain(may).map(|place| stock.tokens(*place, precision));
        let search = search.iter().map(|tool| tokens::function(tool, precision));
        let theirs = tokens::tools(&request.tools, precision);
        let (system, messages) = tokens::conversation(request, precision);
        let asked_for = request.options.max_output.unwrap_or(u64::MAX);
        let mut counts = Counts {
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

    /// A bound needs none: it holds for every vocabulary.
    fn margin(&self, counts: &Counts) -> u64 {
        match (self.space.margin, counts.precision) {
            (Margin::Kept, Precision::Estimated | Precision::Exact) => {
                tokens::margin(counts.input(), self.space.room.dialect)
            }
            (Margin::Waived, _) | (_, Precision::AtMost) => 0,
        }
    }

    /// What stands around the tools, if so many of those that may go are shown.
    fn around(&self, may: usize) -> u64 {
        let always = self.asked.request.tools.len() + self.wanted.must.len();
        let search = usize::from(self.wanted.search.is_some());
        tokens::around_tools(always + search + may, self.space.room.dialect)
    }
}

#[cfg(test)]
mod tests;
