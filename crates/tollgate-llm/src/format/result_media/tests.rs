//! Results that no provider would take, written in every dialect.

use serde_json::Value;

use crate::conversation::{
    CallEnd, CallResult, ChatMedia, ChatMessage, ChatRole, FunctionCall, MediaKind, MediaSource,
    MessagePart, PartContent,
};
use crate::dialect::Dialect;
use crate::format::{self, test_fixtures};

fn bytes(kind: MediaKind, media_type: &str, data: &str) -> ChatMedia {
    let media_type = media_type.to_owned();
    let data = data.to_owned();
    ChatMedia { kind, source: MediaSource::Base64 { media_type, data }, name: None }
}

/// What a provider of this dialect is sent, and what it is not.
fn encode(dialect: Dialect, media: ChatMedia) -> (String, Vec<String>) {
    let call = FunctionCall { id: "c1".into(), name: "t".into(), arguments: "{}".into() };
    let result = CallResult {
        call_id: "c1".into(),
        name: Some("t".into()),
        parts: vec![MessagePart::new(PartContent::Media(media))],
        end: CallEnd::Well,
    };
    let request = test_fixtures::request(vec![
        ChatMessage::text(ChatRole::User, "go"),
        ChatMessage::new(ChatRole::Assistant, vec![MessagePart::new(PartContent::Call(call))]),
        ChatMessage::new(ChatRole::User, vec![MessagePart::new(PartContent::Result(result))]),
    ]);
    let written = format::of(dialect).write_request(&request).unwrap();
    (written.body.to_string(), written.lost)
}

fn check(media: &ChatMedia, told: &[Dialect], instead: &str) {
    for dialect in Dialect::ALL {
        let (body, lost) = encode(dialect, media.clone());
        let is_told = told.contains(&dialect);
        assert_eq!(body.contains(instead), is_told, "{dialect}: {body}");
        assert_eq!(!lost.is_empty(), is_told, "{dialect}: {lost:?}");
    }
}

#[test]
fn a_result_that_cannot_be_shown_never_fails_the_request() {
    let all_but_gemini = [Dialect::OpenAiChat, Dialect::OpenAiResponses, Dialect::Anthropic];
    let sound = [Dialect::OpenAiResponses, Dialect::Anthropic];
    check(&bytes(MediaKind::Audio, "audio/wav", "AAAA"), &sound, "[audio/wav, not shown]");
    let ogg = bytes(MediaKind::Audio, "audio/ogg", "AAAA");
    check(&ogg, &all_but_gemini, "[audio/ogg, not shown]");
    let video = bytes(MediaKind::Video, "video/mp4", "AAAA");
    check(&video, &all_but_gemini, "[video/mp4, not shown]");
    let drawing = bytes(MediaKind::Image, "image/svg+xml", "AAAA");
    check(&drawing, &all_but_gemini, "[image/svg+xml, not shown]");
    let no_text = bytes(MediaKind::Document, "text/plain", "//79");
    let read = [Dialect::OpenAiChat, Dialect::Anthropic];
    check(&no_text, &read, "[text/plain, not shown]");
    let source = MediaSource::File("files/of/another".to_owned());
    let kept = ChatMedia { kind: MediaKind::Video, source, name: None };
    check(&kept, &all_but_gemini, "[video, not shown]");
    let source = MediaSource::File("file-1".to_owned());
    let kept = ChatMedia { kind: MediaKind::Document, source, name: None };
    check(&kept, &[Dialect::Gemini], "[document, not shown]");
    let source = MediaSource::Url("https://example.com/cat.png".to_owned());
    let linked = ChatMedia { kind: MediaKind::Image, source, name: None };
    check(&linked, &[Dialect::Gemini], "[image, not shown: https://example.com/cat.png]");
}

#[test]
fn a_result_that_can_be_shown_is() {
    let picture = bytes(MediaKind::Image, "image/png", "AAAA");
    let paper = bytes(MediaKind::Document, "application/pdf", "AAAA");
    let text = bytes(MediaKind::Document, "text/markdown", "aGk=");
    for dialect in Dialect::ALL {
        for media in [&picture, &paper, &text] {
            let (body, lost) = encode(dialect, media.clone());
            assert!(!body.contains("not shown") && lost.is_empty(), "{dialect}: {body} {lost:?}");
        }
    }
    let (body, _) = encode(Dialect::OpenAiChat, text);
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["messages"][2]["content"], "hi");
}
