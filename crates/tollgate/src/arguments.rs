//! Parses tool arguments of the command line: `key=value` pairs, or one JSON object. The tool's
//! input schema, if known, determines the types.

use serde_json::{Map, Value};

use crate::command_error::CommandError;

/// `schema` is the tool's `input_schema`, or `Null` if it is unknown.
pub fn parse(typed: &[String], schema: &Value) -> Result<Map<String, Value>, CommandError> {
    if let [one] = typed
        && one.trim_start().starts_with('{')
    {
        return serde_json::from_str(one)
            .map_err(|error| CommandError::Usage(format!("the arguments are not JSON: {error}")));
    }
    let mut arguments = Map::new();
    for pair in typed {
        let Some((name, text)) = pair.split_once('=') else {
            let message = format!("`{pair}` is not `key=value`; or give one JSON object");
            return Err(CommandError::Usage(message));
        };
        let value = value(name, text, &schema["properties"][name])?;
        if arguments.insert(name.to_owned(), value).is_some() {
            return Err(CommandError::Usage(format!("`{name}` appears twice")));
        }
    }
    Ok(arguments)
}

fn value(name: &str, text: &str, schema: &Value) -> Result<Value, CommandError> {
    let kinds = kinds(schema);
    let is_text = kinds.is_empty() || kinds.contains(&"string");
    match serde_json::from_str::<Value>(text) {
        Ok(parsed) if kinds.iter().any(|kind| fits(&parsed, kind)) => Ok(parsed),
        _ if is_text => Ok(Value::String(text.to_owned())),
        _ => {
            let kinds = kinds.join(" or ");
            Err(CommandError::Usage(format!("`{name}` must be of type {kinds}, not `{text}`")))
        }
    }
}

/// The types that a property may have besides string.
fn kinds(schema: &Value) -> Vec<&str> {
    let own = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let variants = ["anyOf", "oneOf"].into_iter().filter_map(|word| schema[word].as_array());
    let nested = variants.flatten().flat_map(kinds);
    own.into_iter().chain(nested).collect()
}

/// Strings are taken as typed, including quotes, so only other types are checked here.
fn fits(value: &Value, kind: &str) -> bool {
    match kind {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::parse;

    fn check(typed: &[&str], expected: &str) {
        let schema = json!({ "properties": {
            "text": { "type": "string" },
            "count": { "type": "integer" },
            "ratio": { "type": "number" },
            "deep": { "type": "boolean" },
            "list": { "type": "array" },
            "any": {},
            "maybe": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
            "either": { "type": ["string", "integer"] },
        }});
        let typed: Vec<String> = typed.iter().map(|&it| it.to_owned()).collect();
        let found = match parse(&typed, &schema) {
            Ok(arguments) => Value::Object(arguments).to_string(),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(found, expected, "{typed:?}");
    }

    #[test]
    fn values_have_the_type_that_the_schema_says() {
        check(&[], "{}");
        check(&["text=5"], r#"{"text":"5"}"#);
        check(&["text=a=b"], r#"{"text":"a=b"}"#);
        check(&["text="], r#"{"text":""}"#);
        check(&["count=-5", "ratio=1.5", "deep=true"], r#"{"count":-5,"ratio":1.5,"deep":true}"#);
        check(&["list=[1,\"a\"]"], r#"{"list":[1,"a"]}"#);
        check(&["any=5", "unknown=x"], r#"{"any":"5","unknown":"x"}"#);
        check(&["maybe=null"], r#"{"maybe":null}"#);
        check(&["either=7"], r#"{"either":7}"#);
        check(&["either=seven"], r#"{"either":"seven"}"#);
        check(&[r#"{"text": "x", "count": 2}"#], r#"{"text":"x","count":2}"#);
    }

    #[test]
    fn what_cannot_be_is_refused_before_the_call() {
        check(&["count=five"], "`count` must be of type integer, not `five`");
        check(&["count=1.5"], "`count` must be of type integer, not `1.5`");
        check(&["deep=yes"], "`deep` must be of type boolean, not `yes`");
        check(&["maybe=x"], "`maybe` must be of type integer or null, not `x`");
        check(&["roll"], "`roll` is not `key=value`; or give one JSON object");
        check(&["text=a", "text=b"], "`text` appears twice");
        check(&["{"], "the arguments are not JSON: EOF while parsing an object at line 1 column 1");
    }
}
