use super::resolve;

fn check(reference: &str, expected: Option<&str>) {
    let base = "http://host:8080/a/sse".parse().unwrap();
    let url = resolve(&base, reference).map(|url| url.to_string());
    assert_eq!(url.as_deref(), expected, "{reference}");
}

#[test]
fn an_endpoint_is_resolved_within_its_origin() {
    check("/messages?id=1", Some("http://host:8080/messages?id=1"));
    check("messages", Some("http://host:8080/a/messages"));
    check("?id=1", Some("http://host:8080/a/?id=1"));
    check("http://host:8080/m", Some("http://host:8080/m"));
    check("http://HOST:8080/m", Some("http://HOST:8080/m"));
}

#[test]
fn an_endpoint_elsewhere_is_refused() {
    for reference in [
        "http://other:8080/m",
        "http://host:81/m",
        "http://host/m",
        "https://host:8080/m",
        "http://user@host:8080/m",
        "http://host:8080@other/m",
        "//other/m",
        "ftp://host:8080/m",
        "/a b",
        "/\u{1}",
    ] {
        check(reference, None);
    }
}
