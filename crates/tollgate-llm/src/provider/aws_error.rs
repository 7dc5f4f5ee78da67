//! Decodes errors of Amazon Bedrock: the exception in a header or in the body, and a message.

use http::HeaderMap;
use serde_json::Value;

use crate::format::{DialectCodec, ProviderErrorReport, ProviderFault, generic_error};

const ERROR_TYPE: &str = "x-amzn-errortype";

/// An error response. Bedrock passes on some errors of the models in the words of their dialect.
pub(super) fn read(
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
    dialect: &dyn DialectCodec,
) -> ProviderErrorReport {
    let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
    let header = headers.get(ERROR_TYPE).and_then(|value| value.to_str().ok());
    match header.or_else(|| parsed["__type"].as_str()) {
        Some(code) => report(status, code, &parsed, body),
        None if parsed["error"].is_object() => dialect.read_error(status, body),
        None => report(status, "", &parsed, body),
    }
}

/// An exception in the middle of a stream.
pub(super) fn in_stream(code: &str, body: &[u8]) -> ProviderErrorReport {
    let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
    report(500, code, &parsed, body)
}

fn report(status: u16, code: &str, parsed: &Value, body: &[u8]) -> ProviderErrorReport {
    // `com.amazon.coral#ThrottlingException:http://internal.amazon.com/…`
    let code = code.split(':').next().unwrap_or_default();
    let code = code.rsplit('#').next().unwrap_or_default();
    // The access layer in front of the service begins it with a capital letter.
    let message_text = parsed["message"].as_str().or_else(|| parsed["Message"].as_str());
    let message = match message_text.filter(|message_text| !message_text.is_empty()) {
        Some(message_text) => message_text.to_owned(),
        None => generic_error::without_words(status, body),
    };
    let fault = fault(code, &message).unwrap_or_else(|| generic_error::fault(status));
    let code = (!code.is_empty()).then(|| code.to_owned());
    ProviderErrorReport { message, code, retry_after: None, fault }
}

fn fault(code: &str, message: &str) -> Option<ProviderFault> {
    let lower = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    Some(match code.to_ascii_lowercase().strip_suffix("exception").unwrap_or(code) {
        "throttling" | "toomanyrequests" => ProviderFault::TooOften,
        "servicequotaexceeded" => ProviderFault::Credit,
        "validation" if says(&["too long", "context limit", "too many input tokens"]) => {
            ProviderFault::TooLong
        }
        "validation" if says(&["model identifier", "on-demand throughput", "end of its life"]) => {
            ProviderFault::Model
        }
        "validation" => ProviderFault::Request,
        "resourcenotfound" => ProviderFault::Model,
        "accessdenied"
        | "unrecognizedclient"
        | "expiredtoken"
        | "invalidsignature"
        | "incompletesignature"
        | "missingauthenticationtoken" => ProviderFault::Key,
        "internalserver" | "serviceunavailable" | "modelerror" | "modelstreamerror"
        | "modeltimeout" | "modelnotready" => ProviderFault::Provider,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::read;
    use crate::dialect::Dialect;
    use crate::format::{self, ProviderFault};

    #[test]
    fn exceptions_are_sorted_by_their_cause() {
        let dialect = format::of(Dialect::Anthropic);
        for (status, code, body, fault) in [
            (
                429,
                "ThrottlingException",
                r#"{"message":"Too many requests"}"#,
                ProviderFault::TooOften,
            ),
            (
                403,
                "InvalidSignatureException:http://internal.amazon.com/coral/",
                r#"{"message":"The request signature we calculated does not match"}"#,
                ProviderFault::Key,
            ),
            (403, "ExpiredTokenException", r#"{"message":"expired"}"#, ProviderFault::Key),
            (404, "ResourceNotFoundException", r#"{"message":"no"}"#, ProviderFault::Model),
            (
                400,
                "ValidationException",
                r#"{"message":"The provided model identifier is invalid."}"#,
                ProviderFault::Model,
            ),
            (
                400,
                "ValidationException",
                r#"{"message":"Input is too long for requested model."}"#,
                ProviderFault::TooLong,
            ),
            (400, "ValidationException", r#"{"message":"bad"}"#, ProviderFault::Request),
            (424, "ModelErrorException", r#"{"message":"bad"}"#, ProviderFault::Provider),
            (429, "ModelNotReadyException", r#"{"message":"wait"}"#, ProviderFault::Provider),
            (
                400,
                "",
                r#"{"type":"error","error":{"type":"rate_limit_error","message":"no"}}"#,
                ProviderFault::TooOften,
            ),
            (503, "", "<html>away</html>", ProviderFault::Provider),
            (
                400,
                "",
                r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"x"}"#,
                ProviderFault::Request,
            ),
        ] {
            let mut headers = HeaderMap::new();
            if !code.is_empty() {
                headers.insert("x-amzn-errortype", HeaderValue::from_static(code));
            }
            let report = read(status, &headers, body.as_bytes(), dialect);
            assert_eq!(report.fault, fault, "{status} {code} {body}");
        }
    }
}
