//! Errors in the many ways in which servers say them.

use super::*;

fn check(status: u16, body: &str, fault: ProviderFault, message: &str) {
    let reported = read(status, body.as_bytes());
    assert_eq!((reported.fault, reported.message.as_str()), (fault, message), "{body}");
}

#[test]
fn openais_own_errors_are_told_apart() {
    let error = |code: &str, message: &str| {
        json!({"error": {"message": message, "type": "t", "param": null, "code": code}}).to_string()
    };
    check(429, &error("rate_limit_exceeded", "slow down"), ProviderFault::TooOften, "slow down");
    check(429, &error("insufficient_quota", "no money"), ProviderFault::Credit, "no money");
    check(400, &error("context_length_exceeded", "too long"), ProviderFault::TooLong, "too long");
    let long =
        |place: &str| format!("Invalid '{place}': string too long. Expected a maximum of 64");
    let id = long("input[1].call_id");
    check(400, &error("string_above_max_length", &id), ProviderFault::Request, &id);
    let content = long("messages[0].content");
    check(400, &error("string_above_max_length", &content), ProviderFault::TooLong, &content);
    check(404, &error("model_not_found", "no `x`"), ProviderFault::Model, "no `x`");
    check(400, &error("invalid_value", "bad"), ProviderFault::Request, "bad");
    check(500, &error("server_error", "oops"), ProviderFault::Provider, "oops");
    check(503, &error("", "overloaded"), ProviderFault::Provider, "overloaded");
    check(529, &error("", "overloaded"), ProviderFault::Provider, "overloaded");
}

#[test]
fn a_refused_key_is_never_shown() {
    let body =
        r#"{"error":{"message":"Incorrect API key provided: sk-secret","code":"invalid_api_key"}}"#;
    check(401, body, ProviderFault::Key, "the provider rejected the gateway's key");
    check(403, "sk-secret", ProviderFault::Key, "the provider rejected the gateway's key");
}

#[test]
fn other_servers_errors_are_understood() {
    check(
        400,
        r#"{"error": "context window of 4096 is full"}"#,
        ProviderFault::TooLong,
        "context window of 4096 is full",
    );
    check(404, r#"{"detail": "Not Found"}"#, ProviderFault::Model, "Not Found");
    check(
        422,
        r#"{"detail": [{"loc": ["body", "n", 0], "msg": "too large"}]}"#,
        ProviderFault::Request,
        "body.n.0: too large",
    );
    check(
        400,
        r#"[{"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}}]"#,
        ProviderFault::Request,
        "bad",
    );
    check(
        200,
        r#"{"error": {"code": 502, "message": "upstream"}}"#,
        ProviderFault::Provider,
        "upstream",
    );
    check(200, r#"{"error": {"code": 429, "message": "later"}}"#, ProviderFault::TooOften, "later");
    check(
        400,
        r#"{"object":"error","message":"This model's maximum context length is 10","code":400}"#,
        ProviderFault::TooLong,
        "This model's maximum context length is 10",
    );
    check(500, r#"{}"#, ProviderFault::Provider, "the provider answered with status 500: {}");
    check(
        413,
        "",
        ProviderFault::TooLong,
        "the provider answered with status 413 and an empty body",
    );
}

#[test]
fn b_ch_13_pages_and_nothing_are_errors_too() {
    check(
        502,
        "<!DOCTYPE html><html><h1>Bad gateway</h1></html>",
        ProviderFault::Provider,
        "the provider answered with status 502: Bad gateway",
    );
    check(
        500,
        " \n",
        ProviderFault::Provider,
        "the provider answered with status 500 and an empty body",
    );
    check(429, "slow", ProviderFault::TooOften, "the provider answered with status 429: slow");
    assert!(read(500, &[0xff, 0xfe]).message.ends_with("500: \u{fffd}\u{fffd}"));
    let long = json!({"error": "x".repeat(5_000)}).to_string();
    assert_eq!(read(500, long.as_bytes()).message.len(), MAX_MESSAGE_CHARS);
}

#[test]
fn the_time_to_wait_is_read_from_the_words() {
    let wait = |text: &str| read(429, text.as_bytes()).retry_after;
    assert_eq!(wait("Please try again in 20ms. Visit"), Some(Duration::from_millis(20)));
    assert_eq!(wait("Please try again in 1.5s."), Some(Duration::from_millis(1_500)));
    assert_eq!(wait("Please try again in 6m0s. Visit"), Some(Duration::from_mins(6)));
    for text in ["try again in -1s", "try again in 1e9s", "try again in soon", "", "try again in 5"]
    {
        assert_eq!(wait(text), None, "{text}");
    }
}

#[test]
fn failures_become_openais_errors() {
    let failure = LlmError::invalid("messages[2].role", "unknown role");
    assert_eq!(
        write(&failure),
        json!({"error": {
            "message": "unknown role",
            "type": "invalid_request_error",
            "param": "messages[2].role",
            "code": "invalid_request",
        }})
    );
    let failure = LlmError::new(LlmErrorKind::RateLimited, "too often");
    assert_eq!(write(&failure)["error"]["type"], "rate_limit_error");
    assert_eq!(write(&failure)["error"]["param"], Value::Null);
}
