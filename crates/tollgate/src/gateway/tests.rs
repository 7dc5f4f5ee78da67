//! How answers are read. The wire itself is tried by `tests/it`.

use bytes::Bytes;
use http::Response;

use super::events::GatewayEventListener;
use super::{GatewayEvent, decode_response};

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
        let found = match decode_response(&response) {
            Ok(value) => value.to_string(),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(found, expected);
    }
}

#[test]
fn steps_are_told_as_soon_as_they_are_whole() {
    let stream = "event: step\ndata: {\"done\":1}\n\n:\n\nevent: step\r\ndata: {\"done\":\ndata: 2}\n\nevent: done\ndata: {\"tools\":[]}\n\n";
    let first = stream.find(":\n\nevent").unwrap();
    for size in [1, 2, 7, stream.len()] {
        let mut lines = Vec::new();
        let mut each = |GatewayEvent { name, data }| lines.push(format!("{name} {data}"));
        let mut listener = GatewayEventListener::new(&mut each);
        for chunk in stream.as_bytes().chunks(size) {
            listener.hear(chunk);
        }
        assert_eq!(listener.finish().unwrap().to_string(), r#"{"tools":[]}"#);
        assert_eq!(lines, [r#"step {"done":1}"#, r#"step {"done":2}"#], "{size}");
    }
    let mut lines = 0;
    let mut each = |_| lines += 1;
    let mut listener = GatewayEventListener::new(&mut each);
    listener.hear(&stream.as_bytes()[..first]);
    assert!(listener.finish().is_err(), "it broke off");
    assert_eq!(lines, 1, "but what was said was heard");
}
