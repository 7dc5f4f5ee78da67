//! Phone calls over Twilio's Media Streams: who gets in, and a call from its greeting to its end,
//! with a provider that the test scripts.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::{Value, json};
use tollgate_core::agent::Agent;
use tollgate_core::secret::Secret;
use tollgate_server::telephony::{DtmfMode, LineAccess, TelephonySettings, TwilioLine};
use tollgate_server::{Limits, Rights};
use tollgate_testkit::ws::{
    RawUpgradeRequest, RawWebSocket, RawWebSocketFrame, RawWebSocketMessage, Refused,
};

use crate::client::Reply;
use crate::live_sessions::{Talker, Theatre, agent};
use crate::stage::{Setup, key};

const TOKEN: &str = "twilio-auth-token-0123456789";
/// What Twilio knows of the gateway.
const PUBLIC: &str = "gate.example/v1/telephony/twilio";

fn line(name: &str, agent: &str) -> TwilioLine {
    TwilioLine {
        name: name.to_owned(),
        access: LineAccess { agent: Some(agent.to_owned()), ..LineAccess::default() },
        auth_token: Secret::new(TOKEN),
        url: Some(format!("wss://{PUBLIC}/{name}")),
        model: None,
        voice: None,
        transcription: Some("listener".to_owned()),
        dtmf: DtmfMode::Collect,
        dtmf_pause: Duration::from_millis(1_500),
        parameters: vec!["table".to_owned()],
        requires_token: false,
    }
}

fn greeter(name: &str, prompt: &str) -> Agent {
    let mut greeter = agent(name, &["*"]);
    greeter.persona.greeting = Some(format!("Hello {{caller_number}}, this is {name}."));
    greeter.persona.prompt = Some(prompt.to_owned());
    greeter
}

async fn theatre(lines: Vec<TwilioLine>) -> Theatre {
    theatre_with(Setup::default(), lines).await
}

async fn theatre_with(setup: Setup, lines: Vec<TwilioLine>) -> Theatre {
    let agents = vec![
        greeter("barkeep", "{caller_number} at {table} calls {call_direction}."),
        greeter("sage", "You are wise."),
    ];
    let telephony = TelephonySettings { twilio: lines, ..TelephonySettings::default() };
    Theatre::open(Setup { agents, telephony, ..setup }).await
}

/// As Twilio signs: HMAC-SHA1 over the URL and the sorted fields.
pub(crate) fn sign(url: &str, fields: &[(&str, &str)]) -> String {
    let mut fields = fields.to_vec();
    fields.sort_unstable();
    let fields: String = fields.iter().map(|(name, value)| format!("{name}{value}")).collect();
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, TOKEN.as_bytes());
    STANDARD.encode(hmac::sign(&key, format!("{url}{fields}").as_bytes()))
}

fn signed(line: &str) -> Vec<String> {
    vec![format!("x-twilio-signature: {}", sign(&format!("wss://{PUBLIC}/{line}"), &[]))]
}

async fn dial(theatre: &Theatre, line: &str, headers: &[String]) -> Result<RawWebSocket, Refused> {
    let path = format!("/v1/telephony/twilio/{line}");
    RawWebSocket::dial(theatre.stage.address, &path, headers).await
}

/// The webhook of a call that comes in.
async fn ring(theatre: &Theatre, line: &str, call: &str) -> Reply {
    let fields = [("CallSid", call), ("From", "+15550001"), ("Direction", "inbound")];
    let signature = sign(&format!("https://{PUBLIC}/{line}/voice"), &fields);
    post(theatre, line, &signature, &fields).await
}

async fn post(theatre: &Theatre, line: &str, signature: &str, fields: &[(&str, &str)]) -> Reply {
    let body: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", value.replace('+', "%2B")))
        .collect();
    let request = theatre.stage.request("POST", &format!("/v1/telephony/twilio/{line}/voice"));
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    request.header("x-twilio-signature", signature).body(body.join("&")).send().await
}

/// The token in TwiML.
fn token(twiml: &Reply) -> String {
    assert_eq!(twiml.status, 200, "{twiml:?}");
    let (_, rest) = twiml.text.split_once("name=\"token\" value=\"").expect("a token");
    rest.split_once('"').unwrap().0.to_owned()
}

fn start(call: &str, parameters: &Value) -> Value {
    let format = json!({ "encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1 });
    json!({ "event": "start", "sequenceNumber": "1", "streamSid": stream(call), "start": {
        "streamSid": stream(call), "accountSid": "AC1", "callSid": call, "tracks": ["inbound"],
        "mediaFormat": format, "customParameters": parameters } })
}

fn stream(call: &str) -> String {
    format!("MZ-{call}")
}

/// Both ends of a call that has begun.
struct PhoneCall {
    call: String,
    twilio: Talker,
    provider: Talker,
}

impl PhoneCall {
    async fn begin(theatre: &Theatre, line: &str, call: &str, parameters: Value) -> Self {
        Self::with(theatre, line, call, parameters, &signed(line)).await
    }

    async fn with(
        theatre: &Theatre,
        line: &str,
        call: &str,
        parameters: Value,
        headers: &[String],
    ) -> Self {
        let mut twilio = Talker::new(dial(theatre, line, headers).await.unwrap());
        twilio.say(json!({ "event": "connected", "protocol": "Call", "version": "1.0.0" })).await;
        twilio.say(start(call, &parameters)).await;
        let (stream, _) = theatre.provider.accept().await.unwrap();
        let provider = RawUpgradeRequest::read(stream).await.unwrap().welcome().await.unwrap();
        let mut provider = Talker::new(provider);
        let created = json!({ "type": "session.created", "session": { "tools": [] } });
        provider.say(created).await;
        Self { call: call.to_owned(), twilio, provider }
    }

    async fn media(&mut self, payload: &str) {
        let media =
            json!({ "track": "inbound", "chunk": "1", "timestamp": "5", "payload": payload });
        let frame = json!({ "event": "media", "sequenceNumber": "2", "media": media,
            "streamSid": stream(&self.call) });
        self.twilio.say(frame).await;
    }

    async fn press(&mut self, digit: char) {
        let dtmf = json!({ "track": "inbound_track", "digit": digit });
        let frame = json!({ "event": "dtmf", "streamSid": stream(&self.call), "dtmf": dtmf });
        self.twilio.say(frame).await;
    }

    /// The agent speaks for so long.
    async fn speak(&mut self, item: &str, ms: usize) {
        let delta = STANDARD.encode(vec![0x7f; 8 * ms]);
        let event = json!({ "type": "response.output_audio.delta", "item_id": item,
            "response_id": "r", "output_index": 0, "content_index": 0, "delta": delta });
        self.provider.say(event).await;
    }

    /// The next message to Twilio of this kind.
    async fn hears(&mut self, event: &str) -> Value {
        loop {
            let frame = self.twilio.hear().await;
            assert_eq!(frame["streamSid"], stream(&self.call), "{frame}");
            if frame["event"] == event {
                return frame;
            }
        }
    }

    async fn played(&mut self, mark: &Value) {
        let frame = json!({ "event": "mark", "sequenceNumber": "3", "streamSid": stream(&self.call),
            "mark": mark["mark"] });
        self.twilio.say(frame).await;
    }
}

/// Waits until the metric has this value.
async fn counts(theatre: &Theatre, refusals: u32) {
    let expected = format!("tollgate_access_refused_total{{reason=\"bad_signature\"}} {refusals}");
    let mut text = String::new();
    for _ in 0..500 {
        text = theatre.stage.request("GET", "/metrics").by_admin().send().await.text;
        if text.contains(&expected) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let found: Vec<&str> = text.lines().filter(|line| line.contains("bad_signature")).collect();
    panic!("{expected}: {found:?}");
}

#[tokio::test]
async fn a_call_is_greeted_in_its_format_and_with_its_variables() {
    let theatre = theatre(vec![line("desk", "barkeep")]).await;
    let twiml = ring(&theatre, "desk", "CA1").await;
    assert_eq!(twiml.header("content-type").as_deref(), Some("text/xml"));
    let stream = format!("<Connect><Stream url=\"wss://{PUBLIC}/desk\">");
    assert!(twiml.text.contains(&stream), "{}", twiml.text);
    // The proxy took the signature away: the token is enough.
    let parameters =
        json!({ "token": token(&twiml), "table": "seven", "call_direction": "forged" });
    let mut call = PhoneCall::with(&theatre, "desk", "CA1", parameters, &[]).await;
    let mut instructions = Value::Null;
    let format = loop {
        let update = call.provider.await_event("session.update").await;
        if update["session"]["instructions"].is_string() {
            instructions = update["session"]["instructions"].clone();
        }
        if update["session"]["audio"]["input"]["format"].is_object() {
            break update;
        }
    };
    assert_eq!(format["session"]["audio"]["output"]["format"], json!({ "type": "audio/pcmu" }));
    assert_eq!(instructions, "+15550001 at seven calls inbound.");
    let transcription = call.provider.await_event("session.update").await;
    assert_eq!(transcription["session"]["audio"]["input"]["transcription"]["model"], "listener");
    let greeting = call.provider.await_event("response.create").await;
    let said = greeting["response"]["instructions"].as_str().unwrap();
    assert!(said.contains("Hello +15550001, this is barkeep."), "{said}");
    // µ-law of any size arrives as it was sent.
    for payload in ["//9//w==", "fw==", "////"] {
        call.media(payload).await;
        let append = call.provider.await_event("input_audio_buffer.append").await;
        assert_eq!(append["audio"], payload);
    }
    call.speak("item_1", 20).await;
    assert_eq!(call.hears("media").await["media"]["payload"], STANDARD.encode(vec![0x7f; 160]));
    call.twilio
        .say(json!({ "event": "stop", "streamSid": "MZ-CA1", "stop": { "callSid": "CA1" } }))
        .await;
    assert!(matches!(call.twilio.end().await, RawWebSocketMessage::Close(1000, _)));
    assert!(matches!(call.provider.end().await, RawWebSocketMessage::Close(1000, _)));
}

#[tokio::test]
async fn barge_in_clears_and_truncates_at_what_was_heard() {
    let theatre = theatre(vec![line("desk", "barkeep")]).await;
    let mut call = PhoneCall::begin(&theatre, "desk", "CA1", json!({})).await;
    call.provider.await_event("response.create").await;
    let response =
        json!({ "id": "r", "status": "in_progress", "output": [], "conversation_id": "c" });
    call.provider.say(json!({ "type": "response.created", "response": response })).await;
    call.speak("item_1", 1_000).await;
    let first = call.hears("mark").await;
    let second = call.hears("mark").await;
    call.played(&first).await;
    call.played(&second).await;
    // Marks have no answer: what the provider hears next shows that they were read.
    call.media("////").await;
    call.provider.await_event("input_audio_buffer.append").await;
    let speech = json!({ "type": "input_audio_buffer.speech_started", "audio_start_ms": 10,
        "item_id": "item_u" });
    call.provider.say(speech).await;
    call.hears("clear").await;
    let truncate = call.provider.await_event("conversation.item.truncate").await;
    assert_eq!((&truncate["item_id"], &truncate["audio_end_ms"]), (&json!("item_1"), &json!(400)));
    // What is still on its way is not played. The provider may acknowledge, or report an error.
    call.speak("item_1", 200).await;
    let error = json!({ "type": "invalid_request_error", "message": "too late", "param": null,
        "code": "item_truncate_invalid_item_id", "event_id": null });
    call.provider.say(json!({ "type": "error", "event_id": "e", "error": error })).await;
    call.speak("item_2", 20).await;
    let next = call.hears("media").await;
    assert_eq!(next["media"]["payload"], STANDARD.encode(vec![0x7f; 160]), "of the second item");
}

#[tokio::test]
async fn a_tool_is_called_and_keys_are_told() {
    let theatre = theatre(vec![line("desk", "barkeep")]).await;
    let mut call = PhoneCall::begin(&theatre, "desk", "CA1", json!({})).await;
    call.provider.await_event("response.create").await;
    call.provider.call("call_1", "echo", &json!({ "text": "seven" })).await;
    assert_eq!(call.provider.answer().await["message"], "seven");
    call.provider.await_event("response.create").await;
    for digit in "42#".chars() {
        call.press(digit).await;
    }
    let item = call.provider.await_event("conversation.item.create").await;
    assert_eq!(item["item"]["content"][0]["text"], "DTMF: 42");
}

#[tokio::test]
async fn two_calls_at_once_have_their_own_agents_and_audio() {
    let theatre = theatre(vec![line("desk", "barkeep"), line("tower", "sage")]).await;
    let mut desk = PhoneCall::begin(&theatre, "desk", "CA1", json!({ "table": "one" })).await;
    let mut tower = PhoneCall::begin(&theatre, "tower", "CA2", json!({})).await;
    let said = desk.provider.await_event("response.create").await;
    assert!(said["response"]["instructions"].as_str().unwrap().contains("this is barkeep"));
    let said = tower.provider.await_event("response.create").await;
    assert!(said["response"]["instructions"].as_str().unwrap().contains("this is sage"));
    desk.media("AAAA").await;
    tower.media("BBBB").await;
    let heard = desk.provider.await_event("input_audio_buffer.append").await;
    assert_eq!(heard["audio"], "AAAA");
    let heard = tower.provider.await_event("input_audio_buffer.append").await;
    assert_eq!(heard["audio"], "BBBB");
    desk.speak("item_1", 20).await;
    tower.speak("item_1", 40).await;
    assert_eq!(desk.hears("media").await["media"]["payload"].as_str().unwrap().len(), 216);
    assert_eq!(tower.hears("media").await["media"]["payload"].as_str().unwrap().len(), 428);
    let sessions = theatre.stage.request("GET", "/api/sessions").by_admin().send().await.json();
    let mut principals: Vec<&str> = sessions["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["principal"].as_str().unwrap())
        .collect();
    principals.sort_unstable();
    assert_eq!(principals, ["twilio:desk", "twilio:tower"]);
}

#[tokio::test]
async fn s_37_streams_without_twilios_signature_are_refused_and_counted() {
    let theatre = theatre(vec![line("desk", "barkeep"), line("tower", "sage")]).await;
    let wrong = |signature: &str| vec![format!("x-twilio-signature: {signature}")];
    for (headers, label) in [
        (Vec::new(), "none, and no token is waited for"),
        (wrong("AAAA"), "another"),
        (wrong("no base64"), "malformed"),
        (signed("tower"), "of another line"),
        (vec!["authorization: Bearer twilio-auth-token-0123456789".to_owned()], "a key"),
    ] {
        let refused = dial(&theatre, "desk", &headers).await.unwrap_err();
        assert_eq!(refused.status, 403, "{label}: {}", refused.text);
        assert!(refused.text.contains("bad_signature"), "{label}: {}", refused.text);
    }
    let unknown = dial(&theatre, "nowhere", &signed("nowhere")).await.unwrap_err();
    assert_eq!(unknown.status, 404);
    let fields = [("CallSid", "CA1"), ("From", "+1")];
    let other = sign(&format!("https://{PUBLIC}/tower/voice"), &fields);
    assert_eq!(post(&theatre, "desk", &other, &fields).await.status, 403);
    let less = sign(&format!("https://{PUBLIC}/desk/voice"), &fields[..1]);
    assert_eq!(post(&theatre, "desk", &less, &fields).await.status, 403);
    counts(&theatre, 7).await;
    let several = theatre.stage.request("POST", "/v1/telephony/twilio/voice").send().await;
    assert_eq!(several.status, 404, "which of both? {several:?}");
}

/// Dials with this token, and returns how the stream ends.
async fn try_token(theatre: &Theatre, call: &str, token: &str) -> RawWebSocketMessage {
    let mut twilio = Talker::new(dial(theatre, "desk", &signed("desk")).await.unwrap());
    twilio.say(start(call, &json!({ "token": token }))).await;
    twilio.end().await
}

#[tokio::test]
async fn s_37_a_token_admits_one_call_once() {
    let theatre = theatre(vec![line("desk", "barkeep")]).await;
    let first = token(&ring(&theatre, "desk", "CA1").await);
    let parameters = json!({ "token": first });
    let call = PhoneCall::begin(&theatre, "desk", "CA1", parameters).await;
    let replayed = try_token(&theatre, "CA1", &first).await;
    assert!(matches!(replayed, RawWebSocketMessage::Close(1008, _)), "{replayed:?}");
    let second = token(&ring(&theatre, "desk", "CA2").await);
    let of_another = try_token(&theatre, "CA3", &second).await;
    let RawWebSocketMessage::Close(1008, reason) = &of_another else { panic!("{of_another:?}") };
    assert!(reason.contains("another call"), "{reason}");
    let invented = try_token(&theatre, "CA4", "invented").await;
    assert!(matches!(invented, RawWebSocketMessage::Close(1008, _)), "{invented:?}");
    counts(&theatre, 3).await;
    drop(call);
}

#[tokio::test]
async fn s_37_where_a_token_is_required_a_signature_is_not_enough() {
    let strict = TwilioLine { requires_token: true, ..line("desk", "barkeep") };
    let theatre = theatre(vec![strict]).await;
    let mut twilio = Talker::new(dial(&theatre, "desk", &signed("desk")).await.unwrap());
    twilio.say(start("CA1", &json!({}))).await;
    assert!(matches!(twilio.end().await, RawWebSocketMessage::Close(1008, _)));
    let parameters = json!({ "token": token(&ring(&theatre, "desk", "CA2").await) });
    let mut call = PhoneCall::begin(&theatre, "desk", "CA2", parameters).await;
    call.provider.await_event("response.create").await;
}

#[tokio::test]
async fn s_37_strangers_who_hold_streams_open_keep_no_call_out() {
    let limits = Limits { live_per_key: 4, ..Limits::default() };
    let strict = TwilioLine { requires_token: true, ..line("desk", "barkeep") };
    let theatre = theatre_with(Setup { limits, ..Setup::default() }, vec![strict]).await;
    let signed_call = json!({ "token": token(&ring(&theatre, "desk", "CA1").await) });
    let unsigned_call = json!({ "token": token(&ring(&theatre, "desk", "CA2").await) });
    let mut strangers = Vec::new();
    for _ in 0..300 {
        strangers.push(dial(&theatre, "desk", &[]).await.unwrap());
    }
    let mut call = PhoneCall::begin(&theatre, "desk", "CA1", signed_call).await;
    call.provider.await_event("response.create").await;
    let mut other = PhoneCall::with(&theatre, "desk", "CA2", unsigned_call, &[]).await;
    other.provider.await_event("response.create").await;
    let oldest = Talker::new(strangers.swap_remove(0)).end().await;
    assert!(matches!(oldest, RawWebSocketMessage::Close(1013, _)), "{oldest:?}");
}

#[tokio::test]
async fn streams_that_are_not_twilios_end_with_a_reason() {
    let theatre = theatre(vec![line("desk", "barkeep")]).await;
    let media = json!({ "event": "media", "streamSid": "MZ-CA1", "media": { "payload": "////" } });
    let format = start("CA1", &json!({})).to_string().replace("8000", "16000");
    for (frame, code) in [
        (RawWebSocketFrame::text(&media.to_string()), 1008),
        (RawWebSocketFrame::text("not JSON"), 1008),
        (RawWebSocketFrame::text(&format), 1008),
        (RawWebSocketFrame::new(tollgate_testkit::ws::BINARY, vec![1, 2, 3]), 1008),
        (RawWebSocketFrame::text(&"x".repeat((64 << 10) + 1)), 1009),
    ] {
        let mut twilio = dial(&theatre, "desk", &signed("desk")).await.unwrap();
        twilio.send(&frame).await.unwrap();
        let end = Talker::new(twilio).end().await;
        assert!(matches!(end, RawWebSocketMessage::Close(found, _) if found == code), "{end:?}");
    }
    // The same once the call has begun.
    let mut call = PhoneCall::begin(&theatre, "desk", "CA1", json!({})).await;
    call.twilio.send(&RawWebSocketFrame::text(&"x".repeat((64 << 10) + 1))).await;
    assert!(matches!(call.twilio.end().await, RawWebSocketMessage::Close(1009, _)));
    assert!(matches!(call.provider.end().await, RawWebSocketMessage::Close(1000, _)));
}

#[tokio::test]
async fn a_key_or_a_line_that_is_taken_away_ends_the_call() {
    let keys = vec![key("phone", "secret", Rights::ALL), key("other", "secret-2", Rights::ALL)];
    let access = LineAccess {
        agent: Some("barkeep".to_owned()),
        key: Some("phone".to_owned()),
        rate_limit: None,
    };
    let keyed = TwilioLine { access, ..line("desk", "barkeep") };
    let lines = vec![keyed.clone(), line("tower", "sage")];
    let setup = Setup { keys: keys.clone(), ..Setup::default() };
    let theatre = theatre_with(setup, lines).await;
    let mut desk = PhoneCall::begin(&theatre, "desk", "CA1", json!({})).await;
    let mut tower = PhoneCall::begin(&theatre, "tower", "CA2", json!({})).await;
    let sessions = theatre.stage.request("GET", "/api/sessions").by_admin().send().await.json();
    assert!(sessions.to_string().contains("key:phone"), "{sessions}");
    theatre.stage.front.set_access(keys[1..].to_vec(), None);
    assert!(matches!(desk.twilio.end().await, RawWebSocketMessage::Close(1008, _)));
    let refused = dial(&theatre, "desk", &signed("desk")).await.unwrap_err();
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert!(refused.text.contains("no_line_key"), "{}", refused.text);
    // A reload that leaves a line as it was leaves its calls alone.
    let of = |twilio| TelephonySettings { twilio, ..TelephonySettings::default() };
    theatre.stage.front.set_telephony(&of(vec![line("tower", "sage")]));
    tower.media("////").await;
    tower.provider.await_event("input_audio_buffer.append").await;
    theatre.stage.front.set_telephony(&of(vec![line("tower", "barkeep")]));
    assert!(matches!(tower.twilio.end().await, RawWebSocketMessage::Close(1008, _)));
}

#[tokio::test]
async fn a_call_ends_with_its_provider_and_at_a_shutdown() {
    let limits = Limits { grace: Duration::ZERO, ..Limits::default() };
    let lines = vec![line("desk", "barkeep")];
    let theatre = theatre_with(Setup { limits, ..Setup::default() }, lines).await;
    let mut call = PhoneCall::begin(&theatre, "desk", "CA1", json!({})).await;
    call.provider.await_event("response.create").await;
    call.provider.close(4_000, "no more").await;
    assert!(matches!(call.twilio.end().await, RawWebSocketMessage::Close(4_000, _)));
    let mut talking = PhoneCall::begin(&theatre, "desk", "CA2", json!({})).await;
    talking.provider.await_event("response.create").await;
    let of =
        |status: &str| json!({ "id": "r", "status": status, "output": [], "conversation_id": "c" });
    talking
        .provider
        .say(json!({ "type": "response.created", "response": of("in_progress") }))
        .await;
    talking.speak("item_1", 20).await;
    talking.hears("media").await;
    theatre.stage.stop.cancel();
    // The turn that runs is spoken to its end.
    talking.speak("item_1", 20).await;
    talking.hears("media").await;
    talking.provider.say(json!({ "type": "response.done", "response": of("completed") })).await;
    assert!(matches!(talking.twilio.end().await, RawWebSocketMessage::Close(1001, _)));
}
