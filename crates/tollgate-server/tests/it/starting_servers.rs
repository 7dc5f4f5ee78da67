//! Tools of a server that is still starting: they are missing, but not unknown.

use serde_json::json;
use tokio::net::TcpListener;
use tollgate_core::glob::Glob;
use tollgate_mcp::Revision;

use crate::chat::{agent, ask};
use crate::model::Model;
use crate::stage::{Setup, Stage, at, server};

const STARTING: &str = "its server `slow` is still starting; try again shortly";

/// A stage to which a server was added that accepts connections and never answers.
async fn stage(model: &Model, tools: &[&str], code_mode: bool) -> (Stage, TcpListener) {
    tollgate_testkit::worker();
    let mut sage = agent(tools);
    sage.tools = tools.iter().map(|pattern| Glob::new(*pattern)).collect();
    sage.persona.code_mode = code_mode;
    let setup = Setup { models: model.settings(), agents: vec![sage], ..Setup::default() };
    let stage = Stage::with(setup).await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let slow = server("slow", at(silent.local_addr().unwrap()), Revision::NEWEST_LEGACY);
    let mut settings = stage.settings.clone();
    settings.servers.push(slow);
    stage.running.reconfigure(&settings, || ()).await;
    (stage, silent)
}

fn call(stage: &Stage, name: &str) -> crate::client::Call {
    stage.modern("tools/call", json!({"name": name, "arguments": {}})).path("/mcp/sage")
}

#[tokio::test]
async fn a_call_is_told_that_its_server_is_still_starting() {
    let model = Model::calling(&[]).await;
    let (stage, _silent) = stage(&model, &["echo", "slow_*"], false).await;
    let reply = call(&stage, "slow_tide").send().await.json();
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, format!("`slow_tide` is unavailable: {STARTING}"));
    let reply = call(&stage, "slew_tide").send().await.json();
    assert!(reply["error"]["message"].as_str().unwrap().contains("there is no tool"), "{reply}");
}

#[tokio::test]
async fn s_29_who_may_not_see_the_server_is_not_told_that_it_starts() {
    let model = Model::calling(&[]).await;
    let (stage, _silent) = stage(&model, &["echo"], false).await;
    let reply = call(&stage, "slow_tide").send().await;
    assert!(reply.text.contains("there is no tool"), "{reply:?}");
    assert!(!reply.text.contains("starting"), "{reply:?}");
}

#[tokio::test]
async fn the_loop_tells_its_model_that_the_server_is_still_starting() {
    let model = Model::calling(&["!slow_tide {}"]).await;
    let (stage, _silent) = stage(&model, &["echo", "slow_*"], false).await;
    let body = json!({"model": "sage", "messages": [{"role": "user", "content": "hello"}]});
    let answer = ask(&stage, body).await.json();
    assert_eq!(answer["tollgate"]["calls"][0]["status"], "offline", "{answer}");
    assert!(last_result(&model).contains(STARTING), "{answer}");
}

#[tokio::test]
async fn a_program_is_told_that_its_server_is_still_starting() {
    let program = r#"!executeToolCode {"code": "tide = slow.tide(place=\"x\")\nresult = tide"}"#;
    let model = Model::saying(move |asked| match asked["messages"].as_array().unwrap().len() {
        2 => program.to_owned(),
        _ => "done".to_owned(),
    })
    .await;
    let (stage, _silent) = stage(&model, &["echo", "slow_*"], true).await;
    let body = json!({"model": "sage", "messages": [{"role": "user", "content": "hello"}]});
    let answer = ask(&stage, body).await.json();
    let told = last_result(&model);
    assert!(told.contains(&format!("hint: {STARTING}")), "{told}\n{answer}");
}

/// What the model was given as the result of its call.
fn last_result(model: &Model) -> String {
    let requests = model.requests.lock();
    let messages = requests[1]["messages"].as_array().unwrap();
    let result = messages.iter().rfind(|message| message["role"] == "tool");
    result.and_then(|it| it["content"].as_str()).unwrap_or_default().to_owned()
}
