//! The server `dice`: `roll` for dice notation and `roll_table` for random tables. Randomness is
//! passed in at construction, so tests can decide the rolls.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::document::quote_excerpt;
use super::{BuiltinReply, BuiltinTool, BuiltinToolContext, BuiltinToolError};
use roll::ExtraRolls;
use tables::{RandomTables, TableRoll};

mod entry;
mod expression;
pub(crate) mod parse;
mod random_table;
pub(crate) mod roll;
pub(crate) mod speech;
pub(crate) mod table_file;
pub mod tables;

/// Returns a uniformly distributed number from 1 to its argument.
pub type DiceRandom = Arc<dyn Fn(u32) -> u32 + Send + Sync>;

/// The thread's random generator.
pub fn thread_random() -> DiceRandom {
    Arc::new(|sides| rand::random_range(1..=sides))
}

pub fn tools(tables: RandomTables, random: &DiceRandom) -> Vec<Box<dyn BuiltinTool>> {
    vec![
        Box::new(Roll { random: Arc::clone(random) }),
        Box::new(RollTable { tables, random: Arc::clone(random) }),
    ]
}

struct Roll {
    random: DiceRandom,
}

#[async_trait]
impl BuiltinTool for Roll {
    fn definition(&self) -> Value {
        json!({
            "name": "roll",
            "title": "Roll dice",
            "description": ROLL_DESCRIPTION,
            "inputSchema": {
                "type": "object",
                "properties": {
                    "expression": {
                        "type": "string",
                        "description": "Dice notation, for example `2d6+3` or `1d20`",
                        "examples": ["1d20"],
                        "minLength": 1,
                        "maxLength": parse::MAX_EXPRESSION_BYTES,
                    },
                },
                "required": ["expression"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "expression": { "type": "string" },
                    "rolls": { "type": "array", "items": { "type": "integer" } },
                    "total": { "type": "integer" },
                    "dropped": {
                        "type": "array",
                        "items": { "type": "integer" },
                        "description": "Faces that were rolled again or do not count",
                    },
                    "limited": {
                        "type": "boolean",
                        "description": "True if explosions or rerolls ran into their limit",
                    },
                },
                "required": ["expression", "rolls", "total"],
            },
            "annotations": annotations("Roll dice"),
            "_meta": super::latency(5, 20),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let text = super::text_argument(arguments, "expression")?;
        let expression =
            parse::parse(text).map_err(|invalid| BuiltinToolError::new(invalid.to_string()))?;
        let text = text.trim();
        let rolled = roll::roll(&expression, &mut |sides| (self.random)(sides));
        let mut structured = json!({
            "expression": text,
            "rolls": rolled.kept_faces(),
            "total": rolled.total,
        });
        let dropped = rolled.dropped_faces();
        if !dropped.is_empty() {
            structured["dropped"] = json!(dropped);
        }
        if rolled.extra == ExtraRolls::RanOut {
            structured["limited"] = json!(true);
        }
        Ok(BuiltinReply { text: speech::sentence(text, &rolled), structured: Some(structured) })
    }
}

const ROLL_DESCRIPTION: &str = "Rolls dice and returns each die and the total. Supports sums and \
                                products of dice and numbers (2d6+3, 4d8-1, 1d6*10), advantage and \
                                disadvantage (1d20adv+5, dis), keep and drop (4d6kh3, 2d20kl1, \
                                4d6dl1), explosions on the largest face (3d6!), rerolls (2d6r1, \
                                2d6r<3; once per die with ro), percentile (d%) and fate dice \
                                (4dF). At most 1000 dice of 1000000 sides.";

struct RollTable {
    tables: RandomTables,
    random: DiceRandom,
}

#[async_trait]
impl BuiltinTool for RollTable {
    fn definition(&self) -> Value {
        json!({
            "name": "roll_table",
            "title": "Roll on a table",
            "description": "Rolls on a named random table, and rolls the dice in the chosen entry.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "table_name": {
                        "type": "string",
                        "description": "Which table to roll on",
                        "enum": self.tables.names().collect::<Vec<_>>(),
                    },
                },
                "required": ["table_name"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "table": { "type": "string" },
                    "roll": { "type": "integer", "minimum": 1 },
                    "result": { "type": "string", "description": "The entry, its dice rolled" },
                    "dice": {
                        "type": "array",
                        "description": "The dice in the entry and their totals",
                        "items": {
                            "type": "object",
                            "properties": {
                                "expression": { "type": "string" },
                                "total": { "type": "integer" },
                            },
                            "required": ["expression", "total"],
                        },
                    },
                },
                "required": ["table", "roll", "result"],
            },
            "annotations": annotations("Roll on a table"),
            "_meta": super::latency(5, 20),
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<BuiltinReply, BuiltinToolError> {
        let name = super::text_argument(arguments, "table_name")?;
        let found = self.tables.roll(name, &mut |sides| (self.random)(sides));
        let TableRoll { roll, result, dice } = found.ok_or_else(|| self.unknown(name))?;
        let text = format!("{}, {roll}: {result}", name.replace('_', " "));
        let mut structured = json!({ "table": name, "roll": roll, "result": result });
        if !dice.is_empty() {
            let dice = dice
                .into_iter()
                .map(|(message, total)| json!({ "expression": message, "total": total }));
            structured["dice"] = dice.collect();
        }
        Ok(BuiltinReply { text, structured: Some(structured) })
    }
}

impl RollTable {
    fn unknown(&self, name: &str) -> BuiltinToolError {
        let known: Vec<String> = self.tables.names().map(|name| format!("`{name}`")).collect();
        let known = known.join(", ");
        BuiltinToolError::new(format!(
            "there is no table `{}`; use one of {known}",
            quote_excerpt(name)
        ))
    }
}

/// Read-only, but not idempotent.
fn annotations(title: &str) -> Value {
    json!({
        "title": title,
        "readOnlyHint": true,
        "destructiveHint": false,
        "idempotentHint": false,
        "openWorldHint": false,
    })
}

#[cfg(test)]
mod tests;
