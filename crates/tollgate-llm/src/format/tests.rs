//! Every dialect as front with every dialect as provider: what is said arrives, and what is answered
//! comes back.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::conversation::{
    Call, CallEnd, CallResult, Content, Function, Media, MediaKind, MediaSource, Message, Part,
    Request, Response, Role, Signature, Stop, Tool, ToolChoice, Usage,
};
use crate::delta;
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::format::anthropic::Anthropic;
use crate::format::gemini::Gemini;
use crate::format::{Address, Broken, Format, of, recorded};

fn formats() -> impl Iterator<Item = &'static dyn Format> {
    Dialect::ALL.into_iter().map(of)
}

fn pairs() -> impl Iterator<Item = (&'static dyn Format, &'static dyn Format)> {
    formats().flat_map(|front| formats().map(move |provider| (front, provider)))
}

/// A request through the body of a dialect, as a client or a provider gets it.
fn through(format: &dyn Format, request: &Request) -> Request {
    let written = format.write_request(request).unwrap_or_else(|failure| {
        panic!("{}: {failure}", format.dialect());
    });
    assert!(written.lost.is_empty(), "{}: {:?}", format.dialect(), written.lost);
    let address = Address { model: Some(&request.model), delivery: Some(request.delivery) };
    format.read_request(written.body, &address).unwrap_or_else(|failure| {
        panic!("{}: {failure}", format.dialect());
    })
}

fn conversation() -> Request {
    let source =
        MediaSource::Base64 { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() };
    let picture = Content::Media(Media { kind: MediaKind::Image, source, name: None });
    let call = |id: &str, arguments: &str| {
        let (id, name, arguments) = (id.to_owned(), "roll_dice".to_owned(), arguments.to_owned());
        Part::new(Content::Call(Call { id, name, arguments }))
    };
    let result = |id: &str, text: &str| {
        let (call_id, name) = (id.to_owned(), Some("roll_dice".to_owned()));
        let parts = vec![Part::text(text)];
        Part::new(Content::Result(CallResult { call_id, name, parts, end: CallEnd::Well }))
    };
    let mut request = recorded::request(vec![
        Message::text(Role::System, "You are the master of a small dungeon."),
        Message::new(Role::User, vec![Part::text("What is this?"), Part::new(picture)]),
        Message::new(
            Role::Assistant,
            vec![call("call_a", "{\"notation\":\"2d6\"}"), call("call_b", "{}")],
        ),
        Message::new(Role::User, vec![result("call_a", "7"), result("call_b", "{\"sum\":3}")]),
        Message::text(Role::Assistant, "A seven \u{1f3b2} and a three."),
        Message::text(Role::User, "Again!"),
    ]);
    request.tools = vec![Tool::Function(Function {
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
        let (of, to) = (front.dialect(), provider.dialect());
        let arrived = through(provider, &through(front, &request));
        let (said, expected) = (&arrived.messages, &request.messages);
        assert_eq!(recorded::meaning(said), recorded::meaning(expected), "{of} to {to}");
        assert_eq!(arrived.options.max_output, Some(100), "{of} to {to}");
        assert_eq!(arrived.tool_choice, request.tool_choice, "{of} to {to}");
        let [Tool::Function(function)] = arrived.tools.as_slice() else {
            panic!("{of} to {to}: {:?}", arrived.tools);
        };
        let [Tool::Function(sent)] = request.tools.as_slice() else { panic!("one tool") };
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
    for front in [&Anthropic as &dyn Format, &Gemini] {
        for provider in [&Anthropic as &dyn Format, &Gemini] {
            let (of, to) = (front.dialect(), provider.dialect());
            let signature = Some(Signature { maker: to, text: "CiQB0e2K".to_owned() });
            let text = if to == Dialect::Gemini { "" } else { "hm" }.to_owned();
            let thought = Part::new(Content::Thinking { text, signature });
            let [asked, called, answered] = &conversation().messages[1..4] else {
                panic!("a question, calls, results");
            };
            let mut called = called.clone();
            called.parts.insert(0, thought);
            let history = front.write_history(&[asked.clone(), called, answered.clone()]);
            let model = if to == Dialect::Gemini { "gemini-3.8-flash" } else { "claude-opus-5" };
            let address = Address { model: Some(model), delivery: None };
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
fn gist(response: &Response) -> (String, Vec<Call>, Stop, Usage) {
    let calls = response.calls().cloned().map(|mut call| {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        call.arguments = arguments.to_string();
        call
    });
    (response.text(), calls.collect(), response.stop.clone(), response.usage.clone())
}

/// Clients of OpenAI's are told the cost of a stream only if they ask.
fn counting(mut request: Request) -> Request {
    let fields = [("stream_options".to_owned(), json!({"include_usage": true}))];
    request.extra = Extra::new(Dialect::OpenAiChat, fields.into_iter().collect());
    request
}

fn whole_and_streamed(answer: &Response) {
    for (front, provider) in pairs() {
        let (of, to) = (front.dialect(), provider.dialect());
        let request = counting(conversation());
        let body = provider.write_response(answer, &request, None);
        let read = provider.read_response(body).unwrap();
        let body = front.write_response(&read, &request, None);
        let arrived = front.read_response(body).unwrap();
        assert_eq!(gist(&arrived), gist(answer), "{to} to {of}");

        let frames =
            recorded::arrived(&recorded::frames_for(provider, &request, &delta::steps(answer)));
        let steps = recorded::steps(provider, &frames).unwrap();
        let frames = recorded::arrived(&recorded::frames_for(front, &request, &steps));
        let arrived = recorded::whole(&recorded::steps(front, &frames).unwrap());
        assert_eq!(gist(&arrived), gist(answer), "{to} to {of}, streamed");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_conversation_keeps_its_meaning_through_every_pair(request in recorded::conversations()) {
        let mut request = request;
        // Not every dialect can say that a call failed; its text tells.
        let parts = request.messages.iter_mut().flat_map(|message| &mut message.parts);
        for part in parts {
            if let Content::Result(result) = &mut part.content {
                result.end = CallEnd::Well;
            }
        }
        for (front, provider) in pairs() {
            let arrived = through(provider, &through(front, &request));
            let expected = recorded::meaning(&request.messages);
            prop_assert_eq!(recorded::meaning(&arrived.messages), expected);
        }
    }

    #[test]
    fn any_answer_comes_back_through_every_pair(answer in recorded::answers()) {
        whole_and_streamed(&answer);
    }

    #[test]
    fn streams_may_be_cut_anywhere(
        answer in recorded::answers(),
        most in 1_usize..7,
        cut in any::<proptest::sample::Index>(),
    ) {
        for format in formats() {
            let request = counting(conversation());
            let steps = recorded::in_pieces(&delta::steps(&answer), most);
            let frames = recorded::arrived(&recorded::frames_for(format, &request, &steps));
            let whole = recorded::whole(&recorded::steps(format, &frames).unwrap());
            prop_assert_eq!(gist(&whole), gist(&answer), "{}", format.dialect());
            // Half of a stream is known as such, or says all that there was to say.
            let half = &frames[..cut.index(frames.len())];
            match recorded::steps(format, half) {
                Err(broken) => prop_assert_eq!(broken, Broken::Short, "{}", format.dialect()),
                Ok(steps) => prop_assert_eq!(recorded::whole(&steps).text(), answer.text()),
            }
        }
    }
}
