//! Tool search: a model that cannot be shown all tools gets a tool that searches the others; what
//! it finds is shown from the next round on.

use serde_json::{Value, json};
use tollgate_core::relevance::RelevanceQuery;
use tollgate_core::text::truncate_chars;

use super::{WindowRequest, visible};
use crate::conversation::Function;
use crate::extra::Extra;
use crate::tools::arguments::{self, ArgumentsError};

/// Name of the tool, unless another one has it.
const SEARCH_TOOL_NAME: &str = "searchTools";
const DEFAULT_RESULTS: u64 = 5;
const MAX_RESULTS: u64 = 20;
/// Maximum characters of a description in a result; the tool itself has the whole text.
const MAX_DESCRIPTION_CHARS: usize = 400;

/// Tools that a model has found in this turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DisclosedTools {
    /// Latest last.
    names: Vec<String>,
}

impl DisclosedTools {
    /// A tool that is found again counts as found now.
    pub fn add(&mut self, found: &ToolSearchHits) {
        self.names.retain(|name| !found.names.contains(name));
        // The best match is the last to be omitted again.
        self.names.extend(found.names.iter().rev().cloned());
    }

    /// Latest first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().rev().map(String::as_str)
    }
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSearchHits {
    /// Best match first.
    pub names: Vec<String>,
    /// Text for the model.
    pub text: String,
}

/// Definition of the search tool.
pub(super) fn tool(asked: &WindowRequest<'_>) -> Function {
    let is_taken = |name: &str| {
        asked.pool.place(name).is_some() || asked.request.client_tools().any(|it| it == name)
    };
    let numbered = (2..).map(|number| format!("{SEARCH_TOOL_NAME}{number}"));
    let name =
        std::iter::once(SEARCH_TOOL_NAME.to_owned()).chain(numbered).find(|name| !is_taken(name));
    let all = visible(asked).len();
    let description = format!(
        "Finds tools by what they do. You see only some of the {all} available tools: if none of \
         them fits the task, search before you say that you cannot do it. Found tools can be \
         called from then on."
    );
    Function {
        name: name.expect("there are more numbers than tools"),
        description: Some(description),
        parameters: Some(json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "What the tool should do, in a few words",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_RESULTS,
                    "description": format!("How many to find; default {DEFAULT_RESULTS}"),
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        })),
        extra: Extra::none(),
    }
}

/// Why a search cannot be done; the message is for the model.
#[derive(Debug, thiserror::Error)]
pub enum ToolSearchError {
    #[error("tool search is not available")]
    Unavailable,
    #[error(transparent)]
    Arguments(#[from] ArgumentsError),
    #[error("`query` must say what the tool should do")]
    Query,
    #[error("`limit` must be a whole number above 0")]
    Limit,
}

/// Searches the tools that are visible in this turn.
pub fn search(
    asked: &WindowRequest<'_>,
    arguments: &str,
) -> Result<ToolSearchHits, ToolSearchError> {
    let ToolSearchArguments { query, limit } = parse_query(arguments)?;
    let visible = visible(asked);
    let query = RelevanceQuery::new(&query).by_meaning();
    let best = asked.pool.index().best(&query, visible.len());
    let best = best.into_iter().filter(|place| visible.binary_search(place).is_ok());
    let best: Vec<&Function> = best.take(limit).map(|place| asked.pool.function(place)).collect();
    let hint = if best.is_empty() {
        "nothing matches these words; try other or fewer words"
    } else {
        "these can be called now"
    };
    let tools: Vec<Value> = best.iter().map(|function| hit_json(function)).collect();
    Ok(ToolSearchHits {
        names: best.iter().map(|function| function.name.clone()).collect(),
        text: json!({"tools": tools, "hint": hint}).to_string(),
    })
}

struct ToolSearchArguments {
    query: String,
    limit: usize,
}

fn parse_query(arguments: &str) -> Result<ToolSearchArguments, ToolSearchError> {
    let arguments = arguments::parse(arguments)?;
    let query = arguments.get("query").and_then(Value::as_str).map(str::trim);
    let query = query.filter(|query| !query.is_empty());
    let query = query.ok_or(ToolSearchError::Query)?;
    let limit = match arguments.get("limit") {
        None | Some(Value::Null) => DEFAULT_RESULTS,
        Some(limit) => {
            let limit = limit.as_u64().filter(|limit| *limit > 0);
            limit.ok_or(ToolSearchError::Limit)?.min(MAX_RESULTS)
        }
    };
    Ok(ToolSearchArguments { query: query.to_owned(), limit: limit as usize })
}

fn hit_json(function: &Function) -> Value {
    let description = function.description.as_deref().unwrap_or_default();
    json!({
        "name": function.name,
        "description": truncate_chars(description, MAX_DESCRIPTION_CHARS),
        "parameters": parameters(function.parameters.as_ref()),
    })
}

/// Names and types, with a question mark after optional ones: the schema comes with the tool.
fn parameters(schema: Option<&Value>) -> Value {
    let field = |key: &str| schema.and_then(|schema| schema.get(key));
    let required = field("required").and_then(Value::as_array).into_iter().flatten();
    let required: Vec<&str> = required.filter_map(Value::as_str).collect();
    let properties = field("properties").and_then(Value::as_object);
    let listed = properties.into_iter().flatten().map(|(name, schema)| {
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or("any");
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        (name.clone(), Value::from(format!("{kind}{mark}")))
    });
    Value::Object(listed.collect())
}

#[cfg(test)]
mod tests;
