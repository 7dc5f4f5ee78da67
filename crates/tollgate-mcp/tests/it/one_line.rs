//! Whatever a client puts between the tokens of its JSON, a server on a pipe reads one line per
//! message: no client can slip in a message of its own.

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tollgate_core::json::{Object, raw};
use tollgate_mcp::client::{Event, McpConnection, OutgoingRequest};
use tollgate_mcp::meta::ClientFacts;

use crate::support::{Connected, echo, legacy, modern};

/// A call that nobody permitted, on a line of its own once its wrapping is read line by line.
const SMUGGLED: &str = "[\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"rm\"}}\r\n,\r{\"jsonrpc\":\"2.0\",\"method\":\"rm\"}\n]";

fn smuggled() -> Value {
    serde_json::from_str(SMUGGLED).unwrap()
}

/// Sends a request and a notification with these params; the server must read just the two.
async fn check(Connected { client, mut peer, .. }: Connected, params: &str, pointer: &str) {
    let params = params.replace('@', SMUGGLED);
    let params = || Object::parse(&params).unwrap();
    let serve = async {
        let request = peer.expect("tools/call").await;
        assert_eq!(request["params"].pointer(pointer), Some(&smuggled()), "{request}");
        peer.answer(&request, &json!({})).await;
        let notified = peer.expect("notifications/of/mine").await;
        assert_eq!(notified["params"].pointer(pointer), Some(&smuggled()), "{notified}");
    };
    let talk = async {
        let facts = ClientFacts::default();
        client.request(OutgoingRequest::plain("tools/call", params(), &facts)).await.unwrap();
        client.notify("notifications/of/mine", params()).await.unwrap();
        client.close().await;
    };
    tokio::join!(serve, talk);
    assert_eq!(peer.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn arguments_unknown_params_and_meta_stay_on_the_line_of_their_message() {
    for (params, pointer) in [
        (r#"{"name":"echo","arguments":{"text":@}}"#, "/arguments/text"),
        (r#"{"name":"echo","vendor":@}"#, "/vendor"),
        (r#"{"name":"echo","_meta":{"com.example/trace":@}}"#, "/_meta/com.example~1trace"),
    ] {
        check(legacy().await, params, pointer).await;
        check(modern().await, params, pointer).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_client_says_of_itself_stays_on_the_line_of_its_request() {
    let Connected { client, mut peer, .. } = modern().await;
    let facts = ClientFacts {
        capabilities: Some(raw(format!("{{\"vendor\":{SMUGGLED}}}"))),
        info: Some(raw(format!("{{\"name\":{SMUGGLED}}}"))),
        log_level: Some("info\n{}".to_owned()),
    };
    let serve = async {
        let request = peer.expect("tools/call").await;
        let meta = &request["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], smuggled());
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"]["vendor"], smuggled());
        assert_eq!(meta["io.modelcontextprotocol/logLevel"], "info\n{}");
        peer.answer(&request, &json!({})).await;
    };
    let talk = async {
        client.request(OutgoingRequest::plain("tools/call", Object::new(), &facts)).await.unwrap();
        client.close().await;
    };
    tokio::join!(serve, talk);
    assert_eq!(peer.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_question_stays_on_its_line() {
    let Connected { client, mut peer, .. } = legacy().await;
    let (events, mut receiver) = mpsc::channel(1);
    let serve = async {
        let request = peer.expect("tools/call").await;
        let method = "elicitation/create";
        peer.send(&json!({"jsonrpc": "2.0", "id": "q", "method": method, "params": {}})).await;
        let answer = peer.next().await.unwrap();
        assert_eq!(answer["result"]["content"], smuggled(), "{answer}");
        peer.answer(&request, &json!({})).await;
    };
    let answer = async {
        let Some(Event::Question(question)) = receiver.recv().await else { panic!("no question") };
        let result = format!("{{\"action\":\"accept\",\"content\":{SMUGGLED}}}");
        question.reply.send(Ok(raw(result))).unwrap();
    };
    let (outcome, (), ()) = tokio::join!(echo(&*client, "a", Some(events)), serve, answer);
    assert!(outcome.is_ok());
    client.close().await;
    assert_eq!(peer.next().await, None);
}
