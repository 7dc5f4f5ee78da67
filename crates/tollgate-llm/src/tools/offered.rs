//! A tool of the catalogue as a model is offered it. Asked for every tool of every turn, so each is
//! made once per dialect and kept.

use std::sync::{Arc, LazyLock};

use quick_cache::sync::Cache;
use serde_json::{Map, Value, json};
use tollgate_core::id::ExposedName;
use tollgate_core::tool::{ContentHash, Tool};

use super::form::Form;
use super::lost::{Kind, Lost};
use super::schema::{self, Renames};
use crate::conversation::Function;
use crate::dialect::Dialect;
use crate::extra::Extra;

/// Tools that are kept, of all catalogues and dialects.
const MOST: usize = 16_384;

/// A tool in the words of one dialect.
#[derive(Debug)]
pub struct Offered {
    /// Its name may differ from the tool's exposed one.
    pub function: Function,
    /// What of the tool's definition the dialect has no words for.
    pub lost: Vec<Lost>,
    renames: Renames,
    /// By which it was made.
    description: Option<String>,
}

impl Offered {
    /// Arguments that a model sent, in the tool's own names.
    #[must_use]
    pub fn arguments(&self, sent: Map<String, Value>) -> Map<String, Value> {
        match self.renames.undone(Value::Object(sent)) {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        }
    }
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    name: ExposedName,
    hash: ContentHash,
    dialect: Dialect,
}

/// The tool for a provider that speaks this dialect.
pub fn function(tool: &Tool, dialect: Dialect) -> Arc<Offered> {
    static KEPT: LazyLock<Cache<Key, Arc<Offered>>> = LazyLock::new(|| Cache::new(MOST));
    let key = Key { name: tool.exposed.clone(), hash: tool.hash, dialect };
    if let Some(kept) = KEPT.get(&key)
        && kept.description == tool.description
    {
        return kept;
    }
    let made = Arc::new(made(tool, dialect));
    KEPT.insert(key, Arc::clone(&made));
    made
}

fn made(tool: &Tool, dialect: Dialect) -> Offered {
    let form = Form::from(dialect);
    let exposed = tool.exposed.as_str();
    let name = form.names().fit(exposed);
    let mut lost = Vec::new();
    if name != exposed {
        lost.push(Lost::new(Kind::Renamed, "/name", format!("is called `{name}` there")));
    }
    let at = "/inputSchema";
    let (parameters, renames) = match schema::fit(&tool.definition.input_schema, form, at) {
        Ok(fitted) => {
            lost.extend(fitted.lost);
            (fitted.schema, fitted.renames)
        }
        Err(unfit) => {
            lost.push(Lost::new(Kind::Limit, at, format!("the schema is left out: {unfit}")));
            (Some(json!({"type": "object", "properties": {}})), Renames::default())
        }
    };
    let description = tool.description.clone().or_else(|| tool.definition.title.clone());
    let name = name.into_owned();
    Offered {
        function: Function { name, description, parameters, extra: Extra::none() },
        lost,
        renames,
        description: tool.description.clone(),
    }
}

#[cfg(test)]
mod tests;
