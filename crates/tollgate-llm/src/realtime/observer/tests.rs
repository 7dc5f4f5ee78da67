use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tollgate_core::model_usage::SpeechTotals;
use tollgate_engine::model_usage::ModelTokens;

use super::{Observation, SessionObserver, SpeechEvent, UsedModel};
use crate::realtime::events::RealtimeFrame;
use crate::realtime::protocol::RealtimeProtocol;

fn says(observer: &mut dyn SessionObserver, event: &Value) -> Observation {
    observer.on_provider_message(RealtimeFrame::Text(&event.to_string()))
}

fn sends(observer: &mut dyn SessionObserver, event: &Value) -> Observation {
    observer.on_client_message(RealtimeFrame::Text(&event.to_string()))
}

/// The model and its tokens, of one message from the provider.
fn usage(live: RealtimeProtocol, event: &Value) -> Option<(UsedModel, u64, ModelTokens)> {
    let used = says(&mut *live.observer(), event).usage?;
    Some((used.model, used.charge.requests, used.charge.tokens))
}

fn of_session(tokens: ModelTokens) -> Option<(UsedModel, u64, ModelTokens)> {
    Some((UsedModel::OfSession, 1, tokens))
}

fn audio(bytes: usize) -> String {
    STANDARD.encode(vec![7; bytes])
}

/// From OpenAI's reference of `response.done`.
#[test]
fn openai_counts_text_audio_and_what_was_cached() {
    let done =
        |usage: Value| json!({"type": "response.done", "response": {"id": "r", "usage": usage}});
    let documented = json!({
        "total_tokens": 275, "input_tokens": 127, "output_tokens": 148,
        "input_token_details": {
            "cached_tokens": 64, "text_tokens": 119, "audio_tokens": 8,
            "cached_tokens_details": {"text_tokens": 60, "audio_tokens": 4},
        },
        "output_token_details": {"text_tokens": 36, "audio_tokens": 112},
    });
    let tokens = ModelTokens {
        input: 127,
        output: 148,
        cache_read: 64,
        speech: SpeechTotals {
            audio_input: 8,
            audio_output: 112,
            audio_cached: 4,
            ..SpeechTotals::default()
        },
        ..ModelTokens::default()
    };
    for live in [RealtimeProtocol::OpenAi, RealtimeProtocol::OpenAiSideband] {
        assert_eq!(usage(live, &done(documented.clone())), of_session(tokens));
    }
    // A failed response counts nothing, and a strange one must not end the session.
    for nothing in [json!(null), json!({}), json!({"input_tokens": "many"}), json!([1])] {
        let found = usage(RealtimeProtocol::OpenAi, &done(nothing.clone()));
        assert_eq!(found, of_session(ModelTokens::default()), "{nothing}");
    }
}

#[test]
fn a_transcription_is_charged_to_the_model_that_the_provider_names() {
    let done = |usage: Value| {
        json!({"type": "conversation.item.input_audio_transcription.completed", "item_id": "i",
               "content_index": 0, "transcript": "hello", "usage": usage})
    };
    let by_tokens = json!({"type": "tokens", "total_tokens": 48, "input_tokens": 17,
        "output_tokens": 31, "input_token_details": {"text_tokens": 3, "audio_tokens": 14}});
    let updated = json!({"type": "session.updated", "session": {
        "audio": {"input": {"transcription": {"model": "gpt-4o-transcribe"}}}}});
    let mut observer = RealtimeProtocol::OpenAi.observer();
    // What a client asks for is not what it gets.
    sends(
        &mut *observer,
        &json!({"type": "session.update", "session": {
        "audio": {"input": {"transcription": {"model": "nonsense"}}}}}),
    );
    says(&mut *observer, &updated);
    let used = says(&mut *observer, &done(by_tokens)).usage.unwrap();
    assert_eq!(used.model, UsedModel::Other("gpt-4o-transcribe".to_owned()));
    let tokens = used.charge.tokens;
    assert_eq!((tokens.input, tokens.output, tokens.speech.audio_input), (17, 31, 14));
    let by_time = json!({"type": "duration", "seconds": 2.5});
    let used = says(&mut *observer, &done(by_time)).usage.unwrap();
    assert_eq!((used.charge.tokens.speech.live_ms, used.charge.tokens.input), (2_500, 0));
    assert_eq!(says(&mut *observer, &done(json!(null))).usage, None);
    for strange in [json!({"seconds": -1}), json!({"seconds": 1e300})] {
        let used = says(&mut *observer, &done(strange)).usage.unwrap();
        assert_eq!(used.charge.tokens.speech.live_ms, 0);
    }
}

/// From a session with gemini-3.1-flash-live-preview: the details do not sum up to the counts, and
/// the total lacks the thoughts.
#[test]
fn gemini_counts_thoughts_and_tools_beside_its_total() {
    let message = json!({
        "usageMetadata": {
            "promptTokenCount": 611, "responseTokenCount": 92, "thoughtsTokenCount": 40,
            "toolUsePromptTokenCount": 25, "cachedContentTokenCount": 200,
            "totalTokenCount": 703,
            "promptTokensDetails": [
                {"modality": "TEXT", "tokenCount": 380}, {"modality": "AUDIO", "tokenCount": 206},
            ],
            "cacheTokensDetails": [{"modality": "AUDIO", "tokenCount": 50}],
            "responseTokensDetails": [{"modality": "AUDIO", "tokenCount": 92}],
        },
        "serverContent": {"turnComplete": true},
    });
    let tokens = ModelTokens {
        input: 636,
        output: 132,
        cache_read: 200,
        speech: SpeechTotals {
            audio_input: 206,
            audio_output: 92,
            audio_cached: 50,
            ..SpeechTotals::default()
        },
        ..ModelTokens::default()
    };
    assert_eq!(usage(RealtimeProtocol::Gemini, &message), of_session(tokens));
    let mad = json!({"usageMetadata": {"promptTokenCount": 1, "promptTokensDetails": [
        {"modality": "AUDIO", "tokenCount": 99}]}});
    let (_, _, tokens) = usage(RealtimeProtocol::Gemini, &mad).unwrap();
    assert_eq!((tokens.input, tokens.speech.audio_input), (1, 1), "never more than all of it");
}

#[test]
fn gpt_live_counts_the_model_behind_the_voice_and_the_voice_by_the_clock() {
    let mut observer = RealtimeProtocol::GptLive.observer();
    let started = json!({"type": "session.started", "session": {"delegation": {
        "type": "responses", "responses": {"model": "gpt-5.4"}}}});
    says(&mut *observer, &started);
    let completed = json!({"type": "response.event", "delegation_id": "d", "event": {
        "type": "response.completed", "response": {"usage": {
            "input_tokens": 900, "output_tokens": 50, "total_tokens": 950,
            "input_tokens_details": {"cached_tokens": 512},
            "output_tokens_details": {"reasoning_tokens": 20}}}}});
    let used = says(&mut *observer, &completed).usage.unwrap();
    assert_eq!(used.model, UsedModel::Other("gpt-5.4".to_owned()));
    let tokens = used.charge.tokens;
    assert_eq!((tokens.input, tokens.output, tokens.cache_read), (900, 50, 512));
    let seconds = json!({"type": "session.usage.updated", "usage": {"seconds": 7}});
    assert_eq!(says(&mut *observer, &seconds).usage, None, "known to be wrong");
    assert!(RealtimeProtocol::GptLive.is_metered_by_clock());
}

#[test]
fn audio_is_measured_in_the_format_of_the_session() {
    let appended = json!({"type": "input_audio_buffer.append", "audio": audio(4_800)});
    let spoken = |kind: &str| json!({"type": kind, "response_id": "r", "delta": audio(9_600)});
    let ms = Duration::from_millis;
    let mut openai = RealtimeProtocol::OpenAi.observer();
    assert_eq!(sends(&mut *openai, &appended).audio, ms(100));
    for kind in ["response.output_audio.delta", "response.audio.delta"] {
        assert_eq!(says(&mut *openai, &spoken(kind)).audio, ms(200));
    }
    assert_eq!(says(&mut *openai, &spoken("response.output_audio_transcript.delta")).audio, ms(0));
    says(
        &mut *openai,
        &json!({"type": "session.updated", "session": {"audio": {
        "input": {"format": {"type": "audio/pcmu"}}, "output": {"format": {"type": "audio/pcma"}}}}}),
    );
    assert_eq!(sends(&mut *openai, &appended).audio, ms(600));
    assert_eq!(says(&mut *openai, &spoken("response.output_audio.delta")).audio, ms(1_200));

    let mut gemini = RealtimeProtocol::Gemini.observer();
    let blob = json!({"mimeType": "audio/pcm;rate=16000", "data": audio(3_200)});
    let input = json!({"realtimeInput": {"audio": blob}});
    assert_eq!(sends(&mut *gemini, &input).audio, ms(100));
    let input = json!({"realtimeInput": {"mediaChunks": [blob, blob]}});
    assert_eq!(sends(&mut *gemini, &input).audio, ms(200));
    let part = json!({"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": audio(4_800)}});
    let turn = json!({"serverContent": {"modelTurn": {"parts": [part, {"text": "x"}, part]}}});
    assert_eq!(says(&mut *gemini, &turn).audio, ms(200));
    let image = json!({"realtimeInput": {"video": {"mimeType": "image/jpeg", "data": audio(9)}}});
    assert_eq!(sends(&mut *gemini, &image).audio, ms(0));

    let mut deepgram = RealtimeProtocol::Deepgram.observer();
    sends(
        &mut *deepgram,
        &json!({"type": "Settings", "audio": {
        "input": {"encoding": "mulaw", "sample_rate": 8000},
        "output": {"encoding": "linear16", "sample_rate": 16000}}}),
    );
    assert_eq!(deepgram.on_client_message(RealtimeFrame::Binary(&[0; 800])).audio, ms(100));
    assert_eq!(deepgram.on_provider_message(RealtimeFrame::Binary(&[0; 3_200])).audio, ms(100));
}

#[test]
fn what_is_no_message_tells_nothing() {
    let all = [
        RealtimeProtocol::OpenAi,
        RealtimeProtocol::OpenAiSideband,
        RealtimeProtocol::GptLive,
        RealtimeProtocol::Gemini,
        RealtimeProtocol::Deepgram,
    ];
    for live in all {
        let mut observer = live.observer();
        for text in ["", "{", "[]", "null", r#"{"type":5}"#, r#"{"type":"response.done"}"#] {
            let heard = observer.on_client_message(RealtimeFrame::Text(text));
            assert_eq!(heard.usage, None, "{live}: {text}");
            let told = observer.on_provider_message(RealtimeFrame::Text(text));
            assert!(told.audio.is_zero(), "{live}: {text}");
        }
    }
}

#[test]
fn who_speaks_is_known_from_each_protocol() {
    let ended = |hangover: Option<u64>| SpeechEvent::CallerEnded {
        hangover: hangover.map(Duration::from_millis),
    };
    let mut openai = RealtimeProtocol::OpenAi.observer();
    for _ in 0..20 {
        sends(&mut *openai, &json!({"type": "input_audio_buffer.append", "audio": audio(4_800)}));
    }
    let stopped =
        |end: u64| json!({"type": "input_audio_buffer.speech_stopped", "audio_end_ms": end});
    for (event, expected) in [
        (json!({"type": "input_audio_buffer.speech_started"}), SpeechEvent::CallerBegan),
        // Two seconds of audio were sent when the provider was sure of the end at 1.5 s.
        (stopped(1_500), ended(Some(500))),
        (stopped(9_000), ended(None)),
        (json!({"type": "response.created", "response": {}}), SpeechEvent::ResponseBegan),
        (json!({"type": "output_audio_buffer.started"}), SpeechEvent::AgentHeard),
    ] {
        assert_eq!(says(&mut *openai, &event).speech, Some(expected), "{event}");
    }
    for (event, expected) in [
        (json!({"type": "input_audio_buffer.commit"}), ended(None)),
        (json!({"type": "response.create"}), SpeechEvent::ResponseRequested),
    ] {
        assert_eq!(sends(&mut *openai, &event).speech, Some(expected), "{event}");
    }
    let mut gemini = RealtimeProtocol::Gemini.observer();
    let loud = STANDARD.encode([0x00, 0x40].repeat(300));
    for (event, expected) in [
        (json!({"realtimeInput": {"activityEnd": {}}}), Some(ended(None))),
        (json!({"realtimeInput": {"audio": {"data": loud}}}), Some(SpeechEvent::CallerSounds)),
        (json!({"realtimeInput": {"audio": {"data": STANDARD.encode([0; 600])}}}), None),
        (json!({"clientContent": {"turns": []}}), Some(SpeechEvent::ResponseRequested)),
    ] {
        assert_eq!(sends(&mut *gemini, &event).speech, expected, "{event}");
    }
    let interrupted = json!({"serverContent": {"interrupted": true}});
    assert_eq!(says(&mut *gemini, &interrupted).speech, Some(SpeechEvent::CallerBegan));
    let mut deepgram = RealtimeProtocol::Deepgram.observer();
    let said = |role: &str| json!({"type": "ConversationText", "role": role, "content": "hi"});
    assert_eq!(says(&mut *deepgram, &said("user")).speech, Some(ended(None)));
    assert_eq!(says(&mut *deepgram, &said("assistant")).speech, None);
}
