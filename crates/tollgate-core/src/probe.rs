//! Probes (measurement calls): whether a tool may be probed, and with which arguments, the
//! operator's or minimal ones generated from its schema. Used by the calibrator. Pure: sends
//! nothing.

use serde_json::Value;

use crate::schema::Schema;
use crate::tool::{ApprovalMode, CallTerms, Tool, ToolEffect};

mod combined_schemas;
mod document;
mod fit_check;
mod generator;
mod list;
mod number;
mod object;
mod pattern;
mod text;
mod value_path;

use document::SchemaDocument;
use generator::ProbeGenerator;

/// Maximum characters of a generated text, so that a probe is not a load on the server.
const MAX_TEXT_CHARS: usize = 10_000;

/// Arguments for a latency measurement of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeArguments {
    pub arguments: Value,
    pub origin: ProbeOrigin,
}

/// The source of the arguments: an error in response to generated ones says nothing about the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeOrigin {
    Operator,
    MadeUp,
}

/// Why a tool is not probed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotProbedError {
    #[error("not probed: it may have side effects; set `probe:` arguments")]
    MayHaveEffects,
    /// The server declares the tool read-only, but is not trusted.
    #[error(
        "not probed: it may have side effects; set `probe:` arguments or mark the server trusted"
    )]
    NotBelieved,
    #[error("not probed: its calls require approval; set `probe:` arguments")]
    NeedsApproval,
    /// Accepted from any server, since it only reduces calls.
    #[error("not probed: it contacts external systems; set `probe:` arguments")]
    Declined,
    #[error("not probed: its `probe:` arguments do not fit its schema: {0}")]
    Unfit(String),
    #[error("not probed: no arguments could be generated: {0}; set `probe:` arguments")]
    Unmakeable(#[from] ProbeSynthesisError),
}

/// Why no arguments can be generated for a schema. `at` is a JSON pointer into them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeSynthesisError {
    #[error("{} needs a text that matches `{pattern}`", value_path::describe_pointer(.at))]
    Pattern { at: String, pattern: String },
    #[error("{} cannot be satisfied: {why}", value_path::describe_pointer(.at))]
    Contradiction { at: String, why: String },
    #[error("no value found that fits {}", value_path::describe_pointer(.at))]
    NothingFits { at: String },
    #[error("{} is infinitely recursive", value_path::describe_pointer(.at))]
    Recursive { at: String },
    #[error("{} needs {what}, which is too much for a probe", value_path::describe_pointer(.at))]
    TooLarge { at: String, what: String },
    #[error("generating arguments would take too long")]
    TooMuchWork,
    /// A keyword that only the compiled schema supports.
    #[error("the generated arguments do not fit the schema: {0}")]
    Unfit(String),
}

/// The arguments for a probe of this tool, or why it must not be probed.
pub fn of(tool: &Tool) -> Result<ProbeArguments, NotProbedError> {
    let hints = &tool.definition.annotations;
    let says_it_reads = hints.read_only == Some(true) && hints.destructive != Some(true);
    let permission = may_probe(&tool.terms).map_err(|why| match why {
        NotProbedError::MayHaveEffects if says_it_reads => NotProbedError::NotBelieved,
        why => why,
    });
    match permission? {
        ProbePermission::With(given) => match tool.input.check(given) {
            Ok(()) => {
                Ok(ProbeArguments { arguments: given.clone(), origin: ProbeOrigin::Operator })
            }
            Err(violations) => Err(NotProbedError::Unfit(first(&violations))),
        },
        ProbePermission::MadeUp if tool.definition.declared.probe == Some(false) => {
            Err(NotProbedError::Declined)
        }
        ProbePermission::MadeUp => {
            let arguments = arguments(&tool.definition.input_schema, &tool.input)?;
            Ok(ProbeArguments { arguments, origin: ProbeOrigin::MadeUp })
        }
    }
}

/// The arguments that a tool may be probed with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ProbePermission<'a> {
    With(&'a Value),
    /// Read-only according to a trusted source: any arguments are acceptable.
    MadeUp,
}

/// The operator's `probe:` is an explicit permission. Without it only read-only tools are probed.
pub fn may_probe(terms: &CallTerms) -> Result<ProbePermission<'_>, NotProbedError> {
    match (&terms.probe, terms.effect, terms.approval) {
        (Some(given), _, _) => Ok(ProbePermission::With(given)),
        (None, ToolEffect::Mutating | ToolEffect::Destructive, _) => {
            Err(NotProbedError::MayHaveEffects)
        }
        (None, ToolEffect::ReadOnly, ApprovalMode::Always) => Err(NotProbedError::NeedsApproval),
        (None, ToolEffect::ReadOnly, ApprovalMode::Auto | ApprovalMode::Never) => {
            Ok(ProbePermission::MadeUp)
        }
    }
}

/// The minimal value for `schema`: deterministic, and validated against the compiled schema.
pub fn arguments(schema: &Value, compiled: &Schema) -> Result<Value, ProbeSynthesisError> {
    let document = SchemaDocument::of(schema);
    let made = ProbeGenerator { document: &document }.whole()?;
    match compiled.check(&made) {
        Ok(()) => Ok(made),
        Err(violations) => Err(ProbeSynthesisError::Unfit(first(&violations))),
    }
}

fn first(violations: &[crate::schema::Violation]) -> String {
    violations.first().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests;
