//! Late results, parked questions and results behind handles are not delivered after a revocation,
//! not even to a new key of the same name.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Call;
use crate::late_results;
use crate::stage::{Setup, Stage, Trail};
use crate::upstream::Upstream;

fn by(secret: &str, call: Call) -> Call {
    call.header("x-api-key", secret)
}

async fn read(stage: &Stage, secret: &str, handle: &Value) -> u16 {
    let path = format!("/v1/results/{}", handle.as_str().unwrap());
    by(secret, stage.request("GET", &path)).send().await.status
}

#[tokio::test]
async fn a_late_result_is_not_delivered_and_its_call_is_cancelled() {
    let (up, stage) = late_results::stage(Duration::ZERO).await;
    let body = json!({"name": "up_linger", "tier": "fast", "late": true}).to_string();
    let linger = |secret: &str| by(secret, stage.post(body.clone()).path("/v1/tools/execute"));
    let ada = stage.make_key(json!({"name": "ada"})).await;
    let bob = stage.make_key(json!({"name": "bob"})).await;
    let of_ada = linger(&ada).send().await.json();
    let of_bob = linger(&bob).send().await.json();
    assert_eq!((&of_ada["status"], &of_bob["status"]), (&json!("pending"), &json!("pending")));
    assert_eq!(read(&stage, &ada, &of_ada["handle"]).await, 200);
    stage.revoke("ada").await;
    up.script.hears_a_cancel().await;
    let again = stage.make_key(json!({"name": "ada"})).await;
    assert_eq!(read(&stage, &again, &of_ada["handle"]).await, 404, "another key of the name");
    // Bob's comes.
    up.script.release.add_permits(2);
    let ready = async {
        loop {
            let path = format!("/v1/results/{}", of_bob["handle"].as_str().unwrap());
            let result = by(&bob, stage.request("GET", &path)).send().await.json();
            if result["status"] == "ready" {
                return result;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let ready = tokio::time::timeout(Duration::from_secs(30), ready).await.expect("in time");
    assert_eq!(ready["outcome"], "ok", "{ready}");
    assert_eq!(up.script.cancelled.lock().len(), 1);
    assert_eq!(read(&stage, &again, &of_ada["handle"]).await, 404);
}

#[tokio::test]
async fn a_question_to_somebody_who_was_revoked_is_taken_back() {
    let up = Upstream::start().await;
    let setup = Setup { upstream: Some(up.address), trail: Trail::Recorded, ..Setup::default() };
    let stage = Stage::with(setup).await;
    let ada = stage.make_key(json!({"name": "ada"})).await;
    let ask = |secret: &str, more: Value| {
        let mut params = json!({"name": "up_ask", "arguments": {}});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let capable = json!({"elicitation": {"form": {}}});
        params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": capable});
        by(secret, stage.modern("tools/call", params)).send()
    };
    let first = ask(&ada, json!({})).await.json();
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let state = first["result"]["requestState"].clone();
    stage.revoke("ada").await;
    up.script.hears_a_cancel().await;
    let rows = stage.revoked_rows(1).await;
    assert_eq!(rows[0]["kind"], "revocation", "{rows:?}");
    assert!(rows[0]["detail"].as_str().unwrap().contains("awaited input from its caller"));
    // A new key of the same name does not get hold of it.
    let again = stage.make_key(json!({"name": "ada"})).await;
    let yes = json!({"q1": {"action": "accept", "content": {"name": "ada"}}});
    let back = ask(&again, json!({"requestState": state, "inputResponses": yes})).await;
    assert_eq!(back.brief(), "200 -32602", "{back:?}");
}
