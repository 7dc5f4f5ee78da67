//! OpenAPI: calls over WebRTC and SIP, and client secrets, in the form of OpenAI's API.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::calling::with_context_headers;
use super::operation::Operation;
use super::schema::{body, free, object, schema_ref, text, whole, with_description};

pub(super) fn area() -> OpenApiSection {
    OpenApiSection {
        tag: "realtime",
        about: "Calls of browsers (WebRTC) and telephones (SIP), in the form of OpenAI's API.",
        operations: vec![
            secrets(),
            sessions(),
            create(),
            of_call("accept", "acceptCall", "Answers an incoming SIP call with the agent")
                .takes(schema_ref("RealtimeSession"))
                .refuses(&[
                    (404, "`call_not_found`, `model_not_found`"),
                    (409, "`call_already_held`"),
                ]),
            of_call("hangup", "hangUpCall", "Ends a call").refuses(&[(404, "`call_not_found`")]),
            of_call("refer", "referCall", "Transfers a SIP call")
                .takes(body(&[("target_uri", text())], &[]))
                .refuses(&[(404, "`call_not_found`")]),
            of_call("reject", "rejectCall", "Declines an incoming SIP call")
                .takes(body(&[], &[("status_code", whole())]))
                .refuses(&[(404, "`call_not_found`")]),
            incoming(),
        ],
        schemas: vec![("RealtimeSession", session()), ("ClientSecret", secret())],
    }
}

fn session() -> Value {
    with_description(
        free(),
        "a session configuration of OpenAI's API; the agent's prompt and tools are added to it",
    )
}

fn secret() -> Value {
    object(
        &[("value", text()), ("expires_at", whole())],
        &[("session", schema_ref("RealtimeSession"))],
    )
}

fn secrets() -> Operation {
    let expires_after = body(&[], &[("anchor", text()), ("seconds", whole())]);
    with_context_headers(
        Operation::new(
            "post",
            "/v1/realtime/client_secrets",
            "issueClientSecret",
            "A short-lived secret with which a browser opens live sessions",
        )
        .needs("execute")
        .query("agent", text(), "default: the agent of the key, or the default agent"),
    )
    .takes(body(
        &[],
        &[
            ("expires_after", expires_after),
            ("max_uses", whole()),
            ("session", schema_ref("RealtimeSession")),
        ],
    ))
    .gives(200, "the secret, shown only once", schema_ref("ClientSecret"))
    .refuses(&[(404, "`unknown_agent`, `model_not_found`"), (429, "`too_many_at_once`")])
}

fn sessions() -> Operation {
    let nested = object(&[("client_secret", schema_ref("ClientSecret"))], &[]);
    with_context_headers(
        Operation::new(
            "post",
            "/v1/realtime/sessions",
            "issueSessionSecret",
            "The older form of `/v1/realtime/client_secrets`",
        )
        .needs("execute"),
    )
    .takes(schema_ref("RealtimeSession"))
    .gives(200, "the session, with the secret in `client_secret`", with_rest(nested))
    .refuses(&[(404, "`unknown_agent`, `model_not_found`"), (429, "`too_many_at_once`")])
}

/// The object, and any other members.
fn with_rest(mut object: Value) -> Value {
    object["additionalProperties"] = json!(true);
    object
}

fn create() -> Operation {
    let sdp = || json!({"type": "string", "description": "an SDP description"});
    with_context_headers(
        Operation::new(
            "post",
            "/v1/realtime/calls",
            "createCall",
            "Starts a call over WebRTC: SDP offer in, SDP answer out",
        )
        .needs("execute")
        .query("agent", text(), "default: the agent of the key, or the default agent")
        .query("model", text(), "default: the model of the secret or of the agent"),
    )
    .takes_media("application/sdp", sdp())
    .gives_media(201, "application/sdp", "the answer; `location` names the call", sdp())
    .refuses(&[
        (400, "`bad_offer`, `bad_session`, or the provider's refusal"),
        (413, "`sdp_too_large`, `session_too_large`"),
        (415, "`not_an_offer`: `sdp` and `session` are accepted as `multipart/form-data` and as JSON, too"),
    ])
}

fn incoming() -> Operation {
    let header =
        |operation: Operation, name: &str, about: &str| operation.header(name, text(), about);
    let operation = Operation::new(
        "post",
        "/v1/realtime/incoming/{name}",
        "announceCall",
        "The webhook of a provider for incoming SIP calls, which an agent answers",
    )
    .open();
    let operation = header(operation, "webhook-id", "the event, handled once");
    let operation = header(operation, "webhook-timestamp", "Unix seconds, at most 300 s apart");
    header(operation, "webhook-signature", "`v1,` and base64 (Standard Webhooks)")
        .takes(free())
        .gives_nothing(200, "the call is answered, or the event is another one")
        .refuses(&[(403, "`bad_signature`"), (404, "`not_found`: no such webhook")])
}

fn of_call(verb: &str, id: &'static str, summary: &'static str) -> Operation {
    let path = match verb {
        "accept" => "/v1/realtime/calls/{id}/accept",
        "hangup" => "/v1/realtime/calls/{id}/hangup",
        "refer" => "/v1/realtime/calls/{id}/refer",
        _ => "/v1/realtime/calls/{id}/reject",
    };
    Operation::new("post", path, id, summary).needs("execute").gives_nothing(200, "it is done")
}
