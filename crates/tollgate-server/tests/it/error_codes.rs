//! Codes of errors that no other test names: each is provoked over a real connection.

use serde_json::json;
use tollgate_core::secret::Secret;
use tollgate_server::telephony::{LineAccess, TelephonySettings, VapiAuth, VapiLine};

use crate::client::{Call, raw};
use crate::stage::{Setup, Stage, Trail, key};
use tollgate_server::Rights;

const SECRET: &str = "secret-of-the-platform-0123456789";

fn post(stage: &Stage, path: &str, body: &str) -> Call {
    let call = stage.request("POST", path).header("content-type", "application/json");
    call.body(body.to_owned())
}

async fn stage() -> Stage {
    let line = VapiLine {
        name: "front".to_owned(),
        access: LineAccess::default(),
        auth: VapiAuth::Token(Secret::new(SECRET)),
        timeout: std::time::Duration::from_secs(5),
        assistant: None,
    };
    let telephony = TelephonySettings { vapi: vec![line], ..TelephonySettings::default() };
    Stage::with(Setup { telephony, ..Setup::default() }).await
}

#[tokio::test]
async fn r_39_requests_that_are_wrong_in_themselves_have_a_code() {
    let stage = stage().await;
    let get = |path: &str| stage.request("GET", path);
    let deep = format!("{{\"name\":{}{}}}", "[".repeat(200), "]".repeat(200));
    let wide = format!("{{\"name\":[{}0]}}", "0,".repeat(400_000));
    let upgrade = |key: &str| {
        let call =
            get("/v1/realtime").header("connection", "upgrade").header("upgrade", "websocket");
        call.header("sec-websocket-version", "13").header("sec-websocket-key", key)
    };
    let vapi = |path: &str| post(&stage, path, "{}").header("x-vapi-secret", SECRET);
    let twice = post(&stage, "/v1/tools/execute", r#"{"name":"echo","arguments":{"text":"a"}}"#);
    let twice = twice.header("x-tollgate-conversation", "a").header("x-tollgate-conversation", "b");
    for (call, expected) in [
        (get("/v1/tools/execute"), "405 method_not_allowed"),
        (get("/v1/realtime"), "426 websocket_needed"),
        (upgrade("short"), "400 bad_handshake"),
        (get("/v1/tools").set("host", "evil.example"), "403 host_not_allowed"),
        (get("/v1/tools").header("x-tollgate-include-tools", "a;b"), "400 bad_filter"),
        (twice, "400 bad_header"),
        (post(&stage, "/v1/tools/execute", &deep), "400 nested_too_deep"),
        (post(&stage, "/v1/tools/execute", &wide), "413 too_many_values"),
        (post(&stage, "/v1/audio/transcriptions", "{}"), "415 not_a_form"),
        (get("/v1/files/x"), "404 unknown_file"),
        (get("/v1/responses/x"), "404 unknown_response"),
        (vapi("/v1/telephony/vapi/nowhere"), "404 unknown_line"),
        (vapi("/v1/telephony/vapi/front"), "400 bad_message"),
    ] {
        let reply = call.send().await;
        assert_eq!(reply.code(), expected, "{reply:?}");
    }
}

#[tokio::test]
async fn r_39_what_this_gateway_does_not_have_has_a_code() {
    let stage = stage().await;
    let decide = json!({"decision": "approve"}).to_string();
    for (call, expected) in [
        (stage.request("GET", "/api/config"), "501 no_config"),
        (post(&stage, "/api/approvals/a_0", &decide), "404 unknown_approval"),
    ] {
        let reply = call.by_admin().send().await;
        assert_eq!(reply.code(), expected, "{reply:?}");
    }
}

#[tokio::test]
async fn r_39_keys_that_cannot_be_made_or_revoked_have_a_code() {
    let keys = vec![key("ops", "secret", Rights::ALL)];
    let stage = Stage::with(Setup { keys, trail: Trail::Recorded, ..Setup::default() }).await;
    let make = || post(&stage, "/api/keys", r#"{"name":"ada","role":"caller"}"#);
    assert_eq!(make().by_admin().send().await.status, 201);
    for (call, expected) in [
        (make(), "409 key_exists"),
        (stage.request("DELETE", "/api/keys/ops"), "409 key_of_config"),
        (stage.request("DELETE", "/api/keys/nobody"), "404 unknown_key"),
    ] {
        let reply = call.by_admin().send().await;
        assert_eq!(reply.code(), expected, "{reply:?}");
    }
}

#[tokio::test]
async fn r_39_bytes_that_are_no_request_have_a_code() {
    let stage = stage().await;
    let host = stage.address;
    let head = |target: &str| format!("POST {target} HTTP/1.1\r\nhost: {host}\r\n");
    let json = "content-type: application/json\r\n";
    let chunked =
        format!("{}{json}transfer-encoding: chunked\r\n\r\nzz\r\n", head("/v1/tools/execute"));
    for (bytes, expected) in [
        (format!("{}\r\n", head("http://other.example/v1/tools")), "host_mismatch"),
        (
            format!("{}transfer-encoding: gzip, chunked\r\n\r\n", head("/v1/tools")),
            "bad_transfer_encoding",
        ),
        (chunked, "bad_body"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), "http2_not_supported"),
    ] {
        let answer = raw(stage.address, bytes.as_bytes()).await;
        assert!(answer.contains(expected), "{expected}: {answer}");
    }
}
