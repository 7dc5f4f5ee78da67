//! A provider of one model that speaks like OpenAI's: says the number of the question again, streams
//! it, or calls a tool first. Lean on purpose: its own cost is part of everything that is measured.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Either;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::chat::NUMBER;
use crate::serve::{self, BenchHandler, BenchResponse, EventBody};

/// Words of a streamed answer.
const WORDS: usize = 20;

pub(crate) struct MockModel {
    pub(crate) manner: MockModelBehavior,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MockModelBehavior {
    Answers,
    /// Says the first word of a stream, and nothing more.
    Stops,
    /// Calls a tool so many times before it answers.
    Calls(usize),
    /// Takes its time, as models do: little if it is the fast one.
    TakesTime,
}

/// The provider's name of the fast model.
pub(crate) const FAST_ID: &str = "bench-fast";
/// Before the first word of the fast model, and of any other.
const FAST_WAIT: Duration = Duration::from_millis(150);
const STRONG_WAIT: Duration = Duration::from_millis(600);
const WORD_PAUSE: Duration = Duration::from_millis(30);
const OPENER: [&str; 5] = ["Let", " me", " think.", " It", " is"];

#[derive(Deserialize)]
struct MockChatRequest<'a> {
    model: &'a str,
    #[serde(default)]
    stream: bool,
    #[serde(borrow)]
    messages: Vec<MockChatMessage<'a>>,
}

#[derive(Deserialize)]
struct MockChatMessage<'a> {
    role: &'a str,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

impl BenchHandler for MockModel {
    async fn handle(&self, request: Request<Incoming>) -> BenchResponse {
        let Ok(body) = serve::body_of(request).await else {
            return serve::empty(StatusCode::BAD_REQUEST);
        };
        let Ok(asked) = serde_json::from_slice::<MockChatRequest<'_>>(&body) else {
            return serve::empty(StatusCode::BAD_REQUEST);
        };
        let results = asked.messages.iter().filter(|message| message.role == "tool").count();
        let number = number(&asked);
        match self.manner {
            MockModelBehavior::Calls(calls) if results < calls && asked.stream => {
                called_events(results)
            }
            MockModelBehavior::Calls(calls) if results < calls => serve::json(call(results).into()),
            MockModelBehavior::TakesTime if asked.stream => timed_events(number, asked.model).await,
            _ if asked.stream => events(number, self.manner),
            _ => serve::json(completion(number).into()),
        }
    }
}

/// The one at the end of the last question.
fn number<'a>(request: &MockChatRequest<'a>) -> &'a str {
    let user = request.messages.iter().rfind(|message| message.role == "user");
    let text = user.and_then(|message| message.content).map_or("", RawValue::get);
    let number = text.rsplit_once(NUMBER).map_or("", |(_, number)| number);
    let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    &number[..digits]
}

fn completion(number: &str) -> String {
    format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion","created":1741570283,"model":"bench-1","choices":[{{"index":0,"message":{{"role":"assistant","content":"{ANSWER_TEXT} {NUMBER}{number}","refusal":null,"annotations":[]}},"logprobs":null,"finish_reason":"stop"}}],{USAGE},"service_tier":"default","system_fingerprint":"fp_1"}}"#
    )
}

fn call(at: usize) -> String {
    format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion","created":1741570283,"model":"bench-1","choices":[{{"index":0,"message":{{"role":"assistant","content":null,"refusal":null,"tool_calls":[{{"id":"call_{at}","type":"function","function":{{"name":"{TOOL}","arguments":"{{\"expression\":\"1d6\"}}"}}}}]}},"logprobs":null,"finish_reason":"tool_calls"}}],{USAGE}}}"#
    )
}

/// The same as events.
fn called_events(at: usize) -> BenchResponse {
    let call = format!(
        r#"{{"role":"assistant","tool_calls":[{{"index":0,"id":"call_{at}","type":"function","function":{{"name":"{TOOL}","arguments":"{{\"expression\":\"1d6\"}}"}}}}]}}"#
    );
    let mut frames = VecDeque::new();
    let last = chunk("{}", r#""tool_calls""#);
    frames.push_back(format!("{}{last}data: [DONE]\n\n", chunk(&call, "null")).into());
    stream_reply(EventBody::new(frames, false))
}

/// The built-in tool that is called.
pub(crate) const TOOL: &str = "dice_roll";
const ANSWER_TEXT: &str = "The point of the jumping is that the fox is quick and the dog is lazy, and so \
                    it has been in every sentence that was ever typed to try out a typewriter,";
const USAGE: &str = r#""usage":{"prompt_tokens":500,"completion_tokens":40,"total_tokens":540,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}}"#;

fn chunk(delta: &str, reason: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1741570283,\"model\":\"bench-1\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{reason}}}]}}\n\n"
    )
}

fn events(number: &str, manner: MockModelBehavior) -> BenchResponse {
    let words = std::iter::once("The").chain(std::iter::repeat_n(" word", WORDS));
    stream_reply(EventBody::new(frames(words, number), manner == MockModelBehavior::Stops))
}

/// The same at the pace of a model. The fast one is cut off in its second sentence.
async fn timed_events(number: &str, model: &str) -> BenchResponse {
    let is_fast = model == FAST_ID;
    tokio::time::sleep(if is_fast { FAST_WAIT } else { STRONG_WAIT }).await;
    let frames = if is_fast {
        frames(OPENER.into_iter(), number)
    } else {
        frames(std::iter::once("The").chain(std::iter::repeat_n(" word", WORDS)), number)
    };
    stream_reply(EventBody::paced(frames, WORD_PAUSE))
}

fn frames<'w>(words: impl Iterator<Item = &'w str>, number: &str) -> VecDeque<Bytes> {
    let mut frames = VecDeque::with_capacity(WORDS + 2);
    let mut first = Some(chunk(r#"{"role":"assistant","content":""}"#, "null"));
    for word in words {
        let word = chunk(&format!(r#"{{"content":"{word}"}}"#), "null");
        frames.push_back(first.take().unwrap_or_default() + &word);
    }
    frames.push_back(chunk(&format!(r#"{{"content":" {NUMBER}{number}"}}"#), "null"));
    let last = chunk("{}", r#""stop""#);
    let usage = format!(
        "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1741570283,\"model\":\"bench-1\",\"choices\":[],{USAGE}}}\n\n"
    );
    frames.push_back(format!("{last}{usage}data: [DONE]\n\n"));
    frames.into_iter().map(Bytes::from).collect()
}

fn stream_reply(events: EventBody) -> BenchResponse {
    let mut reply = Response::new(Either::Right(events));
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    reply.headers_mut().insert(header::CONTENT_TYPE, kind);
    reply
}
