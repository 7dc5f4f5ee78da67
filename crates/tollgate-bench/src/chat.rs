//! The chat completions of a benchmark, written and checked by hand: the client's side.
//! Uses nothing of the product, so that both cannot be wrong together.

use std::fmt::Write as _;

use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;

use crate::error::BenchError;

/// In front of the number that a question and its answer share.
pub(crate) const NUMBER: &str = "number ";

/// Who is asked, in which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BenchChatTarget {
    pub(crate) model: &'static str,
    pub(crate) front: ChatApi,
}

/// The API that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChatApi {
    OpenAi,
    Anthropic,
}

impl ChatApi {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "/v1/chat/completions",
            Self::Anthropic => "/v1/messages",
        }
    }
}

pub(crate) fn headers() -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(4);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer nobody"));
    headers
}

/// A conversation as long as many are. No two questions are alike.
pub(crate) fn request(chat: BenchChatTarget, number: u64, stream: &str) -> String {
    let mut out = String::with_capacity(4 << 10);
    let _ = write!(
        out,
        r#"{{"model":"{}","max_tokens":256,"stream":{stream},"messages":["#,
        chat.model
    );
    for turn in 0..6 {
        let _ = write!(
            out,
            r#"{{"role":"user","content":"Question {turn}. {TEXT}"}},{{"role":"assistant","content":"Answer {turn}. {TEXT}"}},"#
        );
    }
    let _ = write!(out, r#"{{"role":"user","content":"{TEXT} {NUMBER}{number}"}}]}}"#);
    out
}

const TEXT: &str = "The quick brown fox jumps over the lazy dog, and the dog, who has seen this \
                    many times before, asks himself what the point of all the jumping may be.";

/// Whether this is the whole answer to request `number`, and to no other.
pub(crate) fn check(from: &str, number: u64, body: &[u8]) -> Result<(), BenchError> {
    #[derive(Deserialize)]
    struct CheckedCompletion {
        choices: Vec<CheckedChoice>,
    }
    #[derive(Deserialize)]
    struct CheckedChoice {
        message: CheckedMessage,
    }
    #[derive(Deserialize)]
    struct CheckedMessage {
        content: String,
    }
    let completion: CheckedCompletion = serde_json::from_slice(body)
        .map_err(|_| BenchError::wrong(from, "not a chat completion", body))?;
    let text = completion.choices.first().map_or("", |choice| &choice.message.content);
    check_text(from, number, text)
}

/// The same for the text of a stream.
pub(crate) fn check_text(from: &str, number: u64, text: &str) -> Result<(), BenchError> {
    let stated = text.rsplit_once(NUMBER).and_then(|(_, rest)| rest.parse().ok());
    if stated == Some(number) {
        Ok(())
    } else {
        Err(BenchError::wrong(from, "the answer to another request", text.as_bytes()))
    }
}

/// All text of the events of a stream, of either API.
pub(crate) fn streamed_text(events: &[u8]) -> String {
    #[derive(Deserialize)]
    struct CheckedChunk {
        #[serde(default)]
        choices: Vec<CheckedChunkChoice>,
        delta: Option<CheckedChunkDelta>,
    }
    #[derive(Deserialize)]
    struct CheckedChunkChoice {
        delta: CheckedChunkDelta,
    }
    #[derive(Deserialize)]
    struct CheckedChunkDelta {
        content: Option<String>,
        text: Option<String>,
    }
    let mut text = String::new();
    for line in events.split(|byte| *byte == b'\n') {
        let Some(data) = line.strip_prefix(b"data: ") else { continue };
        let Ok(event) = serde_json::from_slice::<CheckedChunk>(data) else { continue };
        let deltas = event.choices.into_iter().map(|choice| choice.delta).chain(event.delta);
        for delta in deltas {
            text.extend(delta.content.or(delta.text));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{BenchChatTarget, ChatApi, check, request, streamed_text};

    #[test]
    fn an_answer_is_right_only_with_its_number() {
        let answer =
            |text: &str| format!(r#"{{"choices":[{{"message":{{"content":"{text}"}}}}]}}"#);
        assert!(check("x", 7, answer("Yes, number 7").as_bytes()).is_ok());
        assert!(check("x", 8, answer("Yes, number 7").as_bytes()).is_err());
        assert!(check("x", 7, b"{}").is_err());
    }

    #[test]
    fn requests_are_json() {
        let chat = BenchChatTarget { model: "m", front: ChatApi::OpenAi };
        assert!(serde_json::from_str::<serde_json::Value>(&request(chat, 1, "true")).is_ok());
    }

    #[test]
    fn streams_of_both_apis_are_read() {
        let openai = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n: x\n\n\
                       data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\ndata: [DONE]\n\n";
        assert_eq!(streamed_text(openai), "ab");
        let anthropic = b"event: content_block_delta\ndata: {\"delta\":{\"text\":\"c\"}}\n\n";
        assert_eq!(streamed_text(anthropic), "c");
    }
}
