//! The server `rules`: `search_rules` finds rules of a game, `get_rule` returns one in full. The
//! texts are data: the shipped ones are in our own words, packs add others.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::document::quote_excerpt;
use super::{BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError};
use book::RuleBook;
use pack::GameRule;

pub mod book;
pub(crate) mod pack;

/// Rules per answer, and bytes of each excerpt.
const MAX_RULES_FOUND: usize = 5;
const EXCERPT_BYTES: usize = 280;
const MAX_QUERY_CHARS: usize = 1_000;
const MAX_ID_CHARS: usize = 200;

pub fn tools(book: &Arc<RuleBook>) -> Vec<Box<dyn BuiltinTool>> {
    vec![Box::new(SearchRules(Arc::clone(book))), Box::new(GetRule(Arc::clone(book)))]
}

struct SearchRules(Arc<RuleBook>);

#[async_trait]
impl BuiltinTool for SearchRules {
    fn definition(&self) -> Value {
        let systems: Vec<&str> = self.0.systems().into_iter().collect();
        json!({
            "name": "search_rules",
            "title": "Search the rules",
            "description": "Searches the rules of the game: conditions, combat, spells and general \
                            rules. Returns the best matches with an excerpt and their ids; \
                            `get_rule` returns the whole text.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "description": "What to look for: a name or a question, for example \
                            `grappled` or `how does an opportunity attack work`",
                        "examples": ["opportunity attack"],
                        "minLength": 1,
                        "maxLength": MAX_QUERY_CHARS,
                    },
                    "system": {
                        "type": "string",
                        "description": format!(
                            "Only rules of this game system. There are: {}", systems.join(", ")
                        ),
                        "maxLength": 64,
                    },
                },
                "required": ["query"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "rules": { "type": "array", "items": rule_schema() },
                    "nearest": {
                        "type": "array",
                        "description": "Similar names, if nothing was found",
                        "items": {
                            "type": "object",
                            "properties": {
                                "id": { "type": "string" },
                                "name": { "type": "string" },
                            },
                            "required": ["id", "name"],
                        },
                    },
                },
                "required": ["rules"],
            },
            "annotations": annotations("Search the rules"),
            "_meta": super::latency(30, 100),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let query = super::text_argument(arguments, "query")?.trim();
        if query.is_empty() {
            return Err(BuiltinToolError::new(
                "`query` is empty; say what to look for, such as `grappled`",
            ));
        }
        let system = match arguments.get("system").and_then(Value::as_str).map(str::trim) {
            None | Some("") => None,
            Some(system) => Some(self.system(system)?),
        };
        let found = self.0.search(query, system, MAX_RULES_FOUND);
        if found.is_empty() {
            return Ok(self.nothing(query, system));
        }
        let lines = found.iter().map(|rule| {
            format!("{} ({}): {}", rule.name, rule.id, excerpt(&rule.text, EXCERPT_BYTES))
        });
        let rules: Vec<Value> =
            found.iter().map(|rule| as_json(rule, excerpt(&rule.text, EXCERPT_BYTES))).collect();
        Ok(BuiltinReply {
            text: lines.collect::<Vec<_>>().join("\n"),
            structured: Some(json!({ "rules": rules })),
        })
    }
}

impl SearchRules {
    fn system(&self, requested: &str) -> Result<&str, BuiltinToolError> {
        let systems = self.0.systems();
        let known = systems.iter().find(|known| known.eq_ignore_ascii_case(requested));
        known.copied().ok_or_else(|| {
            let known: Vec<String> = systems.iter().map(|name| format!("`{name}`")).collect();
            BuiltinToolError::new(format!(
                "there are no rules of the system `{}`; there are rules of {}",
                quote_excerpt(requested),
                known.join(", ")
            ))
        })
    }

    /// Not an error: suggests what to try instead.
    fn nothing(&self, query: &str, system: Option<&str>) -> BuiltinReply {
        let near = self.0.near(query, system);
        let names: Vec<String> =
            near.iter().map(|rule| format!("{} ({})", rule.name, rule.id)).collect();
        let hint = if names.is_empty() {
            "Try the name of a condition, a spell or an action, in one or two words.".into()
        } else {
            format!("Similar names: {}.", names.join(", "))
        };
        let near: Vec<Value> =
            near.iter().map(|rule| json!({ "id": rule.id, "name": rule.name })).collect();
        BuiltinReply {
            text: format!("No rule matches `{}`. {hint}", quote_excerpt(query)),
            structured: Some(json!({ "rules": [], "nearest": near })),
        }
    }
}

struct GetRule(Arc<RuleBook>);

#[async_trait]
impl BuiltinTool for GetRule {
    fn definition(&self) -> Value {
        json!({
            "name": "get_rule",
            "title": "Get a rule",
            "description": "Returns the whole text of one rule by the id that `search_rules` \
                            returns.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "id": {
                        "type": "string",
                        "description": "The id, for example `condition-blinded` or `spell-fireball`",
                        "examples": ["condition-blinded"],
                        "minLength": 1,
                        "maxLength": MAX_ID_CHARS,
                    },
                },
                "required": ["id"],
                "additionalProperties": false,
            },
            "outputSchema": rule_schema(),
            "annotations": annotations("Get a rule"),
            "_meta": super::latency(5, 20),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let id = super::text_argument(arguments, "id")?.trim();
        let rule = self.0.rule(id).ok_or_else(|| self.unknown(id))?;
        Ok(BuiltinReply {
            text: format!("{}. {}", rule.name, rule.text),
            structured: Some(as_json(rule, &rule.text)),
        })
    }
}

impl GetRule {
    fn unknown(&self, id: &str) -> BuiltinToolError {
        let near: Vec<String> =
            self.0.near(id, None).iter().map(|rule| format!("`{}`", rule.id)).collect();
        let hint = if near.is_empty() {
            "`search_rules` finds rules and their ids".to_owned()
        } else {
            format!("did you mean {}?", near.join(" or "))
        };
        BuiltinToolError::new(format!("there is no rule `{}`; {hint}", quote_excerpt(id)))
    }
}

fn as_json(rule: &GameRule, text: &str) -> Value {
    let mut json = json!({
        "id": rule.id,
        "name": rule.name,
        "system": rule.pack.system,
        "category": rule.category,
        "text": text,
        "source": rule.pack.source,
    });
    if let Some(license) = &rule.pack.license {
        json["license"] = json!(license);
    }
    json
}

fn rule_schema() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "type": "object",
        "properties": {
            "id": text,
            "name": text,
            "system": text,
            "category": text,
            "text": text,
            "source": { "type": "string", "description": "Source of the text" },
            "license": text,
        },
        "required": ["id", "name", "system", "category", "text", "source"],
    })
}

/// The first sentences that fit; a single sentence that is too long is cut between words.
fn excerpt(text: &str, most_bytes: usize) -> &str {
    if text.len() <= most_bytes {
        return text;
    }
    let head = &text[..text.floor_char_boundary(most_bytes)];
    let sentence = head.rfind(". ").map(|at| &head[..=at]);
    sentence.or_else(|| head.rsplit_once(char::is_whitespace).map(|(head, _)| head)).unwrap_or(head)
}

/// Read-only and idempotent.
fn annotations(title: &str) -> Value {
    json!({
        "title": title,
        "readOnlyHint": true,
        "destructiveHint": false,
        "idempotentHint": true,
        "openWorldHint": false,
    })
}

#[cfg(test)]
mod tests;
