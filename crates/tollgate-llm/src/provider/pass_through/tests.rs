use bytes::Bytes;
use http::{HeaderMap, HeaderName};

use super::{PassThroughRequest, is_for_client};
use crate::conversation::ResponseDelivery;
use crate::error::LlmError;
use crate::format::RequestUrlParams;

fn read(body: &str) -> Result<PassThroughRequest, LlmError> {
    let body = Bytes::from(body.to_owned());
    PassThroughRequest::read(body, HeaderMap::new(), &RequestUrlParams::default())
}

fn check(body: &str, model: Option<&str>, sent: &str) {
    let passed = read(body).unwrap();
    assert_eq!(passed.model(), model, "{body}");
    assert_eq!(passed.for_model("gpt-\"x\""), sent, "{body}");
}

#[test]
fn only_the_name_of_the_model_is_replaced() {
    check(
        r#"{ "model" : "mine","x":[1,{"model":"no"}], "y":1.0 }"#,
        Some("mine"),
        r#"{ "model" : "gpt-\"x\"","x":[1,{"model":"no"}], "y":1.0 }"#,
    );
    check(r#"{"x":"ä","model":"ä\u0041"}"#, Some("äA"), r#"{"x":"ä","model":"gpt-\"x\""}"#);
    check(r#"{"messages":[]}"#, None, r#"{"messages":[]}"#);
}

#[test]
fn a_name_that_is_right_already_costs_no_copy() {
    let passed = read(r#"{"model":"same"}"#).unwrap();
    let before = passed.body().as_ptr();
    assert_eq!(passed.for_model("same").as_ptr(), before);
}

#[test]
fn b_ch_10_stream_is_a_yes_or_a_no() {
    for (body, delivery) in [
        ("{}", ResponseDelivery::Whole),
        (r#"{"stream":null}"#, ResponseDelivery::Whole),
        (r#"{"stream": false }"#, ResponseDelivery::Whole),
        (r#"{"stream": true }"#, ResponseDelivery::Streamed),
    ] {
        assert_eq!(read(body).unwrap().delivery, delivery, "{body}");
    }
    assert_eq!(read(r#"{"stream":"yes"}"#).unwrap_err().message, "`stream` must be true or false");
    let address = RequestUrlParams { model: Some("m"), delivery: Some(ResponseDelivery::Streamed) };
    let passed =
        PassThroughRequest::read(Bytes::from_static(b"{}"), HeaderMap::new(), &address).unwrap();
    assert_eq!(passed.delivery, ResponseDelivery::Streamed);
}

#[test]
fn what_is_no_request_is_refused() {
    for body in ["", "[]", "null", r#"{"model":1}"#, r#"{"model":"a","model":"b"}"#, "{\"model\":"]
    {
        assert!(read(body).is_err(), "{body}");
    }
    let broken = Bytes::from_static(b"{\"model\":\"\xff\"}");
    assert!(
        PassThroughRequest::read(broken, HeaderMap::new(), &RequestUrlParams::default()).is_err()
    );
}

#[test]
fn a_client_gets_what_is_about_its_request_and_nothing_about_the_account() {
    for (name, passes) in [
        ("content-type", true),
        ("retry-after", true),
        ("retry-after-ms", true),
        ("x-request-id", true),
        ("request-id", true),
        ("x-ratelimit-remaining-tokens", true),
        ("anthropic-ratelimit-requests-reset", true),
        ("set-cookie", false),
        ("connection", false),
        ("transfer-encoding", false),
        ("content-length", false),
        ("openai-organization", false),
        ("location", false),
        ("x-tollgate-tier", false),
    ] {
        assert_eq!(is_for_client(&HeaderName::from_static(name)), passes, "{name}");
    }
}
