//! `POST /v1/code`: programs over plain HTTP, in real workers.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use tollgate_core::budget::Tier;
use tollgate_core::rate::RateLimit;
use tollgate_core::turn::PrincipalGrant;
use tollgate_server::{ApiKey, Right, Rights};

use crate::client::Call;
use crate::stage::{Setup, Stage, key};

/// With a worker, which is built if need be.
async fn stage(setup: Setup) -> Stage {
    tollgate_testkit::worker();
    Stage::with(setup).await
}

fn program(stage: &Stage, code: &str) -> Call {
    stage.post(json!({ "code": code }).to_string()).path("/v1/code")
}

async fn ran(stage: &Stage, code: &str) -> Value {
    let reply = program(stage, code).send().await;
    assert_eq!(reply.status, 200, "{code}: {reply:?}");
    reply.json()
}

#[tokio::test]
async fn a_program_calls_tools_and_gives_what_it_made_of_them() {
    let stage = stage(Setup::default()).await;
    let code = r#"
print("one")
a = test.echo(text="{\"n\": 1}")
b = parallel([(test.echo, {"text": "x"}), (test.echo, {"text": "y"})])
print("two", len(b))
result = {"n": a["n"], "both": b}
"#;
    let answer = ran(&stage, code).await;
    assert_eq!(answer["status"], "ok");
    assert_eq!(answer["prints"], "one\ntwo 2\n");
    assert_eq!(answer["result"], json!({"n": 1, "both": ["x", "y"]}));
    assert_eq!((&answer["calls"], answer.get("error")), (&json!(3), None));
    assert!(answer["duration_ms"].is_u64(), "{answer}");
    assert_eq!(stage.calls(), 3);
}

#[tokio::test]
async fn s_33_calls_of_a_program_count_against_the_limits_of_its_key() {
    let grant = PrincipalGrant { rate_limit: RateLimit::parse("6/m"), ..PrincipalGrant::default() };
    let ada = ApiKey { grant, ..key("ada", "secret-of-ada", Rights::ALL) };
    let stage = stage(Setup { keys: vec![ada], ..Setup::default() }).await;
    let code = "for i in range(20):\n    test.echo(text=\"x\")";
    let ran = program(&stage, code).header("x-api-key", "secret-of-ada").send().await.json();
    assert_eq!((&ran["status"], &ran["error"]["kind"]), (&json!("error"), &json!("tool")), "{ran}");
    assert_eq!(stage.calls(), 5, "the program itself is the sixth: {ran}");
    let more = program(&stage, "x = 1").header("x-api-key", "secret-of-ada").send().await;
    assert_eq!((more.status, more.header("retry-after").is_some()), (429, true), "{more:?}");
}

#[tokio::test]
async fn results_are_as_large_as_they_like_or_left_out() {
    let stage = stage(Setup::default()).await;
    for nothing in ["x = 1", "result = None"] {
        assert_eq!(ran(&stage, nothing).await.get("result"), None);
    }
    let large = program(&stage, "result = 10 * 10 * 12345678901234567890").send().await;
    assert!(large.text.contains("\"result\":1234567890123456789000"), "{large:?}");
}

#[tokio::test]
async fn a_program_that_fails_is_an_answer() {
    let stage = stage(Setup::default()).await;
    for (code, kind, line) in [
        ("x = 1\nfor x in", "syntax", Some(2)),
        ("result = nothing_of_this_name", "syntax", Some(1)),
        ("x = 1\nx = {}[\"a\"]", "runtime", Some(2)),
        ("x = test.echo(text=5)", "tool", Some(1)),
        ("x = 1\n\nfor i in range(1000):\n    test.echo(text=\"x\")", "calls", Some(4)),
        ("x = 1\nx = 2\nprint(\"a\" * 100000)", "output", Some(3)),
        ("def f(n):\n    return f(n + 1)\nf(0)", "depth", Some(2)),
        ("for i in range(1000000000):\n    pass", "steps", None),
    ] {
        let answer = ran(&stage, code).await;
        assert_eq!((&answer["status"], &answer["error"]["kind"]), (&json!("error"), &json!(kind)));
        let error = &answer["error"];
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{answer}");
        if let Some(line) = line {
            assert_eq!(error["line"], line, "{code}: {answer}");
            assert!(error["text"].is_string(), "{answer}");
        }
        assert_eq!(answer.get("result"), None);
    }
}

#[tokio::test]
async fn prints_of_a_program_that_fails_are_there() {
    let stage = stage(Setup::default()).await;
    let answer = ran(&stage, "print(1)\ntest.echo(text=\"x\")\nprint(2)\nfail(\"enough\")").await;
    assert_eq!((&answer["prints"], &answer["calls"]), (&json!("1\n2\n"), &json!(1)));
    assert!(answer["error"]["message"].as_str().unwrap().contains("enough"), "{answer}");
}

#[tokio::test]
async fn a_program_sees_what_its_agent_sees_and_nothing_else() {
    let stage = stage(Setup::default()).await;
    let code = "result = dir(test)";
    let all = ran(&stage, code).await;
    assert!(all["result"].as_array().unwrap().contains(&json!("wait")), "{all}");
    for sage in [
        program(&stage, code).header("x-tollgate-agent", "sage"),
        stage.post(json!({"code": code, "agent": "sage"}).to_string()).path("/v1/code"),
        program(&stage, code).header("x-tollgate-include-tools", "echo"),
    ] {
        assert_eq!(sage.send().await.json()["result"], json!(["echo"]));
    }
    let hidden = json!({"code": "test.wait(ms=0)", "agent": "sage"}).to_string();
    let answer = stage.post(hidden).path("/v1/code").send().await.json();
    assert_eq!(answer["status"], "error", "{answer}");
    assert_eq!(stage.calls(), 0, "nothing that is hidden was called");
}

#[tokio::test]
async fn what_is_no_request_for_a_program_is_refused() {
    let stage = stage(Setup::default()).await;
    for (body, named) in [
        ("{}", "`code` is missing"),
        (r#"{"code": 5}"#, "`code` must be a string"),
        (r#"{"code": "x = 1", "source": "y"}"#, "`source`"),
        (r#"{"code": "x = 1", "tier": "slow"}"#, "`tier`"),
        ("[]", ""),
        ("", ""),
    ] {
        let reply = stage.post(body.to_owned()).path("/v1/code").send().await;
        assert_eq!(reply.status, 400, "{body}: {reply:?}");
        assert!(reply.text.contains(named), "{body}: {reply:?}");
    }
    let reply = stage.post(r#"{"code": "x = 1"}"#).path("/v1/code?agent=sage").send().await;
    assert_eq!(reply.status, 400, "{reply:?}");
    let nobody = json!({"code": "x = 1", "agent": "nobody"}).to_string();
    assert_eq!(stage.post(nobody).path("/v1/code").send().await.status, 404);
}

#[tokio::test]
async fn running_programs_and_tiers_above_the_ceiling_are_rights() {
    for (rights, tier, expected) in [
        (&[Right::Execute][..], None, 200),
        (&[Right::Execute], Some("fast"), 200),
        (&[Right::Execute], Some("deep"), 403),
        (&[Right::Execute, Right::OverrideTier], Some("deep"), 200),
        (&[Right::OverrideTier], None, 403),
        (&[Right::Observe, Right::Approve], None, 403),
        (&[], None, 403),
    ] {
        let granted: Rights = rights.iter().copied().collect();
        let keys = vec![key("phone", "a-key-of-sixteen", granted)];
        let ceiling = Some(Tier::Standard);
        let stage = stage(Setup { keys, ceiling, ..Setup::default() }).await;
        let body = json!({"code": "result = 1", "tier": tier}).to_string();
        let call = stage.post(body).path("/v1/code").header("x-api-key", "a-key-of-sixteen");
        let reply = call.send().await;
        assert_eq!(reply.status, expected, "{rights:?} {tier:?}: {reply:?}");
        assert_eq!(program(&stage, "result = 1").status().await, 401, "no key, no program");
    }
}

#[tokio::test]
async fn a_program_ends_with_its_turn() {
    let stage = stage(Setup { ceiling: Some(Tier::Deep), ..Setup::default() }).await;
    let mut answer = Value::Null;
    // A machine that is busy at the wall has no time for last words.
    for _ in 0..5 {
        answer = ran(&stage, "print(\"begun\")\ntest.wait(ms=60000)").await;
        assert_eq!(answer["status"], "error", "{answer}");
        if answer["prints"] == "begun\n" {
            break;
        }
    }
    assert_eq!(answer["prints"], "begun\n", "{answer}");
    stage.reaches(&stage.seen.cancelled, 1).await;
}

#[tokio::test]
async fn whoever_goes_away_ends_the_program() {
    let stage = stage(Setup::default()).await;
    let waiting = program(&stage, "test.wait(ms=60000)").send();
    tokio::select! {
        reply = waiting => panic!("it did not wait: {reply:?}"),
        () = stage.call_tool(1) => {}
    }
    stage.reaches(&stage.seen.cancelled, 1).await;
    assert_eq!(stage.seen.finished.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_a_model_reads_can_be_read_without_code_mode() {
    let stage = stage(Setup::default()).await;
    for (query, expected) in [
        ("", "test.pyi"),
        ("?read=servers/test.pyi", "def echo("),
        ("?read=test", "def wait("),
        ("?docs=test.echo", "A tool for tests"),
        ("?search=echo", "test.echo("),
    ] {
        let reply = stage.request("GET", &format!("/v1/code{query}")).send().await;
        assert_eq!(reply.status, 200, "{query}: {reply:?}");
        let answer = reply.json();
        assert_eq!(answer["agent"], "default");
        assert!(answer["text"].as_str().unwrap().contains(expected), "{query}: {answer}");
    }
    let sage = stage.request("GET", "/v1/code?read=test&agent=sage").send().await.json();
    assert!(!sage["text"].as_str().unwrap().contains("wait"), "{sage}");
    for (query, status, expected) in [
        ("?read=nothing", 404, "nothing"),
        ("?docs=test.ecko", 404, "echo"),
        ("?docs=echo", 400, "SERVER.TOOL"),
        ("?read=a&search=b", 400, "exclude each other"),
        ("?file=a", 400, "`file`"),
        ("?tier=slow", 400, "tier"),
    ] {
        let reply = stage.request("GET", &format!("/v1/code{query}")).send().await;
        assert_eq!(reply.status, status, "{query}: {reply:?}");
        assert!(reply.text.contains(expected), "{query}: {reply:?}");
    }
}
