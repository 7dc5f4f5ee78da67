//! S-31: oversized output, on every path by which a server can send something.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Reply;
use crate::hostile_servers::{
    Hostile, SERVERS, error, fill_queue, make_plan, plan, resource, result,
};
use crate::malformed_results::{TOO_DEEP, without_handle};
use crate::stage::Setup;

const TOO_LARGE: usize = 9_000_000;

/// Larger than is read, and deeper than clients can read.
fn both(text: &str, place: &str) -> [String; 2] {
    [text.replace(place, "\"@FILL@\""), text.replace(place, "@DEEP@")]
}

/// The first is filled to be too large; the second is as it stands.
fn plans(of: fn(&str) -> Value, text: &str) -> [Value; 2] {
    let [large, deep] = both(text, "@@").map(|text| of(&text));
    [fill_queue(large, "x", TOO_LARGE), deep]
}

async fn read(hostile: &Hostile, server: &str, plan: &Value) -> Reply {
    let params = json!({"uri": resource(server, plan)});
    hostile.stage.modern("resources/read", params).send().await
}

async fn prompt(hostile: &Hostile, server: &str, plan: &Value) -> Reply {
    let params = json!({"name": format!("{server}_prompt"), "arguments": make_plan(plan)});
    hostile.stage.modern("prompts/get", params).send().await
}

async fn hostile() -> Hostile {
    Hostile::with(Duration::from_secs(20), Setup::default()).await
}

#[tokio::test]
async fn s_31_tool_results_of_every_kind_are_bounded() {
    let hostile = hostile().await;
    for text in [
        r#"{"content":[],"structuredContent":{"a":@@}}"#,
        r#"{"content":[{"type":"image","mimeType":"image/png","data":@@}]}"#,
        r#"{"content":[{"type":"resource","resource":{"uri":"a:b","blob":@@}}]}"#,
        r#"{"content":[],"_meta":{"a":@@}}"#,
    ] {
        for server in SERVERS {
            let name = format!("{server}_say");
            let [large, deep] = plans(result, text);
            let reply = hostile.modern(&name, &large).await;
            assert_eq!(reply.brief(), "200 failed", "{server}: {text}");
            hostile.still_works(server).await;
            let reply = hostile.modern(&name, &deep).await;
            let result = reply.json()["result"].clone();
            let words = result["content"].as_array().unwrap().last().unwrap()["text"].as_str();
            assert_eq!(words.map(without_handle), Some(TOO_DEEP), "{server}: {text}");
            hostile.still_works(server).await;
        }
    }
}

#[tokio::test]
async fn s_31_resources_are_bounded_like_tools() {
    let hostile = hostile().await;
    for server in SERVERS {
        let text = r#"{"contents":[{"uri":"a:b","text":@@}]}"#;
        for plan in plans(result, text) {
            assert_eq!(read(&hostile, server, &plan).await.brief(), "200 -32603", "{server}");
        }
        let twice = result(r#"{"contents":[],"contents":[]}"#);
        assert_eq!(read(&hostile, server, &twice).await.brief(), "200 -32603", "{server}");
        let fine = result(r#"{"contents":[{"uri":"a:b","text":"fine"}]}"#);
        let reply = read(&hostile, server, &fine).await;
        assert_eq!(reply.json()["result"]["contents"][0]["text"], "fine", "{server}: {reply:?}");
    }
}

#[tokio::test]
async fn s_31_prompts_are_bounded_like_tools() {
    let hostile = hostile().await;
    for server in SERVERS {
        let text = r#"{"messages":[{"role":"user","content":{"type":"text","text":@@}}]}"#;
        for plan in plans(result, text) {
            assert_eq!(prompt(&hostile, server, &plan).await.brief(), "200 -32603", "{server}");
        }
        let fine = result(r#"{"messages":[]}"#);
        let reply = prompt(&hostile, server, &fine).await;
        assert_eq!(reply.json()["result"]["messages"], json!([]), "{server}: {reply:?}");
    }
}

#[tokio::test]
async fn s_31_progress_and_logs_are_dropped_when_they_are_too_much() {
    let hostile = hostile().await;
    let answer =
        r#"{"jsonrpc":"2.0","id":@ID@,"result":{"content":[{"type":"text","text":"done"}]}}"#;
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":@TOKEN@,"progress":1,"message":@@}}"#;
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":@@}}"#;
    let say = |server: &str, message: &str, bytes: usize| {
        let small = progress.replace("@@", "\"short\"");
        let plan = fill_queue(plan(&[&small, message, message, message, answer]), "x", bytes);
        let meta = json!({"progressToken": "t", "io.modelcontextprotocol/logLevel": "debug"});
        let params = json!({"name": format!("{server}_say"), "arguments": make_plan(&plan),
            "_meta": meta});
        hostile.stage.modern("tools/call", params).send()
    };
    for server in SERVERS {
        for text in [progress, log] {
            let [large, deep] = both(text, "@@");
            for message in [say(server, &large, 1_000_000).await, say(server, &deep, 1).await] {
                let events = message.events();
                assert_eq!(events.len(), 2, "{server}: one remark and the answer");
                assert_eq!(events[0]["params"]["message"], "short", "{server}");
                assert_eq!(events[1]["result"]["content"][0]["text"], "done", "{server}");
            }
            hostile.still_works(server).await;
            let endless = say(server, &large, TOO_LARGE).await;
            assert!(["200 ok", "200 failed"].contains(&&*endless.brief()), "{server}");
            hostile.still_works(server).await;
        }
    }
}

#[tokio::test]
async fn s_31_errors_are_bounded_in_message_and_data() {
    let hostile = hostile().await;
    for server in SERVERS {
        let name = format!("{server}_say");
        let text = r#"{"code":-32000,"message":"m","data":@@}"#;
        let [large, deep] = plans(error, text);
        assert_eq!(hostile.modern(&name, &large).await.brief(), "200 failed", "{server}");
        hostile.still_works(server).await;
        let megabyte = fill_queue(error(&both(text, "@@")[0]), "x", 1_000_000);
        for plan in [deep, megabyte] {
            for reply in [
                hostile.modern(&name, &plan).await,
                read(&hostile, server, &plan).await,
                prompt(&hostile, server, &plan).await,
            ] {
                assert_eq!(reply.brief(), "200 -32000", "{server}");
                let expected = json!({"code": -32000, "message": "m"});
                assert_eq!(reply.json()["error"], expected, "{server}: without its data");
            }
        }
        hostile.still_works(server).await;
    }
}
