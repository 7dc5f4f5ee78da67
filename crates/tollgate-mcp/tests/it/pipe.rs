//! Requests over a pipe: ids, cancellation, progress, questions, and servers that misbehave.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tollgate_core::json::raw;
use tollgate_mcp::client::{ConnectOptions, Event, McpConnection, RequestError};
use tollgate_mcp::tasks;

use crate::support::{Connected, echo, legacy, legacy_with, modern, shown};

fn text(value: &str) -> Value {
    json!({"content": [{"type": "text", "text": value}]})
}

#[tokio::test(start_paused = true)]
async fn a_request_is_stamped_and_its_answer_comes_back() {
    let Connected { client, mut peer, .. } = modern().await;
    let serve = async {
        let request = peer.expect("tools/call").await;
        let meta = &request["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/logLevel"], "info");
        assert_eq!(meta.get("progressToken"), None);
        peer.answer(&request, &json!({"resultType": "complete", "x": 1})).await;
        let request = peer.expect("tools/call").await;
        peer.answer(&request, &json!({"resultType": "input_required"})).await;
        let request = peer.expect("tools/call").await;
        peer.answer(&request, &json!({"resultType": "surprise"})).await;
        let request = peer.expect("tools/call").await;
        peer.refuse(&request, -32602, &json!({"a": 1})).await;
    };
    let call = async {
        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push(shown(&echo(&*client, "a", None).await));
        }
        seen
    };
    let (seen, ()) = tokio::join!(call, serve);
    assert_eq!(
        seen,
        [
            r#"Complete {"resultType":"complete","x":1}"#,
            r#"InputRequired {"resultType":"input_required"}"#,
            "the server's result is of an unknown type",
            "no (-32602)",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn legacy_requests_carry_nothing_of_the_modern_era() {
    let Connected { client, mut peer, .. } = legacy().await;
    let serve = async {
        let request = peer.expect("tools/call").await;
        assert_eq!(request["params"], json!({"name": "echo", "arguments": {"text": "a"}}));
        peer.answer(&request, &json!({"resultType": "of my own"})).await;
    };
    let (outcome, ()) = tokio::join!(echo(&*client, "a", None), serve);
    assert_eq!(shown(&outcome), r#"Complete {"resultType":"of my own"}"#);
}

#[tokio::test(start_paused = true)]
async fn r_15_a_dropped_request_is_cancelled_and_its_late_answer_dropped_and_told() {
    let Connected { client, mut peer, recorder } = legacy().await;
    let given_up = timeout(Duration::from_millis(10), echo(&*client, "a", None)).await;
    assert!(given_up.is_err());
    let request = peer.expect("tools/call").await;
    let cancelled = peer.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    peer.answer(&request, &text("late")).await;
    peer.answer(&request, &text("twice")).await;
    let serve = async {
        let request = peer.expect("tools/call").await;
        peer.answer(&request, &text("b")).await;
    };
    let (outcome, ()) = tokio::join!(echo(&*client, "b", None), serve);
    assert!(shown(&outcome).contains("\"b\""));
    assert_eq!(recorder.lines(), ["late", "late"]);
}

#[tokio::test(start_paused = true)]
async fn r_14_at_the_end_of_the_stream_everyone_is_told_at_once() {
    let Connected { client, mut peer, recorder } = legacy().await;
    let crash = async {
        for _ in 0..3 {
            peer.expect("tools/call").await;
        }
        drop(peer);
    };
    let calls = async {
        tokio::join!(
            echo(&*client, "a", None),
            echo(&*client, "b", None),
            echo(&*client, "c", None)
        )
    };
    let ((a, b, c), ()) = tokio::join!(calls, crash);
    for outcome in [a, b, c] {
        assert!(matches!(outcome, Err(RequestError::Lost(_))));
    }
    recorder.wait_for("closed").await;
    assert_eq!(recorder.count("closed"), 1);
    assert!(matches!(echo(&*client, "d", None).await, Err(RequestError::Lost(_))));
}

#[tokio::test(start_paused = true)]
async fn progress_goes_to_its_own_request_without_our_token() {
    let Connected { client, mut peer, .. } = legacy().await;
    let (events, mut receiver) = mpsc::channel(8);
    let (other_events, mut other_heard) = mpsc::channel(8);
    let serve = async {
        let first = peer.expect("tools/call").await;
        let second = peer.expect("tools/call").await;
        let token = &first["params"]["_meta"]["progressToken"];
        assert_ne!(token, &second["params"]["_meta"]["progressToken"]);
        for token in [token, &json!(12345), &json!("1"), &Value::Null] {
            let params = json!({"progressToken": token, "progress": 1, "vendor": true});
            let method = "notifications/progress";
            peer.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
        }
        peer.answer(&first, &text("a")).await;
        peer.answer(&second, &text("b")).await;
    };
    let calls = async {
        tokio::join!(echo(&*client, "a", Some(events)), echo(&*client, "b", Some(other_events)),)
    };
    let (_, ()) = tokio::join!(calls, serve);
    let Some(Event::Progress(params)) = receiver.recv().await else { panic!("no progress") };
    assert_eq!(params.to_text(), r#"{"progress":1,"vendor":true}"#);
    assert!(receiver.recv().await.is_none());
    assert!(other_heard.recv().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_question_goes_to_the_only_request_in_flight_and_its_answer_back() {
    let Connected { client, mut peer, .. } = legacy().await;
    let (events, mut receiver) = mpsc::channel(1);
    let serve = async {
        let request = peer.expect("tools/call").await;
        let params = json!({"message": "sure?"});
        let question =
            json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params});
        peer.send(&question).await;
        let answer = peer.next().await.unwrap();
        assert_eq!(answer, json!({"jsonrpc": "2.0", "id": "q", "result": {"action": "accept"}}));
        peer.send(&question).await;
        let answer = peer.next().await.unwrap();
        assert_eq!(answer["result"], json!({"action": "cancel"}), "the reply was dropped");
        peer.answer(&request, &text("done")).await;
    };
    let answer = async {
        let Some(Event::Question(question)) = receiver.recv().await else { panic!("no question") };
        assert_eq!(question.method, "elicitation/create");
        assert!(question.params.unwrap().get().contains("sure?"));
        question.reply.send(Ok(raw(r#"{"action":"accept"}"#.to_owned()))).unwrap();
        drop(receiver.recv().await);
    };
    let (outcome, (), ()) = tokio::join!(echo(&*client, "a", Some(events)), serve, answer);
    assert!(outcome.is_ok());
}

#[tokio::test(start_paused = true)]
async fn questions_nobody_can_be_asked_have_fixed_answers() {
    let Connected { client, mut peer, .. } = legacy().await;
    let serve = async {
        let request = peer.expect("tools/call").await;
        for (method, expected) in [
            ("ping", json!({"result": {}})),
            ("roots/list", json!({"result": {"roots": []}})),
            ("elicitation/create", json!({"result": {"action": "cancel"}})),
            ("sampling/createMessage", json!({"error": -32601})),
            ("tasks/list", json!({"error": -32601})),
        ] {
            peer.send(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {}})).await;
            let answer = peer.next().await.unwrap();
            assert_eq!(answer["id"], 7);
            match expected.get("result") {
                Some(result) => assert_eq!(&answer["result"], result, "{method}"),
                None => assert_eq!(answer["error"]["code"], expected["error"], "{method}"),
            }
        }
        peer.answer(&request, &text("done")).await;
    };
    let (outcome, ()) = tokio::join!(echo(&*client, "a", None), serve);
    assert!(outcome.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_question_that_could_be_anybodys_is_refused() {
    let Connected { client, mut peer, .. } = legacy().await;
    let (events, mut receiver) = mpsc::channel(1);
    let serve = async {
        let first = peer.expect("tools/call").await;
        let second = peer.expect("tools/call").await;
        let method = "elicitation/create";
        peer.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}})).await;
        let answer = peer.next().await.unwrap();
        assert!(answer["error"]["message"].as_str().unwrap().contains("attributed"));
        peer.answer(&first, &text("a")).await;
        peer.answer(&second, &text("b")).await;
    };
    let calls =
        async { tokio::join!(echo(&*client, "a", Some(events)), echo(&*client, "b", None)) };
    let (_, ()) = tokio::join!(calls, serve);
    assert!(receiver.recv().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn b_io_07_modern_servers_may_not_ask() {
    let Connected { client, mut peer, recorder } = modern().await;
    let (events, mut receiver) = mpsc::channel(1);
    let serve = async {
        let request = peer.expect("tools/call").await;
        peer.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
        assert_eq!(peer.next().await.unwrap()["error"]["code"], -32601);
        peer.answer(&request, &text("a")).await;
    };
    let (_, ()) = tokio::join!(echo(&*client, "a", Some(events)), serve);
    assert!(receiver.recv().await.is_none());
    assert_eq!(recorder.count("garbage"), 1);
}

#[tokio::test(start_paused = true)]
async fn logs_go_to_the_only_request_that_wants_them_else_to_the_listener() {
    let Connected { client, mut peer, recorder } = modern().await;
    let (events, mut receiver) = mpsc::channel(8);
    let log = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": 1}});
    let serve = async {
        let request = peer.expect("tools/call").await;
        peer.send(&log).await;
        peer.answer(&request, &text("a")).await;
        peer.send(&log).await;
    };
    let (_, ()) = tokio::join!(echo(&*client, "a", Some(events)), serve);
    assert!(matches!(receiver.recv().await, Some(Event::Log(_))));
    recorder.wait_for("notified notifications/message").await;
    assert_eq!(recorder.lines().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn b_io_04_05_a_line_too_long_fails_its_request_and_no_other() {
    let options = ConnectOptions { message_limit: 64 << 10, ..ConnectOptions::default() };
    for id_last in [false, true] {
        let Connected { client, mut peer, recorder } = legacy_with(&options).await;
        let serve = async {
            let request = peer.expect("tools/call").await;
            let id = &request["id"];
            let padding = "x".repeat(1 << 20);
            let line = if id_last {
                format!("{{\"result\":{{\"a\":\"{padding}\"}},\"jsonrpc\":\"2.0\",\"id\":{id}}}\n")
            } else {
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"a\":\"{padding}\"}}}}\n")
            };
            peer.send_bytes(line.as_bytes()).await;
            let request = peer.expect("tools/call").await;
            peer.answer(&request, &text("b")).await;
            peer
        };
        let calls = async { (echo(&*client, "a", None).await, echo(&*client, "b", None).await) };
        let ((too_large, fine), _peer) = tokio::join!(calls, serve);
        assert!(matches!(too_large, Err(RequestError::TooLarge { limit: 65_536 })));
        assert!(fine.is_ok());
        assert_eq!(recorder.count("garbage"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_of_the_servers_own_that_is_too_long_fails_no_request_of_ours() {
    let options = ConnectOptions { message_limit: 64 << 10, ..ConnectOptions::default() };
    let Connected { client, mut peer, recorder } = legacy_with(&options).await;
    let serve = async {
        let request = peer.expect("tools/call").await;
        for line in [
            r#"{"jsonrpc":"2.0","id":@,"method":"roots/list","params":{"a":"~"}}"#,
            r#"{"method":"roots/list","params":{"a":"~"},"jsonrpc":"2.0","id":@}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"~","id":@}"#,
        ] {
            let line = line.replace('@', &request["id"].to_string());
            peer.send_bytes(line.replace('~', &"x".repeat(1 << 20)).as_bytes()).await;
            peer.send_bytes(b"\n").await;
        }
        peer.answer(&request, &text("a")).await;
    };
    let (outcome, ()) = tokio::join!(echo(&*client, "a", None), serve);
    assert!(outcome.is_ok(), "{}", shown(&outcome));
    assert_eq!(recorder.count("garbage"), 3);
}

#[tokio::test(start_paused = true)]
async fn b_io_06_answers_that_answer_nothing_are_survived() {
    let Connected { client, mut peer, recorder } = legacy().await;
    for id in [json!(4711), json!("1"), json!("x"), json!(-1), json!(0)] {
        peer.send(&json!({"jsonrpc": "2.0", "id": id, "result": {}})).await;
    }
    peer.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{}}\n[]\n{\"a\"\n\xff\n").await;
    let serve = async {
        let first = peer.expect("tools/call").await;
        let second = peer.expect("tools/call").await;
        peer.answer(&second, &text("b")).await;
        peer.answer(&first, &text("a")).await;
    };
    let calls = async { tokio::join!(echo(&*client, "a", None), echo(&*client, "b", None)) };
    let ((first, second), ()) = tokio::join!(calls, serve);
    assert!(shown(&first).contains("\"a\"") && shown(&second).contains("\"b\""));
    assert_eq!(recorder.count("garbage"), 9);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_breaks_the_protocol_fails_its_request_at_once() {
    let Connected { client, mut peer, .. } = legacy().await;
    let serve = async {
        let request = peer.expect("tools/call").await;
        peer.send(&json!({"id": request["id"], "result": {}})).await;
    };
    let (outcome, ()) = tokio::join!(echo(&*client, "a", None), serve);
    assert!(shown(&outcome).contains("violated the protocol"));
}

#[tokio::test(start_paused = true)]
async fn b_re_06_an_answer_that_is_no_json_fails_its_request_at_once_and_other_lines_do_not() {
    let Connected { client, mut peer, .. } = legacy().await;
    let serve = async {
        for answer in [
            r#"{"jsonrpc": "2.0", "id": @, "result": {"n": NaN}}"#,
            r#"{"result":{"n":Infinity},"jsonrpc":"2.0","id":@}"#,
        ] {
            let request = peer.expect("tools/call").await;
            let id = request["id"].to_string();
            for log in [r#"got {"id":@}"#, r#"{"jsonrpc":"2.0","id":@,"method":"tools/ca"#] {
                peer.send_bytes(log.replace('@', &id).as_bytes()).await;
                peer.send_bytes(b"\n").await;
            }
            peer.send_bytes(answer.replace('@', &id).as_bytes()).await;
            peer.send_bytes(b"\n").await;
        }
    };
    let calls = async { (echo(&*client, "a", None).await, echo(&*client, "b", None).await) };
    let ((first, second), ()) = tokio::join!(calls, serve);
    for outcome in [first, second] {
        assert!(shown(&outcome).contains("expected value"), "{}", shown(&outcome));
    }
}

#[tokio::test(start_paused = true)]
async fn b_io_08_a_server_that_closes_its_input_is_lost() {
    let (near, far) = tokio::io::duplex(1024);
    let (their_read, their_write) = tokio::io::split(far);
    let (read, _keep) = tokio::io::split(near);
    let recorder = Arc::new(crate::support::Recorder::default());
    let (closed, gone) = tokio::io::duplex(1024);
    drop(gone);
    let listener = Arc::clone(&recorder) as Arc<dyn tollgate_mcp::client::ServerListener>;
    let connected =
        tollgate_mcp::client::connect_pipe(read, closed, listener, &ConnectOptions::default())
            .await;
    assert!(connected.is_err());
    drop((their_read, their_write));
}

#[tokio::test(start_paused = true)]
async fn b_io_09_a_flood_of_notifications_holds_up_no_answer() {
    let Connected { client, mut peer, recorder } = legacy().await;
    let serve = async {
        let request = peer.expect("tools/call").await;
        let line = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n";
        for _ in 0..100 {
            peer.send_bytes(&line.repeat(100)).await;
        }
        peer.answer(&request, &text("a")).await;
    };
    let (outcome, ()) = tokio::join!(echo(&*client, "a", None), serve);
    assert!(outcome.is_ok());
    assert_eq!(recorder.count("list_changed"), 10_000);
}

#[tokio::test(start_paused = true)]
async fn b_io_10_a_server_that_does_not_read_costs_its_callers_a_bounded_wait() {
    let Connected { client, peer, .. } = legacy().await;
    let mut callers = Vec::new();
    let lost = Arc::new(Mutex::new(0));
    for _ in 0..400 {
        let client = Arc::clone(&client);
        let lost = Arc::clone(&lost);
        callers.push(tasks::spawn("caller", async move {
            let outcome = echo(&*client, &"x".repeat(2000), None).await;
            if matches!(outcome, Err(RequestError::Lost(reason)) if reason.contains("read")) {
                *lost.lock() += 1;
            }
        }));
    }
    sleep(Duration::from_secs(6)).await;
    assert!(*lost.lock() > 100, "{}", lost.lock());
    drop(peer);
    for caller in &mut callers {
        caller.wait().await;
    }
}

#[tokio::test(start_paused = true)]
async fn s_13_answers_never_reach_another_caller() {
    let Connected { client, peer, .. } = legacy().await;
    let (mut reader, mut writer) = peer.split();
    let (questions, mut due) = mpsc::channel::<Value>(1000);
    let _reader = tasks::spawn("server reader", async move {
        let mut ids = HashSet::new();
        while let Some(message) = reader.next().await {
            if message["method"] == "tools/call" {
                assert!(ids.insert(message["id"].to_string()), "an id was used twice");
                let _ = questions.send(message).await;
            }
        }
    });
    let _writer = tasks::spawn("server writer", async move {
        while let Some(message) = due.recv().await {
            let wait = message["id"].as_u64().unwrap().wrapping_mul(7919) % 40;
            if wait % 3 == 0 {
                sleep(Duration::from_millis(wait)).await;
            }
            let content = message["params"]["arguments"]["text"].as_str().unwrap();
            writer.answer(&message, &text(content)).await;
        }
    });
    let wrong = Arc::new(Mutex::new(Vec::new()));
    let answered = Arc::new(Mutex::new(0));
    let mut callers = Vec::new();
    for caller in 0..200_u64 {
        let client = Arc::clone(&client);
        let wrong = Arc::clone(&wrong);
        let answered = Arc::clone(&answered);
        callers.push(tasks::spawn("caller", async move {
            for call in 0..20_u64 {
                let content = format!("caller {caller} call {call}");
                let patience = Duration::from_millis(5 + (caller * 31 + call * 17) % 3000);
                let Ok(outcome) = timeout(patience, echo(&*client, &content, None)).await else {
                    continue;
                };
                *answered.lock() += 1;
                if !shown(&outcome).contains(&format!("\"{content}\"")) {
                    wrong.lock().push(format!("{content}: {}", shown(&outcome)));
                }
            }
        }));
    }
    for caller in &mut callers {
        caller.wait().await;
    }
    assert_eq!(*wrong.lock(), Vec::<String>::new());
    assert!(*answered.lock() > 500, "{}", answered.lock());
}

#[tokio::test(start_paused = true)]
async fn closing_ends_the_servers_input_and_tells_nobody() {
    let Connected { client, mut peer, recorder } = legacy().await;
    client.close().await;
    assert!(peer.next().await.is_none());
    assert!(echo(&*client, "a", None).await.is_err());
    drop(peer);
    sleep(Duration::from_millis(100)).await;
    assert!(recorder.lines().is_empty());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_connection_closes_the_pipe() {
    let Connected { client, mut peer, .. } = legacy().await;
    drop(client);
    assert!(peer.next().await.is_none());
}
