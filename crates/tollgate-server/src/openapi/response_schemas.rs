//! Schemas of responses, derived from their types.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

const COMPONENTS: &str = "/components/schemas";
/// Ends the names of types in Rust, but not those of components.
const SUFFIX: &str = "Json";

/// Collects the components that responses refer to.
pub(super) struct ResponseSchemas(SchemaGenerator);

impl ResponseSchemas {
    pub(super) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
            settings.definitions_path = COMPONENTS.into();
            settings.meta_schema = None;
        });
        Self(settings.into_generator())
    }

    /// The schema of a response type: a reference, unless the type is inline.
    pub(super) fn of<T: JsonSchema>(&mut self) -> Value {
        let mut schema = self.0.subschema_for::<T>();
        OpenApiForm.transform(&mut schema);
        schema.to_value()
    }

    pub(super) fn into_components(mut self) -> Map<String, Value> {
        let components = self.0.take_definitions(false).into_iter();
        let component = |(name, schema): (String, Value)| {
            let mut schema = Schema::try_from(schema).unwrap_or_default();
            OpenApiForm.transform(&mut schema);
            (name.trim_end_matches(SUFFIX).to_owned(), schema.to_value())
        };
        components.map(component).collect()
    }
}

/// Fits what is said of Rust's types: names without a suffix, numbers without their width, and no
/// `null` where serde leaves out a field instead.
struct OpenApiForm;

impl Transform for OpenApiForm {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let keywords = schema.ensure_object();
        if let Some(Value::String(reference)) = keywords.get_mut("$ref") {
            reference.truncate(reference.trim_end_matches(SUFFIX).len());
        }
        if keywords.get("format").is_some_and(|format| format != "date-time") {
            keywords.remove("format");
        }
        let required = keywords.get("required").cloned().unwrap_or_default();
        let is_required =
            |name: &str| required.as_array().is_some_and(|names| names.iter().any(|it| it == name));
        if let Some(Value::Object(properties)) = keywords.get_mut("properties") {
            for (_, schema) in properties.iter_mut().filter(|(name, _)| !is_required(name)) {
                forbid_null(schema);
            }
        }
    }
}

/// Inverts what an `Option` does to a schema.
fn forbid_null(schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    if let Some(Value::Array(kinds)) = keywords.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            keywords.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(words)) = keywords.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(forms)) = keywords.get_mut("anyOf") {
        forms.retain(|form| *form != json!({"type": "null"}));
        if let [Value::Object(form)] = forms.as_slice() {
            let form = form.clone();
            keywords.shift_remove("anyOf");
            keywords.extend(form);
        }
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Serialize;
    use serde_json::json;

    use super::ResponseSchemas;
    use crate::wire_schema::{TierWord, Time};

    #[derive(JsonSchema, Serialize)]
    struct InnerJson {
        count: u64,
    }

    #[derive(JsonSchema, Serialize)]
    struct OuterJson {
        /// of its beginning
        #[schemars(with = "Time")]
        at: String,
        #[schemars(with = "Option<TierWord>")]
        tier: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<TierWord>")]
        former: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        inner: Option<InnerJson>,
    }

    #[test]
    fn a_field_is_nullable_or_optional_as_serde_writes_it() {
        let mut responses = ResponseSchemas::new();
        let outer = responses.of::<OuterJson>();
        assert_eq!(outer, json!({"$ref": "#/components/schemas/Outer"}));
        let components = responses.into_components();
        let tiers = ["fast", "standard", "deep"];
        assert_eq!(
            components["Outer"],
            json!({
                "type": "object",
                "properties": {
                    "at": {
                        "type": "string",
                        "format": "date-time",
                        "description": "of its beginning",
                    },
                    "tier": {
                        "type": ["string", "null"],
                        "enum": ["fast", "standard", "deep", null],
                    },
                    "former": {"type": "string", "enum": tiers},
                    "inner": {"$ref": "#/components/schemas/Inner"},
                },
                "required": ["at", "tier"],
            })
        );
        let count = json!({"type": "integer", "minimum": 0});
        assert_eq!(components["Inner"]["properties"]["count"], count);
    }
}
