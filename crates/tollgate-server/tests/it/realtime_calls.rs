//! Calls over WebRTC and SIP: the gateway relays the signalling, and runs the agent's tools on the
//! sideband connection without anything to do for the client.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tollgate_core::agent::Agent;
use tollgate_core::id::AgentId;
use tollgate_core::secret::Secret;
use tollgate_server::{IncomingCallSettings, Limits, Rights};
use tollgate_testkit::ws::{RawWebSocket, RawWebSocketMessage};

use crate::call_provider::{CallStage, OFFER, Sideband, json_answer};
use crate::client::{Call, Reply};
use crate::live_sessions::agent;
use crate::stage::{Setup, key};

const CALLS: &str = "/v1/realtime/calls";

fn barkeep() -> Agent {
    let mut agent = agent("barkeep", &["echo", "wait"]);
    agent.persona.prompt = Some("You keep a tavern.".into());
    agent
}

/// Two keys, and an agent with a prompt and two tools.
fn setup() -> Setup {
    let keys = vec![key("phone", "secret-1", Rights::ALL), key("desk", "secret-2", Rights::ALL)];
    Setup { keys, agents: vec![barkeep(), agent("cook", &["echo"])], ..Setup::default() }
}

pub(crate) fn form(parts: &[(&str, &str)]) -> String {
    let parts = parts.iter().map(|(name, content)| {
        format!("--x\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{content}\r\n")
    });
    format!("{}--x--\r\n", parts.collect::<String>())
}

impl CallStage {
    pub(crate) fn post(&self, path: &str, secret: &str) -> Call {
        let call = self.stage.request("POST", path);
        call.header("authorization", &format!("Bearer {secret}"))
    }

    pub(crate) fn call(&self, secret: &str, session: &Value) -> Call {
        let body = form(&[("sdp", OFFER), ("session", &session.to_string())]);
        self.post(CALLS, secret)
            .header("content-type", "multipart/form-data; boundary=x")
            .body(body)
    }

    /// A call with its sideband: the reply and the provider's end.
    async fn connect(&self, secret: &str, session: &Value) -> (Reply, Sideband) {
        let (reply, sideband) = tokio::join!(self.call(secret, session).send(), self.sideband());
        assert_eq!(reply.status, 201, "{}", reply.text);
        (reply, sideband)
    }

    async fn verb(&self, call: &str, verb: &str, secret: &str, body: Value) -> Reply {
        let call = self.post(&format!("{CALLS}/{call}/{verb}"), secret);
        call.header("content-type", "application/json").body(body.to_string()).send().await
    }

    fn open_sessions(&self) -> impl Future<Output = Value> {
        let listed = self.stage.request("GET", "/api/sessions").by_admin().send();
        async { listed.await.json()["sessions"].clone() }
    }

    /// Waits until no session is open.
    async fn await_no_session(&self) {
        let none = async {
            while self.open_sessions().await != json!([]) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), none).await.expect("sessions end in time");
    }
}

fn code(reply: &Reply) -> String {
    reply.code()
}

#[tokio::test]
async fn a_call_over_webrtc_runs_the_agents_tools_by_itself() {
    let calls = CallStage::open(setup()).await;
    let own = json!({"type": "function", "name": "lights", "parameters": {"type": "object"}});
    let session = json!({
        "type": "realtime", "model": "voice", "instructions": "Be brief.", "tools": [own],
        "audio": {"output": {"voice": "marin"}},
    });
    let (reply, mut sideband) = calls.connect("secret-1", &session).await;
    assert_eq!(reply.header("content-type").as_deref(), Some("application/sdp"));
    assert!(reply.text.starts_with("v=0\r\no=- 3"), "the provider's answer: {}", reply.text);
    assert_eq!(reply.header("location"), Some(format!("{CALLS}/{}", sideband.call)));
    let sent = calls.provider.body_of("");
    for part in ["You keep a tavern.\\n\\nBe brief.", "\"echo\"", "\"lights\"", "marin"] {
        assert!(sent.contains(part), "{part}: {sent}");
    }
    sideband.talker.call("call_1", "echo", &json!({"text": "seven"})).await;
    let answer = sideband.talker.answer().await;
    assert_eq!((&answer["status"], &answer["message"]), (&json!("ok"), &json!("seven")));
    sideband.talker.await_event("response.create").await;
    let open = calls.open_sessions().await;
    assert_eq!(open[0]["agent"], "barkeep", "{open}");
    assert_eq!(open[0]["principal"], "key:phone", "{open}");
    let ended = calls.verb(&sideband.call, "hangup", "secret-1", json!({})).await;
    assert_eq!((ended.status, &*ended.text), (200, ""));
    sideband.talker.end().await;
    calls.await_no_session().await;
    let again = calls.verb(&sideband.call, "hangup", "secret-1", json!({})).await;
    assert_eq!(code(&again), "404 call_not_found");
}

/// Behind the requests that the workers serve, its tools would be late.
#[tokio::test]
async fn a_call_has_its_session_on_a_thread_of_live_sessions() {
    let calls = CallStage::open(setup()).await;
    let (_, mut sideband) = calls.connect("secret-1", &json!({})).await;
    sideband.talker.call("call_1", "echo", &json!({"text": "seven"})).await;
    sideband.talker.answer().await;
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |thread: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(thread.unwrap().path().join("comm")).unwrap_or_default()
    };
    // They start with the first session that is given to one.
    assert!(threads.map(name).any(|name| name.starts_with("realtime-")));
}

#[tokio::test]
async fn what_the_client_brings_stays_the_clients() {
    let calls = CallStage::open(setup()).await;
    let own = json!({"type": "function", "name": "echo", "parameters": {"type": "object"}});
    let (_, mut sideband) = calls.connect("secret-1", &json!({"tools": [own]})).await;
    sideband.talker.call("call_1", "echo", &json!({"text": "mine"})).await;
    sideband.talker.call("call_2", "wait", &json!({"ms": 1})).await;
    let answered = sideband.talker.await_event("conversation.item.create").await;
    assert_eq!(answered["item"]["call_id"], "call_2", "the page answers its own tool");
    assert_eq!(*calls.stage.seen.calls.lock(), ["wait"]);
}

#[tokio::test]
async fn a_call_belongs_to_the_key_that_created_it() {
    let calls = CallStage::open(setup()).await;
    let (_, mut first) = calls.connect("secret-1", &json!({})).await;
    let (_, mut second) = calls.connect("secret-2", &json!({})).await;
    for (call, secret) in [(&first.call, "secret-2"), (&second.call, "secret-1")] {
        for (verb, body) in [("hangup", json!({})), ("refer", json!({"target_uri": "tel:+1"}))] {
            let refused = calls.verb(call, verb, secret, body).await;
            assert_eq!(code(&refused), "404 call_not_found", "{verb}");
        }
        let path = format!("/v1/realtime?call_id={call}");
        for (secret, expected) in [(secret, 404), ("secret-1", 0)] {
            let header = [format!("authorization: Bearer {secret}")];
            let refused = RawWebSocket::dial(calls.address(), &path, &header).await.unwrap_err();
            assert!([expected, 404, 409].contains(&refused.status), "{}", refused.text);
        }
    }
    let path = format!("/v1/realtime?call_id={}", first.call);
    let own = ["authorization: Bearer secret-1".to_owned()];
    let refused = RawWebSocket::dial(calls.address(), &path, &own).await.unwrap_err();
    assert_eq!(refused.status, 409, "tools would run twice: {}", refused.text);
    assert!(refused.text.contains("call_already_held"), "{}", refused.text);
    // Both go on, each with its own results.
    for (sideband, word) in [(&mut first, "one"), (&mut second, "two")] {
        sideband.talker.call("call_1", "echo", &json!({"text": word})).await;
    }
    for (sideband, word) in [(&mut first, "one"), (&mut second, "two")] {
        assert_eq!(sideband.talker.answer().await["message"], word);
    }
}

#[tokio::test]
async fn a_sideband_that_is_not_there_yet_is_tried_again() {
    let calls = CallStage::open(setup()).await;
    *calls.provider.unready.lock() = 3;
    let (_, mut sideband) = calls.connect("secret-1", &json!({})).await;
    sideband.talker.call("call_1", "echo", &json!({"text": "late"})).await;
    assert_eq!(sideband.talker.answer().await["message"], "late");
}

#[tokio::test]
async fn a_sideband_that_breaks_is_opened_again_and_the_call_ends_with_the_last() {
    let calls = CallStage::open(setup()).await;
    let (_, first) = calls.connect("secret-1", &json!({})).await;
    let call = first.call.clone();
    drop(first);
    let mut second = calls.sideband().await;
    assert_eq!(second.call, call);
    second.talker.call("call_1", "echo", &json!({"text": "still"})).await;
    assert_eq!(second.talker.answer().await["message"], "still");
    second.talker.0.close(1_000, "call ended").await;
    calls.provider.await_request(&format!("/{call}/hangup")).await;
    calls.await_no_session().await;
}

#[tokio::test]
async fn a_key_that_is_revoked_ends_its_calls_at_the_provider() {
    let calls = CallStage::open(setup()).await;
    let (_, mut gone) = calls.connect("secret-1", &json!({})).await;
    let (_, mut stays) = calls.connect("secret-2", &json!({})).await;
    calls.stage.front.set_access(vec![key("desk", "secret-2", Rights::ALL)], None);
    assert!(matches!(gone.talker.end().await, RawWebSocketMessage::Close(1001, _)));
    calls.provider.await_request(&format!("/{}/hangup", gone.call)).await;
    stays.talker.call("call_1", "echo", &json!({"text": "here"})).await;
    assert_eq!(stays.talker.answer().await["message"], "here");
}

#[tokio::test]
async fn a_gateway_that_stops_ends_its_calls_at_the_provider() {
    let mut calls = CallStage::open(setup()).await;
    let (_, mut sideband) = calls.connect("secret-1", &json!({})).await;
    calls.stage.front.skip_grace();
    calls.stage.stop.cancel();
    assert!(matches!(sideband.talker.end().await, RawWebSocketMessage::Close(1001, _)));
    tokio::time::timeout(Duration::from_secs(30), calls.stage.serving.wait()).await.unwrap();
    let hung_up = format!("/{}/hangup", sideband.call);
    assert!(calls.provider.paths().contains(&hung_up), "before the gateway is gone");
}

#[tokio::test]
async fn calls_count_as_live_sessions_of_their_key() {
    let limits = Limits { live_per_key: 1, ..Limits::default() };
    let calls = CallStage::open(Setup { limits, ..setup() }).await;
    let (_, sideband) = calls.connect("secret-1", &json!({})).await;
    let refused = calls.call("secret-1", &json!({})).send().await;
    assert_eq!(code(&refused), "429 too_many_at_once");
    let (_, _other) = calls.connect("secret-2", &json!({})).await;
    let ended = calls.verb(&sideband.call, "hangup", "secret-1", json!({})).await;
    assert_eq!(ended.status, 200);
    let again = async {
        while calls.call("secret-1", &json!({})).send().await.status != 201 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), again).await.expect("the place is free again");
}

#[tokio::test]
async fn an_offer_that_is_none_is_refused_before_the_provider_sees_it() {
    let calls = CallStage::open(setup()).await;
    let multipart = "multipart/form-data; boundary=x";
    let large = format!("v=0\r\n{}", "a=x\r\n".repeat(200_000));
    let over = format!("v=0\r\n{}", "a=x\r\n".repeat(14_000));
    let long = json!({ "instructions": "x".repeat(70_000) }).to_string();
    for (kind, body, expected) in [
        ("application/sdp", large.clone(), "413 sdp_too_large"),
        ("application/sdp", over.clone(), "413 sdp_too_large"),
        ("application/sdp", String::new(), "400 bad_offer"),
        ("application/sdp", "hello".to_owned(), "400 bad_offer"),
        ("application/json", "{}".to_owned(), "400 bad_request"),
        ("application/json", json!({"sdp": "hello"}).to_string(), "400 bad_offer"),
        ("application/json", json!({"sdp": over}).to_string(), "413 sdp_too_large"),
        ("application/json", json!({"sdp": OFFER, "x": 1}).to_string(), "400 bad_request"),
        ("application/json", json!({"sdp": OFFER, "session": 1}).to_string(), "400 bad_session"),
        ("text/plain", OFFER.to_owned(), "415 not_an_offer"),
        ("multipart/form-data", OFFER.to_owned(), "415 not_an_offer"),
        (multipart, OFFER.to_owned(), "400 bad_offer"),
        (multipart, form(&[("session", "{}")]), "400 bad_offer"),
        (multipart, form(&[("sdp", &large)]), "413 sdp_too_large"),
        (multipart, form(&[("sdp", &over)]), "413 sdp_too_large"),
        (multipart, form(&[("sdp", OFFER), ("sdp", OFFER)]), "400 bad_offer"),
        (multipart, form(&[("sdp", OFFER), ("sessoin", "{}")]), "400 bad_offer"),
        (multipart, form(&[("sdp", OFFER), ("session", "[]")]), "400 bad_session"),
        (multipart, form(&[("sdp", OFFER), ("session", "{")]), "400 bad_session"),
        (multipart, form(&[("sdp", OFFER), ("session", &long)]), "413 session_too_large"),
        (
            multipart,
            form(&[("sdp", OFFER), ("session", r#"{"type": "transcription"}"#)]),
            "400 bad_session",
        ),
        (
            multipart,
            form(&[("sdp", OFFER), ("session", r#"{"model": "nobody"}"#)]),
            "404 model_not_found",
        ),
    ] {
        let call = calls.post(CALLS, "secret-1").header("content-type", kind).body(body);
        let refused = call.send().await;
        assert_eq!(code(&refused), expected, "{kind}");
    }
    assert_eq!(calls.provider.paths(), Vec::<String>::new());
    let no_key = calls.stage.request("POST", CALLS).header("content-type", "application/sdp");
    assert_eq!(no_key.body(OFFER).send().await.status, 401);
    let plain = calls.post(CALLS, "secret-1").header("content-type", "application/sdp; charset=x");
    let (reply, _sideband) = tokio::join!(plain.body(OFFER).send(), calls.sideband());
    assert_eq!(reply.status, 201, "an offer alone, with a key: {}", reply.text);
    let body = json!({"sdp": OFFER, "session": {"model": "voice"}}).to_string();
    let json = calls.post(CALLS, "secret-1").header("content-type", "application/json");
    let (reply, _sideband) = tokio::join!(json.body(body).send(), calls.sideband());
    assert_eq!(reply.status, 201, "as OpenAI's client for Python sends it: {}", reply.text);
}

#[tokio::test]
async fn what_the_provider_refuses_is_told_and_no_session_is_left() {
    let calls = CallStage::open(setup()).await;
    let sdp = |location: &str| {
        format!(
            "HTTP/1.1 201 Created\r\ncontent-type: application/sdp\r\n{location}content-length: 5\r\n\r\nv=0\r\n"
        )
    };
    let page = "<html>sorry</html>";
    let html = |status: u16| {
        format!(
            "HTTP/1.1 {status} X\r\ncontent-type: text/html\r\ncontent-length: {}\r\n\r\n{page}",
            page.len()
        )
    };
    let error = |status: u16| {
        json_answer(status, &json!({"error": {"message": "no luck, sk-canary", "code": null}}))
    };
    for (answer, expected) in [
        (error(400), "400 invalid_request"),
        (error(401), "502 provider_error"),
        (error(429), "429 rate_limit_exceeded"),
        (error(500), "502 provider_error"),
        (html(500), "502 provider_error"),
        (html(200), "502 provider_error"),
        (
            "HTTP/1.1 302 X\r\nlocation: http://127.0.0.1:1/rtc_1\r\ncontent-length: 0\r\n\r\n"
                .to_owned(),
            "502 provider_error",
        ),
        (sdp(""), "502 bad_call_answer"),
        (sdp("location: http://169.254.169.254/latest\r\n"), "502 bad_call_answer"),
        (sdp("location: /v1/realtime/calls/rtc_\r\n"), "502 bad_call_answer"),
        (
            "HTTP/1.1 201 X\r\nlocation: /rtc_9\r\ncontent-length: 4\r\n\r\nnone".to_owned(),
            "502 bad_call_answer",
        ),
    ] {
        *calls.provider.says.lock() = Some(answer.clone());
        let refused = calls.call("secret-1", &json!({})).send().await;
        assert_eq!(code(&refused), expected, "{answer}");
        assert!(!refused.text.contains("sk-canary"), "{}", refused.text);
    }
    assert!(calls.provider.paths().contains(&"/rtc_9/hangup".to_owned()), "it was created");
    *calls.provider.says.lock() = None;
    let refused = calls.call("secret-1", &json!({"colour": "red"})).send().await;
    assert_eq!(code(&refused), "400 invalid_request");
    assert!(refused.text.contains("session.colour"), "{}", refused.text);
    calls.await_no_session().await;
}

#[tokio::test]
async fn a_location_elsewhere_gives_only_its_id() {
    let calls = CallStage::open(setup()).await;
    let far = "HTTP/1.1 201 X\r\ncontent-type: application/sdp\r\n\
               location: http://169.254.169.254/x/rtc_far?to=/rtc_no\r\ncontent-length: 5\r\n\r\nv=0\r\n";
    *calls.provider.says.lock() = Some(far.to_owned());
    calls.provider.ring("rtc_far");
    let (reply, sideband) =
        tokio::join!(calls.call("secret-1", &json!({})).send(), calls.sideband());
    assert_eq!(reply.header("location").as_deref(), Some("/v1/realtime/calls/rtc_far"));
    assert_eq!(sideband.call, "rtc_far", "asked at the provider itself");
}

#[tokio::test]
async fn a_provider_that_never_answers_does_not_hold_the_page_for_ever() {
    let calls = CallStage::open(setup()).await;
    *calls.provider.says.lock() = Some(String::new());
    let refused = calls.call("secret-1", &json!({})).send().await;
    assert_eq!(code(&refused), "504 provider_timeout");
}

#[tokio::test]
async fn an_incoming_call_is_answered_with_the_agent() {
    let calls = CallStage::open(setup()).await;
    calls.provider.ring("rtc_sip1");
    let session = json!({"type": "realtime", "model": "voice", "instructions": "Say hello."});
    let (accepted, mut sideband) =
        tokio::join!(calls.verb("rtc_sip1", "accept", "secret-1", session), calls.sideband());
    assert_eq!((accepted.status, &*accepted.text), (200, ""));
    let sent = calls.provider.body_of("/rtc_sip1/accept");
    assert!(sent.contains("You keep a tavern.\\n\\nSay hello."), "{sent}");
    assert!(sent.contains("\"echo\"") && sent.contains("\"gpt-realtime\""), "{sent}");
    sideband.talker.call("call_1", "echo", &json!({"text": "hi"})).await;
    assert_eq!(sideband.talker.answer().await["message"], "hi");
    let again = calls.verb("rtc_sip1", "accept", "secret-2", json!({})).await;
    assert_eq!(code(&again), "404 call_not_found", "it is another key's now");
    for target in ["http://evil.example", "tel:", "sip:a b", "javascript:1", ""] {
        let refused = calls.verb("rtc_sip1", "refer", "secret-1", json!({"target_uri": target}));
        assert_eq!(code(&refused.await), "400 bad_request", "{target}");
    }
    let target = json!({"target_uri": "sip:agent@example.com"});
    let referred = calls.verb("rtc_sip1", "refer", "secret-1", target.clone()).await;
    assert_eq!(referred.status, 200, "{}", referred.text);
    assert_eq!(calls.provider.body_of("/rtc_sip1/refer"), target.to_string());
}

/// An event of the provider's webhook, signed.
fn announce(calls: &CallStage, id: &str, call: &str, secret: &[u8]) -> Call {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let body =
        json!({"type": "realtime.call.incoming", "data": {"call_id": call, "sip_headers": []}});
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
    let signature = ring::hmac::sign(&key, format!("{id}.{now}.{body}").as_bytes());
    let signature = STANDARD.encode(signature);
    let call = calls.stage.request("POST", "/v1/realtime/incoming/phone");
    call.header("content-type", "application/json")
        .header("webhook-id", id)
        .header("webhook-timestamp", &now.to_string())
        .header("webhook-signature", &format!("v1,{signature}"))
        .body(body.to_string())
}

#[tokio::test]
async fn an_announced_call_is_answered_by_the_agent_of_the_webhook_once() {
    const SECRET: &[u8] = b"a-secret-of-a-webhook";
    let webhook = IncomingCallSettings {
        name: "phone".to_owned(),
        secret: Secret::new(format!("whsec_{}", STANDARD.encode(SECRET))),
        agent: AgentId::parse("barkeep").unwrap(),
        model: None,
    };
    let calls = CallStage::open(Setup { incoming_calls: vec![webhook], ..setup() }).await;
    let forged = announce(&calls, "wh_1", "rtc_in1", b"another-secret-of-it").send().await;
    assert_eq!(code(&forged), "403 bad_signature");
    let early = announce(&calls, "wh_1", "rtc_in1", SECRET).send().await;
    assert_eq!(code(&early), "404 call_not_found", "the provider does not have it");
    calls.provider.ring("rtc_in1");
    let (answered, mut sideband) =
        tokio::join!(announce(&calls, "wh_1", "rtc_in1", SECRET).send(), calls.sideband());
    assert_eq!((answered.status, &*answered.text), (200, ""), "it was sent again");
    assert!(calls.provider.body_of("/rtc_in1/accept").contains("You keep a tavern."));
    sideband.talker.call("call_1", "echo", &json!({"text": "hello"})).await;
    assert_eq!(sideband.talker.answer().await["message"], "hello");
    assert_eq!(calls.open_sessions().await[0]["principal"], "webhook:phone");
    let accepted = calls.provider.paths().len();
    let again = announce(&calls, "wh_1", "rtc_in1", SECRET).send().await;
    assert_eq!(again.status, 200, "handled already: {}", again.text);
    assert_eq!(calls.provider.paths().len(), accepted, "and not again");
    calls.stage.front.set_incoming_calls(&[]);
    calls.provider.await_request("/rtc_in1/hangup").await;
    let gone = announce(&calls, "wh_2", "rtc_in1", SECRET).send().await;
    assert_eq!(code(&gone), "404 not_found");
}

#[tokio::test]
async fn an_incoming_call_is_declined_with_a_sip_status() {
    let calls = CallStage::open(setup()).await;
    for (call, body, expected) in
        [("rtc_a", json!({}), 603), ("rtc_b", json!({"status_code": 486}), 486)]
    {
        calls.provider.ring(call);
        let rejected = calls.verb(call, "reject", "secret-1", body).await;
        assert_eq!((rejected.status, &*rejected.text), (200, ""));
        let sent = calls.provider.body_of(&format!("/{call}/reject"));
        assert_eq!(sent, json!({"status_code": expected}).to_string());
    }
    let wrong = calls.verb("rtc_c", "reject", "secret-1", json!({"status_code": 200})).await;
    assert_eq!(code(&wrong), "400 bad_request");
    let unknown = calls.verb("rtc_c", "reject", "secret-1", json!({})).await;
    assert_eq!(code(&unknown), "404 call_not_found", "the provider does not know it");
    let odd = calls.verb("..%2f..%2fmodels", "accept", "secret-1", json!({})).await;
    assert_eq!(code(&odd), "404 call_not_found");
}

#[tokio::test]
async fn a_call_whose_acceptance_fails_is_nobodys() {
    let calls = CallStage::open(setup()).await;
    let refused = calls.verb("rtc_sip2", "accept", "secret-1", json!({})).await;
    assert_eq!(code(&refused), "404 call_not_found");
    calls.provider.ring("rtc_sip2");
    let accepting = calls.verb("rtc_sip2", "accept", "secret-2", json!({}));
    let (accepted, _sideband) = tokio::join!(accepting, calls.sideband());
    assert_eq!(accepted.status, 200, "{}", accepted.text);
}

#[tokio::test]
async fn many_callers_at_once_have_their_own_calls() {
    let calls = Arc::new(CallStage::open(setup()).await);
    let page = |secret: &'static str, count: usize| {
        let calls = Arc::clone(&calls);
        async move {
            for _ in 0..count {
                let reply = calls.call(secret, &json!({})).send().await;
                assert_eq!(reply.status, 201, "{}", reply.text);
            }
        }
    };
    let provider = async {
        let mut open = Vec::new();
        for number in 0..16 {
            let mut sideband = calls.sideband().await;
            let word = format!("word {number}");
            sideband.talker.call("call_1", "echo", &json!({ "text": word })).await;
            assert_eq!(sideband.talker.answer().await["message"], word);
            open.push(sideband);
        }
    };
    tokio::join!(page("secret-1", 8), page("secret-2", 8), provider);
}
