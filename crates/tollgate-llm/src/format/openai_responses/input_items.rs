//! The items of a stored response's input, as the API lists them: each whole, with an id.

use serde_json::{Value, json};

use super::OWN_ID_PREFIX;

/// `input` is the field of the request: a text, or a list of items. Items without an id get one
/// that is the same each time.
pub fn input_items(input: &Value, response: &str) -> Vec<Value> {
    let items = match input {
        Value::String(text) => vec![json!({"role": "user", "content": text})],
        Value::Array(items) => items.clone(),
        _ => Vec::new(),
    };
    let whole = |(index, item)| whole_item(item, index, response);
    items.into_iter().enumerate().map(whole).collect()
}

fn whole_item(mut item: Value, index: usize, response: &str) -> Value {
    let Some(fields) = item.as_object_mut() else { return item };
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or("message").to_owned();
    if kind == "message" {
        let is_answer = fields.get("role").and_then(Value::as_str) == Some("assistant");
        if let Some(Value::String(text)) = fields.get("content") {
            let part = if is_answer {
                json!({"type": "output_text", "text": text, "annotations": []})
            } else {
                json!({"type": "input_text", "text": text})
            };
            fields.insert("content".to_owned(), json!([part]));
        }
        fields.entry("status").or_insert_with(|| json!("completed"));
    }
    if fields.get("id").is_none_or(Value::is_null) {
        let prefix = match kind.as_str() {
            "message" => "msg",
            "function_call" => "fc",
            "function_call_output" => "fco",
            _ => "item",
        };
        let response = response.trim_start_matches("resp_");
        fields
            .insert("id".to_owned(), format!("{prefix}_{OWN_ID_PREFIX}{response}_{index}").into());
    }
    fields.insert("type".to_owned(), kind.into());
    item
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::input_items;

    #[test]
    fn a_text_is_one_message_of_the_user() {
        let items = input_items(&json!("hello"), "resp_1");
        let part = json!({"type": "input_text", "text": "hello"});
        assert_eq!(items.len(), 1);
        assert_eq!((&items[0]["type"], &items[0]["role"]), (&json!("message"), &json!("user")));
        assert_eq!(items[0]["content"], json!([part]));
        assert_eq!(items, input_items(&json!("hello"), "resp_1"), "ids do not change");
    }

    #[test]
    fn items_keep_their_ids_and_get_one_where_they_have_none() {
        let input = json!([
            {"role": "assistant", "content": "before"},
            {"type": "function_call", "id": "fc_9", "call_id": "c", "name": "n", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "done"},
        ]);
        let items = input_items(&input, "resp_7");
        assert_eq!(items[0]["content"][0]["type"], "output_text");
        let ids: Vec<&str> = items.iter().map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["msg_tollgate_7_0", "fc_9", "fco_tollgate_7_2"]);
    }
}
