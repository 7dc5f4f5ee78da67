use http::Request;

use super::HostGuard;

/// The status that a request with these headers gets: 200 if it passes.
fn check(uri: &str, headers: &[(&str, &str)]) -> u16 {
    let mut request = Request::builder().uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    let guard = HostGuard::new(&["Gate.example.com".to_owned()]);
    guard.check(&parts).map_or_else(|problem| problem.status.as_u16(), |()| 200)
}

#[test]
fn s_08_only_known_hosts_are_served() {
    for (host, expected) in [
        ("localhost", 200),
        ("LOCALHOST:8655", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:8655", 200),
        ("gate.example.com", 200),
        ("evil.com", 403),
        ("127.0.0.1.evil.com", 403),
        ("localhost.", 403),
        ("localhost.evil.com", 403),
        ("example.com", 403),
        ("", 400),
        ("a/b", 400),
        ("a?b", 400),
        ("localhost:99999", 400),
        ("localhost:", 400),
        ("localhost:8 0", 400),
        ("[::1", 400),
        ("user@localhost", 400),
        ("user:secret@localhost", 400),
    ] {
        assert_eq!(check("/mcp", &[("host", host)]), expected, "{host:?}");
    }
    assert_eq!(check("/mcp", &[]), 400, "no host at all");
    assert_eq!(check("/mcp", &[("host", "localhost"), ("host", "localhost")]), 400, "two hosts");
}

#[test]
fn s_08_the_request_line_and_the_host_must_agree() {
    assert_eq!(check("http://localhost:1/mcp", &[("host", "localhost:1")]), 200);
    assert_eq!(check("http://evil.com/mcp", &[("host", "localhost:1")]), 400);
    assert_eq!(check("http://localhost:2/mcp", &[("host", "localhost:1")]), 400);
}

#[test]
fn s_08_only_pages_of_known_hosts_may_ask() {
    for (origin, expected) in [
        ("http://localhost:3000", 200),
        ("https://gate.example.com", 200),
        ("http://[::1]:5", 200),
        ("HTTP://LOCALHOST", 200),
        ("null", 403),
        ("", 403),
        ("http://evil.com", 403),
        ("http://localhost.evil", 403),
        ("http://evil.com http://localhost", 403),
        ("http://localhost, http://evil.com", 403),
        ("http://xn--lcalhost-n3a", 403),
        ("file://localhost", 403),
        ("chrome-extension://localhost", 403),
        ("localhost", 403),
        ("http://localhost@evil.com", 403),
        ("http://evil.com@localhost", 403),
        ("http://localhost/path", 403),
    ] {
        assert_eq!(check("/", &[("host", "localhost"), ("origin", origin)]), expected, "{origin}");
    }
    let twice = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://e.com")];
    assert_eq!(check("/", &twice), 403);
}

#[test]
fn b_hh_16_headers_of_proxies_change_nothing() {
    let spoofed = [
        ("host", "evil.com"),
        ("x-forwarded-host", "localhost"),
        ("x-forwarded-for", "127.0.0.1"),
        ("forwarded", "host=localhost;for=127.0.0.1"),
        ("x-original-host", "localhost"),
    ];
    assert_eq!(check("/mcp", &spoofed), 403);
}
