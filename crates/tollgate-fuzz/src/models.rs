//! The four dialects of chat: requests, answers, streams and errors, by the first byte.

use serde_json::Value;
use tollgate_core::json;
use tollgate_llm::conversation::{
    ChatRequest, ChatResponse, GenerationOptions, MessageList, PartContent, ResponseDelivery,
    ToolChoice,
};
use tollgate_llm::delta::{ResponseAssembly, ResponseDelta};
use tollgate_llm::dialect::Dialect;
use tollgate_llm::extra::Extra;
use tollgate_llm::format::{self, BrokenStreamError, DialectCodec, RequestUrlParams};
use tollgate_mcp::sse::SseDecoder;

pub(crate) fn openai_chat(data: &[u8]) {
    check(Dialect::OpenAiChat, data);
}

pub(crate) fn openai_responses(data: &[u8]) {
    check(Dialect::OpenAiResponses, data);
}

pub(crate) fn anthropic(data: &[u8]) {
    check(Dialect::Anthropic, data);
}

pub(crate) fn gemini(data: &[u8]) {
    check(Dialect::Gemini, data);
}

fn check(dialect: Dialect, data: &[u8]) {
    let format = format::of(dialect);
    let Some((kind, body)) = data.split_first() else { return };
    let value = || crate::text(body).and_then(|text| json::value(text).ok());
    match kind {
        b'q' => drop(value().map(|body| check_request(format, body))),
        b'a' => drop(value().map(|body| check_answer(format, body))),
        b's' => check_stream(format, body),
        b'e' => {
            let reported = format.read_error(400, body);
            assert!(reported.message.len() <= body.len() + 1_024);
        }
        _ => {}
    }
}

/// What is read can be written in every dialect, and read again there.
fn check_request(format: &dyn DialectCodec, body: Value) {
    let address =
        RequestUrlParams { model: Some("some-model"), delivery: Some(ResponseDelivery::Whole) };
    let Ok(request) = format.read_request(body, &address) else { return };
    for other in Dialect::ALL.map(format::of) {
        if let Ok(written) = other.write_request(&request) {
            assert!(written.body.is_object());
            assert!(written.lost.iter().all(|lost| lost.len() < 1 << 10));
        }
    }
    let Ok(written) = format.write_request(&request) else { return };
    let again = match format.read_request(written.body.clone(), &address) {
        Ok(again) => again,
        Err(failure) => panic!("its own words are refused ({}): {}", failure.message, written.body),
    };
    let rewritten = format.write_request(&again).map(|it| it.body);
    assert_eq!(rewritten.as_ref().ok(), Some(&written.body), "a request stays the same");
}

fn check_answer(format: &dyn DialectCodec, body: Value) {
    let Ok(response) = format.read_response(body) else { return };
    write_everywhere(&response);
    let written = format.write_response(&response, &request(), None);
    let again = format.read_response(written.clone()).expect("its own words are read");
    assert_eq!(
        collect_opaque_values(&again),
        collect_opaque_values(&response),
        "what is not known stays as it is: {written}"
    );
}

/// What only the dialect itself understands.
fn collect_opaque_values(response: &ChatResponse) -> Vec<&Value> {
    let contents = response.parts.iter().map(|part| &part.content);
    contents
        .filter_map(|content| match content {
            PartContent::Opaque { value, .. } => Some(value),
            _ => None,
        })
        .collect()
}

fn write_everywhere(response: &ChatResponse) {
    for other in Dialect::ALL.map(format::of) {
        let written = other.write_response(response, &request(), None);
        let again = other.read_response(written.clone());
        assert!(again.is_ok(), "{again:?}: {written}");
        drop(other.write_error(&tollgate_llm::error::LlmError::new(
            tollgate_llm::error::LlmErrorKind::Provider,
            "it broke",
        )));
    }
}

/// A stream obeys the rules of [`ResponseDelta`] however broken its events are; what ended well can be sent on in every dialect.
fn check_stream(format: &dyn DialectCodec, stream: &[u8]) {
    let Ok(steps) = steps(format, stream) else { return };
    let whole = assemble(&steps);
    write_everywhere(&whole);
    for other in Dialect::ALL.map(format::of) {
        let mut writer = other.stream_writer(&request());
        let mut frames: Vec<_> = steps.iter().flat_map(|step| writer.write(step)).collect();
        frames.extend(writer.end(None));
        let mut reader = other.stream_reader();
        for frame in frames {
            assert!(!frame.data.contains(['\n', '\r']), "an event of two lines");
            let read = reader.read(frame.name, &frame.data);
            assert!(read.is_ok(), "{:?}: {read:?} of {}", other.dialect(), frame.data);
        }
        let end = reader.end();
        assert!(end.is_ok(), "{:?}: {end:?}", other.dialect());
    }
}

fn steps(
    format: &dyn DialectCodec,
    mut stream: &[u8],
) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
    let mut reader = format.stream_reader();
    let mut decoder = SseDecoder::new(1 << 20);
    let mut steps = Vec::new();
    while let Some(event) = decoder.next(&mut stream) {
        let Ok(event) = event else { continue };
        steps.extend(reader.read(event.name.as_deref(), &event.data)?);
    }
    steps.extend(reader.end()?);
    Ok(steps)
}

fn assemble(steps: &[ResponseDelta]) -> ChatResponse {
    let mut assembly = ResponseAssembly::default();
    let mut open = Vec::new();
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

fn request() -> ChatRequest {
    ChatRequest {
        model: "some-model".to_owned(),
        messages: MessageList::default(),
        tools: Vec::new(),
        tool_choice: ToolChoice::Unsaid,
        options: GenerationOptions { max_output: Some(100), ..GenerationOptions::default() },
        delivery: ResponseDelivery::Streamed,
        extra: Extra::none(),
    }
}
