//! Locations of subschemas in a schema of draft 2020-12.

use serde_json::{Map, Value};

use crate::tools::conversion_loss::step;

/// How a keyword contains subschemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubschemaShape {
    One,
    List,
    /// As an object: properties, definitions.
    Named,
}

pub(super) fn holds(keyword: &str) -> Option<SubschemaShape> {
    Some(match keyword {
        "not"
        | "if"
        | "then"
        | "else"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "items"
        | "unevaluatedItems"
        | "contains"
        | "contentSchema" => SubschemaShape::One,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => SubschemaShape::List,
        "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => {
            SubschemaShape::Named
        }
        _ => return None,
    })
}

/// Visits every direct subschema, with its location.
pub(super) fn each(
    fields: &mut Map<String, Value>,
    at: &str,
    mut session_request: impl FnMut(&mut Value, &str),
) {
    for (keyword, value) in fields {
        let Some(holds) = holds(keyword) else { continue };
        let here = step(at, keyword);
        match (holds, value) {
            (SubschemaShape::One, schema @ (Value::Object(_) | Value::Bool(_))) => {
                session_request(schema, &here)
            }
            (SubschemaShape::List, Value::Array(list)) => {
                for (at, schema) in list.iter_mut().enumerate() {
                    session_request(schema, &format!("{here}/{at}"));
                }
            }
            (SubschemaShape::Named, Value::Object(named)) => {
                for (name, schema) in named {
                    session_request(schema, &step(&here, name));
                }
            }
            _ => {}
        }
    }
}
