//! How paths are written and answers are read. The wire itself is tried by `tests/it`.

use bytes::Bytes;
use http::Response;

use super::{escaped, understood};

#[test]
fn names_cannot_leave_their_place_in_a_path() {
    for (name, expected) in [
        ("files", "files"),
        ("a-b_c.d", "a-b_c.d"),
        ("../x", "..%2Fx"),
        ("a&agent=b", "a%26agent%3Db"),
        ("é ?#", "%C3%A9%20%3F%23"),
    ] {
        assert_eq!(escaped(name), expected);
    }
}

#[test]
fn an_answer_is_its_json_or_what_it_complains_of() {
    for (status, body, expected) in [
        (200, r#"{"tools":[]}"#, r#"{"tools":[]}"#),
        (
            408,
            r#"{"status":"timeout","message":"slow"}"#,
            r#"{"status":"timeout","message":"slow"}"#,
        ),
        (404, r#"{"error":{"message":"no such agent"}}"#, "no such agent"),
        (403, r#"{"title":"Forbidden","detail":"admin only"}"#, "admin only"),
        (400, r#"{"status":400,"detail":"bad"}"#, "bad"),
        (500, "{}", "the gateway answered 500 Internal Server Error"),
        (200, "<html>", "the gateway answered 200 OK and no JSON"),
    ] {
        let response = Response::builder().status(status).body(Bytes::from(body)).unwrap();
        let found = match understood(&response) {
            Ok(value) => value.to_string(),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(found, expected);
    }
}
