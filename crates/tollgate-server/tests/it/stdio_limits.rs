//! Limits of a stdio client: concurrent requests, and answers that it does not read.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, duplex, split};
use tollgate_core::filter::RequestFilter;
use tollgate_server::{StdioClient, serve_stdio};

use crate::client::with_meta;
use crate::stage::Stage;
use crate::stdio::Pipe;

#[tokio::test]
async fn messages_of_batches_count_as_requests() {
    let stage = Stage::start().await;
    let mut pipe = Pipe::open(&stage);
    let facts = json!({"protocolVersion": "2025-03-26", "capabilities": {},
                       "clientInfo": {"name": "test", "version": "1"}});
    let start = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": facts});
    pipe.say(&start.to_string()).await;
    assert_eq!(pipe.hear().await["result"]["protocolVersion"], "2025-03-26");
    let slow = |id: usize| {
        let params = json!({"name": "wait", "arguments": {"ms": 60_000}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    for batch in 0..11 {
        let calls: Vec<Value> = (0..100).map(|at| slow(batch * 100 + at + 1)).collect();
        pipe.say(&Value::from(calls).to_string()).await;
    }
    let refused = pipe.hear().await;
    assert_eq!(refused["error"]["message"], "too many requests are running", "{refused}");
    for id in 2_000..2_024 {
        pipe.say(&slow(id).to_string()).await;
    }
    pipe.modern(3_000, "tools/list", json!({})).await;
    let refused = pipe.hear().await;
    assert_eq!(refused["id"], 3_000, "{refused}");
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    pipe.end().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_cannot_keep_the_process() {
    let stage = Stage::start().await;
    let (ours, theirs) = duplex(256);
    let (_unread, mut writer) = split(ours);
    let gate = Arc::clone(&stage.gate);
    let client = StdioClient { agent: None, narrow: RequestFilter::default() };
    let (theirs, to_us) = split(theirs);
    let served = serve_stdio(gate, client, theirs, to_us);
    let params = with_meta(json!({}));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
    let client = async {
        writer.write_all(format!("{list}\n").as_bytes()).await.unwrap();
        writer.shutdown().await.unwrap();
    };
    let both = async { tokio::join!(served, client).0 };
    let ended = tokio::time::timeout(Duration::from_secs(15), both).await.expect("in time");
    assert_eq!(ended.unwrap_err().to_string(), "the pipe failed: the client does not read");
}
