use http::Request;
use http::request::Parts;

use super::bring_key;

fn encode_stream(uri: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().uri(uri).header("sec-websocket-key", "x");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn check(uri: &str, headers: &[(&str, &str)], expected: Result<Option<&str>, &str>) {
    let mut parts = encode_stream(uri, headers);
    let brought = bring_key(&mut parts).map_err(|problem| problem.code);
    let key = parts.headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    assert_eq!(brought.map(|()| key.as_deref()), expected, "{uri} {headers:?}");
}

const GEMINI: &str =
    "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent";

#[test]
fn b_ws_10_a_key_in_a_sub_protocol_is_brought_to_where_keys_are() {
    let protocols = "realtime, openai-insecure-api-key.sk-1";
    check("/v1/realtime", &[("sec-websocket-protocol", protocols)], Ok(Some("Bearer sk-1")));
    let deepgram = [("sec-websocket-protocol", "token, dg-1")];
    check("/v1/agent/converse", &deepgram, Ok(Some("Bearer dg-1")));
    check("/v1/realtime", &[("sec-websocket-protocol", "realtime")], Ok(None));
    check("/v1/realtime", &[("authorization", "Bearer a")], Ok(Some("Bearer a")));
}

#[test]
fn a_key_of_the_url_is_decoded() {
    check(&format!("{GEMINI}?key=a%2Bb%2F"), &[], Ok(Some("Bearer a+b/")));
    check(&format!("{GEMINI}?key=a&access_token=b"), &[], Err("two_keys"));
    check(&format!("{GEMINI}?key=%0a"), &[], Err("two_keys"));
    check(&format!("{GEMINI}?key="), &[], Ok(None));
}

#[test]
fn a_key_that_is_sent_twice_must_be_the_same() {
    let protocol = ("sec-websocket-protocol", "openai-insecure-api-key.sk-1");
    let same = [protocol, ("authorization", "Bearer sk-1")];
    check("/v1/realtime", &same, Ok(Some("Bearer sk-1")));
    let other = [protocol, ("authorization", "Bearer sk-2")];
    check("/v1/realtime", &other, Err("two_keys"));
    let third = [protocol, ("x-api-key", "sk-2")];
    check("/v1/realtime", &third, Err("two_keys"));
}

#[test]
fn only_the_path_of_gemini_takes_a_key_from_the_url_and_none_is_left_in_it() {
    let mut parts = encode_stream(&format!("{GEMINI}?alt=ws&key=k-1"), &[]);
    bring_key(&mut parts).unwrap();
    assert_eq!(parts.headers["authorization"], "Bearer k-1");
    assert_eq!(parts.uri.query(), Some("alt=ws"));
    let mut parts = encode_stream(&format!("{GEMINI}?key=k-1"), &[]);
    bring_key(&mut parts).unwrap();
    assert_eq!(parts.uri.query(), None);
    let mut parts = encode_stream("/v1/realtime?key=k-1", &[]);
    bring_key(&mut parts).unwrap();
    assert!(!parts.headers.contains_key("authorization"));
    assert_eq!(parts.uri.query(), Some("key=k-1"));
}

#[test]
fn what_is_left_of_the_sub_protocols_has_no_key_in_it() {
    let protocols = "realtime, openai-insecure-api-key.sk-1, openai-beta.x";
    let mut parts = encode_stream("/v1/realtime", &[("sec-websocket-protocol", protocols)]);
    bring_key(&mut parts).unwrap();
    assert_eq!(parts.headers["sec-websocket-protocol"], "realtime, openai-beta.x");
}
