//! What each query of the benchmark asks for, as steps: tools that are called, what is taken from
//! their answers, where it goes.
//!
//! Both ways of working follow the same plan. Read from the files of queries; knows nothing of
//! models.

use serde_json::{Map, Value};

use super::inventory::{self, ToolRef};

mod parse;
mod sinks;

pub(super) use parse::queries;

pub(super) type PlanArguments = Map<String, Value>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum QueryClass {
    Simple,
    Medium,
    Hard,
    /// Errors, vague wishes, long chains.
    Edge,
}

impl QueryClass {
    pub(super) const ALL: [Self; 4] = [Self::Simple, Self::Medium, Self::Hard, Self::Edge];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Medium => "medium",
            Self::Hard => "hard",
            Self::Edge => "edge",
        }
    }
}

#[derive(Debug)]
pub(super) struct PlannedQuery {
    pub(super) id: String,
    pub(super) class: QueryClass,
    pub(super) text: String,
    pub(super) steps: Vec<PlanStep>,
}

#[derive(Debug)]
pub(super) struct PlanStep {
    pub(super) name: String,
    pub(super) kind: PlanStepKind,
    pub(super) tool: ToolRef,
    /// With `@field` for a value of the item, and `#step` for the id that a step gave.
    pub(super) arguments: PlanArguments,
    /// Steps that must be over before.
    pub(super) after: Vec<usize>,
    pub(super) each: Option<ForEachItem>,
    pub(super) taken: Extraction,
}

#[derive(Debug, PartialEq)]
pub(super) enum PlanStepKind {
    /// Values that a program can handle without anybody reading them.
    Take,
    /// Text that only makes sense to who reads it.
    Read,
    /// Changes something, and gives an id.
    Act,
    /// The tool fails, saying this.
    Fails(String),
    /// Puts what other steps took somewhere.
    Write(WriteSink),
}

/// Once for each item of another step.
#[derive(Debug, Clone, Copy)]
pub(super) struct ForEachItem {
    pub(super) of: usize,
    pub(super) most: usize,
}

/// What is taken from an answer.
#[derive(Debug, Default)]
pub(super) struct Extraction {
    /// `None`: the answer itself is the one item.
    pub(super) list: Option<String>,
    pub(super) most: Option<usize>,
    pub(super) fields: Vec<ExtractedField>,
}

#[derive(Debug)]
pub(super) struct ExtractedField {
    /// `@`: the item itself.
    pub(super) name: String,
    /// Of a long text, so much.
    pub(super) most: Option<usize>,
}

#[derive(Debug, PartialEq)]
pub(super) struct WriteSink {
    pub(super) form: WriteForm,
    pub(super) sources: Vec<usize>,
}

#[derive(Debug, PartialEq)]
pub(super) enum WriteForm {
    /// All of it as the text of this argument.
    Text { argument: &'static str },
    /// As rows of a table.
    Insert { table: String },
    /// As rows below these heads.
    Values { heads: Vec<String> },
    /// All of it as the text of one page.
    Page { title: String },
    /// Each item as a page.
    Pages,
    /// Each item as a file of its own, numbered.
    Files { name: String },
}

impl PlannedQuery {
    /// What the answer has to say: what was asked for and is put nowhere.
    pub(super) fn reported_steps(&self) -> impl Iterator<Item = usize> {
        (0..self.steps.len()).filter(|at| self.is_reported(*at))
    }

    fn is_reported(&self, at: usize) -> bool {
        let step = &self.steps[at];
        if matches!(step.kind, PlanStepKind::Act | PlanStepKind::Write(_)) {
            return false;
        }
        let is_key = |field: &ExtractedField| {
            matches!(field.name.as_str(), "@" | "id" | "objectID" | "url" | "path")
        };
        let is_only_key = step.taken.fields.iter().all(is_key);
        let is_used = |other: &PlanStep| match &other.kind {
            PlanStepKind::Write(sink) => sink.sources.contains(&at),
            _ => is_only_key && other.each.is_some_and(|each| each.of == at),
        };
        !self.steps.iter().any(is_used)
    }

    /// Each once, in the order in which they are needed.
    pub(super) fn tools(&self) -> Vec<&ToolRef> {
        let mut tools: Vec<&ToolRef> = Vec::new();
        for step in &self.steps {
            if !tools.contains(&&step.tool) {
                tools.push(&step.tool);
            }
        }
        tools
    }
}

impl PlanStep {
    /// Steps whose ids stand in the arguments.
    pub(super) fn references(&self) -> impl Iterator<Item = &str> {
        self.arguments.values().filter_map(reference)
    }
}

/// The step whose id this stands for.
pub(super) fn reference(value: &Value) -> Option<&str> {
    value.as_str()?.strip_prefix('#').filter(|name| !name.starts_with(' '))
}

/// The place of the step called `name`.
fn step_position(steps: &[PlanStep], name: &str) -> usize {
    steps.iter().position(|step| step.name == name).expect("a step above")
}

impl Extraction {
    /// The id.
    fn of_act(field: &str) -> Self {
        let field = ExtractedField { name: field.to_owned(), most: None };
        Self { list: None, most: None, fields: vec![field] }
    }
}
