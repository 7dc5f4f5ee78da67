//! B-JR: malformed JSON-RPC. Each body gets one typed error, and the next request works.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::client::with_meta;
use crate::stage::Stage;
use crate::stdio::Pipe;

fn call_body(id: &Value, params: Value) -> String {
    let params = with_meta(params);
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

fn echo() -> Value {
    json!({"name": "echo", "arguments": {"text": "hello"}})
}

/// A body sent with the headers of a modern call of `echo`.
async fn modern_body(stage: &Stage, body: impl Into<Bytes>) -> String {
    let call = stage.modern("tools/call", echo());
    tokio::time::timeout(Duration::from_secs(30), call.body(body).brief()).await.expect("in time")
}

async fn still_works(stage: &Stage) {
    let reply = stage.modern("tools/call", echo()).send().await;
    assert_eq!(reply.json()["result"]["content"][0]["text"], "hello");
}

#[tokio::test]
async fn b_jr_01_to_06_what_is_no_message_is_refused() {
    let stage = Stage::start().await;
    for (body, expected) in [
        ("", "400 -32700"),
        ("   ", "400 -32700"),
        ("null", "400 -32600"),
        ("7", "400 -32600"),
        ("[]", "400 -32600"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#, "400 -32600"),
        (r#"{"id":1,"method":"tools/list"}"#, "400 -32600"),
        (r#"{"jsonrpc":2.0,"id":1,"method":"tools/list"}"#, "400 -32600"),
    ] {
        assert_eq!(modern_body(&stage, body).await, expected, "{body}");
    }
    for count in [1, 10_000] {
        let batch = vec![call_body(&json!(1), echo()); count].join(",");
        assert_eq!(modern_body(&stage, format!("[{batch}]")).await, "400 -32600", "{count}");
    }
    assert_eq!(stage.calls(), 0);
    still_works(&stage).await;
}

#[tokio::test]
async fn b_jr_07_ids_are_strings_or_integers() {
    let stage = Stage::start().await;
    let large = format!("\"{}\"", "x".repeat(1 << 20));
    for id in ["null", "1.5", "1.0", "1e400", "1e0", "-0", "{}", "[]", "true", &large] {
        let body = call_body(&json!(1), echo()).replacen("\"id\":1", &format!("\"id\":{id}"), 1);
        assert_eq!(modern_body(&stage, body).await, "400 -32600", "{id:.20}");
    }
    for id in ["0", "-7", "9007199254740993", "\"\"", "\"1\"", "\"ü\""] {
        let body = call_body(&json!(1), echo()).replacen("\"id\":1", &format!("\"id\":{id}"), 1);
        let reply = stage.modern("tools/call", echo()).body(body).send().await;
        assert!(reply.text.contains(&format!("\"id\":{id},")), "{id}: {}", reply.text);
    }
}

#[tokio::test]
async fn b_jr_08_and_09_equal_and_similar_ids_get_their_own_answers() {
    let stage = Stage::start().await;
    let one = |id: Value, text: String| {
        let params = json!({"name": "echo", "arguments": {"text": text}});
        let body = call_body(&id, params);
        stage.modern("tools/call", echo()).body(body).send()
    };
    let ids = [json!(1), json!("1"), json!(1), json!("1"), json!(1)];
    let calls = ids.iter().enumerate().map(|(at, id)| one(id.clone(), format!("text {at}")));
    for (at, reply) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        assert_eq!(reply.json()["id"], ids[at]);
        assert_eq!(reply.json()["result"]["content"][0]["text"], format!("text {at}"));
    }
}

#[tokio::test]
async fn b_jr_10_and_11_methods_and_params_have_their_type() {
    let stage = Stage::start().await;
    let long = format!("\"{}\"", "m".repeat(1 << 20));
    for method in ["5", "\"\"", "null", "\"tools/call\\u0000\"", "\"tools/call \"", &long] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":{method},"params":{{}}}}"#);
        assert_eq!(modern_body(&stage, body).await, "400 -32600", "{method:.20}");
    }
    for method in ["rpc.x", "Tools/Call", "tools/call/", "initialize", "ping"] {
        let reply = stage.modern(method, json!({})).send().await;
        assert_eq!(reply.brief(), "404 -32601", "{method}");
        assert_eq!(reply.json()["id"], 1);
    }
    for params in [r#"["echo"]"#, "[]", "null", "5", "\"echo\""] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        assert_eq!(modern_body(&stage, body).await, "400 -32602", "{params}");
    }
}

#[tokio::test]
async fn s_11_b_jr_12_and_13_keys_that_stand_twice_or_look_alike_are_refused() {
    let stage = Stage::start().await;
    let meta = with_meta(json!({}))["_meta"].to_string();
    for params in [
        format!(r#"{{"name":"echo","name":"wait","_meta":{meta}}}"#),
        format!(r#"{{"name":"echo","Name":"wait","_meta":{meta}}}"#),
        format!(r#"{{"name":"echo","NAME":"wait","_meta":{meta}}}"#),
        format!(r#"{{"name":"echo","argumentſ":{{}},"_meta":{meta}}}"#),
        format!(r#"{{"name":"echo","n\u0061me":"wait","_meta":{meta}}}"#),
        format!(r#"{{"name":"echo","_meta":{meta},"_Meta":{{}}}}"#),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        assert_eq!(modern_body(&stage, body).await, "400 -32600", "{params}");
    }
    for extra in [r#""method":"tools/list""#, r#""Method":"x""#, r#""paramſ":{}"#, r#""ID":2"#] {
        let body = call_body(&json!(1), echo()).replacen('{', &format!("{{{extra},"), 1);
        assert_eq!(modern_body(&stage, body).await, "400 -32600", "{extra}");
    }
    assert_eq!(stage.calls(), 0, "nothing reached a tool");
    still_works(&stage).await;
}

#[tokio::test]
async fn b_jr_14_to_16_answers_and_notifications_are_not_requests() {
    let stage = Stage::start().await;
    for (body, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, "400 -32600"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","result":{}}"#, "400 -32600"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "400 -32600"),
        (r#"{"jsonrpc":"2.0","method":"notifications/unheard-of"}"#, "202"),
        (r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}"#, "202"),
    ] {
        assert_eq!(modern_body(&stage, body).await, expected, "{body}");
    }
    let session = stage.open_session("2025-11-25", json!({})).await;
    for answer in
        [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, r#"{"jsonrpc":"2.0","id":"q","error":{}}"#]
    {
        assert_eq!(session.post(answer).brief().await, "202", "to no question: {answer}");
    }
    assert_eq!(stage.calls(), 0);
    let mut pipe = Pipe::open(&stage);
    let unknown = r#"{"jsonrpc":"2.0","method":"notifications/unheard-of","params":{"a":1}}"#;
    pipe.say(&format!("{unknown}\n").repeat(20_000)).await;
    pipe.modern(1, "tools/call", echo()).await;
    assert_eq!(pipe.hear().await["result"]["content"][0]["text"], "hello", "behind the flood");
    pipe.end().await;
}

#[tokio::test]
async fn b_jr_17_and_18_depth_is_bounded() {
    let stage = Stage::start().await;
    let brackets = "[".repeat(200_000);
    assert_eq!(modern_body(&stage, brackets.clone()).await, "400 -32600");
    let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    assert_eq!(modern_body(&stage, nested(129)).await, "400 -32600");
    for depth in [130, 200_000] {
        let body = call_body(&json!(1), json!({"name": "echo", "arguments": 7}));
        let body = body.replacen("\"arguments\":7", &format!("\"arguments\":{}", nested(depth)), 1);
        let brief = modern_body(&stage, body).await;
        assert_eq!(brief, "400 -32600", "{depth}");
    }
    assert_eq!(stage.calls(), 0);
    still_works(&stage).await;
}

#[tokio::test]
async fn b_jr_19_to_22_text_that_is_not_json_is_refused() {
    let stage = Stage::start().await;
    let whole = call_body(&json!(1), echo());
    let arguments = "{\"text\":\"hello\"}";
    let with = |text: &str| Bytes::from(whole.replacen(arguments, text, 1));
    let mut bodies = vec![
        with("{\"text\":\"\u{feff}\"} x"),
        Bytes::from([b"\xef\xbb\xbf", whole.as_bytes()].concat()),
        Bytes::from([whole.as_bytes(), b"\0"].concat()),
        Bytes::from(format!("{whole} {whole}")),
        Bytes::from(format!("{whole}//")),
        Bytes::from(format!("/* hello */ {whole}")),
        Bytes::from(format!("{whole},")),
        Bytes::from(whole.replacen("hello", "\0", 1)),
    ];
    for bad in [&b"\xff"[..], b"\xc0\xaf", b"\xed\xa0\x80", b"\xf8"] {
        let at = whole.find("hello").unwrap();
        bodies.push([&whole.as_bytes()[..at], bad, &whole.as_bytes()[at..]].concat().into());
    }
    for bad in ["-", "01", "NaN", "Infinity", "'x'", "{a:1}", "[1,]"] {
        bodies.push(with(bad));
    }
    for body in bodies {
        assert_eq!(modern_body(&stage, body.clone()).await, "400 -32700", "{body:.200?}");
    }
    // JSON, but not what the tool takes, or too much of it.
    for odd in ["{\"text\":\"\\ud800\"}", "{\"text\":1e999999}", "{\"text\":5,\"text\":\"x\"}"] {
        let brief = modern_body(&stage, with(odd)).await;
        assert!(["400 -32700", "200 -32602", "200 failed"].contains(&&*brief), "{odd}: {brief}");
    }
    assert_eq!(stage.calls(), 0);
    let digits = format!("{{\"other\":{},\"text\":\"hello\"}}", "7".repeat(100_000));
    let long_key = format!("{{\"{}\":1,\"text\":\"hello\"}}", "k".repeat(1 << 20));
    let many: Vec<String> = (0..100_000).map(|at| format!("\"k{at}\":{at}")).collect();
    let many = format!("{{{},\"text\":\"hello\"}}", many.join(","));
    for large in [digits, long_key, many] {
        let brief = modern_body(&stage, with(&large)).await;
        assert!(["200 ok", "200 failed", "200 -32602"].contains(&&*brief), "{brief}");
    }
    let keys: String = (0..200_000).map(|at| format!("\"{at:x}\":0,")).collect();
    let beside = whole.replacen("\"name\"", &format!("{keys}\"name\""), 1);
    assert_eq!(modern_body(&stage, beside).await, "200 ok", "keys that nobody knows");
    let line_separator = modern_body(&stage, with("{\"text\":\"a\u{2028}b\"}")).await;
    assert_eq!(line_separator, "200 ok");
    still_works(&stage).await;
}

#[tokio::test]
async fn b_jr_23_meta_must_say_the_version_and_the_capabilities() {
    let stage = Stage::start().await;
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let body = |meta: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{"_meta":{meta}}}}}"#)
    };
    for (meta, expected) in [
        ("null".to_owned(), "400 -32602"),
        ("[]".to_owned(), "400 -32602"),
        ("\"x\"".to_owned(), "400 -32602"),
        ("{}".to_owned(), "400 -32602"),
        (json!({version: 5, capabilities: {}}).to_string(), "400 -32602"),
        (json!({version: "2026-07-28"}).to_string(), "400 -32602"),
        (json!({version: "2026-07-28", capabilities: []}).to_string(), "400 -32602"),
        (json!({version: "2025-06-18", capabilities: {}}).to_string(), "400 -32020"),
        (json!({version: "2026-07-28", capabilities: {}}).to_string(), "200 ok"),
    ] {
        let reply = stage.modern("tools/list", json!({})).body(body(&meta)).send().await;
        assert_eq!(reply.brief(), expected, "{meta}");
        assert_eq!(reply.json()["id"], 7, "{meta}");
    }
    let bare = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    assert_eq!(stage.modern("tools/list", json!({})).body(bare).brief().await, "400 -32602");
    let old = stage.modern("tools/list", json!({})).set("mcp-protocol-version", "2025-06-18");
    assert_eq!(old.brief().await, "400 -32020");
    for odd in ["v999.0.0", "2025-06-18", "2099-01-01", ""] {
        let params = json!({"_meta": {version: odd, capabilities: {}}});
        let reply =
            stage.modern("tools/list", params).set("mcp-protocol-version", odd).send().await;
        assert_eq!(reply.brief(), "400 -32022", "{odd:?}");
        let data = &reply.json()["error"]["data"];
        assert_eq!(*data, json!({"supported": ["2026-07-28"], "requested": odd}));
    }
}

#[tokio::test]
async fn b_jr_25_cursors_of_other_lists_are_refused() {
    let stage = Stage::start().await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    for cursor in [json!("forged"), json!(""), json!("1"), json!("MTAw"), json!("x".repeat(9000))] {
        let params = json!({"cursor": cursor});
        assert_eq!(stage.modern("tools/list", params.clone()).brief().await, "200 -32602");
        assert_eq!(session.call(1, "tools/list", &params).brief().await, "200 -32602");
    }
    for cursor in [json!(1), json!(null), json!({})] {
        let params = json!({"cursor": cursor});
        assert_eq!(stage.modern("tools/list", params).brief().await, "200 -32602", "{cursor}");
    }
}

#[tokio::test]
async fn b_jr_26_arguments_of_the_wrong_kind_are_told_to_the_model() {
    let stage = Stage::start().await;
    for (arguments, expected) in [
        (json!(null), "200 ok"),
        (json!({"text": "x", "__proto__": {"a": 1}}), "200 ok"),
        (json!({"text": "x".repeat(10 << 20)}), "200 ok"),
        (json!({"text": 5}), "200 failed"),
        (json!("text"), "200 failed"),
        (json!([]), "200 failed"),
    ] {
        let params = json!({"name": "echo", "arguments": arguments});
        let brief = stage.modern("tools/call", params).brief().await;
        let start: String = arguments.to_string().chars().take(60).collect();
        assert_eq!(brief, expected, "{start}");
    }
}

#[tokio::test]
async fn b_jr_27_a_progress_token_is_a_string_or_an_integer() {
    let stage = Stage::start().await;
    let session = stage.open_session("2025-11-25", json!({})).await;
    for (token, is_fine) in [(json!("t"), true), (json!(5), true), (json!({}), false)] {
        let params = json!({"name": "echo", "_meta": {"progressToken": token}});
        let modern = stage.modern("tools/call", params.clone()).brief().await;
        let legacy = session.call(1, "tools/call", &params).brief().await;
        if is_fine {
            assert_eq!((&*modern, &*legacy), ("200 ok", "200 ok"), "{token}");
        } else {
            assert_eq!((&*modern, &*legacy), ("400 -32602", "200 -32602"), "{token}");
        }
    }
}

#[tokio::test]
async fn b_jr_28_a_cancel_for_nothing_of_ones_own_does_nothing() {
    let stage = Stage::start().await;
    let ada = stage.open_session("2025-11-25", json!({})).await;
    let bob = stage.open_session("2025-11-25", json!({})).await;
    let wait = json!({"name": "wait", "arguments": {"ms": 400}});
    let running = ada.call(5, "tools/call", &wait).send();
    let cancels = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        for id in [json!(5), json!(6), json!(null), json!({}), json!("5")] {
            let cancel = bob.notify("notifications/cancelled", &json!({"requestId": id}));
            assert_eq!(cancel.brief().await, "202", "{id}");
        }
        let other = ada.notify("notifications/cancelled", &json!({"requestId": "5"}));
        assert_eq!(other.brief().await, "202");
    };
    let (reply, ()) = tokio::join!(running, cancels);
    assert_eq!(reply.brief(), "200 ok");
}

#[tokio::test]
async fn b_jr_29_request_state_that_is_not_ours_is_refused() {
    let stage = Stage::start().await;
    for params in [
        json!({"name": "echo", "requestState": 5}),
        json!({"name": "echo", "inputResponses": []}),
        json!({"name": "echo", "inputResponses": "x"}),
    ] {
        assert_eq!(stage.modern("tools/call", params).brief().await, "200 -32602");
    }
    assert_eq!(stage.calls(), 0);
}

#[tokio::test]
async fn b_jr_30_both_eras_live_side_by_side() {
    let stage = Stage::start().await;
    let session = stage.open_session("2025-06-18", json!({})).await;
    assert_eq!(stage.modern("tools/call", echo()).brief().await, "200 ok");
    assert_eq!(session.call(1, "tools/call", &echo()).brief().await, "200 ok");
    let inside = session.call(2, "initialize", &json!({"protocolVersion": "2025-06-18"}));
    assert_eq!(inside.brief().await, "400 -32600", "twice");
    let never = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": echo()});
    assert_eq!(stage.post(never.to_string()).brief().await, "400 -32600", "never");
    let modern_inside = stage.modern("tools/call", echo()).header("mcp-session-id", &session.id);
    assert_eq!(modern_inside.brief().await, "200 ok", "a modern request has no session");
    assert_eq!(session.call(3, "tools/call", &echo()).brief().await, "200 ok");
}
