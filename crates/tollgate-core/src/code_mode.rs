//! Code mode: presents the tools of one view to programs written by models, as one global per
//! server and one function per tool.
//!
//! Pure: the same tools give the same text, in any order.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde_json::value::{RawValue, to_raw_value};

use crate::id::{ExposedName, ServerId, ToolId};
use crate::relevance::RelevanceIndex;
use crate::tool::Tool;

mod arguments;
mod classes;
mod comment_text;
mod constraint_notes;
mod docs;
mod files;
mod identifier;
mod learned_shape;
mod literal;
mod meta_tools;
mod parameters;
mod py_type;
mod result_shape;
mod schema_layers;
mod schema_reader;
mod search;
mod signature;
mod type_detail;

pub use arguments::CallArgumentsError;
pub use learned_shape::LearnedShape;
pub use meta_tools::MetaTool;
pub use result_shape::ResultShape;

use identifier::{IdentifierRole, identifiers};
use parameters::Parameters;
use signature::SignatureWriter;
use type_detail::TypeDetail;

/// Learned result shapes, for tools without an output schema.
pub type ShapeLookup<'s> = &'s dyn Fn(&ToolId) -> Option<Arc<ResultShape>>;

/// A call of a program that cannot be made. Its message is for the author of the program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramCallError {
    #[error("there is no such tool")]
    NoSuchTool,
    #[error("{tool}: {cause}; it is {signature}")]
    Arguments { tool: String, cause: CallArgumentsError, signature: String },
}

/// A name that the API does not have. Its message suggests names that exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownNameError {
    #[error("there is no file `{name}`{hint}")]
    File { name: String, hint: String },
    #[error("there is no server `{name}`; {hint}")]
    Server { name: String, hint: String },
    #[error("`{server}` has no tool `{name}`; {hint}")]
    Tool { server: String, name: String, hint: String },
}

/// The tools of one view, under the names that programs use.
#[derive(Debug)]
pub struct CodeModeApi {
    /// Sorted by id.
    servers: Vec<CodeModeServer>,
    /// Sorted by server, then by name; programs refer to a tool by its index here.
    entries: Vec<CodeModeTool>,
    by_exposed: HashMap<ExposedName, usize>,
    names: Box<RawValue>,
    index: OnceLock<RelevanceIndex>,
}

/// How tools are distributed over stub files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BindingLevel {
    /// One file per server.
    #[default]
    Server,
    Tool,
}

#[derive(Debug)]
struct CodeModeServer {
    id: ServerId,
    identifier: String,
    tools: Range<usize>,
}

#[derive(Debug)]
struct CodeModeTool {
    tool: Arc<Tool>,
    /// Index into the servers.
    server: usize,
    identifier: String,
    /// Parsed on first use: a program uses few of many tools.
    parameters: OnceLock<Parameters>,
}

impl CodeModeApi {
    pub fn new(tools: &[Arc<Tool>]) -> Self {
        let mut sorted: Vec<&Arc<Tool>> = tools.iter().collect();
        sorted.sort_by_key(|tool| &tool.id);
        sorted.dedup_by_key(|tool| &tool.id);
        let mut servers: Vec<CodeModeServer> = Vec::new();
        let mut entries: Vec<CodeModeTool> = Vec::new();
        for of_one in sorted.chunk_by(|one, two| one.id.server == two.id.server) {
            let Some(first) = of_one.first() else { continue };
            let from = entries.len();
            let names: Vec<&str> = of_one.iter().map(|tool| tool.id.tool.as_str()).collect();
            for (tool, identifier) in of_one.iter().zip(identifiers(&names, IdentifierRole::Tool)) {
                let tool = Arc::clone(tool);
                let parameters = OnceLock::new();
                entries.push(CodeModeTool { tool, server: servers.len(), identifier, parameters });
            }
            let id = first.id.server.clone();
            let identifier = String::new();
            servers.push(CodeModeServer { id, identifier, tools: from..entries.len() });
        }
        let ids: Vec<&str> = servers.iter().map(|server| server.id.as_str()).collect();
        let spelled = identifiers(&ids, IdentifierRole::Server);
        for (server, identifier) in servers.iter_mut().zip(spelled) {
            server.identifier = identifier;
        }
        let places = entries.iter().enumerate().map(|(at, it)| (it.tool.exposed.clone(), at));
        let by_exposed = places.collect();
        let names = names(&servers, &entries);
        Self { servers, entries, by_exposed, names, index: OnceLock::new() }
    }

    /// Servers with their tools, in the format for a worker: `[["github",["get_issue"]]]`.
    pub fn names(&self) -> &RawValue {
        &self.names
    }

    /// The tool at an index that counts through all servers.
    pub fn tool(&self, place: usize) -> Option<&Arc<Tool>> {
        self.entries.get(place).map(|entry| &entry.tool)
    }

    /// The spelling of a tool in programs: `github.get_issue`.
    pub fn spelling(&self, exposed: &str) -> Option<String> {
        self.by_exposed.get(exposed).map(|place| self.qualified_name(*place))
    }

    /// Maps the arguments of a call: by name, by position in the signature, or all in one
    /// dictionary.
    pub fn arguments(
        &self,
        place: usize,
        positional: &[Box<RawValue>],
        named: &RawValue,
    ) -> Result<Box<RawValue>, ProgramCallError> {
        let entry = self.entries.get(place).ok_or(ProgramCallError::NoSuchTool)?;
        let found = arguments::arguments(entry.parameters(), positional, named);
        found.map_err(|cause| {
            let spelled = self.qualified_name(place);
            let signature = SignatureWriter::new(TypeDetail::Brief, &|_| None).signature(entry);
            ProgramCallError::Arguments {
                cause,
                signature: signature.call(&spelled),
                tool: spelled,
            }
        })
    }

    /// By its identifier or its config name, ignoring case and separators.
    fn find_server(&self, name: &str) -> Option<usize> {
        let names = self.servers.iter().map(|it| [it.identifier.as_str(), it.id.as_str()]);
        match_name(name, names)
    }

    /// Likewise for a tool of one server; returns its index among all tools.
    fn find_tool(&self, server: usize, name: &str) -> Option<usize> {
        let tools = self.servers[server].tools.clone();
        let names = self.entries[tools.clone()].iter();
        let found =
            match_name(name, names.map(|it| [it.identifier.as_str(), it.tool.id.tool.as_str()]));
        found.map(|at| tools.start + at)
    }

    fn qualified_name(&self, place: usize) -> String {
        let entry = &self.entries[place];
        format!("{}.{}", self.servers[entry.server].identifier, entry.identifier)
    }
}

impl CodeModeTool {
    fn parameters(&self) -> &Parameters {
        self.parameters.get_or_init(|| Parameters::of(&self.tool.definition.input_schema))
    }
}

/// Resolves a name: an exact match, or else the only approximate one.
fn match_name<'n>(name: &str, all: impl Iterator<Item = [&'n str; 2]> + Clone) -> Option<usize> {
    if let Some(exact) = all.clone().position(|names| names.contains(&name)) {
        return Some(exact);
    }
    let fold = |name: &str| name.to_ascii_lowercase().replace(['-', '.', ' ', '/'], "_");
    let requested = fold(name);
    let mut near =
        all.enumerate().filter(|(_, names)| names.iter().any(|it| fold(it) == requested));
    let (at, _) = near.next()?;
    near.next().is_none().then_some(at)
}

fn names(servers: &[CodeModeServer], entries: &[CodeModeTool]) -> Box<RawValue> {
    let each = servers.iter().map(|server| {
        let tools = entries[server.tools.clone()].iter().map(|it| it.identifier.as_str());
        (server.identifier.as_str(), tools.collect::<Vec<_>>())
    });
    to_raw_value(&each.collect::<Vec<_>>()).expect("names are strings")
}

#[cfg(test)]
mod tests;
