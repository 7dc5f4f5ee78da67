//! Whether a tool may be probed, and with which arguments: the operator's, or the least that its
//! schema takes. Called by the calibrator. Decides only; nothing is sent from here.

use serde_json::Value;

use crate::schema::Schema;
use crate::tool::{Approval, Effect, Terms, Tool};

mod document;
mod fits;
mod form;
mod list;
mod maker;
mod number;
mod object;
mod pattern;
mod place;
mod text;

use document::Document;
use maker::Maker;

/// Arguments with which a tool may be called to see how long it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    pub arguments: Value,
    pub origin: Origin,
}

/// Who thought of the arguments: an error that answers made-up ones says nothing of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Operator,
    MadeUp,
}

/// Why a tool is not probed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhyNot {
    #[error("not probed: it may have side effects; give `probe:` arguments")]
    MayHaveEffects,
    /// The server says that it only reads, and is not believed.
    #[error(
        "not probed: it may have side effects; give `probe:` arguments or mark the server trusted"
    )]
    NotBelieved,
    #[error("not probed: a person has to agree to its calls; give `probe:` arguments")]
    NeedsApproval,
    /// Any server may say so: it is called less, not more.
    #[error("not probed: it asks somebody outside; give `probe:` arguments")]
    Declined,
    #[error("not probed: its `probe:` arguments do not fit its schema: {0}")]
    Unfit(String),
    #[error("not probed: no arguments could be made up: {0}; give `probe:` arguments")]
    Unmakeable(#[from] Unmakeable),
}

/// Why no arguments can be made up for a schema. `at` is a JSON pointer into them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unmakeable {
    #[error("{} needs a text that matches `{pattern}`", place::named(.at))]
    Pattern { at: String, pattern: String },
    #[error("{} cannot be satisfied: {why}", place::named(.at))]
    Contradiction { at: String, why: String },
    #[error("nothing was found that fits {}", place::named(.at))]
    NothingFits { at: String },
    #[error("{} is recursive: it needs itself inside itself, without end", place::named(.at))]
    Recursive { at: String },
    #[error("{} needs {what}, which is too much for a probe", place::named(.at))]
    TooLarge { at: String, what: String },
    #[error("it would take too much work")]
    TooMuchWork,
    /// A keyword that only the compiled schema understands.
    #[error("what was made does not fit: {0}")]
    Unfit(String),
}

/// The arguments for a probe of this tool, or why there must not be one.
pub fn of(tool: &Tool) -> Result<Probe, WhyNot> {
    let hints = &tool.definition.annotations;
    let says_it_reads = hints.read_only == Some(true) && hints.destructive != Some(true);
    let permission = may_probe(&tool.terms).map_err(|why| match why {
        WhyNot::MayHaveEffects if says_it_reads => WhyNot::NotBelieved,
        why => why,
    });
    match permission? {
        Permission::With(given) => match tool.input.check(given) {
            Ok(()) => Ok(Probe { arguments: given.clone(), origin: Origin::Operator }),
            Err(violations) => Err(WhyNot::Unfit(first(&violations))),
        },
        Permission::MadeUp if tool.definition.declared.probe == Some(false) => {
            Err(WhyNot::Declined)
        }
        Permission::MadeUp => {
            let arguments = arguments(&tool.definition.input_schema, &tool.input)?;
            Ok(Probe { arguments, origin: Origin::MadeUp })
        }
    }
}

/// What a tool may be probed with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Permission<'a> {
    With(&'a Value),
    /// It only reads, as far as that is believed: any arguments will do.
    MadeUp,
}

/// The operator's `probe:` is the operator's word. Without it only what reads may be called.
pub fn may_probe(terms: &Terms) -> Result<Permission<'_>, WhyNot> {
    match (&terms.probe, terms.effect, terms.approval) {
        (Some(given), _, _) => Ok(Permission::With(given)),
        (None, Effect::Mutating | Effect::Destructive, _) => Err(WhyNot::MayHaveEffects),
        (None, Effect::ReadOnly, Approval::Always) => Err(WhyNot::NeedsApproval),
        (None, Effect::ReadOnly, Approval::Auto | Approval::Never) => Ok(Permission::MadeUp),
    }
}

/// The least that `schema` takes: always the same, and checked against the compiled schema.
pub fn arguments(schema: &Value, compiled: &Schema) -> Result<Value, Unmakeable> {
    let document = Document::of(schema);
    let made = Maker { document: &document }.whole()?;
    match compiled.check(&made) {
        Ok(()) => Ok(made),
        Err(violations) => Err(Unmakeable::Unfit(first(&violations))),
    }
}

fn first(violations: &[crate::schema::Violation]) -> String {
    violations.first().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests;
