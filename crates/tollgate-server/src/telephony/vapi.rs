//! `POST /v1/telephony/vapi[/{line}]`: the server URL of Vapi. Runs the tool calls of its
//! assistants, and acknowledges its other messages.

use std::sync::Arc;
use std::time::SystemTime;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use futures_util::future::join_all;
use http::header::AUTHORIZATION;
use http::request::Parts;
use serde_json::{Map, Value, json};
use subtle::ConstantTimeEq as _;
use tollgate_core::json;

use super::signature::{PresentedHmac, SignatureError, check_hmac};
use super::tool_calls::{self, BadArgumentsError, DeliveredCall};
use super::{MAX_WEBHOOK_BYTES, bad_message, signature_error};
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::phone_lines::{DeliveryKey, HmacScheme, PhoneLine, VapiAuth, VapiLine};
use crate::request_context::header;
use crate::webhook::{self, peer_address};

/// Tool calls in one message.
const MAX_CALLS: usize = 32;
/// The older form of a bearer token.
const SECRET_HEADER: &str = "x-vapi-secret";

pub(crate) async fn vapi(State(front): State<Arc<AppState>>, request: Request) -> Response {
    serve(front, None, request).await
}

pub(crate) async fn vapi_line(
    State(front): State<Arc<AppState>>,
    Path(line): Path<String>,
    request: Request,
) -> Response {
    serve(front, Some(line), request).await
}

async fn serve(front: Arc<AppState>, line: Option<String>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        let line = front.telephony.vapi.find(line.as_deref())?;
        let proof = VapiProof::read(&line.settings, &sent).map_err(signature_error)?;
        let body = webhook::read_json(&front, &sent, body, MAX_WEBHOOK_BYTES).await?;
        proof.check(&body, front.clock.wall()).map_err(signature_error)?;
        answer(&front, &line, &sent, &body).await
    };
    match answered.await {
        Ok(answer) => Json(answer).into_response(),
        Err(problem) => webhook::refuse(&front, peer_address(&sent.extensions), problem),
    }
}

/// What a request has to prove itself with. A wrong token is refused before the body is read.
enum VapiProof<'r> {
    Token,
    Hmac(&'r HmacScheme, PresentedHmac<'r>),
}

impl<'r> VapiProof<'r> {
    fn read(line: &'r VapiLine, sent: &'r Parts) -> Result<Self, SignatureError> {
        let text = |name: &str| header(sent, name).map_err(|_| SignatureError::Malformed);
        match &line.auth {
            VapiAuth::Token(secret) => {
                let presented = match bearer(text(AUTHORIZATION.as_str())?) {
                    Some(key) => key,
                    None => text(SECRET_HEADER)?.ok_or(SignatureError::Missing)?,
                };
                let is_same: bool = presented.as_bytes().ct_eq(secret.reveal().as_bytes()).into();
                if is_same { Ok(Self::Token) } else { Err(SignatureError::Wrong) }
            }
            VapiAuth::Hmac(scheme) => {
                let signature = text(&scheme.signature_header)?.ok_or(SignatureError::Missing)?;
                let time = scheme.timestamp_header.as_deref().map(text).transpose()?.flatten();
                Ok(Self::Hmac(scheme, PresentedHmac { signature, time }))
            }
        }
    }

    fn check(&self, body: &[u8], now: SystemTime) -> Result<(), SignatureError> {
        match self {
            Self::Token => Ok(()),
            Self::Hmac(scheme, presented) => check_hmac(scheme, body, *presented, now),
        }
    }
}

fn bearer(authorization: Option<&str>) -> Option<&str> {
    let (scheme, key) = authorization?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(key.trim())
}

async fn answer(
    front: &Arc<AppState>,
    line: &Arc<PhoneLine<VapiLine>>,
    sent: &Parts,
    body: &[u8],
) -> Result<Value, ApiError> {
    let text = std::str::from_utf8(body).map_err(|error| bad_message(&error.to_string()))?;
    let body = json::value(text).map_err(|error| bad_message(&error.to_string()))?;
    let message = body.get("message").and_then(Value::as_object);
    let message = message.ok_or_else(|| bad_message("`message` is missing"))?;
    match message.get("type").and_then(Value::as_str) {
        Some("tool-calls") => {
            let call_id = message.get("call").and_then(|call| call.get("id"));
            let call_id = call_id.and_then(Value::as_str).unwrap_or_default();
            let mut calls = read_calls(call_id, message);
            let refused = calls.split_off(calls.len().min(MAX_CALLS));
            let running = calls.into_iter().map(|call| run(front, line, sent, call_id, call));
            let mut results = join_all(running).await;
            results.extend(refused.iter().map(refuse_call));
            Ok(json!({ "results": results }))
        }
        Some("assistant-request") => Ok(match &line.settings.assistant {
            Some(assistant) => json!({ "assistantId": assistant }),
            None => json!({}),
        }),
        Some(_) => Ok(json!({})),
        None => Err(bad_message("`message.type` is missing")),
    }
}

/// A call as Vapi names it, and as it is run.
#[derive(Debug, PartialEq)]
struct VapiCall {
    id: String,
    call: DeliveredCall,
}

async fn run(
    front: &Arc<AppState>,
    line: &Arc<PhoneLine<VapiLine>>,
    sent: &Parts,
    call_id: &str,
    VapiCall { id, call }: VapiCall,
) -> Value {
    let name = call.tool.clone();
    let timeout = line.settings.timeout;
    let answer = tool_calls::answer(front, line, sent, call_id, call, timeout).await;
    let text = single_line(&answer.message);
    let member = if answer.is_error { "error" } else { "result" };
    json!({ "name": name, "toolCallId": id, member: text })
}

fn refuse_call(VapiCall { id, call }: &VapiCall) -> Value {
    let why = format!("Too many calls in one message. The limit is {MAX_CALLS}.");
    json!({ "name": call.tool, "toolCallId": id, "error": why })
}

/// Vapi does not read results with line breaks.
fn single_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// The calls of a message, in each of the forms that Vapi documents.
fn read_calls(call_id: &str, message: &Map<String, Value>) -> Vec<VapiCall> {
    let list = |key: &str| message.get(key).and_then(Value::as_array).filter(|it| !it.is_empty());
    let calls: Vec<&Value> = match (list("toolCallList"), list("toolCalls")) {
        (Some(calls), _) | (None, Some(calls)) => calls.iter().collect(),
        (None, None) => {
            let tools = list("toolWithToolCallList").into_iter().flatten();
            tools.map(|tool| tool.get("toolCall").unwrap_or(tool)).collect()
        }
    };
    calls.into_iter().map(|call| read_call(call_id, call)).collect()
}

fn read_call(call_id: &str, call: &Value) -> VapiCall {
    let function = call.get("function").unwrap_or(call);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let arguments = ["arguments", "parameters"].iter().find_map(|key| function.get(key));
    let id = text(call.get("id"));
    let tool = text(function.get("name").or_else(|| call.get("name")));
    // Calls that nobody named are never taken for the same.
    let unnamed = if id.is_empty() { rand::random::<u128>() } else { 0 };
    let named = [call_id.as_bytes(), id.as_bytes(), tool.as_bytes(), &unnamed.to_be_bytes()];
    let key = DeliveryKey::of(&named);
    VapiCall { id, call: DeliveredCall { key, tool, arguments: read_arguments(arguments) } }
}

/// An object, or one in a string.
fn read_arguments(arguments: Option<&Value>) -> Result<Map<String, Value>, BadArgumentsError> {
    match arguments {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(arguments)) => Ok(arguments.clone()),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Map::new()),
        Some(Value::String(text)) => match json::value(text) {
            Ok(Value::Object(arguments)) => Ok(arguments),
            Ok(_) => Err(BadArgumentsError("it is another kind of value".to_owned())),
            Err(error) => Err(BadArgumentsError(error.to_string())),
        },
        Some(_) => Err(BadArgumentsError("it is another kind of value".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_documented_forms_of_a_call_are_read() {
        let arguments = json!({ "expression": "2d6" });
        let expected = || VapiCall {
            id: "t1".to_owned(),
            call: DeliveredCall {
                key: DeliveryKey::of(&[b"c1", b"t1", b"roll", &[0; 16]]),
                tool: "roll".to_owned(),
                arguments: Ok(arguments.as_object().unwrap().clone()),
            },
        };
        let text = arguments.to_string();
        let function = json!({ "name": "roll", "arguments": text });
        for message in [
            json!({ "toolCallList": [{ "id": "t1", "name": "roll", "arguments": arguments }] }),
            json!({ "toolCallList": [{ "id": "t1", "name": "roll", "parameters": arguments }] }),
            json!({ "toolCallList": [{ "id": "t1", "type": "function", "function": function }] }),
            json!({ "toolCalls": [{ "id": "t1", "type": "function", "function":
                { "name": "roll", "parameters": arguments } }] }),
            json!({ "toolCallList": [], "toolWithToolCallList": [{ "type": "function",
                "toolCall": { "id": "t1", "type": "function", "function": function } }] }),
            json!({ "toolWithToolCallList": [{ "name": "roll",
                "toolCall": { "id": "t1", "name": "roll", "parameters": arguments } }] }),
        ] {
            let calls = read_calls("c1", message.as_object().unwrap());
            assert_eq!(calls, [expected()], "{message}");
        }
    }

    #[test]
    fn arguments_that_are_none_are_told_to_the_model() {
        for (arguments, expected) in [
            (json!(null), Ok(0)),
            (json!({}), Ok(0)),
            (json!(""), Ok(0)),
            (json!("{\"a\":1}"), Ok(1)),
            (json!("[1]"), Err(())),
            (json!("{"), Err(())),
            (json!(5), Err(())),
        ] {
            let read = read_arguments(Some(&arguments)).map(|it| it.len()).map_err(|_| ());
            assert_eq!(read, expected, "{arguments}");
        }
    }

    #[test]
    fn results_have_one_line() {
        assert_eq!(single_line(" a\n\nb\r\n c\t"), "a b c");
    }
}
