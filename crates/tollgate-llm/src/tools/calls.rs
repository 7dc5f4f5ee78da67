//! Decodes tool calls in each API's own format: one, several, or the message that contains them.
//! Called by fronts that run calls for a client's model.

use serde_json::Value;

use super::listing::DocumentExtent;
use crate::conversation::FunctionCall;
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::fields::{FieldReader, wrong};

/// The calls of a document, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallDocument {
    pub calls: Vec<FunctionCall>,
    /// Whether they came as a list, even with one item.
    pub extent: DocumentExtent,
}

pub fn read(document: Value, dialect: Dialect) -> Result<CallDocument, LlmError> {
    let (items, extent) = items(document, dialect)?;
    let calls: Result<Vec<FunctionCall>, LlmError> = items
        .into_iter()
        .enumerate()
        .map(|(at, item)| {
            let place = match extent {
                DocumentExtent::One => String::new(),
                DocumentExtent::Many => format!("[{at}]"),
            };
            call(FieldReader::new(item, place)?, dialect)
        })
        .collect();
    let calls = calls?;
    if calls.is_empty() {
        return Err(LlmError::invalid("", "there is no tool call in the body"));
    }
    Ok(CallDocument { calls, extent })
}

/// Field of a dialect's message that contains its calls.
fn calls_key(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenAiChat => "tool_calls",
        Dialect::OpenAiResponses => "output",
        Dialect::Anthropic => "content",
        Dialect::Gemini => "parts",
    }
}

fn items(document: Value, dialect: Dialect) -> Result<(Vec<Value>, DocumentExtent), LlmError> {
    let key = calls_key(dialect);
    match document {
        Value::Array(items) => Ok((items, DocumentExtent::Many)),
        Value::Object(mut fields) if fields.get(key).is_some_and(Value::is_array) => {
            let items = fields.shift_remove(key);
            let items = items.and_then(|items| items.as_array().cloned()).unwrap_or_default();
            Ok((
                items.into_iter().filter(|item| is_call(item, dialect)).collect(),
                DocumentExtent::Many,
            ))
        }
        Value::Object(_) => Ok((vec![document], DocumentExtent::One)),
        other => Err(wrong("", "a tool call or a list of them", &other)),
    }
}

/// Messages contain text beside calls.
fn is_call(item: &Value, dialect: Dialect) -> bool {
    match dialect {
        Dialect::OpenAiChat => true,
        Dialect::OpenAiResponses => item["type"] == "function_call",
        Dialect::Anthropic => item["type"] == "tool_use",
        Dialect::Gemini => item.get("functionCall").is_some(),
    }
}

fn call(mut item: FieldReader, dialect: Dialect) -> Result<FunctionCall, LlmError> {
    let expected = match dialect {
        Dialect::OpenAiChat => "function",
        Dialect::OpenAiResponses => "function_call",
        Dialect::Anthropic => "tool_use",
        Dialect::Gemini => "",
    };
    if let Some(kind) = item.text("type")?.filter(|kind| kind != expected) {
        let at = item.place("type");
        let kind = kind.chars().take(40).collect::<String>();
        let message = format!("`{at}` is `{kind}`; only calls of type `{expected}` can be run");
        return Err(LlmError::invalid(at, message));
    }
    match dialect {
        Dialect::OpenAiChat => {
            let id = item.text("id")?;
            match item.object("function")? {
                Some(function) => {
                    let id = id.ok_or_else(|| item.missing("id"))?;
                    read_call_item(id, function, "arguments")
                }
                // A bare function: some gateways forward it in this form.
                None => {
                    read_call_item(id.unwrap_or_else(|| "call_1".to_owned()), item, "arguments")
                }
            }
        }
        Dialect::OpenAiResponses => {
            let id = item.needed_text("call_id")?;
            read_call_item(id, item, "arguments")
        }
        Dialect::Anthropic => {
            let id = item.needed_text("id")?;
            read_call_item(id, item, "input")
        }
        Dialect::Gemini => {
            let mut call = match item.object("functionCall")? {
                Some(call) => call,
                None => item,
            };
            let id = call.text("id")?.unwrap_or_default();
            read_call_item(id, call, "args")
        }
    }
}

/// Arguments are a string in some APIs and an object in others.
fn read_call_item(id: String, mut item: FieldReader, key: &str) -> Result<FunctionCall, LlmError> {
    let name = item.needed_text("name")?;
    let arguments = match item.take(key) {
        None => String::new(),
        Some(Value::String(text)) => text,
        Some(object @ Value::Object(_)) => object.to_string(),
        Some(other) => return Err(wrong(&item.place(key), "an object, or one as text", &other)),
    };
    Ok(FunctionCall { id, name, arguments })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::read;
    use crate::dialect::Dialect;
    use crate::tools::DocumentExtent;

    fn check(dialect: Dialect, document: Value, expected: &str) {
        let call = match read(document, dialect) {
            Ok(calls) => {
                let each = calls.calls.iter();
                let each = each.map(|it| format!("{}:{}({})", it.id, it.name, it.arguments));
                let all = each.collect::<Vec<_>>().join(" ");
                if calls.extent == DocumentExtent::Many { format!("[{all}]") } else { all }
            }
            Err(failure) => failure.message,
        };
        assert_eq!(call, expected);
    }

    #[test]
    fn calls_are_read_in_every_dialect() {
        let chat = json!({"id": "c", "type": "function", "function": {"name": "roll", "arguments": "{\"n\":1}"}});
        check(Dialect::OpenAiChat, chat.clone(), "c:roll({\"n\":1})");
        check(Dialect::OpenAiChat, json!([chat]), "[c:roll({\"n\":1})]");
        check(
            Dialect::OpenAiChat,
            json!({"role": "assistant", "content": null, "tool_calls": [chat, chat]}),
            "[c:roll({\"n\":1}) c:roll({\"n\":1})]",
        );
        check(
            Dialect::OpenAiChat,
            json!({"name": "roll", "arguments": {"n": 1}}),
            "call_1:roll({\"n\":1})",
        );
        check(
            Dialect::OpenAiResponses,
            json!({"type": "function_call", "id": "fc", "call_id": "c", "name": "roll", "arguments": "{}"}),
            "c:roll({})",
        );
        check(
            Dialect::OpenAiResponses,
            json!({"output": [{"type": "message"}, {"type": "function_call", "call_id": "c", "name": "roll", "arguments": ""}]}),
            "[c:roll()]",
        );
        check(
            Dialect::Anthropic,
            json!({"role": "assistant", "content": [{"type": "text", "text": "hm"}, {"type": "tool_use", "id": "t", "name": "roll", "input": {"n": 1}}]}),
            "[t:roll({\"n\":1})]",
        );
        check(
            Dialect::Gemini,
            json!({"functionCall": {"name": "roll", "args": {"n": 1}}}),
            ":roll({\"n\":1})",
        );
        check(Dialect::Gemini, json!({"name": "roll", "id": "x"}), "x:roll()");
    }

    #[test]
    fn b_ch_01_what_is_no_call_is_told_with_its_place() {
        for (dialect, document, expected) in [
            (
                Dialect::OpenAiChat,
                json!(7),
                "`the body` must be a tool call or a list of them, not a number",
            ),
            (Dialect::OpenAiChat, json!([]), "there is no tool call in the body"),
            (Dialect::OpenAiChat, json!([null]), "`[0]` must be an object, not null"),
            (
                Dialect::OpenAiChat,
                json!({"type": "function", "function": {"name": "a"}}),
                "`id` is missing",
            ),
            (
                Dialect::OpenAiChat,
                json!({"id": "c", "function": {"arguments": "{}"}}),
                "`function.name` is missing",
            ),
            (
                Dialect::OpenAiChat,
                json!({"id": "c", "type": "custom"}),
                "`type` is `custom`; only calls of type `function` can be run",
            ),
            (
                Dialect::OpenAiResponses,
                json!({"call_id": "c", "name": "a", "arguments": [1]}),
                "`arguments` must be an object, or one as text, not a list",
            ),
            (Dialect::Anthropic, json!([{"type": "tool_use", "name": "a"}]), "`[0].id` is missing"),
            (
                Dialect::Gemini,
                json!({"functionCall": "x"}),
                "`functionCall` must be an object, not a string",
            ),
        ] {
            check(dialect, document, expected);
        }
    }
}
