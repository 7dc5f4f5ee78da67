//! What real providers send, shortened.

pub(crate) const ANSWER: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m-id","content":[{"type":"text","text":"Hello there"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":3}}"#;

pub(crate) const EVENTS: &str = concat!(
    "event: message_start\n",
    r#"data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-id","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}}"#,
    "\n\n",
    "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    "event: content_block_start\n",
    r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    "\n\n",
    "event: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello "}}"#,
    "\n\n",
    "event: content_block_delta\n",
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"thére"}}"#,
    "\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: message_delta\n",
    r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":3}}"#,
    "\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

pub(crate) const OVERLOADED: &str =
    r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
pub(crate) const TOO_OFTEN: &str = r#"{"type":"error","error":{"type":"rate_limit_error","message":"Number of requests has exceeded your limit"}}"#;
pub(crate) const INVALID: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: roles must alternate"}}"#;
pub(crate) const TOO_LONG: &str = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#;
pub(crate) const NO_MODEL: &str =
    r#"{"type":"error","error":{"type":"not_found_error","message":"model: m-id"}}"#;
pub(crate) const NO_KEY: &str = r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key: sk-canary-0123456789"}}"#;

/// The events up to the one that has this in it, that one left out.
pub(crate) fn events_before(mark: &str) -> String {
    let whole = EVENTS.split_inclusive("\n\n");
    whole.take_while(|event| !event.contains(mark)).collect()
}
