//! Tools as programs see them that models write: a global for each server, a function for each tool.
//!
//! Made of the tools of one view, for whoever runs programs. Pure: the same tools give the same
//! text, in whatever order they came.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde_json::value::{RawValue, to_raw_value};

use crate::id::{ExposedName, ServerId};
use crate::tool::Tool;

mod arguments;
mod identifier;
mod layers;
mod means;
mod parameters;

pub use means::Means;

use identifier::{Role, identifiers};
use parameters::{Need, Others, Parameters};

/// The tools of one view, as programs name them.
#[derive(Debug)]
pub struct Book {
    /// By id.
    servers: Vec<Server>,
    /// By server, then by name: where a tool stands here is how programs refer to it.
    entries: Vec<Entry>,
    by_exposed: HashMap<ExposedName, usize>,
    names: Box<RawValue>,
}

/// How tools are spread over the files that describe them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Binding {
    /// One file for each server.
    #[default]
    Server,
    Tool,
}

#[derive(Debug)]
struct Server {
    id: ServerId,
    identifier: String,
    tools: Range<usize>,
}

#[derive(Debug)]
struct Entry {
    tool: Arc<Tool>,
    /// Among the servers.
    server: usize,
    identifier: String,
    /// Read when the tool is used for the first time: programs use few of many.
    parameters: OnceLock<Parameters>,
}

impl Book {
    pub fn new(tools: &[Arc<Tool>]) -> Self {
        let mut sorted: Vec<&Arc<Tool>> = tools.iter().collect();
        sorted.sort_by_key(|tool| &tool.id);
        sorted.dedup_by_key(|tool| &tool.id);
        let mut servers: Vec<Server> = Vec::new();
        let mut entries: Vec<Entry> = Vec::new();
        for of_one in sorted.chunk_by(|one, two| one.id.server == two.id.server) {
            let Some(first) = of_one.first() else { continue };
            let from = entries.len();
            let names: Vec<&str> = of_one.iter().map(|tool| tool.id.tool.as_str()).collect();
            for (tool, identifier) in of_one.iter().zip(identifiers(&names, Role::Tool)) {
                let (tool, parameters) = (Arc::clone(tool), OnceLock::new());
                entries.push(Entry { tool, server: servers.len(), identifier, parameters });
            }
            let (id, identifier) = (first.id.server.clone(), String::new());
            servers.push(Server { id, identifier, tools: from..entries.len() });
        }
        let ids: Vec<&str> = servers.iter().map(|server| server.id.as_str()).collect();
        let spelled = identifiers(&ids, Role::Server);
        for (server, identifier) in servers.iter_mut().zip(spelled) {
            server.identifier = identifier;
        }
        let places = entries.iter().enumerate().map(|(at, it)| (it.tool.exposed.clone(), at));
        Self { by_exposed: places.collect(), names: names(&servers, &entries), servers, entries }
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
        self.by_exposed.get(exposed).map(|place| self.spelled(*place))
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
            let spelled = self.spelled(place);
            format!("{spelled}: {unfit}; it is {spelled}({})", outline(entry.parameters()))
        })
    }

    fn spelled(&self, place: usize) -> String {
        let entry = &self.entries[place];
        format!("{}.{}", self.servers[entry.server].identifier, entry.identifier)
    }
}

impl Entry {
    fn parameters(&self) -> &Parameters {
        self.parameters.get_or_init(|| Parameters::of(&self.tool.definition.input_schema))
    }
}

fn names(servers: &[Server], entries: &[Entry]) -> Box<RawValue> {
    let each = servers.iter().map(|server| {
        let tools = entries[server.tools.clone()].iter().map(|it| it.identifier.as_str());
        (server.identifier.as_str(), tools.collect::<Vec<_>>())
    });
    to_raw_value(&each.collect::<Vec<_>>()).expect("names are strings")
}

/// Names only: what may be left out has `=...` behind it.
fn outline(parameters: &Parameters) -> String {
    let each = parameters.all().iter().map(|it| match it.need {
        Need::Required => it.identifier.clone(),
        Need::Optional => format!("{}=...", it.identifier),
    });
    let others = (parameters.others == Others::Taken).then(|| "**others".to_owned());
    each.chain(others).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
