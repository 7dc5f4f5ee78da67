//! Embeds a schema in another one so that its `$ref`s still resolve.

use serde_json::{Map, Value, json};

/// Returns a schema without references unchanged. One with references goes into `shared`, which
/// becomes `$defs` of the root, and is replaced by a reference.
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
