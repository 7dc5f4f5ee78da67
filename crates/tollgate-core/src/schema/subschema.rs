//! Locations of subschemas, and the part of the instance that each applies to.

use serde_json::{Map, Value};

/// One subschema, relative to the enclosing schema.
pub(crate) struct Subschema<'a> {
    pub(crate) keyword: &'a str,
    pub(crate) target: InstancePart<'a>,
    pub(crate) schema: &'a Value,
}

impl<'a> Subschema<'a> {
    /// The property it describes, if it is under `properties`.
    pub(crate) fn property(&self) -> Option<&'a str> {
        match self.target {
            InstancePart::Property(key) => Some(key),
            _ => None,
        }
    }
}

/// The part of the instance that a subschema applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InstancePart<'a> {
    /// The instance itself.
    Same,
    Property(&'a str),
    /// Properties not named in `properties` of the same schema.
    OtherProperties,
    /// Possibly every property.
    AnyProperty,
    Item(usize),
    AnyItem,
    /// Not applied, unless referenced.
    Nothing,
}

/// The direct subschemas of `schema`.
pub(crate) fn subschemas(schema: &Map<String, Value>) -> Vec<Subschema<'_>> {
    let mut steps = Vec::new();
    for (keyword, value) in schema {
        let Some((form, target)) = meaning(keyword) else { continue };
        let mut add = |target, schema| steps.push(Subschema { keyword, target, schema });
        match (form, value) {
            (KeywordForm::Schemas, Value::Object(_) | Value::Bool(_)) => add(target, value),
            (KeywordForm::Schemas, Value::Array(items)) => {
                for (at, item) in items.iter().enumerate().filter(|(_, it)| is_schema(it)) {
                    add(
                        if target == InstancePart::AnyItem {
                            InstancePart::Item(at)
                        } else {
                            target
                        },
                        item,
                    );
                }
            }
            (KeywordForm::Named, Value::Object(fields)) => {
                for (key, value) in fields.iter().filter(|(_, it)| is_schema(it)) {
                    let named = keyword == "properties";
                    add(if named { InstancePart::Property(key) } else { target }, value);
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
enum KeywordForm {
    /// A schema, or a list of schemas.
    Schemas,
    /// An object of schemas.
    Named,
}

fn meaning(keyword: &str) -> Option<(KeywordForm, InstancePart<'static>)> {
    Some(match keyword {
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => {
            (KeywordForm::Schemas, InstancePart::Same)
        }
        "dependentSchemas" | "dependencies" => (KeywordForm::Named, InstancePart::Same),
        "properties" | "patternProperties" => (KeywordForm::Named, InstancePart::AnyProperty),
        "additionalProperties" => (KeywordForm::Schemas, InstancePart::OtherProperties),
        "unevaluatedProperties" | "propertyNames" => {
            (KeywordForm::Schemas, InstancePart::AnyProperty)
        }
        "items" | "prefixItems" | "additionalItems" | "unevaluatedItems" | "contains" => {
            (KeywordForm::Schemas, InstancePart::AnyItem)
        }
        "$defs" | "definitions" => (KeywordForm::Named, InstancePart::Nothing),
        "contentSchema" => (KeywordForm::Schemas, InstancePart::Nothing),
        _ => return None,
    })
}
