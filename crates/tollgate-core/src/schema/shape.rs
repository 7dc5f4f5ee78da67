//! Where schemas stand inside a schema, and to what each of them is applied.

use serde_json::{Map, Value};

/// One subschema, seen from the schema around it.
pub(crate) struct Step<'a> {
    pub(crate) keyword: &'a str,
    pub(crate) target: Target<'a>,
    pub(crate) schema: &'a Value,
}

impl<'a> Step<'a> {
    /// The property whose value it describes, if it stands under `properties`.
    pub(crate) fn property(&self) -> Option<&'a str> {
        match self.target {
            Target::Property(key) => Some(key),
            _ => None,
        }
    }
}

/// What of the instance a subschema is applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target<'a> {
    /// The instance itself.
    Same,
    Property(&'a str),
    /// Properties that `properties` of the same schema does not name.
    OtherProperties,
    /// Possibly every property.
    AnyProperty,
    Item(usize),
    AnyItem,
    /// Nothing, unless something refers to it.
    Nothing,
}

/// All subschemas that stand directly in `schema`.
pub(crate) fn subschemas(schema: &Map<String, Value>) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    for (keyword, value) in schema {
        let Some((form, target)) = meaning(keyword) else { continue };
        let mut add = |target, schema| steps.push(Step { keyword, target, schema });
        match (form, value) {
            (Form::Schemas, Value::Object(_) | Value::Bool(_)) => add(target, value),
            (Form::Schemas, Value::Array(items)) => {
                for (at, item) in items.iter().enumerate().filter(|(_, it)| is_schema(it)) {
                    add(if target == Target::AnyItem { Target::Item(at) } else { target }, item);
                }
            }
            (Form::Named, Value::Object(fields)) => {
                for (key, value) in fields.iter().filter(|(_, it)| is_schema(it)) {
                    let named = keyword == "properties";
                    add(if named { Target::Property(key) } else { target }, value);
                }
            }
            _ => {}
        }
    }
    steps
}

fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Bool(_))
}

#[derive(Clone, Copy)]
enum Form {
    /// One schema, or a list of them.
    Schemas,
    /// An object of schemas.
    Named,
}

fn meaning(keyword: &str) -> Option<(Form, Target<'static>)> {
    Some(match keyword {
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => {
            (Form::Schemas, Target::Same)
        }
        "dependentSchemas" | "dependencies" => (Form::Named, Target::Same),
        "properties" | "patternProperties" => (Form::Named, Target::AnyProperty),
        "additionalProperties" => (Form::Schemas, Target::OtherProperties),
        "unevaluatedProperties" | "propertyNames" => (Form::Schemas, Target::AnyProperty),
        "items" | "prefixItems" | "additionalItems" | "unevaluatedItems" | "contains" => {
            (Form::Schemas, Target::AnyItem)
        }
        "$defs" | "definitions" => (Form::Named, Target::Nothing),
        "contentSchema" => (Form::Schemas, Target::Nothing),
        _ => return None,
    })
}
