//! API keys that are created, rotated and revoked while the gateway runs.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_server::{Right, Rights};

use crate::client::{Call, Reply};
use crate::stage::{ADMIN, Setup, Stage, key};

impl Stage {
    fn make(&self, requested: &Value) -> Call {
        self.post(requested.to_string()).path("/api/keys").by_admin()
    }

    /// The secret of a new key.
    pub(crate) async fn make_key(&self, requested: Value) -> String {
        let made = self.make(&requested).send().await;
        assert_eq!(made.status, 201, "{made:?}");
        made.json()["key"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn revoke(&self, name: &str) {
        let revoked = self.request("DELETE", &format!("/api/keys/{name}")).by_admin();
        assert_eq!(revoked.send().await.status, 204);
    }

    pub(crate) async fn rotate_key(&self, name: &str, grace_s: u32) -> String {
        let body = json!({ "grace_s": grace_s }).to_string();
        let rotate = self.post(body).path(&format!("/api/keys/{name}/rotate")).by_admin();
        let rotated = rotate.send().await;
        assert_eq!(rotated.status, 200, "{rotated:?}");
        rotated.json()["key"].as_str().unwrap().to_owned()
    }

    async fn lists(&self, secret: &str) -> u16 {
        let list = self.modern("tools/list", json!({})).header("x-api-key", secret);
        list.send().await.status
    }

    async fn keys(&self) -> Vec<Value> {
        let keys = self.request("GET", "/api/keys").by_admin().send().await;
        keys.json()["keys"].as_array().unwrap().clone()
    }
}

async fn session(stage: &Stage, secret: &str) -> String {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let opened = stage.post(body.to_string()).header("x-api-key", secret).send().await;
    opened.header("mcp-session-id").expect("a session")
}

async fn in_session(stage: &Stage, secret: &str, id: &str) -> Reply {
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let list = stage.post(list.to_string()).header("x-api-key", secret);
    list.header("mcp-session-id", id).send().await
}

#[tokio::test]
async fn the_first_key_closes_the_door_to_everybody_else() {
    let stage = Stage::start().await;
    let list = || stage.modern("tools/list", json!({}));
    assert_eq!(list().send().await.status, 200);
    let stream = stage.open_session("2025-11-25", json!({})).await;
    let get =
        stream.add_headers(stage.request("GET", "/mcp")).header("accept", "text/event-stream");
    let mut stream = get.stream().await;
    let secret = stage.make_key(json!({"name": "phone", "agents": ["sage"]})).await;
    let last = stream.next().await.expect("the reason").to_string();
    assert!(last.contains("a key is required from now on"), "{last}");
    assert_eq!(stream.next().await, None, "whoever had no key hears nothing more");
    assert_eq!(list().send().await.status, 401);
    assert_eq!(stage.lists("something").await, 401);
    assert_eq!(stage.lists(&secret).await, 200);
    let other = list().header("x-api-key", &secret).path("/mcp/default");
    assert_eq!(other.send().await.status, 403, "only to its agent");
    stage.revoke("phone").await;
    assert_eq!(stage.lists(&secret).await, 401);
    assert_eq!(list().send().await.status, 401, "and it stays closed");
    assert_eq!(list().by_admin().send().await.status, 200);
}

#[tokio::test]
async fn a_secret_is_shown_once_and_to_nobody_else() {
    let stage = Stage::start().await;
    let requested = json!({"name": "phone", "role": "operator", "tools": ["echo", "w*"],
        "rate_limit": "600 / hour", "concurrent": 4, "tenant": "acme", "expires": "2999-01-01"});
    let made = stage.make(&requested).send().await;
    assert_eq!(made.header("cache-control").as_deref(), Some("no-store"));
    let made = made.json();
    let secret = made["key"].as_str().unwrap();
    assert!(secret.starts_with("tg_"));
    let shown = stage.request("GET", "/api/keys").by_admin().send().await;
    assert!(!shown.text.contains(secret) && !shown.text.contains(ADMIN));
    let shown = &shown.json()["keys"][0];
    for (field, expected) in [
        ("name", json!("phone")),
        ("origin", json!("made")),
        ("role", json!("operator")),
        ("agents", json!(null)),
        ("rights", json!(["approve", "observe"])),
        ("tools", json!(["echo", "w*"])),
        ("rate_limit", json!("600/h")),
        ("concurrent", json!(4)),
        ("tenant", json!("acme")),
        ("expires", json!("2999-01-01T00:00:00Z")),
        ("last_used", json!(null)),
        ("revoked", json!(null)),
    ] {
        assert_eq!(shown[field], expected, "{field}");
        assert_eq!(made[field], expected, "{field}");
    }
    assert_eq!(stage.lists(secret).await, 200);
    assert!(stage.keys().await[0]["last_used"].is_string());
    assert_eq!(stage.lists(&secret[..secret.len() - 1]).await, 401);
}

#[tokio::test]
async fn what_cannot_be_a_key_is_refused_by_name() {
    let setup = Setup { keys: vec![key("ops", "of-the-config", Rights::NONE)], ..Setup::default() };
    let stage = Stage::with(setup).await;
    stage.make_key(json!({"name": "phone"})).await;
    for (requested, status, message) in [
        (json!({}), 400, "`name` is missing"),
        (json!({"name": ""}), 400, "`name` has up to 64"),
        (json!({"name": "a/b"}), 400, "`name` has"),
        (json!({"name": "' OR 1=1--"}), 400, "`name` has"),
        (json!({"name": "a\u{0}"}), 400, "`name` has"),
        (json!({"name": "a".repeat(65)}), 400, "`name` has"),
        (json!({"name": "a", "role": "king"}), 400, "`role` is one of admin, operator, caller"),
        (json!({"name": "a", "rights": ["fly"]}), 400, "`rights` is one of execute"),
        (json!({"name": "a", "agents": ["nobody"]}), 400, "there is no agent `nobody`"),
        (json!({"name": "a", "agents": []}), 400, "is useless"),
        (json!({"name": "a", "tools": ["a\nb"]}), 400, "`tools`"),
        (json!({"name": "a", "rate_limit": "often"}), 400, "`rate_limit`"),
        (json!({"name": "a", "concurrent": 0}), 400, "`concurrent`"),
        (json!({"name": "a", "tenant": "acme/waterdeep"}), 400, "`tenant`: "),
        (json!({"name": "a", "tenant": ""}), 400, "`tenant`: "),
        (json!({"name": "a", "tenant": 7}), 400, "`tenant`"),
        (json!({"name": "a", "expires": "2001-01-01"}), 400, "`expires` is in the past"),
        (json!({"name": "a", "expires": "soon"}), 400, "`expires` is like"),
        (json!({"name": "a", "key": "mine"}), 400, "there is no field `key`"),
        (json!({"name": "phone"}), 409, "a key `phone` already exists"),
        (json!({"name": "ops"}), 409, "is in the config"),
    ] {
        let refused = stage.make(&requested).send().await;
        assert_eq!(refused.status, status, "{requested}: {refused:?}");
        assert!(refused.text.contains(message), "{requested}: {refused:?}");
    }
    for (method, path, status) in [
        ("DELETE", "/api/keys/nobody", 404),
        ("DELETE", "/api/keys/%27%20OR%201%3D1--", 404),
        ("DELETE", "/api/keys/ops", 409),
        ("POST", "/api/keys/nobody/rotate", 404),
        ("POST", "/api/keys/ops/rotate", 409),
    ] {
        let json = stage.request(method, path).header("content-type", "application/json");
        let refused = json.body("{}").by_admin().send().await;
        assert_eq!(refused.status, status, "{method} {path}: {refused:?}");
    }
    assert_eq!(stage.keys().await.len(), 2);
}

#[tokio::test]
async fn s_14_a_revoked_key_loses_its_sessions_and_streams() {
    let stage = Stage::start().await;
    let requested = json!({"name": "phone"});
    let secret = stage.make_key(requested.clone()).await;
    let id = session(&stage, &secret).await;
    assert_eq!(in_session(&stage, &secret, &id).await.brief(), "200 ok");
    let get = || {
        let get = stage.request("GET", "/mcp").header("accept", "text/event-stream");
        get.header("mcp-session-id", &id)
    };
    let mut legacy = get().header("x-api-key", &secret).stream().await;
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let listen = stage.modern("subscriptions/listen", listen).header("x-api-key", &secret);
    let mut modern = listen.stream().await;
    modern.next().await.expect("acknowledged");
    stage.revoke("phone").await;
    for stream in [&mut legacy, &mut modern] {
        let last = stream.next().await.expect("the reason").to_string();
        assert!(last.contains("key `phone` was revoked"), "{last}");
        assert_eq!(stream.next().await, None);
    }
    assert_eq!(in_session(&stage, &secret, &id).await.status, 401);
    // The name is given to somebody else.
    let other = stage.make_key(requested).await;
    assert_eq!(in_session(&stage, &other, &id).await.brief(), "404 -32600");
    assert_eq!(get().header("x-api-key", &other).send().await.status, 404);
    let third = stage.make_key(json!({"name": "third"})).await;
    let id = session(&stage, &other).await;
    assert_eq!(in_session(&stage, &third, &id).await.brief(), "404 -32600");
    assert_eq!(in_session(&stage, &other, &id).await.brief(), "200 ok");
}

#[tokio::test]
async fn both_secrets_let_in_for_as_long_as_was_said() {
    let stage = Stage::start().await;
    let first = stage.make_key(json!({"name": "phone"})).await;
    let id = session(&stage, &first).await;
    let second = stage.rotate_key("phone", 600).await;
    assert_eq!((stage.lists(&first).await, stage.lists(&second).await), (200, 200));
    assert!(stage.keys().await[0]["former_until"].is_string());
    assert_eq!(in_session(&stage, &second, &id).await.brief(), "200 ok", "the session goes on");
    let third = stage.rotate_key("phone", 0).await;
    let found = [&first, &second, &third].map(|secret| stage.lists(secret));
    assert_eq!(futures_util::future::join_all(found).await, [401, 401, 200]);
}

#[tokio::test]
async fn a_rotation_ends_by_itself() {
    let stage = Stage::start().await;
    let first = stage.make_key(json!({"name": "phone"})).await;
    let second = stage.rotate_key("phone", 3).await;
    let get = stage.modern("subscriptions/listen", json!({"notifications": {}}));
    let mut stream = get.header("x-api-key", &first).stream().await;
    stream.next().await.expect("acknowledged");
    let last = stream.next().await.expect("the reason").to_string();
    assert!(last.contains("expired"), "{last}");
    assert_eq!(stream.next().await, None, "it ends with what opened it");
    tokio::time::sleep(Duration::from_millis(50)).await;
    let refused = stage.modern("tools/list", json!({})).header("x-api-key", &first).send().await;
    assert_eq!((refused.status, stage.lists(&second).await), (401, 200), "{refused:?}");
}

#[tokio::test]
async fn s_14_a_session_may_do_what_its_key_may_now() {
    let stage = Stage::start().await;
    let known = |rights: &[Right]| {
        vec![key("phone", "of-the-config", rights.iter().copied().collect::<Rights>())]
    };
    stage.front.set_access(known(&[Right::Execute]), None);
    let id = session(&stage, "of-the-config").await;
    assert_eq!(in_session(&stage, "of-the-config", &id).await.brief(), "200 ok");
    stage.front.set_access(known(&[Right::Execute]), None);
    assert_eq!(in_session(&stage, "of-the-config", &id).await.brief(), "200 ok", "as it was");
    stage.front.set_access(known(&[]), None);
    assert_eq!(in_session(&stage, "of-the-config", &id).await.brief(), "404 -32600");
    stage.front.set_access(vec![key("phone", "another", Rights::NONE)], None);
    assert_eq!(in_session(&stage, "of-the-config", &id).await.status, 401);
}

#[tokio::test]
async fn only_admins_make_keys() {
    let setup = Setup { keys: vec![key("ops", "of-the-config", Rights::NONE)], ..Setup::default() };
    let stage = Stage::with(setup).await;
    let body = json!({"name": "mine", "role": "admin"}).to_string();
    for (sent, expected) in [(Some("of-the-config"), 403), (Some("nothing"), 401), (None, 401)] {
        for (method, path) in [
            ("GET", "/api/keys"),
            ("POST", "/api/keys"),
            ("DELETE", "/api/keys/ops"),
            ("POST", "/api/keys/ops/rotate"),
        ] {
            let call = stage.request(method, path).header("content-type", "application/json");
            let call = call.body(body.clone());
            let call = match sent {
                Some(secret) => call.header("x-api-key", secret),
                None => call,
            };
            assert_eq!(call.send().await.status, expected, "{method} {path} {sent:?}");
        }
    }
    assert_eq!(stage.keys().await.len(), 1);
}
