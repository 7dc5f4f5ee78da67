use http::{HeaderMap, HeaderValue, header};

use super::{FILES, HEADERS, is_file, takes_gzip};

#[test]
fn a_client_gets_compressed_files_if_it_says_so() {
    for (text, expected) in [
        ("", false),
        ("gzip", true),
        ("br, gzip;q=0.5", true),
        ("deflate, gzip;q=0", false),
        ("*", true),
        ("identity", false),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(text));
        assert_eq!(takes_gzip(&headers), expected, "{text}");
    }
    assert!(!takes_gzip(&HeaderMap::new()));
}

#[test]
fn s_16_the_policy_lets_nothing_in_but_our_own_files() {
    let (_, policy) = HEADERS[0];
    for forbidden in ["unsafe-inline", "unsafe-eval", "http:", "https:", "*", "data:"] {
        assert!(!policy.contains(forbidden), "{forbidden}");
    }
    assert!(policy.starts_with("default-src 'none'"));
    assert!(policy.contains("frame-ancestors 'none'"));
}

#[test]
fn every_file_of_the_page_can_be_had_without_a_key() {
    for file in FILES.iter().filter(|file| file.path != "index.html") {
        assert!(is_file(&format!("/{}", file.path)), "{}", file.path);
    }
    for other in ["/api/keys", "/assets", "/icon.svg/x", "/metrics"] {
        assert!(!is_file(other), "{other}");
    }
}
