use proptest::prelude::{any, prop, proptest};

use super::{JsonRpcId, JsonRpcMessage, write};
use crate::error_code::JsonRpcError;

/// What the message reads as: `request 1 tools/list`, or `error -32600 …`.
fn read(text: &str) -> String {
    match JsonRpcMessage::parse(text) {
        Ok(JsonRpcMessage::Request(request)) => {
            format!("request {} {}", request.id, request.method)
        }
        Ok(JsonRpcMessage::Notification { method, .. }) => format!("notification {method}"),
        Ok(JsonRpcMessage::Response { id, outcome: Ok(result) }) => {
            format!("result {id:?} {result}")
        }
        Ok(JsonRpcMessage::Response { id, outcome: Err(error) }) => {
            format!("failure {id:?} {} {}", error.code, error.message)
        }
        Err(invalid) => format!("error {} {:?}", invalid.error.code, invalid.id),
    }
}

#[test]
fn the_four_kinds_of_message_are_told_apart() {
    for (text, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, "request 1 tools/list"),
        (r#"{"jsonrpc":"2.0","id":"1","method":"a","params":{}}"#, "request \"1\" a"),
        (r#"{"jsonrpc":"2.0","method":"n"}"#, "notification n"),
        (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "result Some(7) {}"),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}"#, "failure None -1 m"),
    ] {
        assert_eq!(read(text), expected);
    }
}

#[test]
fn b_jr_01_to_15_broken_envelopes_are_refused_with_the_right_code() {
    for (text, expected) in [
        ("", "error -32700 None"),
        ("null", "error -32600 None"),
        ("[]", "error -32600 None"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#, "error -32600 Some(1)"),
        (r#"{"id":1,"method":"a"}"#, "error -32600 Some(1)"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, "error -32600 None"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#, "error -32600 None"),
        (r#"{"jsonrpc":"2.0","id":1e400,"method":"a"}"#, "error -32600 None"),
        (r#"{"jsonrpc":"2.0","id":-0,"method":"a"}"#, "error -32600 None"),
        (r#"{"jsonrpc":"2.0","id":true,"method":"a"}"#, "error -32600 None"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#, "error -32600 None"),
        (r#"{"jsonrpc":"2.0","id":1}"#, "error -32600 Some(1)"),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "error -32600 Some(1)"),
        (r#"{"jsonrpc":"2.0","id":1,"method":""}"#, "error -32600 Some(1)"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a\u0000"}"#, "error -32600 Some(1)"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a "}"#, "error -32600 Some(1)"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[]}"#, "error -32602 Some(1)"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#, "error -32600 None"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","Method":"b"}"#, "error -32600 None"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","paramſ":{}}"#, "error -32600 None"),
        (r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#, "error -32600 Some(1)"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a"} {}"#, "error -32700 None"),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
    let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"a"}}"#, "x".repeat(1 << 20));
    assert_eq!(read(&long), "error -32600 None");
}

#[test]
fn what_is_written_reads_back() {
    let id = JsonRpcId::number(9);
    assert_eq!(read(&write::request(&id, "tools/call", "{}")), "request 9 tools/call");
    assert_eq!(read(&write::notification("n", "{}")), "notification n");
    assert_eq!(read(&write::result(&id, "[1]")), "result Some(9) [1]");
    let error = JsonRpcError::new(-32601, "no \"such\" method");
    assert_eq!(read(&write::error(Some(&id), &error)), "failure Some(9) -32601 no \"such\" method");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_without_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = JsonRpcMessage::parse_bytes(&bytes);
    }

    #[test]
    fn any_mix_of_envelope_parts_is_read_or_refused_without_a_panic(
        parts in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"jsonrpc\"", "\"2.0\"", "\"id\"", "1", "-0", "1e9",
            "\"method\"", "\"a\"", "\"params\"", "{}", "null", "\"result\"", "\"error\"",
            "\"ID\"", "\"\\u0069d\"", " ", "true", "\u{feff}",
        ]), 0..24),
    ) {
        let _ = JsonRpcMessage::parse(&parts.concat());
    }

    #[test]
    fn any_id_of_ours_comes_back_as_it_went(number in any::<u64>()) {
        let text = write::result(&JsonRpcId::number(number), "{}");
        if number <= i64::MAX as u64 {
            assert_eq!(read(&text), format!("result Some({number}) {{}}"));
        }
    }
}

#[test]
fn an_error_without_a_request_has_no_id() {
    let error = JsonRpcError::new(-32700, "no");
    assert_eq!(
        write::error_to_client(None, &error),
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#
    );
    assert_eq!(
        write::error_to_client(Some(&JsonRpcId::number(4)), &error),
        r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32700,"message":"no"}}"#
    );
}
