//! Access to every route: who is refused.

use std::time::Duration;

use serde_json::json;
use tollgate_core::rate::RateLimit;
use tollgate_server::{Limits, Rights};

use crate::client::{Call, raw};
use crate::stage::{Setup, Stage, key};
use crate::untrusted_headers::TRUST;

/// The paths of the router, with something in the place of each parameter.
fn paths() -> Vec<String> {
    let source = include_str!("../../src/router.rs");
    let quoted = source.split(".route(").skip(1).filter_map(|rest| rest.split('"').nth(1));
    let filled = |path: &str| {
        let parts =
            path.split('/').map(|part| if part.starts_with('{') { "default" } else { part });
        parts.collect::<Vec<_>>().join("/")
    };
    let paths: Vec<String> = quoted.map(filled).collect();
    assert!(paths.len() > 15 && paths.contains(&"/mcp/default".to_owned()), "{paths:?}");
    paths
}

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// What needs no key. The path of a file is a secret itself, and telephony and webhooks have
/// signatures.
fn is_open(path: &str) -> bool {
    ["/", "/api/login", "/healthz", "/icon.svg", "/readyz"].contains(&path)
        || path.starts_with("/assets/")
        || path.starts_with("/v1/files/")
        || path.starts_with("/v1/telephony/")
        || path.starts_with("/v1/realtime/incoming/")
        || path.starts_with("/.well-known/")
}

/// However many wrong keys are tried: how that is slowed down is tried elsewhere.
async fn close_all() -> Stage {
    let keys = vec![key("ops", "of-the-config", Rights::ALL)];
    let wrong_keys = RateLimit { calls: 1_000_000, per: Duration::from_secs(1) };
    let limits = Limits { wrong_keys, ..Limits::default() };
    Stage::with(Setup { keys, limits, ..Setup::default() }).await
}

#[tokio::test]
async fn s_10_no_route_opens_without_a_key() {
    let stage = close_all().await;
    for path in paths().into_iter().filter(|path| !is_open(path)) {
        for method in METHODS {
            let refused = stage.request(method, &path).send().await;
            assert_eq!(refused.status, 401, "{method} {path}");
            assert!(refused.header("www-authenticate").is_some(), "{method} {path}");
        }
    }
    assert_eq!(stage.calls(), 0);
}

#[tokio::test]
async fn s_10_b_hh_11_no_odd_credential_opens_any_route() {
    let stage = close_all().await;
    let odd = [
        "' OR 1=1--",
        "of-the-config' OR '1'='1",
        "of-the-config\u{0}",
        "%00",
        "../ops",
        "of-the-confi",
        "OF-THE-CONFIG",
        "tg_",
        "null",
        "undefined",
        "Bearer of-the-config",
    ];
    for path in paths().into_iter().filter(|path| !is_open(path)) {
        for value in odd.iter().filter(|value| !value.contains('\u{0}')) {
            for (name, value) in
                [("authorization", format!("Bearer {value}")), ("x-api-key", (*value).to_owned())]
            {
                let refused = stage.request("GET", &path).header(name, &value).send().await;
                assert_eq!(refused.status, 401, "{path} {name}: {value}");
            }
        }
        for name in ["Authorization: Bearer ", "X-API-Key: "] {
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: {}\r\n{name}of-the-config\u{0}\r\n\r\n",
                stage.address
            );
            let answer = raw(stage.address, request.as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 400"), "{path}: {answer}");
        }
    }
    assert_eq!(stage.calls(), 0);
}

#[tokio::test]
async fn s_15_no_header_of_trust_opens_any_route() {
    let stage = close_all().await;
    for path in paths().into_iter().filter(|path| !is_open(path)) {
        for value in ["admin", "true", "127.0.0.1", "key:ops"] {
            let with = |call: Call, name: &&str| call.header(name, value);
            let call = TRUST.iter().fold(stage.request("GET", &path), with);
            assert_eq!(call.send().await.status, 401, "{path} {value}");
        }
    }
}

#[tokio::test]
async fn no_route_takes_a_key_from_its_url() {
    let stage = close_all().await;
    for path in paths() {
        for name in ["key", "api_key", "token", "access_token"] {
            let target = format!("{path}?{name}=of-the-config");
            let refused = stage.request("GET", &target).send().await;
            assert_eq!(refused.status, 400, "{target}");
            assert!(refused.text.contains("keys in a URL are rejected"), "{refused:?}");
            let with_key = stage.request("GET", &target).header("x-api-key", "of-the-config");
            assert_eq!(with_key.send().await.status, 400, "{target}");
        }
    }
}

#[tokio::test]
async fn s_08_no_route_answers_under_another_name_or_to_another_page() {
    let stage = Stage::start().await;
    for path in paths() {
        for method in METHODS {
            for host in ["evil.com", "127.0.0.1.evil.com", "localhost.evil", "169.254.169.254"] {
                let refused = stage.request(method, &path).set("host", host).by_admin();
                assert_eq!(refused.send().await.status, 403, "{method} {path} {host}");
            }
            for origin in ["null", "http://evil.com", "http://localhost.evil"] {
                let refused = stage.request(method, &path).header("origin", origin).by_admin();
                let refused = refused.send().await;
                assert_eq!(refused.status, 403, "{method} {path} {origin}");
                assert!(refused.header("access-control-allow-origin").is_none());
            }
        }
    }
}

#[tokio::test]
async fn s_02_without_keys_what_operates_the_gateway_needs_the_token() {
    let stage = Stage::start().await;
    let is_operation = |path: &&String| {
        let operates = ["/api", "/mcp/status", "/mcp/test"];
        // `logins.rs` has the one that asks who is there.
        let tells_only = *path == "/api/openapi.json";
        operates.iter().any(|prefix| path.starts_with(prefix)) && !is_open(path) && !tells_only
    };
    let operations: Vec<String> = paths().iter().filter(is_operation).cloned().collect();
    assert!(operations.len() >= 8, "{operations:?}");
    let without = |call: Call| call.header("content-type", "application/json").body("{}");
    for path in operations {
        let mut allowed = 0;
        for method in METHODS {
            let refused = without(stage.request(method, &path)).send().await;
            if refused.status == 405 {
                continue;
            }
            allowed += 1;
            assert_eq!(refused.status, 401, "{method} {path}: {refused:?}");
            assert!(refused.text.contains("admin.token"), "{refused:?}");
            assert_eq!(refused.header("www-authenticate").as_deref(), Some("Bearer"));
            let wrong = without(stage.request(method, &path)).header("x-api-key", "guess");
            assert_eq!(wrong.send().await.status, 401, "{method} {path}");
        }
        assert!(allowed > 0, "{path}");
    }
    let list = stage.modern("tools/list", json!({})).header("x-tollgate-tier", "deep");
    assert_eq!(list.brief().await, "200 ok");
    let status = stage.request("GET", "/mcp/status").by_admin().send().await;
    assert_eq!(status.status, 200);
}

#[tokio::test]
async fn s_16_the_page_may_load_nothing_but_itself() {
    let stage = close_all().await;
    let page = stage.request("GET", "/").send().await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    assert!(policy.contains("script-src 'self'") && policy.contains("frame-ancestors 'none'"));
    assert!(!policy.contains("unsafe"), "{policy}");
    // Built in or not: no script stands in the page itself.
    let inline = page.text.split("<script").skip(1).any(|script| !script.contains(" src=\"./"));
    assert!(page.text.contains("<title>Tollgate</title>") && !inline, "{}", page.text);
    assert_eq!(page.header("x-content-type-options").as_deref(), Some("nosniff"));
    assert_eq!(page.header("x-frame-options").as_deref(), Some("DENY"));
    let missing = stage.request("GET", "/assets/no-such-file.js").send().await;
    assert_eq!(missing.status, 404);
}
