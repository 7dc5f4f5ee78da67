//! Many clients at once on the same servers: each gets its own answer or none.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use tollgate_core::id::AgentId;
use tollgate_server::{ApiKey, Right};

use crate::client::{Call, with_meta};
use crate::hostile_servers::{Hostile, SERVERS, make_plan, result, then};
use crate::stage::{Setup, Stage, key, modern_headers};

/// A call of the one id that everybody uses, answered with this text a little later.
fn call(hostile: &Hostile, at: usize, text: &str, ms: u64) -> (Call, Value) {
    let answer = json!({"content": [{"type": "text", "text": text}]}).to_string();
    let mut plan = result(&answer);
    let server = SERVERS[at % SERVERS.len()];
    if server != "pipe" {
        plan = then(plan, "sleep");
        plan["ms"] = json!(ms);
    }
    let params = json!({"name": format!("{server}_say"), "arguments": make_plan(&plan),
        "_meta": {"progressToken": 0}});
    let modern = with_meta(params.clone());
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": modern});
    let mut call = hostile.stage.post(body.to_string());
    for (name, value) in modern_headers("tools/call", &modern) {
        call = call.header(&name, &value);
    }
    (call, params)
}

#[tokio::test]
async fn s_13_clients_with_equal_ids_delays_and_cancels_never_get_anothers_answer() {
    let hostile = Hostile::start().await;
    let answered = AtomicUsize::new(0);
    let cancelled = AtomicUsize::new(0);
    let one = |at: usize| {
        let hostile = &hostile;
        let answered = &answered;
        let cancelled = &cancelled;
        async move {
            let session = hostile.stage.open_session("2025-11-25", json!({})).await;
            for round in 0_usize.. {
                let text = format!("client {at} round {round} {:x}", rand::random::<u64>());
                let (modern, params) = call(hostile, at + round, &text, rand::random::<u64>() % 15);
                let sent = match round % 2 {
                    0 => modern,
                    _ => session.call(0, "tools/call", &params),
                };
                if rand::random::<u8>() < 64 {
                    let patience = Duration::from_millis(rand::random::<u64>() % 20);
                    if tokio::time::timeout(patience, sent.send()).await.is_err() {
                        cancelled.fetch_add(1, Ordering::Relaxed);
                    }
                    continue;
                }
                let reply = sent.send().await;
                let answer = match reply.header("content-type").as_deref() {
                    Some("text/event-stream") => reply.events().pop().unwrap(),
                    _ => reply.json(),
                };
                assert_eq!(answer["id"], 0, "{text}: {reply:?}");
                assert_eq!(answer["result"]["content"][0]["text"], text, "{reply:?}");
                answered.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    let all = futures_util::future::join_all((0..100).map(one));
    let enough = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        // A busy machine takes longer.
        while answered.load(Ordering::Relaxed) <= 200 || cancelled.load(Ordering::Relaxed) <= 20 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        _ = all => panic!("clients go on until the time is up"),
        _ = tokio::time::timeout(Duration::from_secs(40), enough) => {}
    }
    let answered = answered.into_inner();
    let cancelled = cancelled.into_inner();
    assert!(answered > 200 && cancelled > 20, "{answered} answered, {cancelled} cancelled");
    for server in SERVERS {
        hostile.still_works(server).await;
    }
}

/// Ten keys, five of which may use one agent only, ask for their tools and call them at the same time.
#[tokio::test]
async fn s_13_nobody_gets_the_list_or_the_answer_of_another_principal() {
    let secret = |at: usize| format!("a-secret-of-principal-{at}");
    let keys = (0..10).map(|at| {
        let agents = (at % 2 == 1).then(|| vec![AgentId::parse("sage").unwrap()]);
        let rights = [Right::Execute].into_iter().collect();
        ApiKey { agents, ..key(&format!("principal {at}"), &secret(at), rights) }
    });
    let stage = Stage::with(Setup { keys: keys.collect(), ..Setup::default() }).await;
    let one = |at: usize| {
        let stage = &stage;
        let authorization = format!("Bearer {}", secret(at));
        async move {
            let path = if at % 2 == 1 { "/mcp/sage" } else { "/mcp" };
            for round in 0..20 {
                let list = stage.modern("tools/list", json!({})).path(path);
                let list = list.header("authorization", &authorization).send().await.json();
                let listed = &list["result"];
                let tools = listed["tools"].as_array().unwrap();
                let has = |name: &str| tools.iter().any(|tool| tool["name"] == name);
                assert!(has("echo"), "{list}");
                assert_eq!(has("wait"), at.is_multiple_of(2), "of principal {at}: {list}");
                assert_eq!(listed["cacheScope"], "private", "{list}");
                let text = format!("principal {at} round {round}");
                let call = json!({"name": "echo", "arguments": {"text": text}});
                let call = stage.modern("tools/call", call).path(path);
                let reply = call.header("authorization", &authorization).send().await.json();
                assert_eq!(reply["result"]["content"][0]["text"], text, "{reply}");
            }
        }
    };
    futures_util::future::join_all((0..10).map(one)).await;
    assert_eq!(stage.calls(), 200);
}
