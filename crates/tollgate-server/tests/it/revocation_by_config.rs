//! Revocation by a config change: agents, tools of agents, OIDC rules.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_core::glob::Glob;
use tollgate_core::turn::PrincipalGrant;
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_engine::settings::EngineSettings;
use tollgate_server::oidc::{ClaimMatcher, OidcConfig, TokenRule};
use tollgate_server::{Right, Rights};

use crate::client::{Call, Reply};
use crate::model::Model;
use crate::oidc_issuer::Issuer;
use crate::revocation;
use crate::stage::{Setup, Stage};

const WITHIN: Duration = Duration::from_secs(1);
const LONG: u64 = 50_000;

fn now() -> Instant {
    SystemClock.now()
}

fn wait(stage: &Stage, path: &str) -> Call {
    stage.modern("tools/call", json!({"name": "wait", "arguments": {"ms": LONG}})).path(path)
}

async fn apply_config(stage: &Stage, change: impl FnOnce(&mut EngineSettings)) -> Instant {
    let mut settings = stage.settings.clone();
    change(&mut settings);
    stage.running.reconfigure(&settings, || ()).await;
    now()
}

fn error_of(reply: &Reply) -> Value {
    reply.json()["error"]["message"].clone()
}

#[tokio::test]
async fn an_agent_that_is_taken_out_takes_along_what_runs_for_it() {
    let model = Model::calling(&[]).await;
    let (_up, stage) = revocation::stage(&model).await;
    let mut of_sage = Box::pin(wait(&stage, "/mcp/sage").send());
    let mut of_default = Box::pin(wait(&stage, "/mcp/default").send());
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let mut stream = stage.modern("subscriptions/listen", listen).path("/mcp/sage").stream().await;
    assert!(stream.next().await.is_some(), "the acknowledgement");
    tokio::select! {
        reply = &mut of_sage => panic!("it did not wait: {reply:?}"),
        reply = &mut of_default => panic!("it did not wait: {reply:?}"),
        () = stage.call_tool(2) => {}
    }
    let stopped = async {
        tokio::select! {
            reply = &mut of_sage => (reply, now()),
            reply = &mut of_default => panic!("the other agent lost something: {reply:?}"),
        }
    };
    let only_default = |settings: &mut EngineSettings| settings.agents.truncate(1);
    let ((reply, at_end), at) = tokio::join!(stopped, apply_config(&stage, only_default));
    assert!(at_end.saturating_duration_since(at) < WITHIN);
    assert_eq!(error_of(&reply), "stopped: agent `sage` was removed from the config");
    let mut last = Value::Null;
    while let Some(message) = stream.next().await {
        last = message;
    }
    assert_eq!(last["error"]["data"]["reason"], "revoked", "{last}");
    stage.reaches(&stage.seen.cancelled, 1).await;
}

#[tokio::test]
async fn a_tool_that_is_taken_away_is_stopped_and_the_turn_goes_on_without_it() {
    let model =
        Model::calling(&["!wait {\"ms\": 50000}", "!echo {\"text\": \"still here\"}"]).await;
    let (_up, stage) = revocation::stage(&model).await;
    let hello = json!({"model": "sage", "messages": [{"role": "user", "content": "hello"}]});
    let mut chat = Box::pin(stage.post(hello.to_string()).path("/v1/chat/completions").send());
    let body = json!({"name": "up_say", "arguments": {}}).to_string();
    let mut approval = Box::pin(stage.post(body).path("/v1/tools/execute").send());
    tokio::select! {
        reply = &mut chat => panic!("it did not wait: {reply:?}"),
        reply = &mut approval => panic!("it did not wait: {reply:?}"),
        () = async { stage.call_tool(1).await; stage.approvals(1).await; } => {}
    }
    let narrower = |settings: &mut EngineSettings| {
        for agent in &mut settings.agents {
            agent.tools = vec![Glob::new("echo")];
            agent.auto_execute = vec![Glob::new("echo")];
        }
    };
    let (answer, outcome, at) =
        tokio::join!(&mut chat, &mut approval, apply_config(&stage, narrower));
    assert!(
        now().saturating_duration_since(at) < 3 * WITHIN,
        "the model was asked again meanwhile"
    );
    let answer = answer.json();
    let statuses: Vec<&Value> =
        answer["tollgate"]["calls"].as_array().unwrap().iter().map(|it| &it["status"]).collect();
    assert_eq!(statuses[0], "denied", "{answer}");
    assert_eq!(outcome.json()["status"], "denied", "{outcome:?}");
    assert!(outcome.text.contains("may no longer call"), "{outcome:?}");
    stage.approvals(0).await;
    let rows = stage.revoked_rows(3).await;
    let kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"approval") && kinds.contains(&"call"), "{rows:?}");
}

#[tokio::test]
async fn a_config_that_gives_more_stops_nothing() {
    let model = Model::calling(&[]).await;
    let (_up, stage) = revocation::stage(&model).await;
    let mut call = Box::pin(wait(&stage, "/mcp/sage").send());
    tokio::select! {
        reply = &mut call => panic!("it did not wait: {reply:?}"),
        () = stage.call_tool(1) => {}
    }
    let wider = |settings: &mut EngineSettings| {
        let mut another = settings.agents[1].clone();
        another.id = tollgate_core::id::AgentId::parse("another").unwrap();
        settings.agents.push(another);
    };
    tokio::select! {
        reply = &mut call => panic!("it stopped: {reply:?}"),
        _ = async {
            apply_config(&stage, wider).await;
            let echo = json!({"name": "echo", "arguments": {"text": "x"}});
            let echo = stage.modern("tools/call", echo).path("/mcp/another");
            assert_eq!(echo.brief().await, "200 ok");
        } => {}
    }
}

fn rule(sub: &str, rights: &[Right]) -> TokenRule {
    TokenRule {
        when: Some(ClaimMatcher { name: "sub".to_owned(), value: sub.to_owned() }),
        agents: None,
        rights: rights.iter().copied().collect::<Rights>(),
        grant: PrincipalGrant::default(),
    }
}

#[tokio::test]
async fn a_rule_for_tokens_that_is_taken_out_stops_those_it_was_for() {
    let issuer = Issuer::start().await;
    let auth = |rules: Vec<TokenRule>| Some(OidcConfig { rules, ..issuer.auth() });
    let both = vec![rule("ada", &[Right::Execute]), rule("bob", &[Right::Execute])];
    let setup = Setup { auth: auth(both), ..Setup::default() };
    let stage = Stage::with(setup).await;
    let token = |sub: &str| {
        let mut claims = issuer.claims();
        claims["sub"] = json!(sub);
        claims["scope"] = json!("openid");
        format!("Bearer {}", issuer.token(&claims))
    };
    let call = |sub: &str| wait(&stage, "/mcp").header("authorization", &token(sub)).send();
    let mut ada = Box::pin(call("ada"));
    let mut bob = Box::pin(call("bob"));
    tokio::select! {
        reply = &mut ada => panic!("it did not wait: {reply:?}"),
        reply = &mut bob => panic!("it did not wait: {reply:?}"),
        () = stage.call_tool(2) => {}
    }
    // Another order, and more for both: nobody loses anything.
    let more = vec![rule("bob", &[Right::Execute, Right::Observe]), rule("ada", &[Right::Execute])];
    stage.front.set_access(Vec::new(), auth(more));
    tokio::select! {
        reply = &mut ada => panic!("it stopped: {reply:?}"),
        reply = &mut bob => panic!("it stopped: {reply:?}"),
        reply = stage.modern("tools/list", json!({})).header("authorization", &token("bob")).send() => {
            assert_eq!(reply.brief(), "200 ok");
        }
    }
    let at = now();
    stage.front.set_access(Vec::new(), auth(vec![rule("bob", &[Right::Execute, Right::Observe])]));
    let reply = tokio::select! {
        reply = &mut ada => reply,
        reply = &mut bob => panic!("bob lost something: {reply:?}"),
    };
    assert!(now().duration_since(at) < WITHIN);
    assert!(
        error_of(&reply).as_str().unwrap().contains("the rules for tokens were changed"),
        "{reply:?}"
    );
    stage.front.set_access(Vec::new(), None);
    let reply = bob.await;
    assert!(error_of(&reply).as_str().unwrap().contains("no longer accepted"), "{reply:?}");
}
