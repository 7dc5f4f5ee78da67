//! An agent's tools, ready to be chosen from: made once for a view, shared by all of its turns.
//! What is costly (the words, the counts) is made when it is first asked for, and kept.

use std::collections::HashMap;
use std::sync::OnceLock;

use tollgate_core::glob::{self, Glob};
use tollgate_core::relevance::{Index, Subject};

use crate::conversation::Function;
use crate::tokens::{self, Precision};

/// A tool that a model may be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub function: Function,
    /// For people; only its words count.
    pub title: Option<String>,
}

#[derive(Debug, Default)]
pub struct Stock {
    /// By name.
    tools: Vec<Stocked>,
    places: HashMap<String, usize>,
    index: OnceLock<Index>,
}

#[derive(Debug)]
struct Stocked {
    candidate: Candidate,
    standing: Standing,
    at_most: OnceLock<u64>,
    estimated: OnceLock<u64>,
    exact: OnceLock<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Shown whatever a turn is about.
    Pinned,
    Usual,
}

impl Stock {
    /// Of two tools of one name the first stays.
    pub fn new(candidates: impl IntoIterator<Item = Candidate>, pinned: &[Glob]) -> Self {
        let mut candidates: Vec<Candidate> = candidates.into_iter().collect();
        candidates.sort_by(|one, two| one.function.name.cmp(&two.function.name));
        candidates.dedup_by(|two, one| one.function.name == two.function.name);
        let name = |it: &Candidate| it.function.name.clone();
        let places = candidates.iter().enumerate().map(|(at, it)| (name(it), at)).collect();
        let tools = candidates.into_iter().map(|candidate| {
            let is_pinned = glob::any(pinned, &candidate.function.name);
            let standing = if is_pinned { Standing::Pinned } else { Standing::Usual };
            Stocked {
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

    /// The tool at this place; places are in the order of names.
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
        self.tools[place].standing == Standing::Pinned
    }

    /// Without what stands around it.
    pub fn tokens(&self, place: usize, precision: Precision) -> u64 {
        let stocked = &self.tools[place];
        let known = match precision {
            Precision::AtMost => &stocked.at_most,
            Precision::Estimated => &stocked.estimated,
            Precision::Exact => &stocked.exact,
        };
        *known.get_or_init(|| tokens::function(&stocked.candidate.function, precision))
    }

    /// The words of all tools.
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            Index::new(self.tools.iter().map(|stocked| {
                let Candidate { function, title } = &stocked.candidate;
                Subject {
                    name: &function.name,
                    title: title.as_deref(),
                    description: function.description.as_deref(),
                    parameters: function.parameters.as_ref(),
                }
            }))
        })
    }
}
