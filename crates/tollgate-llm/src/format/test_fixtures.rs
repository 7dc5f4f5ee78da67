//! For tests of dialects: what was recorded of them, streams put together, conversations made up by
//! chance, and fixtures with something wrong in them. Knows no dialect.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use crate::conversation::{
    CallEnd, CallResult, ChatMedia, ChatMessage, ChatRequest, ChatResponse, ChatRole, FunctionCall,
    GenerationOptions, MediaKind, MediaSource, MessagePart, PartContent, ResponseDelivery,
    StopReason, TokenUsage, ToolChoice,
};
use crate::delta::{ResponseAssembly, ResponseDelta};
use crate::extra::Extra;
use crate::format::{BrokenStreamError, ChatSseEvent, DialectCodec};

mod offers;

pub(super) use offers::requests;

/// The files of a folder in `fixtures` whose names begin so, by name.
pub(super) fn files(folder: &str, prefix: &str) -> Vec<(String, String)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/format/fixtures").join(folder);
    let mut files: Vec<(String, String)> = fs::read_dir(&root)
        .unwrap_or_else(|error| panic!("{}: {error}", root.display()))
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .filter(|(name, _)| name.starts_with(prefix))
        .map(|(name, path)| (name, fs::read_to_string(path).unwrap()))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no `{prefix}` in {}", root.display());
    files
}

pub(super) fn json(folder: &str, prefix: &str) -> Vec<(String, Value)> {
    let files = files(folder, prefix).into_iter();
    files.map(|(name, text)| (name, serde_json::from_str(&text).unwrap())).collect()
}

/// The events of a recorded stream.
pub(super) fn events(sse: &str) -> Vec<(Option<String>, String)> {
    let blocks = sse.split("\n\n").filter(|block| !block.trim().is_empty());
    let field = |block: &str, key: &str| {
        block.lines().find_map(|line| line.strip_prefix(key).map(|rest| rest.trim().to_owned()))
    };
    blocks.map(|it| (field(it, "event:"), field(it, "data:").unwrap_or_default())).collect()
}

/// All steps of a stream.
pub(super) fn steps(
    format: &dyn DialectCodec,
    events: &[(Option<String>, String)],
) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
    let mut reader = format.stream_reader();
    let mut steps = Vec::new();
    for (name, data) in events {
        steps.extend(reader.read(name.as_deref(), data)?);
    }
    steps.extend(reader.end()?);
    Ok(steps)
}

/// The answer that steps make. Fails where they break the rules of [`ResponseDelta`].
pub(super) fn whole(steps: &[ResponseDelta]) -> ChatResponse {
    let mut assembly = ResponseAssembly::default();
    let mut open: Vec<usize> = Vec::new();
    let mut opened = 0;
    for (number, step) in steps.iter().enumerate() {
        match step {
            ResponseDelta::Start { .. } => assert_eq!(number, 0, "the start comes first"),
            ResponseDelta::Open { index, .. } => {
                assert_eq!(*index, opened, "parts are numbered without gaps");
                opened += 1;
                open.push(*index);
            }
            ResponseDelta::Grow { index, .. }
            | ResponseDelta::Sign { index, .. }
            | ResponseDelta::Extra { index, .. } => {
                assert!(open.contains(index), "part {index} is not open");
            }
            ResponseDelta::Close { index } => {
                assert!(open.contains(index), "part {index} is not open");
                open.retain(|it| it != index);
            }
            ResponseDelta::End { .. } => assert_eq!(number, steps.len() - 1, "the end comes last"),
        }
        assembly.add(step);
    }
    assert!(open.is_empty(), "parts {open:?} were not closed");
    assembly.finish().expect("the stream has an end")
}

/// What a client of `format` is sent for these steps.
pub(super) fn frames(format: &dyn DialectCodec, steps: &[ResponseDelta]) -> Vec<ChatSseEvent> {
    frames_for(format, &request(Vec::new()), steps)
}

/// What the client that sent `request` is sent for these steps.
pub(super) fn frames_for(
    format: &dyn DialectCodec,
    request: &ChatRequest,
    steps: &[ResponseDelta],
) -> Vec<ChatSseEvent> {
    let mut writer = format.stream_writer(request);
    let mut frames: Vec<ChatSseEvent> = steps.iter().flat_map(|step| writer.write(step)).collect();
    frames.extend(writer.end(None));
    frames
}

/// Frames as the events that arrive.
pub(super) fn to_events(frames: &[ChatSseEvent]) -> Vec<(Option<String>, String)> {
    frames.iter().map(|frame| (frame.name.map(str::to_owned), frame.data.clone())).collect()
}

/// A stream that was cut elsewhere: each text in pieces.
pub(super) fn in_pieces(steps: &[ResponseDelta], length: usize) -> Vec<ResponseDelta> {
    let mut pieces = Vec::new();
    for step in steps {
        let ResponseDelta::Grow { index, text, extra } = step else {
            pieces.push(step.clone());
            continue;
        };
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(length) {
            let text = piece.iter().collect();
            pieces.push(ResponseDelta::Grow { index: *index, text, extra: extra.clone() });
        }
    }
    pieces
}

pub(super) fn request(messages: Vec<ChatMessage>) -> ChatRequest {
    ChatRequest {
        model: "some-model".to_owned(),
        messages: messages.into(),
        tools: Vec::new(),
        tool_choice: ToolChoice::Unsaid,
        options: GenerationOptions { max_output: Some(100), ..GenerationOptions::default() },
        delivery: ResponseDelivery::Whole,
        extra: Extra::none(),
    }
}

/// A conversation as any dialect can hold it: a system prompt perhaps, turns of user and assistant,
/// calls with their results, pictures.
pub(super) fn conversations() -> impl Strategy<Value = ChatRequest> {
    (proptest::option::of("[a-z ]{1,12}[a-z]"), vec(round(), 1..5)).prop_map(|(system, rounds)| {
        let mut messages = Vec::new();
        messages.extend(system.map(|system| ChatMessage::text(ChatRole::System, system)));
        for (number, (question, picture, calls, answer)) in rounds.into_iter().enumerate() {
            let mut asked = vec![MessagePart::text(question)];
            asked
                .extend(picture.map(|data| MessagePart::new(PartContent::Media(picture_of(data)))));
            messages.push(ChatMessage::new(ChatRole::User, asked));
            let made = calls.iter().enumerate().map(|(index, (name, arguments, ..))| {
                let id = format!("call_{number}_{index}");
                let name = format!("tool_{name}");
                MessagePart::new(PartContent::Call(FunctionCall {
                    id,
                    name,
                    arguments: arguments.clone(),
                }))
            });
            let made: Vec<MessagePart> = made.collect();
            let results = calls.iter().enumerate().map(|(index, (name, _, text, end))| {
                let parts = vec![MessagePart::text(text.clone())];
                let call_id = format!("call_{number}_{index}");
                let name = format!("tool_{name}");
                let result = CallResult { call_id, name: Some(name), parts, end: *end };
                MessagePart::new(PartContent::Result(result))
            });
            let results: Vec<MessagePart> = results.collect();
            if !made.is_empty() {
                messages.push(ChatMessage::new(ChatRole::Assistant, made));
                messages.push(ChatMessage::new(ChatRole::User, results));
            }
            messages.push(ChatMessage::text(ChatRole::Assistant, answer));
        }
        messages.push(ChatMessage::text(ChatRole::User, "and now?"));
        request(messages)
    })
}

type GeneratedCall = (String, String, String, CallEnd);
type GeneratedRound = (String, Option<String>, Vec<GeneratedCall>, String);

fn round() -> impl Strategy<Value = GeneratedRound> {
    let end = prop_oneof![Just(CallEnd::Well), Just(CallEnd::Failed)];
    let arguments = prop_oneof![
        Just("{}".to_owned()),
        "[a-z]{1,5}".prop_map(|word| format!("{{\"word\":\"{word}\",\"list\":[1,2.5,null]}}")),
    ];
    let call = ("[a-z]{1,8}", arguments, "[a-zA-Z\u{e4}\u{1f3b2} \"\\\\{}\n]{0,20}[a-z]", end);
    let text = "[ -~\u{e4}\u{1f3b2}\n]{0,30}[a-z]";
    let picture = proptest::option::of("[A-Za-z0-9+/]{8}");
    (text, picture, vec(call, 0..4), "[ -~]{0,30}[a-z]")
}

fn picture_of(data: String) -> ChatMedia {
    let source = MediaSource::Base64 { media_type: "image/png".to_owned(), data };
    ChatMedia { kind: MediaKind::Image, source, name: None }
}

/// What a conversation says, whatever the dialect it went through: turns of one role are one.
pub(super) fn meaning(messages: &[Arc<ChatMessage>]) -> String {
    let mut text_form = String::new();
    let mut last = None;
    for message in messages {
        if last != Some(message.role) {
            let _ = writeln!(text_form, "{:?}:", message.role);
            last = Some(message.role);
        }
        for part in &message.parts {
            match &part.content {
                PartContent::Text(text) if text.is_empty() => {}
                PartContent::Text(text) | PartContent::Refusal(text) => {
                    let _ = writeln!(text_form, "  text {text:?}");
                }
                PartContent::Thinking { text, .. } => {
                    let _ = writeln!(text_form, "  thought {text:?}");
                }
                PartContent::Media(media) => {
                    let _ = writeln!(text_form, "  {:?} {:?}", media.kind, media.source);
                }
                PartContent::Call(FunctionCall { id, name, arguments }) => {
                    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
                    let _ = writeln!(text_form, "  call {id} {name} {arguments}");
                }
                PartContent::Result(CallResult { call_id, parts, end, .. }) => {
                    let text: String = parts.iter().filter_map(MessagePart::as_text).collect();
                    let _ = writeln!(text_form, "  result {call_id} {end:?} {text:?}");
                }
                PartContent::Opaque { value, .. } => {
                    let _ = writeln!(text_form, "  opaque {value}");
                }
            }
        }
    }
    text_form
}

/// Answers as any dialect can give them.
pub(super) fn answers() -> impl Strategy<Value = ChatResponse> {
    let call = ("[a-z]{1,8}", "[a-z]{0,5}").prop_map(|(name, word)| {
        let arguments = format!("{{\"word\":\"{word}\"}}");
        PartContent::Call(FunctionCall { id: String::new(), name, arguments })
    });
    let text = "[ -~\u{e4}\u{1f3b2}\n]{1,40}".prop_map(PartContent::Text);
    let usage = (0_u64..1000, 0_u64..1000, 0_u64..1000);
    (proptest::option::of(text), vec(call, 0..4), usage).prop_map(|(text, calls, counts)| {
        let calls = calls.into_iter().enumerate().map(|(index, mut content)| {
            if let PartContent::Call(call) = &mut content {
                call.id = format!("call_{index}");
            }
            content
        });
        let parts: Vec<MessagePart> = text.into_iter().chain(calls).map(MessagePart::new).collect();
        let called = parts.iter().any(|part| part.as_call().is_some());
        let usage = TokenUsage {
            input: counts.0 + counts.1,
            output: counts.2,
            cache_read: counts.1,
            ..TokenUsage::default()
        };
        ChatResponse {
            id: "answer_1".to_owned(),
            model: "some-model".to_owned(),
            created: 0,
            parts,
            stop: if called { StopReason::Calls } else { StopReason::End },
            usage,
            extra: Extra::none(),
        }
    })
}

/// One place in a fixture, and what to do to it.
#[derive(Debug, Clone)]
pub(super) struct FixtureMutation {
    /// From the root, one number per level.
    path: Vec<usize>,
    how: usize,
}

pub(super) fn mutations() -> impl Strategy<Value = FixtureMutation> {
    (vec(any::<usize>(), 1..7), any::<usize>())
        .prop_map(|(path, how)| FixtureMutation { path, how })
}

/// One of the recorded bodies, with these mutations.
pub(super) fn mutate_fixture(
    folder: &str,
    prefix: &str,
    number: usize,
    mutations: &[FixtureMutation],
) -> Value {
    let mut bodies = json(folder, prefix);
    let (_, mut body) = bodies.swap_remove(number % bodies.len());
    mutations.iter().for_each(|it| mutate(&mut body, &it.path, it.how));
    body
}

/// The events of one of the recorded streams, one of them with these mutations.
pub(super) fn mutated_events(
    folder: &str,
    number: usize,
    event: usize,
    mutations: &[FixtureMutation],
) -> Vec<(Option<String>, String)> {
    let streams = files(folder, "stream_");
    let mut events = events(&streams[number % streams.len()].1);
    let event = event % events.len();
    // A word that ends a stream is no JSON, and stays as it is.
    if let Ok(mut data) = serde_json::from_str(&events[event].1) {
        mutations.iter().for_each(|it| mutate(&mut data, &it.path, it.how));
        events[event].1 = data.to_string();
    }
    events
}

/// Takes something out of `value`, or puts something else in its place.
fn mutate(value: &mut Value, path: &[usize], how: usize) {
    let Some((step, rest)) = path.split_first() else { return };
    match value {
        Value::Object(object) if !object.is_empty() => {
            let key = object.keys().nth(step % object.len()).cloned().unwrap_or_default();
            let inside = object.get(&key).is_some_and(|it| it.is_object() || it.is_array());
            if rest.is_empty() || !inside {
                match other(how) {
                    Some(other) => object.insert(key, other),
                    None => object.remove(&key),
                };
            } else if let Some(value) = object.get_mut(&key) {
                mutate(value, rest, how);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            let index = step % list.len();
            if rest.is_empty() {
                match other(how) {
                    Some(other) => list[index] = other,
                    None => drop(list.remove(index)),
                }
            } else {
                mutate(&mut list[index], rest, how);
            }
        }
        _ => *value = other(how).unwrap_or_default(),
    }
}

fn other(how: usize) -> Option<Value> {
    let others = [
        Value::Null,
        true.into(),
        (-1).into(),
        1e300.into(),
        u64::MAX.into(),
        "".into(),
        "\u{1f3b2} x".into(),
        serde_json::json!([]),
        serde_json::json!([null, 1, "a", {}]),
        serde_json::json!({}),
        serde_json::json!({"type": 7, "role": {}}),
    ];
    others.get(how % (others.len() + 1)).cloned()
}
