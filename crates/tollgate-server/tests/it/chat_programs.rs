//! Code mode in an agent's turn: calls of programs and of the model share one limit (S-33).

use serde_json::{Value, json};
use tollgate_core::agent::Agent;
use tollgate_server::Rights;

use crate::chat::agent;
use crate::model::Model;
use crate::stage::{Setup, Stage, key};

const ADA: &str = "ada-0123456789abcdef-ada";
const BOB: &str = "bob-0123456789abcdef-bob";

/// Calls one after another, and goes on whatever becomes of them.
const STUBBORN: &str = "for i in range(49):\n    try_call(test.echo, text=\"x\")\n";

/// Its tools are called in code, but for `wait`.
fn coder() -> Agent {
    let mut coder = agent(&["echo", "wait"]);
    coder.persona.code_mode = true;
    coder
}

async fn stage(model: &Model, agent: Agent) -> Stage {
    tollgate_testkit::worker();
    let keys = vec![key("ada", ADA, Rights::ALL), key("bob", BOB, Rights::ALL)];
    Stage::with(Setup { models: model.settings(), agents: vec![agent], keys, ..Setup::default() })
        .await
}

fn program(code: &str) -> String {
    format!("!executeToolCode {}", json!({ "code": code }))
}

async fn tools_seen_with(stage: &Stage, key: &str) -> Value {
    let body = json!({"model": "sage", "messages": [{"role": "user", "content": "hello"}]});
    let call = stage.post(body.to_string()).path("/v1/chat/completions");
    let reply = call.header("x-api-key", key).send().await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()
}

/// Runs the program in its first round and wants another call in each one after it.
async fn running(first: String) -> Model {
    Model::saying(move |asked| match asked["messages"].as_array().unwrap().len() {
        2 => first.clone(),
        _ if asked["tool_choice"] == "none" => "enough".to_owned(),
        _ => program("test.echo(text=\"x\")"),
    })
    .await
}

#[tokio::test]
async fn s_33_a_program_stops_at_exactly_the_calls_that_its_turn_has_left() {
    let model = running(program(STUBBORN)).await;
    let stage = stage(&model, coder()).await;
    let answer = tools_seen_with(&stage, ADA).await;
    assert_eq!(stage.calls(), 31, "the program itself is one of 32: {answer}");
    let told = model.requests.lock()[1]["messages"][3]["content"].clone();
    let told = told.as_str().unwrap();
    assert!(told.contains("limit_reached: a turn is limited to 32 tool calls"), "{told}");
    assert!(told.contains("31 calls were made before"), "{told}");
    assert_eq!(answer["tollgate"]["ended"], "max_calls", "{answer}");
    let calls = answer["tollgate"]["calls"].as_array().unwrap();
    let statuses: Vec<&str> = calls.iter().map(|call| call["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["error", "denied"], "{answer}");
}

#[tokio::test]
async fn s_33_programs_and_calls_beside_them_share_one_count() {
    // Two programs and a search in one round, then a program more.
    let few = program("for i in range(10):\n    test.echo(text=\"x\")\n");
    let first = format!("{few}\n{few}\n!searchTools {{\"query\": \"echo\"}}");
    let last = program(STUBBORN);
    let model = Model::saying(move |asked| match asked["messages"].as_array().unwrap().len() {
        2 => first.clone(),
        _ if asked["tool_choice"] == "none" => "enough".to_owned(),
        _ => last.clone(),
    })
    .await;
    let stage = stage(&model, coder()).await;
    let answer = tools_seen_with(&stage, ADA).await;
    assert_eq!(stage.calls(), 20 + (32 - 3 - 20 - 1), "{answer}");
    assert_eq!(answer["tollgate"]["ended"], "max_calls", "{answer}");
}

#[tokio::test]
async fn s_33_calls_that_are_made_together_run_all_or_not_at_all() {
    let many = "calls = [(test.echo, {\"text\": \"x\"})] * 5\nparallel(calls, catch=True)\n";
    let model = running(program(&format!("{many}{many}"))).await;
    let mut coder = coder();
    coder.persona.max_calls = 8;
    let stage = stage(&model, coder).await;
    let answer = tools_seen_with(&stage, ADA).await;
    let told = model.requests.lock()[1]["messages"][3]["content"].clone();
    assert!(told.as_str().unwrap().contains("this one has 2 left"), "{told}");
    // What the last program calls is the eighth.
    assert_eq!(stage.calls(), 5 + 1, "{answer}");
}

#[tokio::test]
async fn s_33_turns_of_two_principals_do_not_share_their_count() {
    let model = running(program(STUBBORN)).await;
    let stage = stage(&model, coder()).await;
    let (ada, bob) = tokio::join!(tools_seen_with(&stage, ADA), tools_seen_with(&stage, BOB));
    for answer in [&ada, &bob] {
        assert_eq!(answer["tollgate"]["ended"], "max_calls", "{answer}");
    }
    assert_eq!(stage.calls(), 2 * 31);
    // Nor do two turns of the same one.
    tools_seen_with(&stage, ADA).await;
    assert_eq!(stage.calls(), 3 * 31);
}

/// Over MCP the client runs the loop: a request is a turn, and a program has its own limit.
#[tokio::test]
async fn s_33_over_mcp_a_program_stops_at_its_own_limit() {
    let model = Model::calling(&[]).await;
    tollgate_testkit::worker();
    let models = model.settings();
    let stage = Stage::with(Setup { models, agents: vec![coder()], ..Setup::default() }).await;
    let code = "for i in range(60):\n    try_call(test.echo, text=\"x\")\n";
    let params = json!({"name": "executeToolCode", "arguments": {"code": code}});
    let reply = stage.modern("tools/call", params).send().await;
    assert!(reply.text.contains("a program is limited to 50 tool calls"), "{reply:?}");
    assert_eq!(stage.calls(), 50);
}
