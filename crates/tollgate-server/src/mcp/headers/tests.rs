use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate_core::json::Object;

use super::{check_standard, check_version};

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let name: HeaderName = name.parse().unwrap();
        headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    headers
}

/// `ok`, or the code.
fn check(method: &str, params: &str, given: &[(&str, &str)]) -> String {
    let params = Object::parse(params).unwrap();
    match check_standard(&headers(given), method, &params) {
        Ok(()) => "ok".to_owned(),
        Err(refused) => format!("{} {}", refused.status.as_u16(), refused.error.code),
    }
}

#[test]
fn s_12_b_jr_24_headers_must_say_what_the_body_says() {
    let call = r#"{"name":"files_read"}"#;
    let method = ("mcp-method", "tools/call");
    for (name, expected) in [
        ("files_read", "ok"),
        ("=?base64?ZmlsZXNfcmVhZA==?=", "ok"),
        ("files_write", "400 -32020"),
        ("Files_read", "400 -32020"),
        ("=?base64?ZmlsZXNfcmVhZA?=", "400 -32020"),
        ("=?base64?!!!?=", "400 -32020"),
        ("filés_read", "400 -32020"),
        ("", "400 -32020"),
    ] {
        assert_eq!(check("tools/call", call, &[method, ("mcp-name", name)]), expected, "{name}");
    }
    assert_eq!(check("tools/call", call, &[method]), "400 -32020", "no name");
    let twice = [method, ("mcp-name", "files_read"), ("mcp-name", "files_read")];
    assert_eq!(check("tools/call", call, &twice), "400 -32020", "two names");
    assert_eq!(check("tools/call", "{}", &[method]), "ok", "the body is refused later");
    let name = ("mcp-name", "files_read");
    for wrong in ["tools/list", "TOOLS/CALL", "=?base64?dG9vbHMvY2FsbA==?="] {
        assert_eq!(check("tools/call", call, &[("mcp-method", wrong), name]), "400 -32020");
    }
    assert_eq!(check("tools/call", call, &[name]), "400 -32020", "no method");
}

#[test]
fn resources_and_tasks_are_named_by_their_own_fields() {
    let method = ("mcp-method", "resources/read");
    let umlaut = ("mcp-name", "=?base64?ZmlsZTovLy9ncsO8w58=?=");
    assert_eq!(check("resources/read", r#"{"uri":"file:///grüß"}"#, &[method, umlaut]), "ok");
    let get = ("mcp-method", "tasks/get");
    assert_eq!(check("tasks/get", r#"{"taskId":"t"}"#, &[get, ("mcp-name", "t")]), "ok");
    assert_eq!(check("tasks/get", r#"{"taskId":"t"}"#, &[get, ("mcp-name", "u")]), "400 -32020");
    assert_eq!(check("tools/list", "{}", &[("mcp-method", "tools/list")]), "ok");
}

#[test]
fn b_jr_23_the_version_stands_once_and_agrees() {
    let check = |pairs: &[(&str, &str)]| check_version(&headers(pairs), "2026-07-28").is_ok();
    let version = "mcp-protocol-version";
    assert!(check(&[(version, "2026-07-28")]));
    assert!(!check(&[(version, "2025-06-18")]));
    assert!(!check(&[]));
    assert!(!check(&[(version, "2026-07-28"), (version, "2026-07-28")]));
}
