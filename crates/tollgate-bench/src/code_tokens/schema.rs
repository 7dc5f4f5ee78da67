//! Input schemas for tools of which only names and descriptions are known: the parameters that the
//! plans use, and as many believable ones beside them as make a definition as long as they were in
//! the public runs (400 to 540 tokens).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tollgate_llm::conversation::Function;
use tollgate_llm::tokens::{self, CountPrecision};

use super::compose;
use super::inventory::{InventoryTool, ToolRef};
use super::plan::PlannedQuery;
use super::text::TextSeed;

/// What plans give to each tool.
#[derive(Debug, Default)]
pub(super) struct ParameterUsage(
    BTreeMap<ToolRef, BTreeMap<String, (Value, usize)>>,
    BTreeMap<ToolRef, usize>,
);

impl ParameterUsage {
    pub(super) fn of<'q>(queries: impl Iterator<Item = &'q PlannedQuery>) -> Self {
        let mut usage = Self::default();
        for step in queries.flat_map(|query| &query.steps) {
            *usage.1.entry(step.tool.clone()).or_default() += 1;
            let known = usage.0.entry(step.tool.clone()).or_default();
            let given = step.arguments.clone().into_iter().chain(compose::beside(step));
            for (name, value) in given {
                known.entry(name).or_insert((value, 0)).1 += 1;
            }
        }
        usage
    }
}

/// The MCP tool object.
pub(super) fn definition(listed: &InventoryTool, usage: &ParameterUsage) -> Value {
    let InventoryTool { tool, description } = listed;
    let mut properties = Map::new();
    let mut required = Vec::new();
    let uses = usage.1.get(tool).copied().unwrap_or(0);
    for (name, (sample, count)) in usage.0.get(tool).into_iter().flatten() {
        properties.insert(name.clone(), property_schema(name, sample));
        if *count == uses {
            required.push(name.clone());
        }
    }
    let seed = TextSeed::of(&tool.name);
    if uses == 0 && seed.below(4) != 0 {
        let name = format!("{}_id", noun(&tool.name));
        properties.insert(name.clone(), of_type("string", ID));
        required.push(name);
    }
    let target = 400 + seed.with("target").below(140) as u64;
    let name = format!("{}_{}", tool.server, tool.name);
    for at in 0..POOL.len() {
        let schema = schema(&properties, &required);
        let function = Function {
            name: name.clone(),
            description: Some((*description).to_owned()),
            parameters: Some(schema),
            extra: tollgate_llm::extra::Extra::none(),
        };
        if tokens::function(&function, CountPrecision::Estimated) >= target {
            break;
        }
        let (name, written) = POOL[(seed.with("pool").below(POOL.len()) + at * 7) % POOL.len()];
        let described: Value = serde_json::from_str(written).expect("the pool is JSON");
        properties.entry(name).or_insert(described);
    }
    json!({
        "name": tool.name,
        "description": description,
        "inputSchema": schema(&properties, &required),
        "annotations": { "readOnlyHint": false, "destructiveHint": false },
    })
}

fn schema(properties: &Map<String, Value>, required: &[String]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The thing a tool is about: its last word.
fn noun(name: &str) -> String {
    name.rsplit('_').next().unwrap_or("item").to_lowercase()
}

const ID: &str =
    "Identifier as other tools of this server return it; never a display name or a URL.";

fn of_type(kind: &str, description: &str) -> Value {
    json!({ "type": kind, "description": description })
}

fn property_schema(name: &str, sample: &Value) -> Value {
    let words = name.replace('_', " ");
    let description = format!(
        "The {words} that this call is about, exactly as it should be used by the service."
    );
    match sample {
        Value::Number(_) => of_type("integer", &description),
        Value::Bool(_) => of_type("boolean", &description),
        Value::Array(items) if items.first().is_some_and(Value::is_array) => json!({
            "type": "array", "description": description,
            "items": { "type": "array", "items": {} },
        }),
        Value::Array(items) if items.first().is_some_and(Value::is_object) => json!({
            "type": "array", "description": description,
            "items": { "type": "object", "additionalProperties": true },
        }),
        Value::Array(_) => json!({ "type": "array", "description": description, "items": {} }),
        // Ids of some tools are numbers, and stand here for the field that they come from.
        Value::String(text) if text.starts_with('@') => {
            json!({ "type": ["string", "integer"], "description": description })
        }
        _ => of_type("string", &description),
    }
}

/// Parameters as tools of this kind have them, beside their own.
const POOL: [(&str, &str); 18] = [
    (
        "page_size",
        r#"{"type":"integer","minimum":1,"maximum":100,"default":30,"description":"How many entries one page of the answer has at most; larger values are cut down by the service."}"#,
    ),
    (
        "page_token",
        r#"{"type":"string","description":"Where the last page ended, exactly as it was returned; leave it out to begin with the first page."}"#,
    ),
    (
        "sort_order",
        r#"{"type":"string","enum":["asc","desc"],"default":"desc","description":"Direction in which the entries of the answer are sorted."}"#,
    ),
    (
        "fields",
        r#"{"type":"array","items":{"type":"string"},"description":"Names of the fields that should be in the answer; all of them if nothing is said."}"#,
    ),
    (
        "updated_since",
        r#"{"type":"string","format":"date-time","description":"Only consider what was changed after this moment, given as an RFC 3339 timestamp with a zone."}"#,
    ),
    (
        "include_archived",
        r#"{"type":"boolean","default":false,"description":"Whether entries that were archived or moved to the trash are considered as well."}"#,
    ),
    (
        "filter",
        r#"{"type":"object","description":"Restricts the answer to entries for which all of these conditions hold.","properties":{"owner":{"type":"string","description":"Only those of this owner."},"labels":{"type":"array","items":{"type":"string"},"description":"Only those that carry every one of these labels."},"status":{"type":"string","enum":["active","pending","closed","any"],"description":"Only those in this state."}}}"#,
    ),
    (
        "timezone",
        r#"{"type":"string","description":"IANA name of the zone in which dates without an offset are understood, such as Europe/Berlin."}"#,
    ),
    (
        "idempotency_key",
        r#"{"type":"string","description":"A value that is unique to this request; repeating it within a day returns the first outcome again instead of acting twice."}"#,
    ),
    (
        "notify",
        r#"{"type":"boolean","default":false,"description":"Whether people who follow the entry are told about it by mail and in the application."}"#,
    ),
    (
        "format",
        r#"{"type":"string","enum":["json","markdown","html","text"],"default":"json","description":"How long text in the answer is written."}"#,
    ),
    (
        "locale",
        r#"{"type":"string","description":"Language and region for messages and formatted values in the answer, such as en-US."}"#,
    ),
    (
        "timeout_seconds",
        r#"{"type":"integer","minimum":1,"maximum":300,"default":30,"description":"How long the service may work on this before it gives up and says so."}"#,
    ),
    (
        "dry_run",
        r#"{"type":"boolean","default":false,"description":"Only check what would be done and report it; nothing is changed."}"#,
    ),
    (
        "metadata",
        r#"{"type":"object","additionalProperties":{"type":"string"},"description":"Free pairs of names and values that are kept with the entry and returned with it."}"#,
    ),
    (
        "retry",
        r#"{"type":"object","description":"What to do when the service is busy.","properties":{"attempts":{"type":"integer","minimum":0,"maximum":5,"description":"Further attempts after the first one."},"delay_ms":{"type":"integer","minimum":0,"description":"Pause between two of them, in milliseconds."}}}"#,
    ),
    (
        "workspace_id",
        r#"{"type":"string","description":"Workspace in which to act, for accounts that belong to several; the default one otherwise."}"#,
    ),
    (
        "on_behalf_of",
        r#"{"type":"string","description":"Mail address of the user for whom this is done; needs the right to act for others."}"#,
    ),
];
