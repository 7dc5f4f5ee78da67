use bytes::Bytes;
use serde_json::Value;

use super::{EventGuard, MAX_HELD_BYTES};
use crate::dialect::Dialect;
use crate::error::{LlmError, LlmErrorKind};
use crate::provider::pass_through::PassThroughError;

const DIALECTS: [Dialect; 4] =
    [Dialect::OpenAiChat, Dialect::OpenAiResponses, Dialect::Anthropic, Dialect::Gemini];

/// Two events of an answer, and those that end it.
fn events(dialect: Dialect) -> (&'static str, &'static str) {
    match dialect {
        Dialect::OpenAiChat => (
            "data: {\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":\"data: [DONE]\"},\"finish_reason\":null}]}\n\n\
             data: {\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":\"\\\"finish_reason\\\":\\\"stop\\\"\"}}]}\n\n",
            "data: {\"id\":\"c\",\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        ),
        Dialect::OpenAiResponses => (
            "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0}\n\n\
             event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":17,\"delta\":\"\\nevent: response.completed\"}\n\n",
            "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":18}\n\n",
        ),
        Dialect::Anthropic => (
            "event: message_start\ndata: {\"type\":\"message_start\"}\n\n\
             event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"{\\\"type\\\":\\\"message_stop\\\"}\"}}\n\n",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
        Dialect::Gemini => (
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"finishReason\"}]}}]}\r\n\r\n\
             data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]}}]}\r\n\r\n",
            "data: {\"candidates\": [{\"finishReason\": \"STOP\"}]}\r\n\r\n",
        ),
    }
}

/// What a client gets of these pieces, and whether it is told of an error.
fn pass(
    dialect: Dialect,
    pieces: &[&[u8]],
    broken: Option<PassThroughError>,
) -> Result<(String, bool), PassThroughError> {
    let describe = |_: Option<&PassThroughError>| LlmError::new(LlmErrorKind::Provider, "it broke");
    let mut guard = EventGuard::new(dialect, Box::new(describe));
    let mut passed = Vec::new();
    for piece in pieces {
        passed.extend(guard.push(Bytes::copy_from_slice(piece)).unwrap_or_default());
    }
    let end = guard.close(broken)?;
    passed.extend(end.last);
    Ok((String::from_utf8(passed).unwrap(), end.failure.is_some()))
}

fn silence() -> PassThroughError {
    PassThroughError::Silent(std::time::Duration::from_secs(2))
}

#[test]
fn a_whole_stream_passes_as_it_came_however_it_is_cut_into_pieces() {
    for dialect in DIALECTS {
        let (before, end) = events(dialect);
        let whole = format!("{before}{end}");
        for size in [1, 2, 3, 7, 64, whole.len()] {
            let pieces: Vec<&[u8]> = whole.as_bytes().chunks(size).collect();
            assert_eq!(pass(dialect, &pieces, None).unwrap(), (whole.clone(), false), "{size}");
            // Nothing is missing: that the connection stays open, or breaks, says nothing.
            let late = pass(dialect, &pieces, Some(silence())).unwrap();
            assert_eq!(late, (whole.clone(), false), "{dialect:?}");
        }
    }
}

#[test]
fn a_stream_that_breaks_at_any_byte_ends_with_an_error_event() {
    for dialect in DIALECTS {
        let (before, _) = events(dialect);
        for end in 0..=before.len() {
            for broken in [None, Some(silence())] {
                let (text, is_error) = pass(dialect, &[&before.as_bytes()[..end]], broken).unwrap();
                assert!(is_error, "{dialect:?} {text}");
                let at = [text.rfind("event: error"), text.rfind("data: {\"error\"")];
                let (passed, error) = text.split_at(at.into_iter().flatten().min().unwrap());
                let begun = before[..end].trim_end();
                assert!(before.starts_with(passed.trim_end()) && passed.len() <= begun.len() + 6);
                let data = error.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
                let data: Value = serde_json::from_str(data).unwrap();
                assert!(error.ends_with("\n\n") && data["error"]["message"].is_string(), "{error}");
                let events = passed.matches("data: {\"type\"").count();
                if dialect == Dialect::OpenAiResponses {
                    assert_eq!(data["sequence_number"], [0, 1, 18][events], "{text}");
                }
            }
        }
    }
}

#[test]
fn the_end_that_some_providers_leave_out_is_added() {
    let (before, end) = events(Dialect::OpenAiChat);
    let whole = format!("{before}{end}");
    let without_done = whole.strip_suffix("data: [DONE]\n\n").unwrap();
    for text in [without_done, whole.strip_suffix("\n\n").unwrap(), without_done.trim_end()] {
        let passed = pass(Dialect::OpenAiChat, &[text.as_bytes()], None).unwrap();
        assert_eq!(passed, (whole.clone(), false));
    }
}

#[test]
fn an_event_that_is_too_long_to_be_held_passes_in_parts() {
    for dialect in DIALECTS {
        let (before, end) = events(dialect);
        let long = format!("data: {{\"padding\":\"{}\"}}\n\n", "x".repeat(1 << 20));
        let whole = format!("{before}{long}{end}");
        let pieces: Vec<&[u8]> = whole.as_bytes().chunks(16_000).collect();
        assert_eq!(pass(dialect, &pieces, None).unwrap(), (whole.clone(), false), "{dialect:?}");
        let torn = &whole[..before.len() + MAX_HELD_BYTES * 2];
        for broken in [None, Some(silence())] {
            // No event can come behind half of one.
            let pieces: Vec<&[u8]> = torn.as_bytes().chunks(16_000).collect();
            pass(dialect, &pieces, broken).unwrap_err();
        }
        let after = &whole[..before.len() + long.len()];
        let (text, is_error) = pass(dialect, &[after.as_bytes()], None).unwrap();
        assert!(is_error && text.starts_with(after), "{dialect:?}");
    }
}
