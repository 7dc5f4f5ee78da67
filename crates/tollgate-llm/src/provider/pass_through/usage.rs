//! Scans a passed-through response for its token usage.
//!
//! Only the first and last bytes are read: every dialect has its own usage object, most at the end,
//! Anthropic's streams partly in the first event.

use serde_json::{Deserializer, Value};

use crate::conversation::TokenUsage;

/// Bytes of the start and of the end that are scanned.
pub const HEAD_BYTES: usize = 4 << 10;
pub const TAIL_BYTES: usize = 16 << 10;

const USAGE_KEYS: [&[u8]; 2] = [b"\"usage\"", b"\"usageMetadata\""];

/// `None` if there is no usage. Usage-like text in an answer is not matched, because its quotes are
/// escaped.
pub fn scan_usage(head: &[u8], tail: &[u8]) -> Option<TokenUsage> {
    let last = last(tail).map(|it| read(&it));
    let first = last_in_first_event(head).map(|it| read(&it));
    match (first, last) {
        (None, last) => last,
        (first, None) => first,
        (Some(first), Some(last)) => Some(TokenUsage {
            input: last.input.max(first.input),
            output: last.output.max(first.output),
            cache_read: last.cache_read.max(first.cache_read),
            cache_written: last.cache_written.max(first.cache_written),
            reasoning: last.reasoning.max(first.reasoning),
        }),
    }
}

/// Only counts a complete first event: the start of a non-streamed response is not a final count.
fn last_in_first_event(head: &[u8]) -> Option<Value> {
    let end = head.windows(2).position(|it| it == b"\n\n")?;
    last(&head[..end])
}

fn last(bytes: &[u8]) -> Option<Value> {
    let quoted = |at: &usize| bytes[*at..].starts_with(b"\"u");
    (0..bytes.len()).rev().filter(quoted).find_map(|at| {
        let key = USAGE_KEYS.iter().find(|key| bytes[at..].starts_with(key))?;
        let rest = bytes[at + key.len()..].trim_ascii_start().strip_prefix(b":")?;
        let value = Deserializer::from_slice(rest).into_iter::<Value>().next()?.ok()?;
        value.is_object().then_some(value)
    })
}

fn read(body: &Value) -> TokenUsage {
    let count = |path: &str| body.pointer(path).and_then(Value::as_u64);
    let first = |paths: &[&str]| paths.iter().find_map(|path| count(path)).unwrap_or(0);
    // Anthropic counts cached tokens separately from the input.
    let beside = first(&["/cache_read_input_tokens"]);
    let written = first(&["/cache_creation_input_tokens"]);
    let input = first(&["/prompt_tokens", "/input_tokens", "/promptTokenCount"]);
    // Gemini counts thoughts separately from the output.
    let thought = first(&["/thoughtsTokenCount"]);
    let output = first(&["/completion_tokens", "/output_tokens", "/candidatesTokenCount"]);
    let cached = [
        "/prompt_tokens_details/cached_tokens",
        "/input_tokens_details/cached_tokens",
        "/cachedContentTokenCount",
    ];
    let reasoning = [
        "/completion_tokens_details/reasoning_tokens",
        "/output_tokens_details/reasoning_tokens",
        "/thoughtsTokenCount",
    ];
    TokenUsage {
        input: input.saturating_add(beside).saturating_add(written),
        output: output.saturating_add(thought),
        cache_read: beside.max(first(&cached)),
        cache_written: written,
        reasoning: first(&reasoning),
    }
}

#[cfg(test)]
mod tests {
    use super::scan_usage;

    fn check(head: &str, tail: &str, expected: Option<(u64, u64, u64)>) {
        let found = scan_usage(head.as_bytes(), tail.as_bytes());
        let found = found.map(|it| (it.input, it.output, it.cache_read));
        assert_eq!(found, expected, "{head} … {tail}");
    }

    #[test]
    fn every_dialect_says_what_it_cost_in_its_own_words() {
        let whole = |tail: &str, expected| check(tail, tail, Some(expected));
        whole(
            r#"{"usage":{"prompt_tokens":11,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}"#,
            (11, 3, 4),
        );
        whole(
            r#"{"usage" : {"input_tokens":20,"output_tokens":5,"input_tokens_details":{"cached_tokens":8}},"user":null}"#,
            (20, 5, 8),
        );
        whole(
            r#"{"usage":{"input_tokens":7,"cache_read_input_tokens":90,"cache_creation_input_tokens":3,"output_tokens":2}}"#,
            (100, 2, 90),
        );
        whole(
            r#"{"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":4,"thoughtsTokenCount":6}}"#,
            (9, 10, 0),
        );
    }

    #[test]
    fn a_stream_says_it_last_or_half_of_it_first() {
        let anthropic = "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}\n\nevent: ping\n\n";
        let end = "data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":15}}\n\n";
        check(anthropic, end, Some((25, 15, 0)));
        let chunks = "data: {\"usage\":null}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";
        check("data: {\"usage\":null}\n\n", chunks, Some((3, 2, 0)));
    }

    #[test]
    fn what_says_nothing_counts_nothing() {
        for text in [
            "",
            "no JSON",
            r#"{"usage":null}"#,
            r#"{"usage":{"prompt_to"#,
            r#"{"content":"{\"usage\":{\"prompt_tokens\":5}}"}"#,
        ] {
            check(text, text, None);
        }
    }
}
