//! Results behind a handle, because they were too large for the consumer.

use serde_json::{Value, json};
use tollgate_server::Rights;

use crate::client::Call;
use crate::stage::{Setup, Stage, key};

async fn stage() -> Stage {
    let key = |name: &str| key(name, &format!("the-key-of-{name}"), Rights::ALL);
    Stage::with(Setup { keys: vec![key("ada"), key("bob")], ..Setup::default() }).await
}

fn as_key(call: Call, name: &str) -> Call {
    call.header("x-api-key", &format!("the-key-of-{name}"))
}

async fn execute(stage: &Stage, text: &str, consumer: &str) -> Value {
    let call = json!({"name": "echo", "arguments": {"text": text}, "consumer": consumer});
    let call = stage.post(call.to_string()).path("/v1/tools/execute");
    as_key(call, "ada").send().await.json()
}

fn read(stage: &Stage, handle: &str, query: &str) -> Call {
    as_key(stage.request("GET", &format!("/v1/results/{handle}{query}")), "ada")
}

#[tokio::test]
async fn what_was_cut_can_be_read_page_by_page() {
    let stage = stage().await;
    let items: Vec<String> = (0..2_000).map(|at| format!("item {at}")).collect();
    let outcome = execute(&stage, &json!(items).to_string(), "speech").await;
    assert_eq!((&outcome["status"], &outcome["truncated"]), (&json!("ok"), &json!(true)));
    assert!(outcome.to_string().len() < 4_000, "{outcome}");
    let handle = outcome["handle"].as_str().unwrap();
    let mut found = Vec::new();
    let mut next = json!(1);
    while let Some(number) = next.as_u64() {
        let page = read(&stage, handle, &format!("?page={number}")).send().await.json();
        assert_eq!((&page["handle"], &page["status"]), (&json!(handle), &json!("ready")));
        assert_eq!((&page["page"], &page["outcome"]), (&json!(number), &json!("ok")));
        assert_eq!(page["holds"]["first"], found.len());
        found.extend(page["data"].as_array().unwrap().iter().cloned());
        next = page["next"].clone();
    }
    assert_eq!(json!(found), json!(items), "nothing is lost between pages");
    let first = read(&stage, handle, "").send().await.json();
    assert_eq!(first["page"], 1);
}

#[tokio::test]
async fn whoever_can_take_all_gets_all() {
    let stage = stage().await;
    let text = "word ".repeat(2_000);
    let outcome = execute(&stage, &text, "mcp").await;
    assert_eq!(outcome["data"], text);
    assert_eq!((outcome.get("handle"), outcome.get("truncated")), (None, None));
    let refused = execute(&stage, "x", "everyone").await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("consumer") && message.contains("gemini-live"), "{message}");
}

#[tokio::test]
async fn large_results_are_told_and_read_like_small_ones() {
    let stage = stage().await;
    let text = "word ".repeat(80_000);
    let outcome = execute(&stage, &text, "mcp").await;
    assert_eq!((&outcome["status"], &outcome["data"]), (&json!("ok"), &json!(text)));
    let cut = execute(&stage, &text, "speech").await;
    let handle = cut["handle"].as_str().unwrap();
    let last = read(&stage, handle, "").send().await.json()["pages"].as_u64().unwrap();
    let page = read(&stage, handle, &format!("?page={last}")).send().await.json();
    assert!(text.ends_with(page["data"].as_str().unwrap()), "{page}");
    let behind = read(&stage, handle, &format!("?page={}", last + 1)).send().await;
    assert_eq!(behind.status, 404);
    let message = behind.json()["error"]["message"].to_string();
    assert!(message.contains(&format!("1 to {last}")), "{message}");
}

#[tokio::test]
async fn a_result_is_there_for_whoever_asked_for_it_and_nobody_else() {
    let stage = stage().await;
    let outcome = execute(&stage, &"word ".repeat(2_000), "speech").await;
    let handle = outcome["handle"].as_str().unwrap();
    assert_eq!(read(&stage, handle, "").send().await.status, 200);
    let path = format!("/v1/results/{handle}");
    let foreign = as_key(stage.request("GET", &path), "bob").send().await;
    let made_up = read(&stage, "r_00000000000000000000000000000000", "").send().await;
    let no_handle = read(&stage, "nothing", "").send().await;
    for reply in [&foreign, &made_up, &no_handle] {
        assert_eq!(reply.status, 404);
        assert_eq!(reply.text, foreign.text, "nobody learns which handles there are");
    }
    assert_eq!(foreign.json()["error"]["code"], "unknown_result");
}

#[tokio::test]
async fn pages_that_are_none_are_refused_with_those_there_are() {
    let stage = stage().await;
    let outcome = execute(&stage, &"word ".repeat(2_000), "speech").await;
    let handle = outcome["handle"].as_str().unwrap();
    let pages = read(&stage, handle, "").send().await.json()["pages"].as_u64().unwrap();
    assert!(pages > 1);
    for (query, status, code, said) in [
        ("?page=0".to_owned(), 400, "bad_page", "must be at least 1".to_owned()),
        ("?page=-1".to_owned(), 400, "bad_page", "must be at least 1".to_owned()),
        ("?page=two".to_owned(), 400, "bad_page", "must be at least 1".to_owned()),
        ("?page=".to_owned(), 400, "bad_page", "must be at least 1".to_owned()),
        ("?page=1&page=2".to_owned(), 400, "bad_query", "malformed".to_owned()),
        (format!("?page={}", pages + 1), 404, "unknown_page", format!("1 to {pages}")),
        ("?page=4294967295".to_owned(), 404, "unknown_page", format!("1 to {pages}")),
    ] {
        let reply = read(&stage, handle, &query).send().await;
        let error = reply.json()["error"].clone();
        assert_eq!((reply.status, &error["code"]), (status, &json!(code)), "{query}");
        assert!(error["message"].as_str().unwrap().contains(&said), "{query}: {error}");
    }
}

#[tokio::test]
async fn one_run_serves_several_consumers_each_with_its_own_part() {
    let stage = Stage::start().await;
    let text = "word ".repeat(2_000);
    let body = json!({"name": "echo", "arguments": {"text": text}, "consumer": "chat",
        "also": ["speech", "mcp", "speech"]});
    let reply = stage.post(body.to_string()).path("/v1/tools/execute").send().await.json();
    assert_eq!(stage.calls(), 1);
    assert_eq!((&reply["status"], &reply["truncated"]), (&json!("ok"), &Value::Null));
    assert_eq!(reply["data"], text);
    let also = reply["also"].as_object().unwrap();
    assert_eq!(also.keys().collect::<Vec<_>>(), ["speech", "mcp"]);
    assert_eq!(also["mcp"]["data"], text);
    let speech = &also["speech"];
    assert_eq!((&speech["status"], &speech["truncated"]), (&json!("ok"), &json!(true)), "{speech}");
    assert!(speech["message"].as_str().unwrap().len() <= 600, "{speech}");
    let path = format!("/v1/results/{}", speech["handle"].as_str().unwrap());
    let kept = stage.request("GET", &path).send().await.json();
    assert_eq!((&kept["status"], &kept["name"]), (&json!("ready"), &json!("echo")), "{kept}");
    let alone = json!({"name": "echo", "arguments": {"text": "x"}, "also": []}).to_string();
    let alone = stage.post(alone).path("/v1/tools/execute").send().await.json();
    assert_eq!(alone.get("also"), None);
    for also in [json!(["voice"]), json!("chat"), json!([1])] {
        let body = json!({"name": "echo", "arguments": {}, "also": also}).to_string();
        let refused = stage.post(body).path("/v1/tools/execute").send().await;
        assert_eq!(refused.status, 400, "{refused:?}");
    }
    let failed = json!({"name": "none", "arguments": {}, "also": ["speech"]}).to_string();
    let failed = stage.post(failed).path("/v1/tools/execute").send().await;
    assert!(failed.status != 500, "{failed:?}");
}
