//! Client secrets: what a browser may do with one, and what not.

use serde_json::{Value, json};
use tollgate_server::Rights;
use tollgate_testkit::ws::RawWebSocket;

use crate::call_provider::{CallStage, OFFER};
use crate::client::{Call, Reply};
use crate::live_sessions::{Talker, agent};
use crate::realtime_calls::form;
use crate::stage::{Setup, key};

const CALLS: &str = "/v1/realtime/calls";
const PAGE: &str = "https://app.example.com";

fn setup() -> Setup {
    let mut barkeep = agent("barkeep", &["echo"]);
    barkeep.persona.prompt = Some("Tend to {name}.".into());
    let keys = vec![key("shop", "secret-1", Rights::ALL), key("desk", "secret-2", Rights::ALL)];
    let origins = vec![PAGE.to_owned()];
    Setup { keys, agents: vec![barkeep, agent("cook", &["wait"])], origins, ..Setup::default() }
}

impl CallStage {
    fn request_secret(&self, body: &Value) -> Call {
        let call = self.post("/v1/realtime/client_secrets", "secret-1");
        call.header("content-type", "application/json").body(body.to_string())
    }

    async fn secret(&self, body: Value) -> String {
        let reply = self.request_secret(&body).send().await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.json()["value"].as_str().unwrap().to_owned()
    }

    /// An offer alone, as a page sends it.
    fn offer(&self, secret: &str) -> Call {
        self.post(CALLS, secret).header("content-type", "application/sdp").body(OFFER)
    }
}

fn code(reply: &Reply) -> String {
    format!("{} {}", reply.status, reply.json()["error"]["code"].as_str().unwrap_or("?"))
}

#[tokio::test]
async fn a_page_calls_with_a_secret_and_an_offer() {
    let calls = CallStage::open(setup()).await;
    let session = json!({"type": "realtime", "model": "voice", "instructions": "Be merry.",
        "audio": {"output": {"voice": "marin"}}});
    let asked = calls.request_secret(&json!({
        "expires_after": {"anchor": "created_at", "seconds": 60}, "session": session,
    }));
    let asked = asked.header("x-tollgate-var-name", "Ada").header("x-tollgate-agent", "barkeep");
    let made = asked.send().await;
    assert_eq!(made.header("cache-control").as_deref(), Some("no-store"));
    let made = made.json();
    assert!(made["value"].as_str().unwrap().starts_with("ek_tg_"), "{made}");
    assert_eq!(made["session"]["model"], "voice");
    assert_eq!(made["session"]["audio"]["output"]["voice"], "marin");
    let left = made["expires_at"].as_u64().unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    assert!((now + 30..=now + 61).contains(&left), "{left}");
    let secret = made["value"].as_str().unwrap();
    let (reply, mut sideband) = tokio::join!(calls.offer(secret).send(), calls.sideband());
    assert_eq!(reply.status, 201, "{}", reply.text);
    let sent = calls.provider.body_of("");
    for part in ["Tend to Ada.\\n\\nBe merry.", "marin", "\"echo\"", "\"gpt-realtime\""] {
        assert!(sent.contains(part), "{part}: {sent}");
    }
    sideband.talker.call("call_1", "echo", &json!({"text": "ale"})).await;
    assert_eq!(sideband.talker.answer().await["message"], "ale");
    // A second session, until the secret expires, with another voice.
    let own = json!({"audio": {"output": {"voice": "ash"}}, "tools": []}).to_string();
    let body = form(&[("sdp", OFFER), ("session", &own)]);
    let again = calls.post(CALLS, secret).header("content-type", "multipart/form-data; boundary=x");
    let (again, _sideband) = tokio::join!(again.body(body).send(), calls.sideband());
    assert_eq!(again.status, 201, "{}", again.text);
    let sent = calls.provider.body_of("");
    assert!(sent.contains("\"ash\"") && sent.contains("\"echo\""), "{sent}");
    assert!(sent.contains("Tend to Ada."), "the prompt stays: {sent}");
}

#[tokio::test]
async fn the_older_form_nests_the_secret_and_takes_the_older_names() {
    let calls = CallStage::open(setup()).await;
    let body = json!({"model": "voice", "voice": "ash", "modalities": ["audio", "text"],
        "temperature": 0.8});
    let call = calls.post("/v1/realtime/sessions", "secret-1");
    let made = call.header("content-type", "application/json").body(body.to_string()).send().await;
    assert_eq!(made.status, 200, "{}", made.text);
    let made = made.json();
    assert_eq!(made["object"], "realtime.session");
    let secret = made["client_secret"]["value"].as_str().unwrap();
    let (reply, _sideband) = tokio::join!(calls.offer(secret).send(), calls.sideband());
    assert_eq!(reply.status, 201, "{}", reply.text);
    let sent = calls.provider.body_of("");
    assert!(sent.contains(r#""output_modalities":["audio"]"#) && sent.contains("ash"), "{sent}");
}

#[tokio::test]
async fn a_secret_for_one_use_is_refused_the_second_time_but_not_after_a_failure() {
    let calls = CallStage::open(setup()).await;
    let secret = calls.secret(json!({"max_uses": 1})).await;
    *calls.provider.says.lock() = Some("HTTP/1.1 500 X\r\ncontent-length: 0\r\n\r\n".to_owned());
    assert_eq!(calls.offer(&secret).send().await.status, 502);
    *calls.provider.says.lock() = None;
    let (reply, _sideband) = tokio::join!(calls.offer(&secret).send(), calls.sideband());
    assert_eq!(reply.status, 201, "{}", reply.text);
    assert_eq!(code(&calls.offer(&secret).send().await), "401 used_client_secret");
}

#[tokio::test]
async fn a_page_does_not_decide_what_the_secret_decides() {
    let calls = CallStage::open(setup()).await;
    let session = json!({"model": "voice"});
    let secret = calls.secret(json!({ "session": session })).await;
    for (name, value, expected) in [
        ("x-tollgate-agent", "cook", "403 not_your_agent"),
        ("x-tollgate-tier", "deep", "201 ?"),
        ("x-tollgate-var-name", "Eve", "403 decided_by_client_secret"),
        ("x-tollgate-conversation", "of-another", "403 decided_by_client_secret"),
        ("x-tollgate-queue-depth", "9", "403 decided_by_client_secret"),
    ] {
        let reply = calls.offer(&secret).header(name, value).send().await;
        let found = if reply.status == 201 { "201 ?".to_owned() } else { code(&reply) };
        assert_eq!(found, expected, "{name}");
    }
    for query in ["?agent=cook", "?model=cook"] {
        let reply = calls.offer(&secret).path(&format!("{CALLS}{query}")).send().await;
        assert_eq!(code(&reply), "403 not_your_agent", "{query}");
    }
    let reply = calls.offer(&secret).path(&format!("{CALLS}?model=live")).send().await;
    assert_eq!(code(&reply), "403 decided_by_client_secret");
    for (method, path) in [
        ("POST", "/v1/realtime/client_secrets"),
        ("POST", "/v1/realtime/calls/rtc_1/hangup"),
        ("POST", "/v1/chat/completions"),
        ("GET", "/v1/models"),
        ("GET", "/v1/tools"),
    ] {
        let call = calls.stage.request(method, path);
        let reply = call.header("authorization", &format!("Bearer {secret}")).send().await;
        assert_eq!(code(&reply), "403 not_for_client_secrets", "{path}");
    }
}

#[tokio::test]
async fn secrets_that_are_forged_or_of_a_revoked_key_open_nothing() {
    let calls = CallStage::open(setup()).await;
    let secret = calls.secret(json!({})).await;
    let mut forged = secret.clone();
    let last = if forged.pop() == Some('a') { 'b' } else { 'a' };
    forged.push(last);
    assert_eq!(code(&calls.offer(&forged).send().await), "401 mistyped_key");
    let other = CallStage::open(setup()).await;
    assert_eq!(code(&other.offer(&secret).send().await), "401 wrong_key", "of another gateway");
    calls.stage.front.set_access(vec![key("desk", "secret-2", Rights::ALL)], None);
    assert_eq!(code(&calls.offer(&secret).send().await), "401 revoked");
    assert_eq!(calls.provider.paths(), Vec::<String>::new());
}

#[tokio::test]
async fn a_gateway_without_keys_refuses_secrets_that_it_did_not_issue() {
    let calls = CallStage::open(Setup { keys: Vec::new(), ..setup() }).await;
    let made = calls.stage.request("POST", "/v1/realtime/client_secrets");
    let made = made.header("content-type", "application/json").body("{}").send().await;
    assert_eq!(made.status, 200, "{}", made.text);
    let secret = made.json()["value"].as_str().unwrap().to_owned();
    let (reply, _sideband) = tokio::join!(calls.offer(&secret).send(), calls.sideband());
    assert_eq!(reply.status, 201, "{}", reply.text);
    assert_eq!(code(&calls.offer("ek_tg_invented").send().await), "401 mistyped_key");
}

#[tokio::test]
async fn a_request_for_a_secret_is_checked_field_by_field() {
    let calls = CallStage::open(setup()).await;
    let long = "x".repeat(70_000);
    for (body, expected) in [
        (json!({"expires_after": {"seconds": 9}}), "400 bad_request"),
        (json!({"expires_after": {"seconds": 7_201}}), "400 bad_request"),
        (json!({"expires_after": {"anchor": "now", "seconds": 60}}), "400 bad_request"),
        (json!({"expires_after": 60}), "400 bad_request"),
        (json!({"max_uses": 0}), "400 bad_request"),
        (json!({"sesion": {}}), "400 bad_request"),
        (json!({"session": []}), "400 bad_session"),
        (json!({"session": {"type": "transcription"}}), "400 bad_session"),
        (json!({"session": {"model": "nobody"}}), "404 model_not_found"),
        (json!({"session": {"instructions": long}}), "413 body_too_large"),
        (json!([]), "400 bad_request"),
    ] {
        let refused = calls.request_secret(&body).send().await;
        assert_eq!(code(&refused), expected, "{:.80}", body.to_string());
    }
    let unknown = calls.request_secret(&json!({})).header("x-tollgate-agent", "nobody");
    assert_eq!(code(&unknown.send().await), "404 unknown_agent");
}

#[tokio::test]
async fn a_websocket_with_a_secret_begins_with_its_configuration() {
    let calls = CallStage::open(setup()).await;
    let session = json!({"model": "voice", "audio": {"output": {"voice": "ash"}}});
    let secret = calls.secret(json!({"session": session, "max_uses": 1})).await;
    let protocols = format!("sec-websocket-protocol: realtime, openai-insecure-api-key.{secret}");
    let path = "/v1/realtime?model=voice";
    let sent = [protocols, format!("origin: {PAGE}")];
    let (client, provider) =
        tokio::join!(RawWebSocket::dial(calls.address(), path, &sent), calls.sideband());
    let mut client = Talker(client.unwrap());
    let mut provider = provider.talker;
    let update = provider.await_event("session.update").await;
    let is_ours = update["session"]["audio"].is_null();
    let update = if is_ours { provider.await_event("session.update").await } else { update };
    assert_eq!(update["session"]["audio"]["output"]["voice"], "ash", "{update}");
    assert_eq!(client.await_event("session.created").await["type"], "session.created");
    let refused = RawWebSocket::dial(calls.address(), path, &sent).await.unwrap_err();
    assert_eq!(refused.status, 401, "{}", refused.text);
    assert!(refused.text.contains("used_client_secret"), "{}", refused.text);
    let other = calls.secret(json!({})).await;
    let sent = [format!("authorization: Bearer {other}")];
    let path = "/v1/realtime?call_id=rtc_1";
    let refused = RawWebSocket::dial(calls.address(), path, &sent).await.unwrap_err();
    assert_eq!(refused.status, 403, "{}", refused.text);
}

#[tokio::test]
async fn only_pages_of_configured_origins_may_call() {
    let calls = CallStage::open(setup()).await;
    let secret = calls.secret(json!({})).await;
    let preflight = |origin: &str, path: &str| {
        let call = calls.stage.request("OPTIONS", path).header("origin", origin);
        let call = call.header("access-control-request-method", "POST");
        call.header("access-control-request-headers", "authorization,content-type").send()
    };
    let allowed = preflight(PAGE, CALLS).await;
    assert_eq!((allowed.status, &*allowed.text), (204, ""));
    assert_eq!(allowed.header("access-control-allow-origin").as_deref(), Some(PAGE));
    let headers = allowed.header("access-control-allow-headers").unwrap();
    assert!(headers.contains("authorization") && headers.contains("content-type"), "{headers}");
    assert_eq!(allowed.header("access-control-allow-credentials"), None);
    for (origin, path) in [
        ("https://evil.example", CALLS),
        ("null", CALLS),
        ("http://app.example.com", CALLS),
        (PAGE, "/v1/realtime/client_secrets"),
        (PAGE, "/v1/chat/completions"),
        (PAGE, "/api/keys"),
        (PAGE, "/mcp"),
    ] {
        let refused = preflight(origin, path).await;
        assert_eq!(refused.status, 403, "{origin} {path}");
        assert_eq!(refused.header("access-control-allow-origin"), None, "{origin} {path}");
    }
    let call = calls.offer(&secret).header("origin", PAGE);
    let (reply, _sideband) = tokio::join!(call.send(), calls.sideband());
    assert_eq!(reply.status, 201, "{}", reply.text);
    assert_eq!(reply.header("access-control-allow-origin").as_deref(), Some(PAGE));
    assert!(reply.header("access-control-expose-headers").unwrap().contains("location"));
    let refused = calls.offer("ek_tg_x").header("origin", PAGE).send().await;
    assert_eq!(refused.status, 401);
    let origin = refused.header("access-control-allow-origin");
    assert_eq!(origin.as_deref(), Some(PAGE), "the page can read why");
    let foreign = calls.offer(&secret).header("origin", "https://evil.example").send().await;
    assert_eq!(code(&foreign), "403 origin_not_allowed");
}
