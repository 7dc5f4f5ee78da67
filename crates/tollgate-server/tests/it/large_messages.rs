//! R-35 for live sessions: messages of several megabytes, from clients and providers, in every
//! protocol. No poll of a worker takes longer than 20 ms, and each session keeps the order of its
//! messages.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tollgate_core::glob::Glob;
use tollgate_server::{ApiKey, PollWatch, Rights};
use tollgate_testkit::realtime::openai::events;
use tollgate_testkit::ws::{
    BINARY, CONTINUATION, RawWebSocket, RawWebSocketFrame, RawWebSocketMessage, TEXT,
};

use crate::live_gateway::{Ends, Living, Speaks};
use crate::stage::{Setup, key};

const MAX_POLL: Duration = Duration::from_millis(20);
const LARGE_MESSAGE: usize = 8 << 20;
/// Is written several times.
const LARGE_PROMPT: usize = 2 << 20;
const TIMEOUT: Duration = Duration::from_secs(120);
const KEYS: [&str; 3] = ["first", "second", "third"];
const PROTOCOLS: [Speaks; 3] = [Speaks::OpenAi, Speaks::Gemini, Speaks::Deepgram];

fn secret(name: &str) -> String {
    format!("{name}-0123456789abcdef")
}

fn headers(name: &str) -> Vec<String> {
    vec![format!("authorization: Bearer {}", secret(name))]
}

async fn stage() -> Living {
    let key = |name: &&str| -> ApiKey { key(name, &secret(name), Rights::ALL) };
    Living::with(Setup { keys: KEYS.iter().map(key).collect(), ..Setup::default() }).await
}

fn assert_short_polls(watch: &PollWatch, what: &str) {
    let longest = watch.longest();
    assert!(longest < MAX_POLL, "{what}: a poll took {longest:?}");
    watch.reset();
}

/// Words that have to be unescaped, and are more than ASCII.
fn words(bytes: usize) -> String {
    "größer\n\"word\" ".repeat(bytes / 20)
}

/// What a client says that the gateway has to read, because it may mean a turn.
fn of_client(speaks: Speaks, text: &str) -> Value {
    let parts = json!([{"type": "input_text", "text": text}]);
    match speaks {
        Speaks::OpenAi => json!({"type": "conversation.item.create",
            "item": {"type": "message", "role": "user", "content": parts}}),
        Speaks::Gemini => json!({"clientContent": {"turnComplete": true,
            "turns": [{"role": "user", "parts": [{"text": text}]}]}}),
        Speaks::Deepgram => json!({"type": "InjectAgentMessage", "message": text}),
    }
}

/// What a provider says that the gateway has to read.
fn of_provider(speaks: Speaks, text: &str) -> Value {
    match speaks {
        Speaks::OpenAi => json!({"type": "conversation.item.input_audio_transcription.completed",
            "item_id": "i", "content_index": 0, "transcript": text}),
        Speaks::Gemini => json!({"serverContent": {"inputTranscription": {"text": text}}}),
        Speaks::Deepgram => json!({"type": "ConversationText", "role": "user", "content": text}),
    }
}

/// The first configuration, with this prompt.
fn hello(speaks: Speaks, prompt: &str) -> Value {
    match speaks {
        Speaks::OpenAi => {
            json!({"type": "session.update", "session": {"type": "realtime", "instructions": prompt}})
        }
        Speaks::Gemini => json!({"setup": {"model": "models/live",
            "systemInstruction": {"parts": [{"text": prompt}]}}}),
        Speaks::Deepgram => json!({"type": "Settings", "audio": {},
            "agent": {"think": {"provider": {"type": "open_ai", "model": "m"}, "prompt": prompt}}}),
    }
}

/// All of these texts, in this order; what is said between them is passed over.
async fn sees(wire: &mut RawWebSocket, texts: &[String]) {
    for (at, text) in texts.iter().enumerate() {
        let seen = async {
            loop {
                match wire.message().await {
                    RawWebSocketMessage::Text(seen) if seen == *text => return,
                    RawWebSocketMessage::Binary(seen) if seen == text.as_bytes() => return,
                    RawWebSocketMessage::Text(_) | RawWebSocketMessage::Binary(_) => {}
                    end => panic!("it ended before message {at}: {end:?}"),
                }
            }
        };
        tokio::time::timeout(TIMEOUT, seen).await.unwrap_or_else(|_| panic!("no message {at}"));
    }
}

async fn say_all(wire: &mut RawWebSocket, texts: &[String]) {
    for text in texts {
        wire.text(text).await.unwrap();
    }
}

/// A large message between small ones.
fn around(large: &str, speaks: Speaks, form: fn(Speaks, &str) -> Value) -> Vec<String> {
    ["one", "two", large, "three", "four"].map(|text| form(speaks, text).to_string()).to_vec()
}

async fn both_ways(mut ends: Ends, speaks: Speaks, words: &str) -> Ends {
    let texts = around(words, speaks, of_client);
    tokio::join!(say_all(&mut ends.client, &texts), sees(&mut ends.provider, &texts));
    let texts = around(words, speaks, of_provider);
    tokio::join!(say_all(&mut ends.provider, &texts), sees(&mut ends.client, &texts));
    ends
}

#[tokio::test]
async fn r_35_large_messages_of_live_sessions_leave_the_workers() {
    let living = stage().await;
    let watch = living.stage.front.watch_polls();
    let mut sessions = Vec::new();
    for (speaks, name) in PROTOCOLS.into_iter().zip(KEYS) {
        sessions.push((living.open_with(speaks, &headers(name)).await, speaks));
    }
    assert_short_polls(&watch, "beginning");
    let words = words(LARGE_MESSAGE);
    let all = sessions.into_iter().map(|(ends, speaks)| both_ways(ends, speaks, &words));
    let sessions = join_all(all).await;
    assert_short_polls(&watch, "large messages");
    // They are back on their workers, and go on.
    let all = sessions.into_iter().zip(PROTOCOLS);
    join_all(all.map(|(ends, speaks)| both_ways(ends, speaks, "word"))).await;
    assert_short_polls(&watch, "small messages afterwards");
}

#[tokio::test]
async fn r_35_large_audio_and_messages_in_pieces_leave_the_workers() {
    let living = stage().await;
    let watch = living.stage.front.watch_polls();
    let sound = vec![0x55; LARGE_MESSAGE];
    let Ends { mut client, mut provider } =
        living.open_with(Speaks::Deepgram, &headers(KEYS[0])).await;
    let sent = RawWebSocketFrame::new(BINARY, sound.clone());
    let (sending, seen) = tokio::join!(client.send(&sent), provider.message());
    sending.unwrap();
    assert!(seen == RawWebSocketMessage::Binary(sound.clone()), "it came otherwise");
    let (sending, seen) = tokio::join!(provider.send(&sent), client.message());
    sending.unwrap();
    assert!(seen == RawWebSocketMessage::Binary(sound), "it came otherwise");
    assert_short_polls(&watch, "binary");

    let Ends { mut client, mut provider } =
        living.open_with(Speaks::OpenAi, &headers(KEYS[1])).await;
    let text = of_client(Speaks::OpenAi, &words(LARGE_MESSAGE)).to_string();
    let mut pieces: Vec<RawWebSocketFrame> = text
        .as_bytes()
        .chunks(100_000)
        .map(|piece| RawWebSocketFrame::new(CONTINUATION, piece).without_fin())
        .collect();
    pieces.push(RawWebSocketFrame::new(CONTINUATION, ""));
    pieces[0].opcode = TEXT;
    let send = async {
        for piece in &pieces {
            client.send(piece).await.unwrap();
        }
    };
    let texts = [text.clone()];
    tokio::join!(send, sees(&mut provider, &texts));
    assert_short_polls(&watch, "in pieces");
}

#[tokio::test]
async fn r_35_a_large_configuration_leaves_the_workers() {
    let living = stage().await;
    let watch = living.stage.front.watch_polls();
    let prompt = words(LARGE_PROMPT);
    let count = prompt.chars().count();
    for speaks in PROTOCOLS {
        let mut client = living.dial(speaks, &headers(KEYS[0])).await.unwrap();
        let begin = async {
            client.text(hello(speaks, &prompt).to_string()).await.unwrap();
        };
        let seen = async {
            let mut provider = living.accept().await;
            loop {
                let RawWebSocketMessage::Text(seen) = provider.message().await else {
                    panic!("it ended")
                };
                if seen.len() > count {
                    return (provider, seen);
                }
            }
        };
        let both = async { tokio::join!(begin, seen) };
        let ((), (mut provider, seen)) =
            tokio::time::timeout(TIMEOUT, both).await.expect("the configuration arrives");
        let seen: Value = serde_json::from_str(&seen).unwrap();
        let place = match speaks {
            Speaks::OpenAi => "/session/instructions",
            Speaks::Gemini => "/setup/systemInstruction/parts/0/text",
            Speaks::Deepgram => "/agent/think/prompt",
        };
        let arrived = seen.pointer(place).and_then(Value::as_str);
        assert!(arrived.is_some_and(|text| text.contains(prompt.trim())), "{speaks:?}");
        assert_short_polls(&watch, &format!("{speaks:?}: configuration"));
        if speaks == Speaks::OpenAi {
            rewrite(&living, &mut client, &mut provider, &prompt).await;
            assert_short_polls(&watch, "a configuration that is written again");
        }
        // A provider that leaves first would be dialled again.
        drop(client);
        while matches!(
            provider.message().await,
            RawWebSocketMessage::Text(_) | RawWebSocketMessage::Binary(_)
        ) {}
    }
}

/// Takes a tool away, so that the gateway has to write the client's own, large ones again.
async fn rewrite(
    living: &Living,
    client: &mut RawWebSocket,
    provider: &mut RawWebSocket,
    text: &str,
) {
    let created = events::session("session.created", &json!([]), "");
    provider.text(created.to_string()).await.unwrap();
    let mine = json!({"type": "function", "name": "mine", "description": text});
    let session = json!({"type": "realtime", "tools": [mine]});
    let update = json!({"type": "session.update", "session": session}).to_string();
    let is_large = |seen: &str| seen.len() > text.len() && seen.contains("\"mine\"");
    let (sent, ()) = tokio::join!(client.text(update), until(provider, is_large));
    sent.unwrap();
    let mut settings = living.stage.settings.clone();
    settings.agents[0].tools = vec![Glob::new("echo")];
    living.stage.running.reconfigure(&settings, || {}).await;
    until(provider, |seen| is_large(seen) && !seen.contains("\"boom\"")).await;
    let texts: Vec<String> =
        ["one", "two"].map(|text| of_client(Speaks::OpenAi, text).to_string()).to_vec();
    tokio::join!(say_all(client, &texts), sees(provider, &texts));
}

/// Reads up to a text that is as wanted.
async fn until(wire: &mut RawWebSocket, is_wanted: impl Fn(&str) -> bool) {
    let seen = async {
        loop {
            match wire.message().await {
                RawWebSocketMessage::Text(text) if is_wanted(&text) => return,
                RawWebSocketMessage::Text(_) | RawWebSocketMessage::Binary(_) => {}
                end => panic!("it ended: {end:?}"),
            }
        }
    };
    tokio::time::timeout(TIMEOUT, seen).await.expect("it is said");
}
