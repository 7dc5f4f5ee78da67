//! Code mode: tools as programs see them that models write, a global for each server, a function
//! for each tool.
//!
//! Made of the tools of one view, for whoever runs programs. Pure: the same tools give the same
//! text, in whatever order they came.

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

pub use learned_shape::LearnedShape;
pub use meta_tools::MetaTool;
pub use result_shape::ResultShape;

use identifier::{IdentifierRole, identifiers};
use parameters::Parameters;
use schema_reader::TypeDetail;
use signature::SignatureWriter;

/// What the results of a tool looked like, for tools that do not say what they return.
pub type ShapeLookup<'s> = &'s dyn Fn(&ToolId) -> Option<Arc<ResultShape>>;

/// The tools of one view, as programs name them.
#[derive(Debug)]
pub struct CodeModeApi {
    /// By id.
    servers: Vec<CodeModeServer>,
    /// By server, then by name: where a tool stands here is how programs refer to it.
    entries: Vec<CodeModeTool>,
    by_exposed: HashMap<ExposedName, usize>,
    names: Box<RawValue>,
    index: OnceLock<RelevanceIndex>,
}

/// How tools are spread over the files that describe them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BindingLevel {
    /// One file for each server.
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
    /// Among the servers.
    server: usize,
    identifier: String,
    /// Read when the tool is used for the first time: programs use few of many.
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
                let (tool, parameters) = (Arc::clone(tool), OnceLock::new());
                entries.push(CodeModeTool { tool, server: servers.len(), identifier, parameters });
            }
            let (id, identifier) = (first.id.server.clone(), String::new());
            servers.push(CodeModeServer { id, identifier, tools: from..entries.len() });
        }
        let ids: Vec<&str> = servers.iter().map(|server| server.id.as_str()).collect();
        let spelled = identifiers(&ids, IdentifierRole::Server);
        for (server, identifier) in servers.iter_mut().zip(spelled) {
            server.identifier = identifier;
        }
        let places = entries.iter().enumerate().map(|(at, it)| (it.tool.exposed.clone(), at));
        let (by_exposed, names) = (places.collect(), names(&servers, &entries));
        Self { servers, entries, by_exposed, names, index: OnceLock::new() }
    }

    /// Servers, each with its tools, as a worker wants them: `[["github",["get_issue"]]]`.
    pub fn names(&self) -> &RawValue {
        &self.names
    }

    /// The tool at a place among the tools of all servers, counted through.
    pub fn tool(&self, place: usize) -> Option<&Arc<Tool>> {
        self.entries.get(place).map(|entry| &entry.tool)
    }

    /// How a program writes a tool: `github.get_issue`.
    pub fn spelling(&self, exposed: &str) -> Option<String> {
        self.by_exposed.get(exposed).map(|place| self.qualified_name(*place))
    }

    /// The arguments of a call: by name, by place in the order of the signature, or all in one
    /// dictionary. Fails with words for whoever wrote the program.
    pub fn arguments(
        &self,
        place: usize,
        positional: &[Box<RawValue>],
        named: &RawValue,
    ) -> Result<Box<RawValue>, String> {
        let entry = self.entries.get(place).ok_or("there is no such tool")?;
        let found = arguments::arguments(entry.parameters(), positional, named);
        found.map_err(|unfit| {
            let spelled = self.qualified_name(place);
            let signature = SignatureWriter::new(TypeDetail::Brief, &|_| None).signature(entry);
            format!("{spelled}: {unfit}; it is {}", signature.call(&spelled))
        })
    }

    /// By what it is called in programs or in the config; case and separators do not matter.
    fn find_server(&self, name: &str) -> Option<usize> {
        let names = self.servers.iter().map(|it| [it.identifier.as_str(), it.id.as_str()]);
        match_name(name, names)
    }

    /// The same for a tool of one server: its place among all.
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

/// Which of these is meant: the one that is called so, or else the only one that nearly is.
fn match_name<'n>(name: &str, all: impl Iterator<Item = [&'n str; 2]> + Clone) -> Option<usize> {
    if let Some(exact) = all.clone().position(|names| names.contains(&name)) {
        return Some(exact);
    }
    let fold = |name: &str| name.to_ascii_lowercase().replace(['-', '.', ' ', '/'], "_");
    let wanted = fold(name);
    let mut near = all.enumerate().filter(|(_, names)| names.iter().any(|it| fold(it) == wanted));
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
