//! Revoked means stopped: on every front, within a second, and for no other principal.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use serde_json::{Value, json};
use tollgate_core::agent::{Agent, Persona};
use tollgate_core::glob::Glob;
use tollgate_core::id::{AgentId, ToolName};
use tollgate_core::tool::{ApprovalMode, ToolOverride};
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_engine::settings::Server as UpstreamSettings;
use tollgate_mcp::Revision;
use tollgate_server::keyring::Keyring;
use tollgate_server::{Right, Rights};
use tollgate_store::Store;
use tollgate_testkit::ws::RawWebSocketMessage;

use crate::client::Call;
use crate::live_sessions::{self, Theatre};
use crate::model::Model;
use crate::stage::{Setup, Stage, Trail, at, key, server};
use crate::upstream::Upstream;

/// What the whole promise is about.
const WITHIN: Duration = Duration::from_secs(1);
/// Far longer than a test takes.
const LONG: u64 = 50_000;

fn now() -> Instant {
    SystemClock.now()
}

fn by(secret: &str, call: Call) -> Call {
    call.header("x-api-key", secret)
}

/// Every call of `up_say` needs approval. `sage` runs `wait` by itself.
pub(crate) async fn stage(model: &Model) -> (Upstream, Stage) {
    let up = Upstream::start().await;
    up.script.grow("say");
    let always = ToolOverride { approval: Some(ApprovalMode::Always), ..ToolOverride::default() };
    let tools = BTreeMap::from([(ToolName::new("say"), always)]);
    let server =
        UpstreamSettings { tools, ..server("up", at(up.address), Revision::NEWEST_LEGACY) };
    let agent = |name: &str| Agent {
        id: AgentId::parse(name).unwrap(),
        auto_execute: vec![Glob::new("wait")],
        persona: Persona { models: vec!["m".to_owned()], ..Persona::default() },
        ..Agent::implicit()
    };
    let setup = Setup {
        servers: vec![server],
        agents: vec![agent("default"), agent("sage")],
        models: model.settings(),
        trail: Trail::Recorded,
        ..Setup::default()
    };
    (up, Stage::with(setup).await)
}

impl Stage {
    /// Rows that say `revoked`, once there are so many: what is stopped is written a moment later.
    pub(crate) async fn revoked_rows(&self, least: usize) -> Vec<Value> {
        for _ in 0..500 {
            let page = self.request("GET", "/api/audit?outcome=revoked&limit=500").by_admin();
            let mut rows = page.send().await.json()["rows"].as_array().unwrap().clone();
            // That of the command itself is another matter.
            rows.retain(|row| row["kind"] != "key");
            if rows.len() >= least {
                return rows;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("fewer than {least} rows");
    }

    /// The ids of calls that wait for approval, by principal, once so many do.
    pub(crate) async fn approvals(&self, count: usize) -> BTreeMap<String, String> {
        for _ in 0..500 {
            let list = self.request("GET", "/api/approvals").by_admin().send().await.json();
            let list = list["approvals"].as_array().unwrap();
            if list.len() == count {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                return list.iter().map(|it| (text(&it["principal"]), text(&it["id"]))).collect();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("not {count} calls that wait");
    }

    pub(crate) fn approve(&self, id: &str) -> Call {
        let body = json!({"decision": "approve"}).to_string();
        self.post(body).path(&format!("/api/approvals/{id}")).by_admin()
    }
}

/// Something that goes on for long, and what its caller heard at the end.
type Underway<'s> = BoxFuture<'s, (&'static str, &'static str, String)>;

const WAITING_CALLS: usize = 4;
const STREAMS: usize = 3;

/// One of everything that a key can have under way.
fn everything<'s>(
    stage: &'s Stage,
    opened: &'s AtomicUsize,
    who: &'static str,
    secret: &'s str,
) -> Vec<Underway<'s>> {
    let wait = json!({"name": "wait", "arguments": {"ms": LONG}});
    let execute = |body: &Value| by(secret, stage.post(body.to_string()).path("/v1/tools/execute"));
    let render = |what: &'static str, call: Call| {
        async move {
            let reply = call.send().await;
            (who, what, format!("{} {}", reply.status, reply.text))
        }
        .boxed()
    };
    let listened = move |what: &'static str, call: Call| {
        async move {
            let mut stream = call.stream().await;
            opened.fetch_add(1, Ordering::SeqCst);
            let mut last = String::new();
            while let Some((name, data)) = stream.next_named().await {
                last = format!("{name} {data}");
            }
            (who, what, last)
        }
        .boxed()
    };
    let chat = json!({"model": "sage", "stream": true, "messages": [{"role": "user", "content": "hello"}]});
    let chat = by(secret, stage.post(chat.to_string()).path("/v1/chat/completions"));
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let listen = by(secret, stage.modern("subscriptions/listen", listen));
    let events = by(secret, stage.request("GET", "/api/events"));
    let session = async move {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let session = by(secret, stage.post(body.to_string())).send().await;
        let id = session.header("mcp-session-id").unwrap();
        let inside = |call: Call| by(secret, call).header("mcp-session-id", &id);
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "wait", "arguments": {"ms": LONG}}});
        let stream = listened(
            "stream of a session",
            inside(stage.request("GET", "/mcp")).header("accept", "text/event-stream"),
        );
        let call = inside(stage.post(call.to_string())).send();
        let ((_, _, last), reply) = tokio::join!(stream, call);
        let gone = inside(stage.request("GET", "/mcp")).header("accept", "text/event-stream");
        let gone = gone.status().await;
        (who, "session", format!("{last} {} {} then {gone}", reply.status, reply.text))
    };
    vec![
        render("REST", execute(&wait)),
        render("approval", execute(&json!({"name": "up_say", "arguments": {}}))),
        render("modern MCP", by(secret, stage.modern("tools/call", wait.clone()))),
        render("chat", chat),
        listened("subscription", listen),
        listened("events", events),
        session.boxed(),
    ]
}

#[tokio::test]
async fn revoked_means_stopped_everywhere_within_a_second_and_for_nobody_else() {
    let model = Model::saying(|_| format!("hold on\n!wait {{\"ms\": {LONG}}}")).await;
    let (up, stage) = stage(&model).await;
    let rights = json!(["execute", "observe"]);
    let ada = stage.make_key(json!({"name": "ada", "rights": rights})).await;
    let bob = stage.make_key(json!({"name": "bob", "rights": rights})).await;
    let opened = AtomicUsize::new(0);
    let mut running = FuturesUnordered::new();
    running.extend(everything(&stage, &opened, "ada", &ada));
    running.extend(everything(&stage, &opened, "bob", &bob));
    let count = running.len() / 2;
    let begun = async {
        stage.call_tool(2 * WAITING_CALLS).await;
        stage.reaches(&opened, 2 * STREAMS).await;
        stage.approvals(2).await
    };
    let waiting = tokio::select! {
        ended = running.next() => panic!("it did not wait: {ended:?}"),
        waiting = begun => waiting,
    };
    let at = now();
    let mut ended = BTreeMap::new();
    let revoking = stage.revoke("ada");
    let stopped = async {
        while ended.len() < count {
            let (who, what, message) = running.next().await.unwrap();
            assert_eq!(who, "ada", "{what}: {message}");
            ended.insert(what, (message, now().duration_since(at)));
        }
    };
    tokio::join!(revoking, stopped);
    for (what, (message, after)) in &ended {
        assert!(*after < WITHIN, "{what} took {after:?}");
        assert!(message.contains("key `ada` was revoked"), "{what}: {message}");
    }
    assert!(ended["session"].0.ends_with("then 401"), "{:?}", ended["session"]);
    // What was at a server was told to stop; what waited for a person cannot be agreed to.
    stage.reaches(&stage.seen.cancelled, WAITING_CALLS).await;
    let late = stage.approve(&waiting["key:ada"]).send().await;
    assert_eq!(late.status, 409, "{late:?}");
    assert!(late.text.contains("key `ada` was revoked"), "{late:?}");
    assert_eq!(stage.approvals(1).await.keys().collect::<Vec<_>>(), ["key:bob"]);
    assert!(up.script.calls.lock().is_empty());
    let rows = stage.revoked_rows(2 * WAITING_CALLS + STREAMS).await;
    for row in &rows {
        assert_eq!(row["principal"], "key:ada", "{row}");
        assert!(row["detail"].as_str().unwrap().contains("key `ada` was revoked"), "{row}");
    }
    let of_kind = |kind: &str| rows.iter().filter(|row| row["kind"] == kind).count();
    assert_eq!(of_kind("approval"), 1);
    assert!(of_kind("call") > WAITING_CALLS, "each call, and the one that waited: {rows:?}");
    let named: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    for name in ["stream /api/events", "stream /mcp", "stream /v1/chat/completions", "MCP session"]
    {
        assert!(named.contains(&name), "{name}: {named:?}");
    }
    // Bob's things go on, and new ones begin.
    assert_eq!(stage.seen.cancelled.load(Ordering::SeqCst), WAITING_CALLS);
    let echo = stage.modern("tools/call", json!({"name": "echo", "arguments": {"text": "x"}}));
    tokio::select! {
        ended = running.next() => panic!("bob lost something: {ended:?}"),
        reply = by(&bob, echo).send() => assert_eq!(reply.brief(), "200 ok"),
    }
    let agreed = tokio::select! {
        reply = stage.approve(&waiting["key:bob"]).send() => reply.status,
        _ = async { loop { running.next().await; } } => 0,
    };
    assert_eq!(agreed, 200);
}

#[tokio::test]
async fn a_program_is_ended_in_the_middle_of_its_calls() {
    tollgate_testkit::worker();
    let model = Model::calling(&[]).await;
    let (_up, stage) = stage(&model).await;
    let ada = stage.make_key(json!({"name": "ada"})).await;
    let bob = stage.make_key(json!({"name": "bob"})).await;
    let code = "for i in range(20):\n    test.wait(ms=150)\nresult = \"all\"";
    let program = |secret: &str| {
        by(secret, stage.post(json!({ "code": code }).to_string()).path("/v1/code")).send()
    };
    let mut of_ada = Box::pin(program(&ada));
    let of_bob = program(&bob);
    let stopping = async {
        tokio::select! {
            reply = &mut of_ada => panic!("it did not wait: {reply:?}"),
            () = stage.call_tool(4) => {}
        }
        let at = now();
        let ((), reply) = tokio::join!(stage.revoke("ada"), &mut of_ada);
        (reply, now().duration_since(at))
    };
    let ((stopped, after), whole) = tokio::join!(stopping, of_bob);
    assert_eq!(stopped.status, 401, "{stopped:?}");
    assert!(stopped.text.contains("key `ada` was revoked") && after < WITHIN, "{after:?}");
    assert_eq!(whole.json()["result"], "all", "{whole:?}");
    let rows = stage.revoked_rows(2).await;
    assert!(rows.iter().all(|row| row["principal"] == "key:ada"), "{rows:?}");
    assert!(rows.iter().any(|row| row["name"] == "executeToolCode"), "{rows:?}");
    let of_ada =
        stage.gate.calls().list_finished(None, 500, |call| call.principal.as_str() == "key:ada");
    assert!(of_ada.calls.len() < 20, "{} calls were made", of_ada.calls.len());
}

#[tokio::test]
async fn of_a_revocation_and_an_approval_exactly_one_wins() {
    let model = Model::calling(&[]).await;
    let (up, stage) = stage(&model).await;
    let mut agreed = 0;
    for round in 0..20 {
        let name = format!("ada{round}");
        let secret = stage.make_key(json!({ "name": name })).await;
        let body = json!({"name": "up_say", "arguments": {}}).to_string();
        let call = by(&secret, stage.post(body).path("/v1/tools/execute")).send();
        let race = async {
            let id = stage.approvals(1).await.into_values().next().unwrap();
            if round % 2 == 0 {
                let (approved, ()) = tokio::join!(stage.approve(&id).send(), stage.revoke(&name));
                approved.status
            } else {
                let ((), approved) = tokio::join!(stage.revoke(&name), stage.approve(&id).send());
                approved.status
            }
        };
        let (reply, approved) = tokio::join!(call, race);
        let made = up.script.calls.lock().len();
        match approved {
            200 => {
                agreed += 1;
                assert!(made <= agreed, "{reply:?}");
            }
            409 => assert_eq!(reply.status, 401, "{reply:?}"),
            other => panic!("{other}"),
        }
        assert!(made <= agreed, "a call ran that nobody agreed to in time");
        stage.approvals(0).await;
    }
}

#[tokio::test]
async fn a_secret_that_is_replaced_stops_what_it_began_and_the_key_goes_on() {
    let model = Model::calling(&[]).await;
    let (_up, stage) = stage(&model).await;
    let old = stage.make_key(json!({"name": "ada"})).await;
    let wait = || stage.modern("tools/call", json!({"name": "wait", "arguments": {"ms": LONG}}));
    let mut by_old = Box::pin(by(&old, wait()).send());
    tokio::select! {
        reply = &mut by_old => panic!("it did not wait: {reply:?}"),
        () = stage.call_tool(1) => {}
    }
    // For as long as both let in, nothing stops.
    let new = stage.rotate_key("ada", 600).await;
    let mut by_new = Box::pin(by(&new, wait()).send());
    tokio::select! {
        reply = &mut by_old => panic!("it stopped: {reply:?}"),
        reply = &mut by_new => panic!("it did not wait: {reply:?}"),
        () = stage.call_tool(2) => {}
    }
    let newest = stage.rotate_key("ada", 0).await;
    let (old, new) = tokio::join!(by_old, by_new);
    for reply in [old, new] {
        assert!(reply.text.contains("the secret of key `ada` was replaced"), "{reply:?}");
    }
    let echo = stage.modern("tools/call", json!({"name": "echo", "arguments": {"text": "x"}}));
    assert_eq!(by(&newest, echo).brief().await, "200 ok");
}

#[tokio::test]
async fn what_another_process_revokes_stops_within_a_second() {
    let model = Model::calling(&[]).await;
    let (_up, stage) = stage(&model).await;
    let ada = stage.make_key(json!({"name": "ada"})).await;
    let bob = stage.make_key(json!({"name": "bob"})).await;
    let wait = || stage.modern("tools/call", json!({"name": "wait", "arguments": {"ms": LONG}}));
    let mut of_ada = Box::pin(by(&ada, wait()).send());
    let mut of_bob = Box::pin(by(&bob, wait()).send());
    tokio::select! {
        _ = &mut of_ada => panic!("it did not wait"),
        _ = &mut of_bob => panic!("it did not wait"),
        () = stage.call_tool(2) => {}
    }
    let elsewhere = Store::open(&stage.data().join("tollgate.db")).unwrap();
    let elsewhere = Keyring::new(std::sync::Arc::new(elsewhere), std::sync::Arc::new(SystemClock));
    let at = now();
    elsewhere.revoke("ada").unwrap();
    let stopped = tokio::select! {
        reply = &mut of_ada => reply,
        reply = &mut of_bob => panic!("bob lost something: {reply:?}"),
    };
    assert!(now().duration_since(at) < WITHIN, "{:?}", now().duration_since(at));
    assert!(stopped.text.contains("key `ada` was revoked"), "{stopped:?}");
}

#[tokio::test]
async fn a_key_that_expires_stops_what_runs() {
    let model = Model::calling(&[]).await;
    let (_up, stage) = stage(&model).await;
    let soon = SystemClock.wall() + Duration::from_secs(3);
    let expires = tollgate_core::date::format_rfc3339(soon);
    let ada = stage.make_key(json!({"name": "ada", "expires": expires})).await;
    let wait = json!({"name": "wait", "arguments": {"ms": LONG}}).to_string();
    let reply = by(&ada, stage.post(wait).path("/v1/tools/execute")).send().await;
    assert_eq!(reply.status, 401, "{reply:?}");
    assert!(reply.text.contains("key `ada` has expired"), "{reply:?}");
    let after = SystemClock.wall().duration_since(soon).unwrap_or_default();
    assert!(after < Duration::from_secs(2), "{after:?}, with a date to the second");
}

#[tokio::test]
async fn a_live_session_is_closed_with_the_reason_and_its_call_is_stopped() {
    let agents = vec![live_sessions::agent("default", &["*"])];
    let keys =
        vec![key("ada", "secret-of-ada", Rights::ALL), key("bob", "secret-of-bob", Rights::ALL)];
    let setup = Setup { agents, keys: keys.clone(), trail: Trail::Recorded, ..Setup::default() };
    let theatre = Theatre::open(setup).await;
    let sent = |secret: &str| [format!("authorization: Bearer {secret}")];
    let (mut ada, mut provider) = theatre.session(&sent("secret-of-ada")).await;
    let (mut bob, mut other) = theatre.session(&sent("secret-of-bob")).await;
    provider.call("call_1", "wait", &json!({"ms": LONG})).await;
    other.call("call_2", "wait", &json!({"ms": LONG})).await;
    theatre.stage.call_tool(2).await;
    let at = now();
    theatre.stage.front.set_access(vec![keys[1].clone()], None);
    let RawWebSocketMessage::Close(1008, reason) = ada.end().await else { panic!("no close") };
    assert!(now().duration_since(at) < WITHIN);
    assert_eq!(reason, "key `ada` was revoked");
    theatre.stage.reaches(&theatre.stage.seen.cancelled, 1).await;
    let rows = theatre.stage.revoked_rows(2).await;
    assert!(rows.iter().any(|row| row["name"] == "live session"), "{rows:?}");
    assert!(rows.iter().all(|row| row["principal"] == "key:ada"), "{rows:?}");
    // Bob's session and call are as they were.
    assert_eq!(theatre.stage.seen.cancelled.load(Ordering::SeqCst), 1);
    other.say(json!({"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}})).await;
    bob.await_event("response.created").await;
}

#[tokio::test]
async fn rights_that_are_taken_stop_what_runs_and_rights_that_are_given_do_not() {
    let rights = |rights: &[Right]| -> Rights { rights.iter().copied().collect() };
    let of = |given: &[Right]| vec![key("ada", "secret-of-ada", rights(given))];
    let setup = Setup { keys: of(&[Right::Execute, Right::Observe]), ..Setup::default() };
    let stage = Stage::with(setup).await;
    let wait = stage.modern("tools/call", json!({"name": "wait", "arguments": {"ms": LONG}}));
    let mut call = Box::pin(by("secret-of-ada", wait).send());
    tokio::select! {
        reply = &mut call => panic!("it did not wait: {reply:?}"),
        () = stage.call_tool(1) => {}
    }
    stage.front.set_access(of(&[Right::Execute, Right::Observe, Right::Approve]), None);
    let looks = by("secret-of-ada", stage.request("GET", "/api/approvals"));
    tokio::select! {
        reply = &mut call => panic!("more rights stopped it: {reply:?}"),
        status = looks.status() => assert_eq!(status, 200, "new requests have them at once"),
    }
    let at = now();
    stage.front.set_access(of(&[Right::Observe, Right::Approve]), None);
    let reply = call.await;
    assert!(now().duration_since(at) < WITHIN);
    assert!(reply.text.contains("key `ada` was changed: it lost the right execute"), "{reply:?}");
}
