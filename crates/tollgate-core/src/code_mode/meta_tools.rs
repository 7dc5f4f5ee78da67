//! Definitions of the five meta tools of code mode, through which a model reaches all other tools.
//! They are part of every prompt, so the texts are short. Served by the runner of programs.

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetaTool {
    ListFiles,
    ReadFile,
    Docs,
    Execute,
    Search,
}

impl MetaTool {
    pub const ALL: [Self; 5] =
        [Self::ListFiles, Self::ReadFile, Self::Docs, Self::Execute, Self::Search];

    /// Default and maximum number of search hits.
    pub const USUAL_HITS: u64 = 5;
    pub const MAX_HITS: u64 = 20;

    pub fn name(self) -> &'static str {
        match self {
            Self::ListFiles => "listToolFiles",
            Self::ReadFile => "readToolFile",
            Self::Docs => "getToolDocs",
            Self::Execute => "executeToolCode",
            Self::Search => "searchTools",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// The definition as a server lists it.
    pub fn definition(self) -> Value {
        let (title, description) = self.words();
        json!({
            "name": self.name(),
            "title": title,
            "description": description,
            "inputSchema": self.input(),
            "annotations": self.annotations(),
        })
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::ListFiles => (
                "List tool files",
                "Lists the .pyi files that describe the tools programs can call.",
            ),
            Self::ReadFile => {
                ("Read tool file", "Reads a .pyi file: signatures and types of the tools in it.")
            }
            Self::Docs => (
                "Get tool docs",
                "Full documentation of one tool: description, parameters, result, example.",
            ),
            Self::Execute => ("Run a program", EXECUTE),
            Self::Search => (
                "Search tools",
                "Finds tools by what they do; returns signatures ready to be called in a program. \
                 Search before you say that something cannot be done.",
            ),
        }
    }

    fn input(self) -> Value {
        let (properties, required): (Value, &[&str]) = match self {
            Self::ListFiles => (json!({}), &[]),
            Self::ReadFile => (
                json!({
                    "fileName": {"type": "string", "description": "as in listToolFiles"},
                    "startLine": {"type": "integer", "minimum": 1},
                    "endLine": {"type": "integer", "minimum": 1},
                }),
                &["fileName"],
            ),
            Self::Docs => (
                json!({"server": {"type": "string"}, "tool": {"type": "string"}}),
                &["server", "tool"],
            ),
            Self::Execute => (json!({"code": {"type": "string"}}), &["code"]),
            Self::Search => (
                json!({
                    "query": {"type": "string", "description": "a few words"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": Self::MAX_HITS},
                }),
                &["query"],
            ),
        };
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema["additionalProperties"] = json!(false);
        schema
    }

    fn annotations(self) -> Value {
        match self {
            // The effects of a program are those of the tools it calls.
            Self::Execute => json!({
                "readOnlyHint": false,
                "destructiveHint": true,
                "idempotentHint": false,
                "openWorldHint": true,
            }),
            Self::ListFiles | Self::ReadFile | Self::Docs | Self::Search => json!({
                "readOnlyHint": true,
                "idempotentHint": true,
                "openWorldHint": false,
            }),
        }
    }
}

const EXECUTE: &str = "\
Runs a program in Starlark (a small Python) that calls tools. Look up signatures first \
(searchTools or the files). Only what it prints and the global `result` come back: do loops, joins, \
filters and sums in one program instead of returning raw data.
- `server.tool(arg=value)` returns parsed data: dict (read `x[\"key\"]`, not `x.key`), list, str, number, \
bool or None. A failing tool ends the program; `r = try_call(server.tool, arg=value)` gives `r.ok`, \
`r.value`, `r.error` instead.
- `parallel([(server.tool, {\"arg\": 1}), (server.other, {})])` runs calls at once and returns their \
results in order; with `catch=True` as try_call does.
- There is `for`, `if`, `def`, lambda, comprehensions, f-strings (without `:` formats), \
json.encode/decode. There is no import, while, try, class, with, `is`, time, random, file or network.
- Nothing is kept from one run to the next.
Example: `issues = github.list_issues(repo=\"a/b\")` then `result = [i[\"title\"] for i in issues if \
i[\"state\"] == \"open\"]`";

#[cfg(test)]
mod tests;
