use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::{add, carry, of, take_from};
use crate::conversation::{
    ChatRequest, GenerationOptions, MessageList, ResponseDelivery, ToolChoice,
};
use crate::dialect::Dialect;
use crate::extra::Extra;

fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    for name in [
        "authorization",
        "x-api-key",
        "x-goog-api-key",
        "cookie",
        "proxy-authorization",
        "x-tollgate-agent",
        "openai-organization",
        "host",
        "content-length",
        "anthropic-beta",
        "anthropic-version",
        "openai-beta",
    ] {
        headers.append(HeaderName::from_static(name), HeaderValue::from_static("canary"));
    }
    headers.append("anthropic-beta", HeaderValue::from_static("second"));
    headers
}

fn check(dialect: Dialect, expected: &[(&str, &str)]) {
    let passed = of(dialect, &headers());
    assert_eq!(encode(&passed), expected);
    // The other way, through a request that is read and written again.
    let mut request = ChatRequest {
        model: "m".to_owned(),
        messages: MessageList::default(),
        tools: Vec::new(),
        tool_choice: ToolChoice::Unsaid,
        options: GenerationOptions::default(),
        delivery: ResponseDelivery::Whole,
        extra: Extra::none(),
    };
    carry(&mut request, dialect, &headers());
    for other in Dialect::ALL {
        let mut fields = json!({"model": "m"});
        request.extra.write_into(other, fields.as_object_mut().unwrap());
        let taken = take_from(&mut fields, other);
        let features = expected.iter().filter(|(name, _)| name.ends_with("-beta"));
        let features: Vec<_> = features.filter(|_| other == dialect).copied().collect();
        assert_eq!(encode(&taken), features);
        assert_eq!(fields, json!({"model": "m"}));
    }
}

/// Names and values, several of one name in one line.
fn encode(headers: &HeaderMap) -> Vec<(&str, &str)> {
    let joined = |name: &HeaderName| {
        let values: Vec<&str> =
            headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect();
        match values[..] {
            ["canary", "second"] => "canary,second",
            _ => values[0],
        }
    };
    headers.keys().map(|name| (name.as_str(), joined(name))).collect()
}

#[test]
fn no_credential_of_a_client_is_forwarded() {
    let anthropic = [("anthropic-beta", "canary,second"), ("anthropic-version", "canary")];
    check(Dialect::Anthropic, &anthropic);
    check(Dialect::OpenAiResponses, &[("openai-beta", "canary")]);
    check(Dialect::OpenAiChat, &[]);
    check(Dialect::Gemini, &[]);
}

#[test]
fn what_cannot_be_a_header_is_left_out() {
    let mut body = json!({"anthropic-beta": "a\nb", "model": "m"});
    assert!(take_from(&mut body, Dialect::Anthropic).is_empty());
    assert_eq!(body, json!({"model": "m"}));
    assert!(take_from(&mut Value::Null, Dialect::Anthropic).is_empty());
}

#[test]
fn features_of_the_operator_and_of_the_client_are_joined() {
    let map = |pairs: &[(&'static str, &'static str)]| -> HeaderMap {
        let pairs = pairs.iter();
        pairs.map(|(k, v)| (HeaderName::from_static(k), HeaderValue::from_static(v))).collect()
    };
    let mut headers = map(&[("anthropic-beta", "a"), ("anthropic-version", "1"), ("x-team", "t")]);
    add(&mut headers, map(&[("anthropic-beta", "b"), ("anthropic-version", "2")]));
    let expected = map(&[("anthropic-beta", "a,b"), ("anthropic-version", "2"), ("x-team", "t")]);
    assert_eq!(headers, expected);
    add(&mut headers, HeaderMap::new());
    assert_eq!(headers, expected);
}
