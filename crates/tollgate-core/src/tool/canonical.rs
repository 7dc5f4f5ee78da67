//! JSON in one form only: keys sorted, no blanks. The order in which it was written is lost.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::ContentHash;
use crate::json;

pub fn hash(value: &Value) -> ContentHash {
    ContentHash(Sha256::digest(text(value).as_bytes()).into())
}

pub fn text(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, value)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                json::push_string(out, key);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::String(text) => json::push_string(out, text),
        scalar => out.push_str(&scalar.to_string()),
    }
}
