//! Puts a schema inside another one, so that its references still lead where they led.

use serde_json::{Map, Value, json};

/// A schema without references as it is; one with them under `shared`, which is to be `$defs` of the
/// root, and a reference to it.
pub(super) fn embed_schema(schema: &Value, name: &str, shared: &mut Map<String, Value>) -> Value {
    let root = format!("#/$defs/{name}");
    let mut moved = schema.clone();
    if !redirect(&mut moved, &root) {
        return moved;
    }
    shared.insert(name.to_owned(), moved);
    json!({"$ref": root})
}

/// Whether there was any reference.
fn redirect(schema: &mut Value, root: &str) -> bool {
    match schema {
        Value::Object(fields) => {
            let mut any = false;
            for (key, value) in fields {
                match value {
                    Value::String(to) if key == "$ref" && to.starts_with('#') => {
                        to.replace_range(..1, root);
                        any = true;
                    }
                    _ => any |= redirect(value, root),
                }
            }
            any
        }
        Value::Array(items) => items.iter_mut().fold(false, |any, item| redirect(item, root) | any),
        _ => false,
    }
}
