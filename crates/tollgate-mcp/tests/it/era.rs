//! Which era a server on a pipe is taken for, by how it reacts to the first probe.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use tollgate_mcp::client::{ConnectError, ConnectOptions, McpConnection};
use tollgate_mcp::{Era, Revision};

use crate::support::{Peer, discovered, initialized, pipe};

/// The revision agreed on, or the error.
async fn agreed<F: Future>(options: &ConnectOptions, script: impl FnOnce(Peer) -> F) -> String {
    let (connected, _peer, _) = pipe().play(options, script).await;
    match connected {
        Ok(connection) => connection.facts().revision.to_string(),
        Err(error) => format!("{error:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_discover_result_means_modern() {
    let script = |mut peer: Peer| async move {
        let probe = peer.expect("server/discover").await;
        let meta = &probe["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "tollgate");
        peer.answer(&probe, &discovered()).await;
        peer
    };
    let (connected, _peer, _) = pipe().play(&ConnectOptions::default(), script).await;
    let connection = connected.unwrap();
    let facts = connection.facts();
    assert_eq!((facts.revision, facts.era()), (Revision::V2026_07_28, Era::Modern));
    assert_eq!(facts.instructions.as_deref(), Some("be kind"));
    assert!(facts.info.as_ref().unwrap().get().contains("fake"));
    assert!(facts.flag("tools", "listChanged") && !facts.offers("prompts"));
}

#[tokio::test(start_paused = true)]
async fn any_other_error_on_the_probe_means_legacy() {
    for code in [-32600, -32601, -32602, -32603, -32000, -32001, 1] {
        let script = |mut peer: Peer| async move {
            let probe = peer.expect("server/discover").await;
            peer.refuse(&probe, code, &Value::Null).await;
            let request = peer.expect("initialize").await;
            let params = &request["params"];
            assert_eq!(params["protocolVersion"], "2025-11-25");
            assert_eq!(params["capabilities"]["elicitation"], json!({"form": {}, "url": {}}));
            peer.answer(&request, &initialized("2025-11-25")).await;
            peer.expect("notifications/initialized").await;
            peer
        };
        assert_eq!(agreed(&ConnectOptions::default(), script).await, "2025-11-25", "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_without_a_known_id_during_the_probe_means_legacy() {
    for id in [json!("err_1"), json!(null), json!(999_999)] {
        let script = |mut peer: Peer| async move {
            peer.expect("server/discover").await;
            let error = json!({"code": -32022, "message": "what?"});
            peer.send(&json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
            let request = peer.expect("initialize").await;
            peer.answer(&request, &initialized("2025-06-18")).await;
            peer.expect("notifications/initialized").await;
            peer
        };
        let options = ConnectOptions {
            probe_timeout: Duration::from_secs(3600),
            ..ConnectOptions::default()
        };
        let options = ConnectOptions { handshake_timeout: Duration::from_secs(7200), ..options };
        assert_eq!(agreed(&options, script).await, "2025-06-18");
    }
}

#[tokio::test(start_paused = true)]
async fn silence_means_legacy_and_a_late_answer_to_the_probe_is_ignored() {
    let script = |mut peer: Peer| async move {
        let probe = peer.expect("server/discover").await;
        let request = peer.expect("initialize").await;
        peer.refuse(&probe, -32601, &Value::Null).await;
        peer.answer(&request, &initialized("2025-11-25")).await;
        peer.expect("notifications/initialized").await;
        peer
    };
    assert_eq!(agreed(&ConnectOptions::default(), script).await, "2025-11-25");
}

#[tokio::test(start_paused = true)]
async fn a_slow_modern_server_is_still_found_out() {
    let script = |mut peer: Peer| async move {
        let probe = peer.expect("server/discover").await;
        let request = peer.expect("initialize").await;
        peer.answer(&probe, &discovered()).await;
        peer.refuse(&request, -32601, &Value::Null).await;
        peer
    };
    assert_eq!(agreed(&ConnectOptions::default(), script).await, "2026-07-28");
}

#[tokio::test(start_paused = true)]
async fn results_that_are_no_discovery_mean_legacy() {
    for result in [
        json!({}),
        json!({"supportedVersions": 7}),
        json!([]),
        json!({"supportedVersions": ["2025-06-18"]}),
    ] {
        let script = |mut peer: Peer| async move {
            let probe = peer.expect("server/discover").await;
            peer.answer(&probe, &result).await;
            let request = peer.expect("initialize").await;
            peer.answer(&request, &initialized("2024-11-05")).await;
            peer.expect("notifications/initialized").await;
            peer
        };
        assert_eq!(agreed(&ConnectOptions::default(), script).await, "2024-11-05");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_version_is_judged_by_what_the_server_names() {
    for (supported, expected) in [
        (json!(["2025-11-25", "2025-06-18"]), "2025-11-25"),
        (json!(["2030-01-01"]), "Protocol(\"the server only supports 2030-01-01\")"),
        (json!([]), "Protocol(\"the server only supports \")"),
    ] {
        let script = |mut peer: Peer| async move {
            let probe = peer.expect("server/discover").await;
            peer.refuse(&probe, -32022, &json!({"supported": supported})).await;
            if let Some(request) = peer.next().await {
                peer.answer(&request, &initialized("2025-11-25")).await;
                peer.expect("notifications/initialized").await;
            }
            peer
        };
        assert_eq!(agreed(&ConnectOptions::default(), script).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_wants_capabilities_is_asked_again_with_them() {
    let script = |mut peer: Peer| async move {
        let probe = peer.expect("server/discover").await;
        peer.refuse(&probe, -32021, &Value::Null).await;
        let probe = peer.expect("server/discover").await;
        let meta = &probe["params"]["_meta"];
        assert!(meta["io.modelcontextprotocol/clientCapabilities"]["elicitation"].is_object());
        peer.answer(&probe, &discovered()).await;
        peer
    };
    assert_eq!(agreed(&ConnectOptions::default(), script).await, "2026-07-28");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ends_on_the_probe_is_told_apart() {
    let script = |mut peer: Peer| async move {
        peer.expect("server/discover").await;
    };
    let (connected, (), _) = pipe().play(&ConnectOptions::default(), script).await;
    assert!(matches!(connected, Err(ConnectError::DiedOnProbe(_))));
    let slow = |mut peer: Peer| async move {
        peer.expect("server/discover").await;
        peer.expect("initialize").await;
    };
    let (connected, (), _) = pipe().play(&ConnectOptions::default(), slow).await;
    assert!(matches!(connected, Err(ConnectError::DiedOnProbe(_))));
}

#[tokio::test(start_paused = true)]
async fn a_pinned_legacy_server_sees_no_probe_and_only_what_its_revision_knows() {
    for (revision, capabilities) in [
        (Revision::V2024_11_05, json!({"sampling": {}, "roots": {"listChanged": false}})),
        (
            Revision::V2025_06_18,
            json!({"elicitation": {}, "sampling": {}, "roots": {"listChanged": false}}),
        ),
    ] {
        let script = |mut peer: Peer| async move {
            let request = peer.expect("initialize").await;
            assert_eq!(request["params"]["protocolVersion"], revision.as_str());
            assert_eq!(request["params"]["capabilities"], capabilities);
            peer.answer(&request, &initialized(revision.as_str())).await;
            peer.expect("notifications/initialized").await;
            peer
        };
        let options = ConnectOptions { pinned: Some(revision), ..ConnectOptions::default() };
        assert_eq!(agreed(&options, script).await, revision.as_str());
    }
}

#[tokio::test(start_paused = true)]
async fn a_pin_that_the_server_does_not_keep_is_an_error() {
    let lower = |mut peer: Peer| async move {
        let request = peer.expect("initialize").await;
        peer.answer(&request, &initialized("2025-03-26")).await;
        peer
    };
    let options =
        ConnectOptions { pinned: Some(Revision::V2025_11_25), ..ConnectOptions::default() };
    assert!(agreed(&options, lower).await.contains("not the pinned"));
    let legacy = |mut peer: Peer| async move {
        let probe = peer.expect("server/discover").await;
        peer.refuse(&probe, -32601, &Value::Null).await;
        peer
    };
    let options =
        ConnectOptions { pinned: Some(Revision::V2026_07_28), ..ConnectOptions::default() };
    assert!(agreed(&options, legacy).await.contains("pinned 2026-07-28"));
}

#[tokio::test(start_paused = true)]
async fn a_revision_named_in_the_refusal_of_initialize_is_tried() {
    let script = |mut peer: Peer| async move {
        let probe = peer.expect("server/discover").await;
        peer.refuse(&probe, -32601, &Value::Null).await;
        let request = peer.expect("initialize").await;
        peer.refuse(&request, -32602, &json!({"supported": ["2024-11-05", "2025-03-26"]})).await;
        let request = peer.expect("initialize").await;
        assert_eq!(request["params"]["protocolVersion"], "2025-03-26");
        peer.answer(&request, &initialized("2025-03-26")).await;
        peer.expect("notifications/initialized").await;
        peer
    };
    assert_eq!(agreed(&ConnectOptions::default(), script).await, "2025-03-26");
}

#[tokio::test(start_paused = true)]
async fn revisions_that_nobody_knows_are_refused() {
    for result in [
        json!({"protocolVersion": "1999-01-01"}),
        json!({}),
        json!(7),
        json!({"protocolVersion": "2026-07-28"}),
    ] {
        let script = |mut peer: Peer| async move {
            let probe = peer.expect("server/discover").await;
            peer.refuse(&probe, -32601, &Value::Null).await;
            let request = peer.expect("initialize").await;
            peer.answer(&request, &result).await;
            peer
        };
        assert!(agreed(&ConnectOptions::default(), script).await.starts_with("Protocol("));
    }
}

#[tokio::test(start_paused = true)]
async fn a_handshake_without_an_answer_ends_in_time() {
    let script = |mut peer: Peer| async move { while peer.next().await.is_some() {} };
    let (connected, (), _) = pipe().play(&ConnectOptions::default(), script).await;
    assert!(matches!(connected, Err(ConnectError::Unreachable(_))));
}

#[tokio::test(start_paused = true)]
async fn b_io_02_a_banner_before_the_handshake_is_garbage_and_survived() {
    let script = |mut peer: Peer| async move {
        peer.send_bytes(b"Starting server...\n\xff\xfe\0\n{\"level\":\"info\"}\n").await;
        sleep(Duration::from_millis(10)).await;
        peer.initialize().await;
        peer
    };
    let (connected, _peer, recorder) = pipe().play(&ConnectOptions::default(), script).await;
    assert!(connected.is_ok());
    assert_eq!(recorder.count("garbage"), 3);
}
