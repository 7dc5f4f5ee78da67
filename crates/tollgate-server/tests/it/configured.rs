//! The config over HTTP, with an operator that only writes down what it is asked.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tollgate_server::operator::{
    Attempt, Change, Changed, Effect, Operator, Order, Outcome, Refused, Shown, Tally,
};
use tollgate_server::{Fingerprint, Key, Right, Rights};

use crate::client::{Call, Reply};
use crate::stage::{ADMIN, Setup, Stage};

const SECRET: &str = "a-key-of-sixteen";

#[derive(Default)]
struct Noting {
    orders: Mutex<Vec<Order>>,
    reloads: Mutex<Vec<String>>,
    /// How the next change goes, if not well.
    refuses: Mutex<Option<Refused>>,
}

#[async_trait]
impl Operator for Noting {
    async fn config(&self) -> Result<Shown, Refused> {
        let (version, text) = ("v1".to_owned(), "a: 1 # é\n".to_owned());
        Ok(Shown { file: Some("t.yaml".to_owned()), version, text, values: json!({ "a": 1 }) })
    }

    async fn change(&self, order: Order) -> Result<Changed, Refused> {
        self.orders.lock().push(order);
        if let Some(refused) = self.refuses.lock().take() {
            return Err(refused);
        }
        let (version, diff) = ("v2".to_owned(), "+a\n".to_owned());
        let effect = Effect { needs_restart: vec!["listen".to_owned()], ..Effect::default() };
        Ok(Changed { version, diff, report: Value::Null, effect })
    }

    async fn reload(&self, by: &str) -> Attempt {
        self.reloads.lock().push(by.to_owned());
        let result = Outcome::Refused("t.yaml:1:2: wrong".to_owned());
        Attempt { at: UNIX_EPOCH, by: by.to_owned(), result, report: Value::Null }
    }

    fn last(&self) -> (Option<Attempt>, Tally) {
        (None, Tally { applied: 3, refused: 4 })
    }
}

async fn stage(rights: &[Right]) -> (Stage, Arc<Noting>) {
    let rights: Rights = rights.iter().copied().collect();
    let key = Key { rights, ..Key::new("ops".to_owned(), Fingerprint::of(SECRET.as_bytes())) };
    let noting = Arc::new(Noting::default());
    let operator: Arc<dyn Operator> = Arc::<Noting>::clone(&noting);
    let setup = Setup { keys: vec![key], operator: Some(operator), ..Setup::default() };
    (Stage::with(setup).await, noting)
}

fn with_key(call: Call) -> Call {
    call.header("x-api-key", SECRET)
}

async fn ask(stage: &Stage, method: &str, path: &str) -> Reply {
    with_key(stage.request(method, path)).send().await
}

async fn put(stage: &Stage, version: Option<&str>, text: &str) -> Reply {
    let call = with_key(stage.request("PUT", "/api/config")).body(text.to_owned());
    let call = call.header("content-type", "application/yaml");
    match version {
        Some(version) => call.header("if-match", version).send().await,
        None => call.send().await,
    }
}

async fn post(stage: &Stage, path: &str, body: &str) -> Reply {
    let call = with_key(stage.request("POST", path)).body(body.to_owned());
    call.header("content-type", "application/json").send().await
}

const ROUTES: [(&str, &str); 11] = [
    ("GET", "/api/config"),
    ("PUT", "/api/config"),
    ("POST", "/api/config/check"),
    ("GET", "/api/reload"),
    ("POST", "/api/reload"),
    ("GET", "/api/servers"),
    ("POST", "/api/servers"),
    ("DELETE", "/api/servers/a"),
    ("POST", "/api/servers/a/enable"),
    ("POST", "/api/servers/a/disable"),
    ("POST", "/api/servers/a/restart"),
];

#[tokio::test]
async fn s_01_only_the_one_right_brings_a_command_to_the_config() {
    let (stage, noting) = stage(&[Right::Execute, Right::OverrideTier, Right::Approve]).await;
    for (method, path) in ROUTES {
        for media in ["application/json", "application/yaml"] {
            let body = json!({"name": "x", "command": ["touch", "/x/canary"]}).to_string();
            let call = stage.request(method, path).body(body).header("content-type", media);
            let call = call.header("if-match", "\"v1\"");
            assert_eq!(with_key(call).status().await, 403, "{method} {path}");
        }
        assert_eq!(stage.request(method, path).status().await, 401, "{method} {path}");
    }
    assert!(noting.orders.lock().is_empty() && noting.reloads.lock().is_empty());
}

#[tokio::test]
async fn a_config_is_shown_with_its_version() {
    let (stage, _) = stage(&[Right::Admin]).await;
    let shown = ask(&stage, "GET", "/api/config").await;
    assert_eq!((shown.status, &*shown.text), (200, "a: 1 # é\n"));
    assert_eq!(shown.header("etag").as_deref(), Some("\"v1\""));
    assert_eq!(shown.header("cache-control").as_deref(), Some("no-store"));
    let values = ask(&stage, "GET", "/api/config?format=json").await;
    assert_eq!(values.json(), json!({"file": "t.yaml", "version": "v1", "config": {"a": 1}}));
    assert_eq!(ask(&stage, "GET", "/api/config?format=toml").await.status, 400);
    assert_eq!(ask(&stage, "GET", "/api/config?x=1").await.status, 400);
}

#[tokio::test]
async fn a_text_is_saved_for_the_version_it_was_made_of() {
    let (stage, noting) = stage(&[Right::Admin]).await;
    assert_eq!(put(&stage, None, "a: 2").await.status, 428);
    for bad in ["v1", "\"v1", "\"v1\", \"v2\"", "\"\""] {
        assert_eq!(put(&stage, Some(bad), "a: 2").await.status, 400, "{bad}");
    }
    assert!(noting.orders.lock().is_empty());
    let saved = put(&stage, Some("\"v1\""), "a: 2").await;
    assert_eq!(saved.status, 200);
    assert_eq!(saved.header("etag").as_deref(), Some("\"v2\""));
    assert_eq!(saved.json()["needs_restart"], json!(["listen"]));
    let order = noting.orders.lock().pop().unwrap();
    assert_eq!((order.by.as_str(), order.version.as_deref()), ("key:ops", Some("v1")));
    assert_eq!(order.change, Change::Text("a: 2".to_owned()));
    let call = with_key(stage.request("PUT", "/api/config")).body("a: 2");
    let call = call.header("if-match", "\"v1\"").header("content-type", "text/plain");
    assert_eq!(call.status().await, 415);
}

#[tokio::test]
async fn every_refusal_has_its_status_and_its_code() {
    let (stage, noting) = stage(&[Right::Admin]).await;
    let diagnostic = json!({"severity": "error", "message": "wrong", "line": 3, "column": 7});
    let report = json!({ "diagnostics": [diagnostic] });
    for (refused, status, code) in [
        (Refused::Mistakes(report), 422, "bad_config"),
        (Refused::OtherVersion, 412, "other_version"),
        (Refused::Conflict("x".to_owned()), 409, "conflict"),
        (Refused::ServerExists("x".to_owned()), 409, "server_exists"),
        (Refused::UnknownServer("x".to_owned()), 404, "unknown_server"),
        (Refused::Unwritable("x".to_owned()), 409, "unwritable_config"),
        (Refused::Failed("x".to_owned()), 500, "config_failed"),
    ] {
        *noting.refuses.lock() = Some(refused);
        let reply = put(&stage, Some("\"v1\""), "a: 2").await;
        let problem = reply.json();
        assert_eq!((reply.status, problem["code"].as_str()), (status, Some(code)));
        if status == 422 {
            assert_eq!(problem["detail"], "line 3, column 7: wrong");
            assert_eq!(problem["errors"][0]["line"], 3);
        }
    }
}

#[tokio::test]
async fn b_me_6_a_server_is_taken_as_it_is_sent_or_not_at_all() {
    let (stage, noting) = stage(&[Right::Admin]).await;
    for (body, status) in [
        ("{\"url\": \"https://x.test\"}", 400),
        ("{\"name\": 5}", 400),
        ("{\"name\": \"a\", \"name\": \"b\"}", 400),
        ("[]", 400),
        ("{", 400),
    ] {
        assert_eq!(post(&stage, "/api/servers", body).await.status, status, "{body}");
    }
    assert!(noting.orders.lock().is_empty());
    let body = "{\"name\": \"a\", \"url\": \"https://x.test\", \"env\": {\"<b>\": \"</b>\"}}";
    assert_eq!(post(&stage, "/api/servers", body).await.status, 201);
    assert_eq!(post(&stage, "/api/servers?dry_run=true", body).await.status, 200);
    assert_eq!(post(&stage, "/api/servers?dry_run=maybe", body).await.status, 400);
    let order = noting.orders.lock().remove(0);
    let Change::Add { name, server } = order.change else { panic!() };
    assert_eq!(name, "a");
    let expected = json!({"url": "https://x.test", "env": {"<b>": "</b>"}});
    assert_eq!(Value::Object(server), expected);
    assert_eq!(ask(&stage, "POST", "/api/servers/none/restart").await.status, 404);
    assert_eq!(ask(&stage, "GET", "/api/servers/none/logs").await.status, 404);
}

#[tokio::test]
async fn a_reload_says_how_it_went() {
    let (stage, noting) = stage(&[Right::Admin]).await;
    let said = post(&stage, "/api/reload", "").await.json();
    assert_eq!(said["outcome"], "refused");
    assert_eq!(said["error"], "t.yaml:1:2: wrong");
    assert_eq!(said["at"], "1970-01-01T00:00:00Z");
    assert_eq!(*noting.reloads.lock(), ["key:ops"]);
    let last = ask(&stage, "GET", "/api/reload").await.json();
    assert_eq!(last, json!({"last": null, "applied": 3, "refused": 4}));
}

#[tokio::test]
async fn a_gateway_without_a_config_says_so() {
    let stage = Stage::start().await;
    let ask = |path: &str| stage.request("GET", path).header("x-api-key", ADMIN);
    assert_eq!(ask("/api/config").status().await, 501);
    assert_eq!(ask("/api/servers").status().await, 200);
}
