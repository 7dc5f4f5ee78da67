//! Login of browsers: a key is exchanged for a cookie; requests with the cookie need the CSRF
//! token.

use serde_json::{Value, json};
use tollgate_server::{Right, Rights};

use crate::client::{Call, Reply};
use crate::stage::{ADMIN, Setup, Stage, key};

const OPS: &str = "a-key-of-the-config";

async fn stage() -> Stage {
    let caller = key("phone", "the-phones-own-key", [Right::Execute].into_iter().collect());
    let keys = vec![key("ops", OPS, Rights::ALL), caller];
    Stage::with(Setup { keys, ..Setup::default() }).await
}

/// A browser that holds a cookie, and what its page was told.
struct Browser {
    cookie: String,
    body: Value,
}

fn log_in(stage: &Stage, key: &str) -> Call {
    stage.post(json!({ "key": key }).to_string()).path("/api/login")
}

async fn browser(stage: &Stage, key: &str) -> Browser {
    let entered = log_in(stage, key).send().await;
    assert_eq!(entered.status, 200, "{entered:?}");
    let set = entered.header("set-cookie").expect("a cookie");
    for flag in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
        assert!(set.contains(flag), "{flag}: {set}");
    }
    let cookie = set.split(';').next().unwrap().to_owned();
    Browser { cookie, body: entered.json() }
}

impl Browser {
    fn asks(&self, call: Call) -> Call {
        call.header("cookie", &self.cookie)
    }

    fn proves(&self, call: Call) -> Call {
        let proof = self.body["csrf"].as_str().unwrap();
        self.asks(call).header("x-tollgate-csrf", proof)
    }
}

fn write(stage: &Stage) -> Call {
    stage.post(r#"{"name": "echo", "arguments": {"text": "x"}}"#).path("/v1/tools/execute")
}

#[tokio::test]
async fn a_cookie_stands_for_its_key_and_says_who_that_is() {
    let stage = stage().await;
    let ops = browser(&stage, OPS).await;
    assert_eq!(ops.body["principal"], "key:ops");
    let who = ops.asks(stage.request("GET", "/api/login")).send().await;
    assert_eq!(who.json(), ops.body);
    assert_eq!(ops.asks(stage.request("GET", "/mcp/status")).status().await, 200);
    let phone = browser(&stage, "the-phones-own-key").await;
    assert_eq!(phone.body["rights"], json!(["execute"]));
    assert_eq!(phone.asks(stage.request("GET", "/mcp/status")).status().await, 403);
    let admin = browser(&stage, ADMIN).await;
    assert_eq!(admin.body["principal"], "admin");
}

/// A proxy ends TLS: the browser says `https`, the gateway hears plain text.
#[tokio::test]
async fn s_17_behind_a_proxy_with_tls_a_cookie_is_for_tls_only() {
    let stage = stage().await;
    let origin = format!("https://{}", stage.address);
    let entered = log_in(&stage, OPS).header("origin", &origin).send().await;
    let set = entered.header("set-cookie").unwrap();
    assert!(set.starts_with("__Host-") && set.ends_with("; Secure"), "{set}");
    let cookie = set.split(';').next().unwrap().to_owned();
    // One from before there was TLS does not stand in its way.
    let old = browser(&stage, "the-phones-own-key").await.cookie;
    let left = stage.request("DELETE", "/api/login").header("cookie", &old).send().await;
    assert!(!left.header("set-cookie").unwrap().contains("Secure"), "{left:?}");
    let both = Browser { cookie: format!("{old}; {cookie}"), body: entered.json() };
    let who = both.asks(stage.request("GET", "/api/login")).send().await;
    assert_eq!(who.json(), both.body);
    assert_eq!(both.proves(write(&stage)).header("origin", &origin).status().await, 200);
    let leave = both.proves(stage.request("DELETE", "/api/login")).header("origin", &origin);
    assert!(leave.send().await.header("set-cookie").unwrap().starts_with("__Host-"));
    assert_eq!(both.asks(stage.request("GET", "/api/login")).status().await, 401);
}

#[tokio::test]
async fn s_17_a_write_by_cookie_needs_the_proof_of_the_page() {
    let stage = stage().await;
    let ops = browser(&stage, OPS).await;
    let without = ops.asks(write(&stage)).send().await;
    assert_eq!((without.status, code(&without)), (403, "no_csrf".to_owned()));
    let other = browser(&stage, OPS).await;
    let borrowed =
        ops.asks(write(&stage)).header("x-tollgate-csrf", other.body["csrf"].as_str().unwrap());
    assert_eq!(borrowed.status().await, 403);
    assert_eq!(stage.calls(), 0);
    assert_eq!(ops.proves(write(&stage)).status().await, 200);
    // A key in a header is itself the proof: no browser sends it by itself.
    assert_eq!(write(&stage).header("x-api-key", OPS).status().await, 200);
}

#[tokio::test]
async fn s_17_pages_of_elsewhere_are_refused_with_any_cookie() {
    let stage = stage().await;
    let ops = browser(&stage, OPS).await;
    for origin in ["https://evil.example", "null", "http://127.0.0.1.evil.example"] {
        let foreign = ops.proves(write(&stage)).header("origin", origin);
        assert_eq!(foreign.status().await, 403, "{origin}");
        let entering = log_in(&stage, OPS).header("origin", origin);
        assert_eq!(entering.status().await, 403, "{origin}");
    }
    assert_eq!(stage.calls(), 0);
}

#[tokio::test]
async fn s_17_a_cookie_opens_no_socket_and_no_mcp_endpoint() {
    let stage = stage().await;
    let ops = browser(&stage, OPS).await;
    let list = ops.proves(stage.modern("tools/list", json!({})));
    assert_eq!(list.status().await, 401);
    let socket = ops.proves(stage.request("GET", "/v1/realtime")).header("upgrade", "websocket");
    assert_eq!(socket.status().await, 401);
}

#[tokio::test]
async fn s_17_keys_cannot_be_guessed_for_long() {
    let stage = stage().await;
    let mut statuses = Vec::new();
    for _ in 0..100 {
        statuses.push(log_in(&stage, "a guess").status().await);
    }
    assert_eq!(statuses[..5], [401; 5]);
    assert!(statuses[5..].iter().all(|status| *status == 429), "{statuses:?}");
    let wrong = log_in(&stage, "a guess").send().await;
    assert_eq!(code(&wrong), "too_many_wrong_keys");
    assert!(wrong.header("retry-after").is_some());
    // Whoever has a right key is not locked out by a neighbour who has none.
    assert_eq!(log_in(&stage, OPS).status().await, 200);
    assert_eq!(stage.request("GET", "/mcp/status").header("x-api-key", OPS).status().await, 200);
}

#[tokio::test]
async fn s_17_a_login_takes_no_more_than_a_key() {
    let stage = stage().await;
    let long = log_in(&stage, &"x".repeat(5000)).send().await;
    assert_eq!(long.status, 413, "{}", long.brief());
}

#[tokio::test]
async fn right_keys_do_not_count_as_guesses() {
    let stage = stage().await;
    for _ in 0..20 {
        assert_eq!(log_in(&stage, OPS).status().await, 200);
    }
}

#[tokio::test]
async fn leaving_ends_a_login_and_an_old_cookie_opens_nothing() {
    let stage = stage().await;
    let ops = browser(&stage, OPS).await;
    let mut events = ops.asks(stage.request("GET", "/api/events")).stream().await;
    let left = ops.proves(stage.request("DELETE", "/api/login")).send().await;
    assert_eq!(left.status, 204);
    assert!(left.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(ops.asks(stage.request("GET", "/api/login")).status().await, 401);
    assert_eq!(ops.asks(stage.request("GET", "/mcp/status")).status().await, 401);
    while events.next().await.is_some() {}
}

#[tokio::test]
async fn nobody_logs_others_out_by_logging_in_often() {
    let stage = stage().await;
    let ops = browser(&stage, OPS).await;
    let first = browser(&stage, "the-phones-own-key").await;
    for _ in 0..40 {
        assert_eq!(log_in(&stage, "the-phones-own-key").status().await, 200);
    }
    assert_eq!(ops.asks(stage.request("GET", "/api/login")).status().await, 200);
    assert_eq!(first.asks(stage.request("GET", "/api/login")).status().await, 401);
}

#[tokio::test]
async fn a_login_ends_with_its_key() {
    let stage = stage().await;
    let made = stage.post(r#"{"name": "guest", "role": "admin"}"#).path("/api/keys").by_admin();
    let secret = made.send().await.json()["key"].as_str().unwrap().to_owned();
    let guest = browser(&stage, &secret).await;
    let mut events = guest.asks(stage.request("GET", "/api/events")).stream().await;
    let revoked = stage.request("DELETE", "/api/keys/guest").by_admin();
    assert_eq!(revoked.status().await, 204);
    assert_eq!(guest.asks(stage.request("GET", "/mcp/status")).status().await, 401);
    // Its streams end.
    while events.next().await.is_some() {}
}

#[tokio::test]
async fn without_keys_being_here_is_no_login() {
    let stage = Stage::with(Setup::default()).await;
    let nobody = stage.request("GET", "/api/login").send().await;
    assert_eq!(nobody.status, 401);
    assert_eq!(log_in(&stage, "any").status().await, 401);
    assert_eq!(browser(&stage, ADMIN).await.body["principal"], "admin");
}

fn code(reply: &Reply) -> String {
    let answer = reply.json();
    let code = answer["code"].as_str().or(answer["error"]["code"].as_str());
    code.unwrap_or_default().to_owned()
}
