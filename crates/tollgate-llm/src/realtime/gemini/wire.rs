//! Wire format of `BidiGenerateContent`: classifies messages without parsing more than needed, and
//! encodes ours. Called by the state machine only; decides nothing.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tollgate_core::json::{MalformedJsonError, Object, raw};
use tollgate_core::tool::ResultDelivery;

use super::family::NoteChannel;
use crate::realtime::events::{DialectAction, MessageFate, RealtimeFrame};
use crate::realtime::handover::describe_result;
use crate::realtime::json_peek;

/// A client message. Each is one of these; the text is that of the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GeminiClientMessage<'a> {
    Setup(&'a str),
    Content(&'a str),
    Input(&'a str),
    Response(&'a str),
    Update(&'a str),
    /// Addressed to the gateway.
    Tollgate(&'a str),
    Other,
    /// Not an object, or several of these: parsers may disagree about its meaning.
    Unclear,
}

pub(super) fn parse_client_message(text: &str) -> GeminiClientMessage<'_> {
    let mut found = GeminiClientMessage::Other;
    let walked = json_peek::for_each_field(text, |key, value| {
        let message = match key {
            "setup" => GeminiClientMessage::Setup(value),
            "clientContent" | "client_content" => GeminiClientMessage::Content(value),
            "realtimeInput" | "realtime_input" => GeminiClientMessage::Input(value),
            "toolResponse" | "tool_response" => GeminiClientMessage::Response(value),
            "contextUpdate" | "context_update" => GeminiClientMessage::Update(value),
            "tollgate" => GeminiClientMessage::Tollgate(value),
            _ => return true,
        };
        found = if found == GeminiClientMessage::Other {
            message
        } else {
            GeminiClientMessage::Unclear
        };
        found != GeminiClientMessage::Unclear
    });
    if walked { found } else { GeminiClientMessage::Unclear }
}

/// A provider message. It can be several of these at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct GeminiServerMessage<'a> {
    pub setup_complete: Option<&'a str>,
    pub content: Option<&'a str>,
    pub calls: Option<&'a str>,
    pub cancellation: Option<&'a str>,
    pub go_away: Option<&'a str>,
    pub resumption: Option<&'a str>,
}

pub(super) fn parse_server_message(text: &str) -> GeminiServerMessage<'_> {
    let mut message = GeminiServerMessage::default();
    json_peek::for_each_field(text, |key, value| {
        match key {
            "setupComplete" => message.setup_complete = Some(value),
            "serverContent" => message.content = Some(value),
            "toolCall" => message.calls = Some(value),
            "toolCallCancellation" => message.cancellation = Some(value),
            "goAway" => message.go_away = Some(value),
            "sessionResumptionUpdate" => message.resumption = Some(value),
            _ => (),
        }
        true
    });
    message
}

/// Fields of a provider message to replace for the client; `None`: to remove.
pub(super) type MessageEdits = Vec<(&'static str, Option<Box<RawValue>>)>;

pub(super) fn apply_edits(text: &str, edits: MessageEdits) -> MessageFate {
    if edits.is_empty() {
        return MessageFate::Forward;
    }
    // The fields were read one by one, so this is an object.
    let Ok(mut message) = Object::parse(text) else { return MessageFate::Swallow };
    for (key, value) in edits {
        match value {
            Some(value) => message.set(key, value),
            None => drop(message.remove(key)),
        }
    }
    if message.is_empty() { MessageFate::Swallow } else { MessageFate::Replace(message.to_text()) }
}

/// Google's server sends its JSON in binary frames.
pub(super) fn text_of<'a>(frame: &RealtimeFrame<'a>) -> Option<&'a str> {
    match *frame {
        RealtimeFrame::Text(text) => Some(text),
        RealtimeFrame::Binary(bytes) => std::str::from_utf8(bytes).ok(),
    }
}

/// A field with two spellings; both at once are an error.
pub(super) fn get_either_spelling<'o>(
    object: &'o Object<'_>,
    camel: &str,
    snake: &str,
) -> Result<Option<&'o RawValue>, MalformedJsonError> {
    match (object.get(camel), object.get(snake)) {
        (Some(_), Some(_)) if camel != snake => {
            Err(MalformedJsonError::Duplicate { key: camel.to_owned() })
        }
        (found, other) => Ok(found.or(other)),
    }
}

/// The items of a list, unparsed.
pub(super) fn items(list: &RawValue) -> Result<Vec<&RawValue>, MalformedJsonError> {
    Ok(serde_json::from_str(list.get())?)
}

pub(super) fn list<'a>(items: impl IntoIterator<Item = &'a RawValue>) -> Box<RawValue> {
    let texts: Vec<&str> = items.into_iter().map(RawValue::get).collect();
    raw(format!("[{}]", texts.join(",")))
}

/// An object with one field.
pub(super) fn wrap(key: &'static str, value: Box<RawValue>) -> Object<'static> {
    let mut object = Object::new();
    object.set(key, value);
    object
}

/// Whether more answers follow this one, for calls beside which a model keeps talking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MoreAnswers {
    Follow,
    End,
}

/// The answer to one call. A model that keeps talking is told when to mention it: the guides put
/// `scheduling` inside the response, the reference beside it.
pub(super) fn response(
    call: &AnswerTarget<'_>,
    outcome: &str,
    scheduled: Option<AnswerSchedule>,
) -> String {
    let (key, outcome) = outcome_field(outcome);
    let mut response = json!({"name": call.name, "response": {key: outcome}});
    if let Some(id) = call.id {
        response["id"] = id.into();
    }
    if let Some(AnswerSchedule { delivery, more }) = scheduled {
        let scheduling = scheduling(delivery);
        response["response"]["scheduling"] = scheduling.into();
        response["scheduling"] = scheduling.into();
        response["willContinue"] = (more == MoreAnswers::Follow).into();
    }
    json!({"toolResponse": {"functionResponses": [response]}}).to_string()
}

/// The call that an answer is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerTarget<'a> {
    /// `None`: the provider sent none.
    pub id: Option<&'a str>,
    pub name: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnswerSchedule {
    pub delivery: ResultDelivery,
    pub more: MoreAnswers,
}

fn scheduling(delivery: ResultDelivery) -> &'static str {
    match delivery {
        ResultDelivery::Wait | ResultDelivery::WhenIdle => "WHEN_IDLE",
        ResultDelivery::Interrupt => "INTERRUPT",
        ResultDelivery::Silent => "SILENT",
    }
}

/// Key and value of an outcome. Never empty: the model would repeat the call over and over.
fn outcome_field(outcome: &str) -> (&'static str, Value) {
    let object = serde_json::from_str::<Value>(outcome).unwrap_or_else(|_| outcome.into());
    let is_empty = match &object {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    if is_empty {
        return ("output", json!({"status": "ok", "message": "Done.", "retryable": false}));
    }
    let well = matches!(
        object.get("status").and_then(Value::as_str),
        None | Some("ok" | "no_results" | "pending")
    );
    (if well { "output" } else { "error" }, object)
}

/// Text about the result of a call that can no longer be answered.
pub(super) fn words(name: &str, outcome: &str) -> String {
    describe_result(name, &outcome_field(outcome).1)
}

pub(super) fn note_message(words: &str, telling: NoteChannel) -> String {
    let turns = || json!([{"role": "user", "parts": [{"text": words}]}]);
    match telling {
        NoteChannel::Turn => json!({"clientContent": {"turns": turns(), "turnComplete": true}}),
        NoteChannel::Note => json!({"clientContent": {"turns": turns(), "turnComplete": false}}),
        NoteChannel::Text => json!({"realtimeInput": {"text": words}}),
    }
    .to_string()
}

/// The protocol has no error message; this is the format of the API elsewhere, and the SDKs raise
/// it.
pub(super) fn error_message(message: &str) -> DialectAction {
    let error = json!({"code": 400, "message": message, "status": "INVALID_ARGUMENT"});
    DialectAction::ToClient(json!({"code": 400, "error": error}).to_string())
}
