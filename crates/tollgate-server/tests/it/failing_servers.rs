//! Servers that die or stall during a call.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::TIMEOUT;
use crate::hostile_servers::{Hostile, SERVERS, make_plan, resource, result, then};
use crate::stage::Setup;
use crate::stdio::Pipe;

fn crash() -> Value {
    then(result(r#"{"content":[{"type":"text","text":"never"}]}"#), "exit")
}

/// Until the server answers well again.
async fn back(hostile: &Hostile, server: &str) {
    let call = || hostile.stage.modern("tools/call", json!({"name": format!("{server}_say")}));
    let again = async {
        loop {
            let reply = call().send().await;
            if reply.json()["result"]["content"][0]["text"] == "fine" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, again).await.expect("the server is back");
}

#[tokio::test]
async fn r_14_a_crash_in_a_call_is_one_answer_over_http() {
    let hostile = Hostile::start().await;
    let session = hostile.stage.open_session("2025-11-25", json!({})).await;
    for server in SERVERS {
        let params = json!({"name": format!("{server}_say"), "arguments": make_plan(&crash())});
        let modern = || hostile.stage.modern("tools/call", params.clone()).send();
        let legacy = || session.call(7, "tools/call", &params).send();
        let (one, two, old) = tokio::join!(modern(), modern(), legacy());
        for reply in [one, two, old] {
            assert_eq!(reply.brief(), "200 failed", "{server}: {reply:?}");
            let lines = ["disconnected before it answered", "is offline"];
            assert!(lines.iter().any(|words| reply.text.contains(words)), "{server}: {reply:?}");
        }
        back(&hostile, server).await;
        let plain = hostile.stage.post(params.to_string()).path("/v1/tools/execute").send().await;
        let status = plain.json()["status"].as_str().unwrap().to_owned();
        assert!(["error", "offline"].contains(&&*status), "{server}: {plain:?}");
        back(&hostile, server).await;
        let params = json!({"uri": resource(server, &crash())});
        let read = hostile.stage.modern("resources/read", params).send().await;
        assert_eq!(read.brief(), "200 -32603", "{server}: {read:?}");
        back(&hostile, server).await;
    }
}

#[tokio::test]
async fn r_14_a_crash_in_a_call_is_one_answer_over_a_pipe() {
    let hostile = Hostile::start().await;
    let mut pipe = Pipe::open(&hostile.stage);
    for server in SERVERS {
        let params = json!({"name": format!("{server}_say"), "arguments": make_plan(&crash())});
        for id in 1..=3 {
            pipe.modern(id, "tools/call", params.clone()).await;
        }
        let mut answered = Vec::new();
        for _ in 1..=3 {
            let answer = pipe.hear().await;
            assert_eq!(answer["result"]["isError"], true, "{server}: {answer}");
            answered.push(answer["id"].as_u64().unwrap());
        }
        answered.sort_unstable();
        assert_eq!(answered, [1, 2, 3], "{server}");
        pipe.modern(9, "server/discover", json!({})).await;
        assert_eq!(pipe.hear().await["id"], 9, "{server}: nobody was answered twice");
        back(&hostile, server).await;
    }
    pipe.end().await;
}

#[tokio::test]
async fn b_io_05_half_an_answer_waits_for_its_other_half() {
    let hostile = Hostile::start().await;
    let mut slow = then(result(r#"{"content":[{"type":"text","text":"whole"}]}"#), "sleep");
    slow["ms"] = json!(300);
    let others = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        for server in ["old", "new"] {
            hostile.still_works(server).await;
        }
    };
    let (reply, ()) = tokio::join!(hostile.modern("pipe_say", &slow), others);
    assert_eq!(reply.json()["result"]["content"][0]["text"], "whole", "{reply:?}");
    hostile.still_works("pipe").await;

    let impatient = Hostile::with(Duration::from_millis(150), Setup::default()).await;
    let reply = impatient.modern("pipe_say", &slow).await;
    assert_eq!(reply.brief(), "200 failed", "{reply:?}");
    assert!(reply.text.contains("did not answer within"), "{reply:?}");
    back(&impatient, "pipe").await;
}
