//! Null handling: where null is a value, and where it means "omitted".

use serde_json::{Value, json};

use super::StrictSchemaFields;

/// Whether null is a valid value. The target of a reference counts as not accepting null.
pub(super) fn takes_null(written: &StrictSchemaFields) -> bool {
    let forms = written.get("anyOf").and_then(Value::as_array);
    let of_form = |form: &Value| form.as_object().is_some_and(takes_null);
    match written.get("type") {
        Some(Value::String(kind)) => kind == "null",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
        _ => forms.is_some_and(|forms| forms.iter().any(of_form)),
    }
}

/// Makes null a valid value too.
pub(super) fn allow_null(written: &mut StrictSchemaFields) {
    if takes_null(written) {
        return;
    }
    if let Some(Value::Array(forms)) = written.get_mut("anyOf") {
        forms.push(json!({"type": "null"}));
        return;
    }
    match written.get_mut("type") {
        Some(kind) => *kind = json!([kind.take(), "null"]),
        None => {
            let own = Value::Object(std::mem::take(written));
            written.insert("anyOf".to_owned(), json!([own, {"type": "null"}]));
        }
    }
    if let Some(Value::Array(values)) = written.get_mut("enum") {
        values.push(Value::Null);
    }
}
