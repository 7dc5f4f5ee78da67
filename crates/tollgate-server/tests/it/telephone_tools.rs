//! Tool calls of Vapi and Retell: their forms, their signatures, and deliveries that are repeated.

use std::time::{Duration, UNIX_EPOCH};

use ring::hmac;
use serde_json::{Value, json};
use tollgate_core::rate::RateLimit;
use tollgate_core::secret::Secret;
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_server::telephony::{
    HmacAlgorithm, HmacScheme, LineAccess, RetellLine, SignatureEncoding, TelephonySettings,
    VapiAuth, VapiLine,
};

use crate::client::{Call, Reply};
use crate::stage::{Setup, Stage};

const SECRET: &str = "secret-of-the-platform-0123456789";

fn access(agent: &str) -> LineAccess {
    LineAccess { agent: Some(agent.to_owned()), ..LineAccess::default() }
}

fn vapi(name: &str, agent: &str) -> VapiLine {
    VapiLine {
        name: name.to_owned(),
        access: access(agent),
        auth: VapiAuth::Token(Secret::new(SECRET)),
        timeout: Duration::from_secs(30),
        assistant: None,
    }
}

fn retell(name: &str, agent: &str) -> RetellLine {
    RetellLine {
        name: name.to_owned(),
        access: access(agent),
        api_key: Secret::new(SECRET),
        timeout: Duration::from_secs(30),
    }
}

async fn stage(telephony: TelephonySettings) -> Stage {
    Stage::with(Setup { telephony, ..Setup::default() }).await
}

async fn stage_of_vapi(line: VapiLine) -> Stage {
    stage(TelephonySettings { vapi: vec![line], ..TelephonySettings::default() }).await
}

async fn stage_of_retell(line: RetellLine) -> Stage {
    stage(TelephonySettings { retell: vec![line], ..TelephonySettings::default() }).await
}

fn request(stage: &Stage, path: &str, body: &Value) -> Call {
    let request = stage.request("POST", &format!("/v1/telephony/{path}"));
    request.header("content-type", "application/json").body(body.to_string())
}

async fn ask(stage: &Stage, body: &Value) -> Reply {
    let request = request(stage, "vapi", body);
    request.header("authorization", &format!("Bearer {SECRET}")).send().await
}

/// A message in which the assistant calls one tool.
fn tool_calls(call: &str, id: &str, tool: &str, arguments: &Value) -> Value {
    let list = json!([{ "id": id, "name": tool, "arguments": arguments }]);
    json!({ "message": { "type": "tool-calls", "call": { "id": call }, "toolCallList": list,
        "artifact": { "messages": [] } } })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn milliseconds() -> u128 {
    SystemClock.wall().duration_since(UNIX_EPOCH).unwrap().as_millis()
}

/// As Retell signs: HMAC-SHA256 over the body and the time.
fn sign(secret: &str, body: &str, time: u128) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("{body}{time}").as_bytes());
    format!("v={time},d={}", hex(tag.as_ref()))
}

async fn call_function(stage: &Stage, path: &str, body: &Value, time: u128) -> Reply {
    let signature = sign(SECRET, &body.to_string(), time);
    request(stage, path, body).header("x-retell-signature", &signature).send().await
}

fn function(call: &str, said: &str, text: &str) -> Value {
    json!({ "name": "echo", "call": { "call_id": call, "transcript": said },
        "args": { "text": text } })
}

#[tokio::test]
async fn vapis_calls_are_run_and_answered_in_one_line() {
    let stage = stage_of_vapi(vapi("front", "default")).await;
    let list = json!([
        { "id": "t1", "name": "echo", "arguments": { "text": "two\nlines" } },
        { "id": "t2", "type": "function",
          "function": { "name": "echo", "arguments": "{\"text\":\"three\"}" } },
        { "id": "t3", "name": "nothing", "parameters": {} },
        { "id": "t4", "name": "echo", "arguments": "{" },
    ]);
    let message = json!({ "type": "tool-calls", "call": { "id": "c1" }, "toolCallList": list });
    let reply = ask(&stage, &json!({ "message": message })).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let reply = reply.json();
    let results = reply["results"].as_array().unwrap();
    let expected = [
        json!({ "name": "echo", "toolCallId": "t1", "result": "two lines" }),
        json!({ "name": "echo", "toolCallId": "t2", "result": "three" }),
    ];
    assert_eq!(results[..2], expected);
    assert!(results[2]["error"].as_str().unwrap().contains("nothing"), "{results:?}");
    assert!(results[3]["error"].as_str().unwrap().contains("JSON object"), "{results:?}");
    assert_eq!(stage.calls(), 2);
}

#[tokio::test]
async fn vapis_other_messages_are_acknowledged() {
    let stage = stage_of_vapi(vapi("front", "default")).await;
    for kind in ["status-update", "end-of-call-report", "assistant-request", "of-the-future"] {
        let reply = ask(&stage, &json!({ "message": { "type": kind } })).await;
        assert_eq!((reply.status, reply.json()), (200, json!({})), "{kind}");
    }
    let bad = ask(&stage, &json!({ "type": "tool-calls" })).await;
    assert_eq!(bad.status, 400);
    let answering = VapiLine { assistant: Some("5f0c".to_owned()), ..vapi("front", "default") };
    let stage = stage_of_vapi(answering).await;
    let reply = ask(&stage, &json!({ "message": { "type": "assistant-request" } })).await;
    assert_eq!(reply.json(), json!({ "assistantId": "5f0c" }));
}

#[tokio::test]
async fn s_37_platforms_that_cannot_prove_themselves_are_refused_and_counted() {
    let lines = TelephonySettings {
        vapi: vec![vapi("front", "default")],
        retell: vec![retell("front", "default")],
        ..TelephonySettings::default()
    };
    let stage = stage(lines).await;
    let body = tool_calls("c1", "t1", "echo", &json!({}));
    for (header, value) in [
        ("x-nothing", ""),
        ("authorization", "Bearer another"),
        ("authorization", SECRET),
        ("x-vapi-secret", "another"),
    ] {
        let refused = request(&stage, "vapi", &body).header(header, value).send().await;
        assert_eq!(refused.status, 403, "{header}: {value}");
    }
    let older = request(&stage, "vapi", &body).header("x-vapi-secret", SECRET).send().await;
    assert_eq!(older.status, 200);
    let body = function("c1", "", "seven");
    let now = milliseconds();
    let text = body.to_string();
    for signature in [
        String::new(),
        sign("another", &text, now),
        sign(SECRET, "{}", now),
        sign(SECRET, &text, now - 301_000),
        sign(SECRET, &text, now + 330_000),
    ] {
        let refused = request(&stage, "retell", &body);
        let refused = refused.header("x-retell-signature", &signature).send().await;
        assert_eq!(refused.status, 403, "{signature}");
    }
    assert_eq!(request(&stage, "retell", &body).send().await.status, 403);
    let metrics = stage.request("GET", "/metrics").by_admin().send().await.text;
    let expected = "tollgate_access_refused_total{reason=\"bad_signature\"} 10";
    assert!(metrics.contains(expected), "{metrics}");
    assert_eq!(stage.calls(), 1);
}

#[tokio::test]
async fn s_37_whoever_tries_many_signatures_is_slowed_down() {
    let stage = stage_of_vapi(vapi("front", "default")).await;
    let body = tool_calls("c1", "t1", "echo", &json!({}));
    let mut statuses = Vec::new();
    for number in 0..40 {
        let guess = request(&stage, "vapi", &body).header("x-vapi-secret", &format!("{number}"));
        statuses.push(guess.send().await.status);
    }
    assert!(statuses.contains(&403) && statuses.last() == Some(&429), "{statuses:?}");
    assert_eq!(ask(&stage, &body).await.status, 200, "the right one always passes");
}

#[tokio::test]
async fn vapis_hmac_is_checked_as_its_credential_says() {
    let scheme = HmacScheme {
        secret: Secret::new(SECRET),
        algorithm: HmacAlgorithm::Sha256,
        signature_header: "x-signature".to_owned(),
        timestamp_header: Some("x-timestamp".to_owned()),
        prefix: "sha256=".to_owned(),
        encoding: SignatureEncoding::Hex,
    };
    let line = VapiLine { auth: VapiAuth::Hmac(scheme), ..vapi("front", "default") };
    let stage = stage_of_vapi(line).await;
    let body = tool_calls("c1", "t1", "echo", &json!({ "text": "seven" }));
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let time = milliseconds() / 1_000;
    let signature = hex(hmac::sign(&key, format!("{time}.{body}").as_bytes()).as_ref());
    let sent = |time: u128| {
        request(&stage, "vapi", &body)
            .header("x-signature", &format!("sha256={signature}"))
            .header("x-timestamp", &time.to_string())
    };
    assert_eq!(sent(time).send().await.json()["results"][0]["result"], "seven");
    assert_eq!(sent(time + 1).send().await.status, 403);
}

#[tokio::test]
async fn a_repeated_delivery_is_not_run_again() {
    let lines = TelephonySettings {
        vapi: vec![vapi("front", "default")],
        retell: vec![retell("front", "default")],
        ..TelephonySettings::default()
    };
    let stage = stage(lines).await;
    let body = tool_calls("c1", "t1", "wait", &json!({ "ms": 300 }));
    // The second comes while the first one runs, the third afterwards.
    let (first, second) = tokio::join!(ask(&stage, &body), ask(&stage, &body));
    let third = ask(&stage, &body).await;
    for reply in [first, second, third] {
        assert_eq!(reply.json()["results"][0]["result"], "waited");
    }
    assert_eq!(stage.calls(), 1);
    ask(&stage, &tool_calls("c2", "t1", "wait", &json!({ "ms": 0 }))).await;
    assert_eq!(stage.calls(), 2, "of another telephone call");
    let now = milliseconds();
    for time in [now, now, now + 1] {
        let reply = call_function(&stage, "retell", &function("c1", "roll", "7"), time).await;
        assert_eq!((reply.status, reply.json()), (200, json!({ "result": "7" })));
    }
    assert_eq!(stage.calls(), 3);
    call_function(&stage, "retell", &function("c1", "roll again", "7"), now).await;
    assert_eq!(stage.calls(), 4, "the talk went on: it is another call");
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_told_and_goes_on() {
    let line = VapiLine { timeout: Duration::from_millis(200), ..vapi("front", "default") };
    let stage = stage_of_vapi(line).await;
    let body = tool_calls("c1", "t1", "wait", &json!({ "ms": 1_500 }));
    let reply = ask(&stage, &body).await;
    let told = reply.json()["results"][0]["result"].as_str().unwrap().to_owned();
    assert!(told.contains("still being worked on"), "{told}");
    stage.reaches(&stage.seen.finished, 1).await;
    let again = ask(&stage, &body).await;
    assert_eq!(again.json()["results"][0]["result"], "waited");
    assert_eq!(stage.calls(), 1);
}

#[tokio::test]
async fn retells_functions_may_send_their_arguments_alone() {
    let stage = stage_of_retell(retell("front", "default")).await;
    let bare = json!({ "text": "seven" });
    let now = milliseconds();
    let reply = call_function(&stage, "retell/front/echo", &bare, now).await;
    assert_eq!(reply.json(), json!({ "result": "seven" }));
    call_function(&stage, "retell/front/echo", &bare, now).await;
    assert_eq!(stage.calls(), 1, "the same request");
    call_function(&stage, "retell/front/echo", &bare, now + 1).await;
    assert_eq!(stage.calls(), 2, "another one with the same arguments");
    assert_eq!(call_function(&stage, "retell", &bare, now).await.status, 400);
    let unknown = call_function(&stage, "retell/front/nothing", &bare, now + 2).await;
    assert_eq!(unknown.status, 200, "the agent is told");
    assert!(unknown.json()["result"].as_str().unwrap().contains("nothing"), "{unknown:?}");
}

#[tokio::test]
async fn two_lines_have_their_own_views_limits_and_memories() {
    let limited = VapiLine {
        access: LineAccess {
            rate_limit: Some(RateLimit { calls: 1, per: Duration::from_secs(3_600) }),
            ..access("default")
        },
        ..vapi("limited", "default")
    };
    let lines = TelephonySettings {
        vapi: vec![vapi("sage", "sage"), limited],
        ..TelephonySettings::default()
    };
    let stage = stage(lines).await;
    let ask = async |line: &str, id: &str, tool: &str| {
        let body = tool_calls("c1", id, tool, &json!({ "text": line, "ms": 0 }));
        let request = request(&stage, &format!("vapi/{line}"), &body);
        let request = request.header("authorization", &format!("Bearer {SECRET}"));
        request.send().await.json()["results"][0].clone()
    };
    let (sage, limited) = tokio::join!(ask("sage", "t1", "echo"), ask("limited", "t1", "echo"));
    assert_eq!((&sage["result"], &limited["result"]), (&json!("sage"), &json!("limited")));
    assert!(ask("sage", "t2", "wait").await["error"].is_string(), "it is not in the view");
    let refused = ask("limited", "t2", "echo").await;
    assert!(refused["error"].is_string(), "{refused}");
    assert_eq!(ask("sage", "t3", "echo").await["result"], "sage");
}

#[tokio::test]
async fn calls_above_the_limit_of_a_message_are_answered_too() {
    let stage = stage_of_vapi(vapi("front", "default")).await;
    let call =
        |number: usize| json!({ "id": format!("t{number}"), "name": "echo", "arguments": {} });
    let list: Vec<Value> = (0..33).map(call).collect();
    let message = json!({ "type": "tool-calls", "call": { "id": "c1" }, "toolCallList": list });
    let reply = ask(&stage, &json!({ "message": message })).await.json();
    let results = reply["results"].as_array().unwrap();
    assert_eq!(results.len(), 33);
    assert!(results[32]["error"].as_str().unwrap().contains("The limit is 32"), "{results:?}");
    assert_eq!(stage.calls(), 32);
}
