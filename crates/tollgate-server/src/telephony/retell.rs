//! `POST /v1/telephony/retell[/{line}[/{tool}]]`: custom functions of Retell.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use tollgate_core::json;

use super::signature::{SignatureError, check_retell};
use super::tool_calls::{self, BadArgumentsError, DeliveredCall};
use super::{MAX_WEBHOOK_BYTES, bad_message, signature_error};
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::phone_lines::DeliveryKey;
use crate::request_context::header;
use crate::webhook::{self, peer_address};

const SIGNATURE: &str = "x-retell-signature";
/// Retell cuts longer results.
const MAX_RESULT_CHARS: usize = 15_000;

/// The part of the path after the vendor.
#[derive(Debug, Default)]
struct RetellPath {
    line: Option<String>,
    /// The tool of functions whose body is the arguments alone.
    tool: Option<String>,
}

pub(crate) async fn retell(State(front): State<Arc<AppState>>, request: Request) -> Response {
    serve(front, RetellPath::default(), request).await
}

pub(crate) async fn retell_line(
    State(front): State<Arc<AppState>>,
    Path(line): Path<String>,
    request: Request,
) -> Response {
    serve(front, RetellPath { line: Some(line), tool: None }, request).await
}

pub(crate) async fn retell_tool(
    State(front): State<Arc<AppState>>,
    Path([line, tool]): Path<[String; 2]>,
    request: Request,
) -> Response {
    serve(front, RetellPath { line: Some(line), tool: Some(tool) }, request).await
}

async fn serve(front: Arc<AppState>, path: RetellPath, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        let line = front.telephony.retell.find(path.line.as_deref())?;
        let presented = header(&sent, SIGNATURE)?;
        let presented = presented.ok_or(SignatureError::Missing).map_err(signature_error)?;
        let body = webhook::read_json(&front, &sent, body, MAX_WEBHOOK_BYTES).await?;
        let key = line.settings.api_key.reveal();
        check_retell(key, &body, presented, front.clock.wall()).map_err(signature_error)?;
        let RetellCall { of_call, call } = read_call(path.tool, &body, presented)?;
        let timeout = line.settings.timeout;
        let answer = tool_calls::answer(&front, &line, &sent, &of_call, call, timeout).await;
        let text: String = answer.message.chars().take(MAX_RESULT_CHARS).collect();
        Ok::<Value, ApiError>(json!({ "result": text }))
    };
    match answered.await {
        Ok(answer) => Json(answer).into_response(),
        Err(problem) => webhook::refuse(&front, peer_address(&sent.extensions), problem),
    }
}

#[derive(Debug, PartialEq)]
struct RetellCall {
    /// Id of the telephone call; empty if the body does not say.
    of_call: String,
    call: DeliveredCall,
}

/// `{name, call, args}`, or with a tool in the path the arguments alone.
fn read_call(tool: Option<String>, body: &[u8], signature: &str) -> Result<RetellCall, ApiError> {
    let text = std::str::from_utf8(body).map_err(|error| bad_message(&error.to_string()))?;
    let read = json::value(text).map_err(|error| bad_message(&error.to_string()))?;
    let Value::Object(mut read) = read else { return Err(bad_message("it is not an object")) };
    let of_call = read.get("call").and_then(|call| call.get("call_id")).and_then(Value::as_str);
    let of_call = of_call.map(str::to_owned);
    // The transcript in the body grows: an equal body is a repeated delivery. Arguments alone may
    // be equal in two calls, but two requests are never signed in the same millisecond.
    let key = match &of_call {
        Some(call) => DeliveryKey::of(&[call.as_bytes(), body]),
        None => DeliveryKey::of(&[signature.as_bytes()]),
    };
    let name = read.get("name").and_then(Value::as_str).map(str::to_owned);
    let has_frame = of_call.is_some() || read.contains_key("args");
    let (tool, arguments) = match (tool, name) {
        (Some(tool), _) if !has_frame => (tool, Ok(read)),
        (Some(tool), _) => (tool, read_arguments(read.remove("args"))),
        (None, Some(name)) => (name, read_arguments(read.remove("args"))),
        (None, None) => {
            return Err(bad_message(
                "`name` is missing; for a function that sends its arguments alone, put the tool \
                 into the URL: `/v1/telephony/retell/LINE/TOOL`",
            ));
        }
    };
    let of_call = of_call.unwrap_or_default();
    Ok(RetellCall { of_call, call: DeliveredCall { key, tool, arguments } })
}

fn read_arguments(arguments: Option<Value>) -> Result<Map<String, Value>, BadArgumentsError> {
    match arguments {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(arguments)) => Ok(arguments),
        Some(_) => Err(BadArgumentsError("it is another kind of value".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tool: Option<&str>, body: &Value, signature: &str) -> RetellCall {
        read_call(tool.map(str::to_owned), body.to_string().as_bytes(), signature).unwrap()
    }

    #[test]
    fn both_forms_of_a_function_are_read() {
        let framed = json!({ "name": "roll", "call": { "call_id": "c1" }, "args": { "a": 1 } });
        let found = read(None, &framed, "s1");
        assert_eq!(found.of_call, "c1");
        assert_eq!(found.call.tool, "roll");
        assert_eq!(found.call.arguments.unwrap()["a"], 1);
        assert_eq!(read(Some("other"), &framed, "s1").call.tool, "other");
        let bare = read(Some("roll"), &json!({ "a": 1, "name": "Ada" }), "s1");
        assert_eq!(bare.call.arguments.clone().unwrap()["name"], "Ada");
        assert_eq!(bare.of_call, "");
        assert!(read_call(None, b"{\"a\":1}", "s1").is_err());
        assert!(read_call(None, b"[]", "s1").is_err());
        assert!(read_call(None, b"{", "s1").is_err());
    }

    #[test]
    fn an_equal_body_is_the_same_call_and_bare_arguments_are_told_apart_by_their_signature() {
        let framed = |said: &str| {
            let call = json!({ "call_id": "c1", "transcript": said });
            json!({ "name": "roll", "call": call, "args": {} })
        };
        let key = |body: &Value, signature| read(None, body, signature).call.key;
        assert_eq!(key(&framed("a"), "s1"), key(&framed("a"), "s2"));
        assert_ne!(key(&framed("a"), "s1"), key(&framed("ab"), "s1"));
        let bare = |signature| read(Some("roll"), &json!({ "a": 1 }), signature).call.key;
        assert_eq!(bare("s1"), bare("s1"));
        assert_ne!(bare("s1"), bare("s2"));
    }
}
