//! Validates every answer of these tests against the OpenAPI document: status, media type, and
//! every field of the body.
//!
//! The served document allows unknown fields; here they are errors.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use jsonschema::Validator;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::client::Reply;

static DESCRIBED: LazyLock<Described> = LazyLock::new(Described::read);

struct Described {
    paths: Map<String, Value>,
    schemas: Value,
    /// By the schema's own text.
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// Panics if the answer is not what the document says. Of what the document is silent about it says
/// nothing.
pub(crate) fn check(method: &str, path: &str, reply: &Reply) {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let Some((template, operation)) = DESCRIBED.operation(method, path) else { return };
    let what = format!("{method} {template} gave {} {}", reply.status, reply.text);
    let answer = answer(operation, reply.status).unwrap_or_else(|| panic!("not described: {what}"));
    let Some(content) = answer.get("content").and_then(Value::as_object) else {
        assert!(reply.text.is_empty(), "it should be empty: {what}");
        return;
    };
    let media = reply.header("content-type").unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    let form = content.get(media).unwrap_or_else(|| panic!("`{media}` is not described: {what}"));
    let schema = &form["schema"];
    match media {
        "application/json" | "application/problem+json" => {
            DESCRIBED.validate(schema, &reply.json(), &what);
        }
        "text/event-stream" => {
            for (name, data) in events(&reply.text) {
                DESCRIBED.event(schema, &name, &data);
            }
        }
        _ => {}
    }
}

/// One event of a stream that goes on.
pub(crate) fn check_event(path: &str, name: &str, data: &Value) {
    let path = path.split('?').next().unwrap_or_default();
    for method in ["GET", "POST"] {
        let Some((_, operation)) = DESCRIBED.operation(method, path) else { continue };
        let schema = &operation["responses"]["200"]["content"]["text/event-stream"]["schema"];
        if !schema.is_null() {
            DESCRIBED.event(schema, name, data);
        }
    }
}

impl Described {
    fn read() -> Self {
        let mut document: Value =
            serde_json::from_str(tollgate_server::openapi::document()).unwrap();
        let mut schemas = document["components"]["schemas"].take();
        close_all(&mut schemas);
        close_all(&mut document["paths"]);
        let Value::Object(paths) = document["paths"].take() else { panic!("no paths") };
        Self { paths, schemas, validators: Mutex::default() }
    }

    /// What is literally the path goes before what only fits.
    fn operation(&self, method: &str, path: &str) -> Option<(&str, &Value)> {
        let method = method.to_ascii_lowercase();
        let fitting = self.paths.iter().filter(|(template, _)| fits(template, path));
        let found = fitting.min_by_key(|(template, _)| template.matches('{').count())?;
        Some((found.0, found.1.get(&method)?))
    }

    fn validate(&self, schema: &Value, value: &Value, what: &str) {
        let validator = self.validator(schema);
        let wrong: Vec<String> = validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "not as described: {wrong:#?}\n{what}");
    }

    fn event(&self, schema: &Value, name: &str, data: &Value) {
        let known = &schema["x-events"][name];
        assert!(!known.is_null(), "the event `{name}` is not described: {data}");
        self.validate(known, data, name);
    }

    fn validator(&self, schema: &Value) -> Arc<Validator> {
        let mut validators = self.validators.lock();
        let made = || {
            let root = json!({"allOf": [schema], "components": {"schemas": self.schemas}});
            let options = jsonschema::draft202012::options().should_validate_formats(true);
            Arc::new(options.build(&root).expect("the schemas are sound"))
        };
        Arc::clone(validators.entry(schema.to_string()).or_insert_with(made))
    }
}

fn fits(template: &str, path: &str) -> bool {
    let template = template.split('/');
    let path = path.split('/');
    let is_variable = |part: &str| part.starts_with('{');
    template.clone().count() == path.clone().count()
        && template.zip(path).all(|(part, own)| part == own || is_variable(part) && !own.is_empty())
}

/// The status itself, or its hundred.
fn answer(operation: &Value, status: u16) -> Option<&Value> {
    let answers = &operation["responses"];
    let exact = answers.get(status.to_string());
    exact.or_else(|| answers.get(format!("{}XX", status / 100)))
}

fn events(text: &str) -> Vec<(String, Value)> {
    let event = |event: &str| {
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
        Some((field("event: ")?.to_owned(), serde_json::from_str(field("data: ")?).ok()?))
    };
    text.split("\n\n").filter_map(event).collect()
}

/// Objects that name their fields have no others.
fn close_all(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let is_open = fields.get("properties").is_some_and(Value::is_object)
                && fields.contains_key("required")
                && !fields.contains_key("additionalProperties");
            if is_open {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
            fields.values_mut().for_each(close_all);
        }
        Value::Array(items) => items.iter_mut().for_each(close_all),
        _ => {}
    }
}
