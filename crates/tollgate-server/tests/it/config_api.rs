//! `/api/config` over HTTP, before a config service that records its requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tollgate_core::secret::Secret;
use tollgate_engine::settings::{
    HttpEndpoint, Server as UpstreamSettings, ServerAuth, ServerTransport,
};
use tollgate_mcp::Revision;
use tollgate_server::config_service::{
    ClientSetup, ConfigChange, ConfigChangeRequest, ConfigChangeSummary, ConfigFileStatus,
    ConfigService, ConfigServiceError, GatewayEndpoint, ImportCandidate, ImportPreview,
    ProposedServer, RedactedConfig, ReloadAttempt, ReloadCounts, ReloadEffect, ReloadOutcome,
    ServerConfigEntry,
};
use tollgate_server::{ApiKey, Fingerprint, Right, Rights};

use crate::client::{Call, Reply};
use crate::stage::{ADMIN, Setup, Stage, server};
use crate::upstream::Upstream;

const SECRET: &str = "a-key-of-sixteen";

#[derive(Default)]
struct Noting {
    orders: Mutex<Vec<ConfigChangeRequest>>,
    reloads: Mutex<Vec<String>>,
    proved: Mutex<Vec<ProposedServer>>,
    /// How the next change goes, if not well.
    refuses: Mutex<Option<ConfigServiceError>>,
}

#[async_trait]
impl ConfigService for Noting {
    async fn config(&self) -> Result<RedactedConfig, ConfigServiceError> {
        let version = "v1".to_owned();
        let text = "a: 1 # é\n".to_owned();
        let file = Some("t.yaml".to_owned());
        let values = json!({ "a": 1 });
        Ok(RedactedConfig { file, version, text, values, writable: true })
    }

    fn file(&self) -> ConfigFileStatus {
        ConfigFileStatus { path: Some("t.yaml".to_owned()), writable: true }
    }

    async fn server(&self, name: &str) -> Result<Option<ServerConfigEntry>, ConfigServiceError> {
        let entry = ServerConfigEntry {
            keys: Map::from_iter([("url".to_owned(), json!("<script>"))]),
            yaml: "test:\n  url: <script>\n".to_owned(),
            version: "v1".to_owned(),
            writable: false,
        };
        Ok((name == "test").then_some(entry))
    }

    async fn prove(
        &self,
        proposed: ProposedServer,
    ) -> Result<UpstreamSettings, ConfigServiceError> {
        let url = proposed.server.get("url").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.proved.lock().push(proposed);
        match self.refuses.lock().take() {
            Some(refused) => Err(refused),
            None => {
                let endpoint =
                    HttpEndpoint { url, headers: BTreeMap::new(), auth: ServerAuth::None };
                let transport = ServerTransport::StreamableHttp(endpoint);
                Ok(server("aside", transport, Revision::NEWEST_LEGACY))
            }
        }
    }

    async fn login(&self, name: &str, by: &str) -> Result<String, ConfigServiceError> {
        match self.refuses.lock().take() {
            Some(refused) => Err(refused),
            None => Ok(format!("https://login.test/?server={name}&by={by}")),
        }
    }

    async fn change(
        &self,
        order: ConfigChangeRequest,
    ) -> Result<ConfigChangeSummary, ConfigServiceError> {
        self.orders.lock().push(order);
        if let Some(refused) = self.refuses.lock().take() {
            return Err(refused);
        }
        let version = "v2".to_owned();
        let diff = "+a\n".to_owned();
        let effect =
            ReloadEffect { needs_restart: vec!["listen".to_owned()], ..ReloadEffect::default() };
        Ok(ConfigChangeSummary { version, diff, report: Value::Null, effect })
    }

    async fn import(
        &self,
        text: &str,
        name: Option<&str>,
    ) -> Result<ImportPreview, ConfigServiceError> {
        if text == "nothing" {
            return Err(ConfigServiceError::Unreadable("it contains nothing to import".to_owned()));
        }
        let server = ImportCandidate {
            name: name.unwrap_or("found").to_owned(),
            keys: Map::from_iter([("url".to_owned(), json!(text))]),
            clash: false,
            notes: vec!["look".to_owned()],
        };
        let dropped = vec![("a".to_owned(), "why not".to_owned())];
        let others = vec![("agents".to_owned(), server.clone())];
        let given = vec![("A_TOKEN".to_owned(), Secret::new("pasted"))];
        Ok(ImportPreview {
            format: "a URL".to_owned(),
            servers: vec![server],
            others,
            dropped,
            given,
        })
    }

    async fn registry(
        &self,
        words: &str,
        cursor: Option<&str>,
    ) -> Result<Value, ConfigServiceError> {
        match words {
            "away" => Err(ConfigServiceError::Elsewhere("the registry answered 500".to_owned())),
            _ => Ok(json!({"servers": [], "next": format!("{words}: {}", cursor.unwrap_or(""))})),
        }
    }

    fn connect(&self, reach: &GatewayEndpoint) -> Vec<ClientSetup> {
        let text = format!("{} {:?} {} {:?}", reach.url, reach.agent, reach.model, reach.door);
        vec![ClientSetup {
            id: "x".to_owned(),
            name: "X".to_owned(),
            file: None,
            language: "json".to_owned(),
            text,
            link: None,
            note: None,
        }]
    }

    async fn reload(&self, by: &str) -> ReloadAttempt {
        self.reloads.lock().push(by.to_owned());
        let result = ReloadOutcome::Refused("t.yaml:1:2: wrong".to_owned());
        ReloadAttempt { at: UNIX_EPOCH, by: by.to_owned(), result, report: Value::Null }
    }

    fn last(&self) -> (Option<ReloadAttempt>, ReloadCounts) {
        (None, ReloadCounts { applied: 3, refused: 4 })
    }
}

async fn stage(rights: &[Right]) -> (Stage, Arc<Noting>) {
    let rights: Rights = rights.iter().copied().collect();
    let key =
        ApiKey { rights, ..ApiKey::new("ops".to_owned(), Fingerprint::of(SECRET.as_bytes())) };
    let noting = Arc::new(Noting::default());
    let operator: Arc<dyn ConfigService> = Arc::<Noting>::clone(&noting);
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

const ROUTES: [(&str, &str); 16] = [
    ("GET", "/api/config"),
    ("PUT", "/api/config"),
    ("POST", "/api/config/check"),
    ("GET", "/api/reload"),
    ("POST", "/api/reload"),
    ("GET", "/api/servers"),
    ("POST", "/api/servers"),
    ("POST", "/api/servers/try"),
    ("PUT", "/api/servers/a"),
    ("DELETE", "/api/servers/a"),
    ("POST", "/api/servers/a/enable"),
    ("POST", "/api/servers/a/disable"),
    ("POST", "/api/servers/a/restart"),
    ("POST", "/api/import"),
    ("GET", "/api/registry"),
    ("POST", "/api/servers/a/login"),
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
    let expected = json!({"file": "t.yaml", "version": "v1", "writable": true, "config": {"a": 1}});
    assert_eq!(values.json(), expected);
    assert_eq!(ask(&stage, "GET", "/api/config?format=toml").await.status, 400);
    assert_eq!(ask(&stage, "GET", "/api/config?x=1").await.status, 400);
}

#[tokio::test]
async fn a_text_is_saved_for_the_version_it_was_made_of() {
    let (stage, noting) = stage(&[Right::Admin]).await;
    assert_eq!(put(&stage, None, "a: 2").await.code(), "428 no_version");
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
    assert_eq!(order.change, ConfigChange::Text("a: 2".to_owned()));
    let call = with_key(stage.request("PUT", "/api/config")).body("a: 2");
    let call = call.header("if-match", "\"v1\"").header("content-type", "text/plain");
    assert_eq!(call.send().await.code(), "415 not_yaml");
}

#[tokio::test]
async fn every_refusal_has_its_status_and_its_code() {
    let (stage, noting) = stage(&[Right::Admin]).await;
    let diagnostic = json!({"severity": "error", "message": "wrong", "line": 3, "column": 7});
    let report = json!({ "diagnostics": [diagnostic] });
    for (refused, status, code) in [
        (ConfigServiceError::Mistakes(report), 422, "bad_config"),
        (ConfigServiceError::OtherVersion, 412, "other_version"),
        (ConfigServiceError::Conflict("x".to_owned()), 409, "conflict"),
        (ConfigServiceError::ServerExists("x".to_owned()), 409, "server_exists"),
        (ConfigServiceError::UnknownServer("x".to_owned()), 404, "unknown_server"),
        (
            ConfigServiceError::Unwritable { why: "x".to_owned(), yaml: None },
            409,
            "unwritable_config",
        ),
        (ConfigServiceError::NoLogin("x".to_owned()), 409, "no_login"),
        (ConfigServiceError::NotLoggedIn("x".to_owned()), 502, "login_failed"),
        (ConfigServiceError::Failed("x".to_owned()), 500, "config_failed"),
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
    let ConfigChange::Add { name, server, .. } = order.change else { panic!() };
    assert_eq!(name, "a");
    let expected = json!({"url": "https://x.test", "env": {"<b>": "</b>"}});
    assert_eq!(Value::Object(server), expected);
    assert_eq!(ask(&stage, "POST", "/api/servers/none/restart").await.status, 404);
    assert_eq!(ask(&stage, "GET", "/api/servers/none/logs").await.status, 404);
}

#[tokio::test]
async fn a_reload_says_how_it_went() {
    let (stage, noting) = stage(&[Right::Admin]).await;
    let answer = post(&stage, "/api/reload", "").await.json();
    assert_eq!(answer["outcome"], "refused");
    assert_eq!(answer["error"], "t.yaml:1:2: wrong");
    assert_eq!(answer["at"], "1970-01-01T00:00:00Z");
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

#[tokio::test]
async fn one_server_is_shown_whole_to_admins_and_without_its_config_to_observers() {
    for (right, config) in
        [(Right::Admin, json!({"url": "<script>"})), (Right::Observe, Value::Null)]
    {
        let (stage, _) = stage(&[right]).await;
        let shown = ask(&stage, "GET", "/api/servers/test").await;
        let status = shown.status;
        let one = shown.json();
        assert_eq!((status, &one["config"], &one["state"]), (200, &config, &json!("ready")));
        assert_eq!(shown.header("x-content-type-options").as_deref(), Some("nosniff"));
        assert_eq!(shown.header("content-type").as_deref(), Some("application/json"));
        assert_eq!(one["history"][0]["state"], "ready");
        assert_eq!(ask(&stage, "GET", "/api/servers/none").await.status, 404);
    }
    let (stage, _) = stage(&[Right::Execute]).await;
    assert_eq!(ask(&stage, "GET", "/api/servers/test").await.status, 403);
}

#[tokio::test]
async fn a_server_is_replaced_by_the_keys_that_are_sent() {
    let (stage, noting) = stage(&[Right::Admin]).await;
    let put = |body: &'static str| {
        let call = with_key(stage.request("PUT", "/api/servers/a")).body(body);
        call.header("content-type", "application/json").header("if-match", "\"v1\"").send()
    };
    for body in ["[]", "{", "{\"name\": \"b\"}", "{\"name\": 5}"] {
        assert_eq!(put(body).await.status, 400, "{body}");
    }
    assert!(noting.orders.lock().is_empty());
    assert_eq!(put("{\"name\": \"a\", \"url\": \"x\", \"env\": null}").await.status, 200);
    let order = noting.orders.lock().remove(0);
    let server = Map::from_iter([("url".to_owned(), json!("x"))]);
    assert_eq!(order.change, ConfigChange::Replace { name: "a".to_owned(), server });
    assert_eq!(order.version.as_deref(), Some("v1"));
    let why = || "x".to_owned();
    *noting.refuses.lock() =
        Some(ConfigServiceError::Unwritable { why: why(), yaml: Some("a: 1\n".to_owned()) });
    assert_eq!(put("{}").await.json()["yaml"], "a: 1\n");
}

async fn tries(stage: &Stage, url: &str, accept: &str) -> Reply {
    let body = json!({"name": "aside", "url": url}).to_string();
    let call = with_key(stage.request("POST", "/api/servers/try")).body(body);
    call.header("content-type", "application/json").header("accept", accept).send().await
}

#[tokio::test]
async fn a_trial_is_told_as_it_goes_and_leaves_nothing() {
    let up = Upstream::start().await;
    let (stage, noting) = stage(&[Right::Admin]).await;
    let url = format!("http://{}/mcp", up.address);
    let streamed = tries(&stage, &url, "text/event-stream").await;
    assert_eq!(streamed.header("content-type").as_deref(), Some("text/event-stream"));
    let events = streamed.events();
    let first = &events[0];
    let last = &events[events.len() - 1];
    assert_eq!(first["state"], "starting", "{events:?}");
    assert_eq!((&last["ok"], &last["protocol"]), (&json!(true), &json!("2025-11-25")), "{last}");
    let names: Vec<&str> =
        last["tools"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(names.contains(&"count"), "{names:?}");
    assert_eq!(noting.proved.lock()[0].name, "aside");
    let plain = tries(&stage, &url, "application/json").await;
    assert_eq!((plain.status, &plain.json()["ok"]), (200, &json!(true)));
    assert!(!ask(&stage, "GET", "/api/servers").await.text.contains("aside"));
    let away = tries(&stage, "http://127.0.0.1:9/mcp", "text/event-stream").await.events();
    assert_eq!(away[away.len() - 1]["ok"], false, "{away:?}");
    *noting.refuses.lock() = Some(ConfigServiceError::Mistakes(json!({ "diagnostics": [] })));
    assert_eq!(tries(&stage, &url, "text/event-stream").await.status, 422);
}

#[tokio::test]
async fn a_text_of_another_program_is_shown_as_servers_and_changes_nothing() {
    let (stage, noting) = stage(&[Right::Admin]).await;
    let body = json!({"text": "https://x.test/mcp", "name": " mine "}).to_string();
    let read = post(&stage, "/api/import", &body).await;
    assert_eq!(read.status, 200, "{}", read.text);
    assert_eq!(read.header("cache-control").as_deref(), Some("no-store"));
    let read = read.json();
    assert_eq!((&read["format"], &read["given"]["A_TOKEN"]), (&json!("a URL"), &json!("pasted")));
    assert_eq!(
        read["servers"][0],
        json!({"name": "mine", "clash": false, "notes": ["look"], "server": {"url": "https://x.test/mcp"}})
    );
    assert_eq!(read["others"][0]["section"], "agents");
    assert_eq!(read["dropped"], json!([{"what": "a", "why": "why not"}]));
    let refused = post(&stage, "/api/import", r#"{"text": "nothing"}"#).await;
    assert_eq!((refused.status, refused.json()["code"].as_str()), (422, Some("unreadable_text")));
    for body in ["{}", r#"{"text": 5}"#, r#"{"text": "a", "file": "/etc/passwd"}"#, "[]"] {
        assert_eq!(post(&stage, "/api/import", body).await.status, 400, "{body}");
    }
    assert!(noting.orders.lock().is_empty());
}

#[tokio::test]
async fn programs_are_told_the_address_by_which_they_were_asked() {
    let (stage, _) = stage(&[Right::Observe]).await;
    let reply = ask(&stage, "GET", "/api/connect").await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let reply = reply.json();
    let url = reply["url"].as_str().unwrap_or_default();
    assert!(url.starts_with("http://127.0.0.1:"), "{reply}");
    assert_eq!(reply["needs_key"], true);
    let text = reply["clients"][0]["text"].as_str().unwrap_or_default();
    assert!(text.starts_with(url) && text.ends_with(" None default Locked"), "{text}");
    // A browser has such a cookie only where a proxy speaks TLS with it.
    let port = stage.address.port();
    let behind = with_key(stage.request("GET", "/api/connect"));
    let behind = behind.header("cookie", &format!("__Host-tollgate-{port}=x")).send().await.json();
    assert_eq!(behind["url"], url.replace("http://", "https://"));
    assert_eq!(ask(&stage, "GET", "/api/connect?agent=nobody").await.status, 404);
    assert_eq!(ask(&stage, "GET", "/api/connect?agents=x").await.status, 400);
    let (stage, _) = self::stage(&[Right::Execute]).await;
    assert_eq!(ask(&stage, "GET", "/api/connect").await.status, 403);
}

#[tokio::test]
async fn the_registry_is_asked_for_whoever_may_add_servers() {
    let (stage, _) = stage(&[Right::Admin]).await;
    let found = ask(&stage, "GET", "/api/registry?q=%20file%20system&cursor=a%2Fb").await;
    assert_eq!(found.status, 200, "{}", found.text);
    let expected = json!({"servers": [], "next": "file system: a/b"});
    assert_eq!(found.json(), expected);
    let away = ask(&stage, "GET", "/api/registry?q=away").await;
    assert_eq!((away.status, away.json()["code"].as_str()), (502, Some("registry_failed")));
    assert_eq!(ask(&stage, "GET", "/api/registry?query=x").await.status, 400);
    let long = format!("/api/registry?q={}", "x".repeat(3_000));
    assert_eq!(ask(&stage, "GET", &long).await.status, 400);
}

#[tokio::test]
async fn whoever_may_is_given_the_link_to_log_in_by() {
    let (stage, noting) = stage(&[Right::Admin]).await;
    let given = ask(&stage, "POST", "/api/servers/a/login").await;
    assert_eq!(given.json(), json!({"url": "https://login.test/?server=a&by=key:ops"}));
    assert_eq!(given.header("cache-control").as_deref(), Some("no-store"));
    *noting.refuses.lock() = Some(ConfigServiceError::NoLogin("x".to_owned()));
    assert_eq!(ask(&stage, "POST", "/api/servers/a/login").await.json()["code"], "no_login");
}
