//! Every dialect as front with every dialect as provider: what is said arrives, and what is answered
//! comes back.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::conversation::{
    CallEnd, CallResult, ChatMedia, ChatMessage, ChatRequest, ChatResponse, ChatRole, ChatTool,
    Function, FunctionCall, MediaKind, MediaSource, MessagePart, PartContent, StopReason,
    ThoughtSignature, TokenUsage, ToolChoice,
};
use crate::delta::{self, ResponseDelta};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::format::anthropic::AnthropicCodec;
use crate::format::gemini::GeminiCodec;
use crate::format::{BrokenStreamError, DialectCodec, RequestUrlParams, of, test_fixtures};

mod conversion_bugs;

fn formats() -> impl Iterator<Item = &'static dyn DialectCodec> {
    Dialect::ALL.into_iter().map(of)
}

fn pairs() -> impl Iterator<Item = (&'static dyn DialectCodec, &'static dyn DialectCodec)> {
    formats().flat_map(|front| formats().map(move |provider| (front, provider)))
}

/// A request through the body of a dialect, as a client or a provider gets it.
fn through(format: &dyn DialectCodec, request: &ChatRequest) -> ChatRequest {
    let written = format.write_request(request).unwrap_or_else(|failure| {
        panic!("{}: {failure}", format.dialect());
    });
    assert!(written.lost.is_empty(), "{}: {:?}", format.dialect(), written.lost);
    let address =
        RequestUrlParams { model: Some(&request.model), delivery: Some(request.delivery) };
    format.read_request(written.body, &address).unwrap_or_else(|failure| {
        panic!("{}: {failure}", format.dialect());
    })
}

fn conversation() -> ChatRequest {
    let source =
        MediaSource::Base64 { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() };
    let picture = PartContent::Media(ChatMedia { kind: MediaKind::Image, source, name: None });
    let call = |id: &str, arguments: &str| {
        let id = id.to_owned();
        let name = "roll_dice".to_owned();
        let arguments = arguments.to_owned();
        MessagePart::new(PartContent::Call(FunctionCall { id, name, arguments }))
    };
    let result = |id: &str, text: &str| {
        let call_id = id.to_owned();
        let name = Some("roll_dice".to_owned());
        let parts = vec![MessagePart::text(text)];
        MessagePart::new(PartContent::Result(CallResult {
            call_id,
            name,
            parts,
            end: CallEnd::Well,
        }))
    };
    let mut request = test_fixtures::request(vec![
        ChatMessage::text(ChatRole::System, "You are the master of a small dungeon."),
        ChatMessage::new(
            ChatRole::User,
            vec![MessagePart::text("What is this?"), MessagePart::new(picture)],
        ),
        ChatMessage::new(
            ChatRole::Assistant,
            vec![call("call_a", "{\"notation\":\"2d6\"}"), call("call_b", "{}")],
        ),
        ChatMessage::new(
            ChatRole::User,
            vec![result("call_a", "7"), result("call_b", "{\"sum\":3}")],
        ),
        ChatMessage::text(ChatRole::Assistant, "A seven \u{1f3b2} and a three."),
        ChatMessage::text(ChatRole::User, "Again!"),
    ]);
    request.tools = vec![ChatTool::Function(Function {
        name: "roll_dice".to_owned(),
        description: Some("Rolls dice.".to_owned()),
        parameters: Some(json!({
            "type": "object",
            "properties": {"notation": {"type": "string"}},
            "required": ["notation"],
        })),
        extra: Extra::none(),
    })];
    request.tool_choice = ToolChoice::Named("roll_dice".to_owned());
    request
}

#[test]
fn a_conversation_keeps_its_meaning_through_every_pair() {
    let request = conversation();
    for (front, provider) in pairs() {
        let of = front.dialect();
        let to = provider.dialect();
        let arrived = through(provider, &through(front, &request));
        let said = &arrived.messages;
        let expected = &request.messages;
        assert_eq!(test_fixtures::meaning(said), test_fixtures::meaning(expected), "{of} to {to}");
        assert_eq!(arrived.options.max_output, Some(100), "{of} to {to}");
        assert_eq!(arrived.tool_choice, request.tool_choice, "{of} to {to}");
        let [ChatTool::Function(function)] = arrived.tools.as_slice() else {
            panic!("{of} to {to}: {:?}", arrived.tools);
        };
        let [ChatTool::Function(sent)] = request.tools.as_slice() else { panic!("one tool") };
        assert_eq!(function.name, sent.name, "{of} to {to}");
        assert_eq!(function.description, sent.description, "{of} to {to}");
        assert_eq!(function.parameters, sent.parameters, "{of} to {to}");
    }
}

#[test]
fn every_dialect_has_its_format() {
    let spoken: Vec<Dialect> = formats().map(|format| format.dialect()).collect();
    assert_eq!(spoken, Dialect::ALL);
    assert_eq!(pairs().count(), 16);
}

/// A model that signs its thoughts gets its signature back with the calls that it stood on, also
/// from clients whose own API signs differently.
#[test]
fn signatures_come_back_through_clients_of_another_dialect() {
    let kept = |front: Dialect, history: Value| match front {
        Dialect::Gemini => json!({"contents": history}),
        _ => json!({"max_tokens": 1, "messages": history}),
    };
    for front in [&AnthropicCodec as &dyn DialectCodec, &GeminiCodec] {
        for provider in [&AnthropicCodec as &dyn DialectCodec, &GeminiCodec] {
            let of = front.dialect();
            let to = provider.dialect();
            let signature = Some(ThoughtSignature::new(to, "CiQB0e2K"));
            let text = if to == Dialect::Gemini { "" } else { "hm" }.to_owned();
            let thought = MessagePart::new(PartContent::Thinking { text, signature });
            let [asked, called, answered] = &conversation().messages[1..4] else {
                panic!("a question, calls, results");
            };
            let mut called = ChatMessage::clone(called);
            called.parts.insert(0, thought);
            let history = front.write_history(&[asked.clone(), called.into(), answered.clone()]);
            let model = if to == Dialect::Gemini { "gemini-3.8-flash" } else { "claude-opus-5" };
            let address = RequestUrlParams { model: Some(model), delivery: None };
            let request = front.read_request(kept(of, history), &address).unwrap();
            let written = provider.write_request(&request).unwrap();
            let body = written.body.to_string();
            assert_eq!(body.matches("\"CiQB0e2K\"").count(), 1, "{of} to {to}: {body}");
            assert!(!body.contains("skip_thought"), "{of} to {to}: {body}");
            assert!(written.lost.is_empty(), "{of} to {to}: {:?}", written.lost);
        }
    }
}

/// What an answer says, whatever the dialects that it came through.
fn gist(response: &ChatResponse) -> (String, Vec<FunctionCall>, StopReason, TokenUsage) {
    let calls = response.calls().cloned().map(|mut call| {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        call.arguments = arguments.to_string();
        call
    });
    (response.text(), calls.collect(), response.stop.clone(), response.usage.clone())
}

/// Clients of OpenAI's are told the cost of a stream only if they ask.
fn counting(mut request: ChatRequest) -> ChatRequest {
    let fields = [("stream_options".to_owned(), json!({"include_usage": true}))];
    request.extra = Extra::new(Dialect::OpenAiChat, fields.into_iter().collect());
    request
}

fn whole_and_streamed(answer: &ChatResponse) {
    for (front, provider) in pairs() {
        let of = front.dialect();
        let to = provider.dialect();
        let request = counting(conversation());
        let body = provider.write_response(answer, &request, None);
        let read = provider.read_response(body).unwrap();
        let body = front.write_response(&read, &request, None);
        let arrived = front.read_response(body).unwrap();
        assert_eq!(gist(&arrived), gist(answer), "{to} to {of}");

        let frames = test_fixtures::to_events(&test_fixtures::frames_for(
            provider,
            &request,
            &delta::steps(answer),
        ));
        let steps = test_fixtures::steps(provider, &frames).unwrap();
        let frames = test_fixtures::to_events(&test_fixtures::frames_for(front, &request, &steps));
        let arrived = test_fixtures::whole(&test_fixtures::steps(front, &frames).unwrap());
        assert_eq!(gist(&arrived), gist(answer), "{to} to {of}, streamed");
    }
}

fn answer(stop: StopReason) -> ChatResponse {
    ChatResponse {
        id: "answer".to_owned(),
        model: "m".to_owned(),
        created: 1,
        parts: vec![MessagePart::text("Hello")],
        stop,
        usage: TokenUsage::default(),
        extra: Extra::none(),
    }
}

#[test]
fn what_broke_off_for_a_reason_of_one_dialect_is_no_good_end_in_another() {
    let reasons = [
        (Dialect::Anthropic, "pause_turn"),
        (Dialect::Gemini, "MALFORMED_FUNCTION_CALL"),
        (Dialect::Gemini, "TOO_MANY_TOOL_CALLS"),
    ];
    for (of, reason) in reasons {
        let stop = StopReason::Other { dialect: of, reason: reason.to_owned() };
        let answer = answer(stop);
        for front in formats() {
            let request = counting(conversation());
            let body = front.write_response(&answer, &request, None);
            let frames = test_fixtures::frames_for(front, &request, &delta::steps(&answer));
            let frames = test_fixtures::to_events(&frames);
            let streamed = test_fixtures::whole(&test_fixtures::steps(front, &frames).unwrap());
            let whole = front.read_response(body).unwrap();
            for read in [&whole.stop, &streamed.stop] {
                assert!(!read.is_whole(), "{reason} for {}: {read:?}", front.dialect());
            }
            if front.dialect() == of {
                assert_eq!(whole.stop, answer.stop);
            }
        }
    }
}

/// Tokens of an answer, as both of OpenAI's dialects write them.
fn tokens() -> Value {
    let token =
        |text: &str| json!({"token": text, "logprob": -0.5, "bytes": [], "top_logprobs": []});
    json!([token("He"), token("llo")])
}

#[test]
fn log_probabilities_pass_between_openais_two_apis() {
    let request = counting(conversation());
    let chat = json!({"id": "c", "model": "m", "created": 1, "choices": [{"index": 0,
        "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"},
        "logprobs": {"content": tokens(), "refusal": null}}]});
    let responses = of(Dialect::OpenAiResponses);
    let written = responses.write_response(
        &of(Dialect::OpenAiChat).read_response(chat.clone()).unwrap(),
        &request,
        None,
    );
    assert_eq!(written["output"][0]["content"][0]["logprobs"], tokens());
    let back = responses.read_response(written).unwrap();
    let back = of(Dialect::OpenAiChat).write_response(&back, &request, None);
    assert_eq!(back["choices"][0]["logprobs"], chat["choices"][0]["logprobs"]);
}

#[test]
fn log_probabilities_pass_between_streams_of_openais_two_apis() {
    let request = counting(conversation());
    let field = |dialect, name: &str, value: Value| {
        Extra::new(dialect, [(name.to_owned(), value)].into_iter().collect())
    };
    let of_chat = json!([{"logprobs": {"content": tokens(), "refusal": null}}]);
    let of_chat = field(Dialect::OpenAiChat, "choices", of_chat);
    let of_responses = field(Dialect::OpenAiResponses, "logprobs", tokens());
    let data = |front: Dialect, extra: Extra| {
        let mut steps = delta::steps(&answer(StopReason::End));
        for step in &mut steps {
            if let ResponseDelta::Grow { extra: beside, .. } = step {
                *beside = extra.clone();
            }
        }
        let frames = test_fixtures::frames_for(of(front), &request, &steps);
        frames.into_iter().map(|frame| frame.data).collect::<Vec<String>>().join("\n")
    };
    let listed = tokens().to_string();
    let responses = data(Dialect::OpenAiResponses, of_chat);
    let events: Vec<&str> = responses.lines().filter(|event| event.contains(&listed)).collect();
    let kinds = ["output_text.delta", "output_text.done", "content_part.done", "completed"];
    for kind in kinds {
        assert!(events.iter().any(|event| event.contains(kind)), "{kind}: {responses}");
    }
    assert_eq!(data(Dialect::OpenAiChat, of_responses).matches(&listed).count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_conversation_keeps_its_meaning_through_every_pair(request in test_fixtures::conversations()) {
        // Not every dialect can say that a call failed; its text tells.
        let mut messages: Vec<_> =
            request.messages.into_iter().map(std::sync::Arc::unwrap_or_clone).collect();
        for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
            if let PartContent::Result(result) = &mut part.content {
                result.end = CallEnd::Well;
            }
        }
        let request = ChatRequest { messages: messages.into(), ..request };
        for (front, provider) in pairs() {
            let arrived = through(provider, &through(front, &request));
            let expected = test_fixtures::meaning(&request.messages);
            prop_assert_eq!(test_fixtures::meaning(&arrived.messages), expected);
        }
    }

    #[test]
    fn any_answer_comes_back_through_every_pair(answer in test_fixtures::answers()) {
        whole_and_streamed(&answer);
    }

    #[test]
    fn streams_may_be_cut_anywhere(
        answer in test_fixtures::answers(),
        most in 1_usize..7,
        cut in any::<proptest::sample::Index>(),
    ) {
        for format in formats() {
            let request = counting(conversation());
            let steps = test_fixtures::in_pieces(&delta::steps(&answer), most);
            let frames = test_fixtures::to_events(&test_fixtures::frames_for(format, &request, &steps));
            let whole = test_fixtures::whole(&test_fixtures::steps(format, &frames).unwrap());
            prop_assert_eq!(gist(&whole), gist(&answer), "{}", format.dialect());
            // Half of a stream is known as such, or says all that there was to say.
            let half = &frames[..cut.index(frames.len())];
            match test_fixtures::steps(format, half) {
                Err(broken) => prop_assert_eq!(broken, BrokenStreamError::Short, "{}", format.dialect()),
                Ok(steps) => prop_assert_eq!(test_fixtures::whole(&steps).text(), answer.text()),
            }
        }
    }
}
