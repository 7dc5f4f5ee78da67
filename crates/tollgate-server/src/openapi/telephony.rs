//! OpenAPI: webhooks of telephone platforms. Their requests are documented by the platforms.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{free, list, object, text, with_description};

pub(super) fn area() -> OpenApiSection {
    OpenApiSection {
        tag: "telephony",
        about: "Webhooks of telephone platforms, which prove themselves by signatures, not by keys.",
        operations: vec![
            twilio("/v1/telephony/twilio/voice", "answerCall"),
            twilio("/v1/telephony/twilio/{line}/voice", "answerCallOfLine"),
            vapi("/v1/telephony/vapi", "callToolsForVapi"),
            vapi("/v1/telephony/vapi/{line}", "callToolsForVapiLine"),
            retell("/v1/telephony/retell", "callToolForRetell"),
            retell("/v1/telephony/retell/{line}", "callToolForRetellLine"),
            retell("/v1/telephony/retell/{line}/{tool}", "callNamedToolForRetell")
                .takes(with_description(free(), "the arguments alone")),
        ],
        schemas: Vec::new(),
    }
}

fn refusing(operation: Operation) -> Operation {
    operation.open().refuses(&[
        (400, "`bad_message`, or a malformed body"),
        (403, "`bad_signature`, `no_line_key`, or the key lacks a right"),
        (404, "`unknown_line`: not configured, or one of several must be named"),
        (429, "too many wrong signatures of this address"),
    ])
}

fn twilio(path: &'static str, id: &'static str) -> Operation {
    let form = with_description(free(), "the fields of Twilio's voice webhook");
    refusing(Operation::new("post", path, id, "A phone call comes in at Twilio"))
        .header("x-twilio-signature", text(), "HMAC-SHA1 over the URL and the fields")
        .takes_media("application/x-www-form-urlencoded", form)
        .gives_media(200, "text/xml", "TwiML that connects the call", text())
}

fn vapi(path: &'static str, id: &'static str) -> Operation {
    let message = object(&[("type", text())], &[]);
    let result = object(
        &[("name", text()), ("toolCallId", text())],
        &[("result", text()), ("error", text())],
    );
    let results = object(&[("results", list(result))], &[]);
    let assistant = object(&[], &[("assistantId", text())]);
    refusing(Operation::new("post", path, id, "A message of Vapi, such as tool calls"))
        .header("authorization", text(), "as its credential says; or `x-vapi-secret`, or an HMAC")
        .takes(open(object(&[("message", open(message))], &[])))
        .gives(
            200,
            "results of tool calls, or an acknowledgement",
            json!({"anyOf": [results, assistant]}),
        )
}

fn retell(path: &'static str, id: &'static str) -> Operation {
    let request = object(&[], &[("name", text()), ("call", free()), ("args", free())]);
    refusing(Operation::new("post", path, id, "A custom function of Retell is called"))
        .header("x-retell-signature", text(), "`v=MILLISECONDS,d=HMAC-SHA256`")
        .takes(open(request))
        .gives(200, "what the agent is told", object(&[("result", text())], &[]))
}

/// Allows fields that the platforms add.
fn open(mut schema: Value) -> Value {
    schema["additionalProperties"] = json!(true);
    schema
}
