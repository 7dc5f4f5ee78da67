//! A session whose provider failed continues at a provider of another protocol: what the client sees,
//! and what the next model is told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_core::tool::{ResultDelivery, ToolEffect};

use super::machine;
use crate::realtime::events::{
    AnswerStage, CallAnswer, DeclaredTool, DeepTurnRouting, DialectAction, DialectEvent,
    MessageFate, RealtimeDialect, RealtimeFrame, RealtimeInit, RealtimeOffer, SessionRestart,
};
use crate::realtime::protocol::RealtimeProtocol::{self, Gemini, OpenAi};

/// A client, and the provider that it talks to at present.
struct Talk {
    machine: Box<dyn RealtimeDialect>,
    client: RealtimeProtocol,
    now: Instant,
    to_client: Vec<Value>,
    to_provider: Vec<Value>,
    others: Vec<DialectAction>,
}

fn build(client: RealtimeProtocol, provider: RealtimeProtocol) -> Box<dyn RealtimeDialect> {
    let tool = DeclaredTool {
        name: "look_up".to_owned(),
        definition: Arc::new(json!({"type": "function", "name": "look_up"})),
        delivery: ResultDelivery::Wait,
        effect: ToolEffect::ReadOnly,
    };
    let model = if provider == Gemini { "gemini-3.8-live" } else { "gpt-realtime-2.1" };
    let opening = RealtimeInit {
        offer: RealtimeOffer { tools: vec![tool], prompt: Some("Be brief.".into()) },
        model: model.to_owned(),
        routing: DeepTurnRouting::Native,
        declared: None,
    };
    machine(client, provider, opening)
}

impl Talk {
    fn fresh(client: RealtimeProtocol, provider: RealtimeProtocol) -> Self {
        #[expect(clippy::disallowed_methods, reason = "any instant is as good as another")]
        let now = Instant::now();
        let machine = build(client, provider);
        let mut talk = Self {
            machine,
            client,
            now,
            to_client: Vec::new(),
            to_provider: Vec::new(),
            others: Vec::new(),
        };
        let actions = talk.machine.begin(talk.now);
        talk.note(actions);
        talk
    }

    /// A client with the function `lights`, transcripts, and a session that was accepted.
    fn begun(client: RealtimeProtocol, provider: RealtimeProtocol) -> Self {
        let mut talk = Self::fresh(client, provider);
        talk.configure();
        talk.accept(provider);
        talk.forget();
        talk
    }

    fn configure(&mut self) {
        let parameters = json!({"type": "object", "properties": {"on": {"type": "boolean"}}});
        let lights = json!({"type": "function", "name": "lights", "parameters": parameters});
        self.client(&if self.client == OpenAi {
            json!({"type": "session.update", "session": {"type": "realtime",
                "instructions": "Be kind.", "tools": [lights],
                "audio": {"input": {"transcription": {"model": "whisper-1"}},
                    "output": {"voice": "cedar"}}}})
        } else {
            json!({"setup": {"model": "models/m", "inputAudioTranscription": {},
                "outputAudioTranscription": {},
                "systemInstruction": {"parts": [{"text": "Be kind."}]},
                "tools": [{"functionDeclarations": [{"name": "lights"}]}]}})
        });
    }

    fn accept(&mut self, provider: RealtimeProtocol) {
        if provider == Gemini {
            self.wait(600);
            self.provider(&json!({"setupComplete": {}}));
            return;
        }
        self.provider(&json!({"type": "session.created", "session": {}}));
        let updates = self.to_provider.iter().filter(|it| it["type"] == "session.update").count();
        for _ in 0..updates {
            self.provider(&json!({"type": "session.updated", "session": {}}));
        }
    }

    fn forget(&mut self) {
        self.to_client.clear();
        self.to_provider.clear();
        self.others.clear();
    }

    fn note(&mut self, actions: Vec<DialectAction>) {
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        for action in actions {
            match action {
                DialectAction::ToClient(text) => self.to_client.push(parse(&text)),
                DialectAction::ToProvider(text) => self.to_provider.push(parse(&text)),
                other => self.others.push(other),
            }
        }
    }

    fn client(&mut self, message: &Value) {
        let text = message.to_string();
        let step = self.machine.on_client_message(RealtimeFrame::Text(&text), self.now);
        match step.fate {
            MessageFate::Forward => self.to_provider.push(message.clone()),
            MessageFate::Replace(text) => {
                self.to_provider.push(serde_json::from_str(&text).unwrap());
            }
            MessageFate::Swallow => {}
        }
        self.note(step.actions);
    }

    fn provider(&mut self, message: &Value) {
        let text = message.to_string();
        let step = self.machine.on_provider_message(RealtimeFrame::Text(&text), self.now);
        match step.fate {
            MessageFate::Forward => self.to_client.push(message.clone()),
            MessageFate::Replace(text) => self.to_client.push(serde_json::from_str(&text).unwrap()),
            MessageFate::Swallow => {}
        }
        self.note(step.actions);
    }

    fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
        let actions = self.machine.on_event(DialectEvent::Time, self.now);
        self.note(actions);
    }

    /// The provider has failed: as the session exchanges the machine.
    fn move_to(&mut self, provider: RealtimeProtocol) {
        self.forget();
        let restart = SessionRestart {
            model: "other".to_owned(),
            notice: Some("One moment.".to_owned()),
            max_history_bytes: 10_000,
        };
        let (handover, actions) = self.machine.hand_over(self.now);
        assert_eq!(handover.early, None, "the client has its session");
        self.machine = build(self.client, provider);
        self.note(actions);
        let actions = self.machine.take_over(handover, &restart, self.now);
        self.note(actions);
        if provider == Gemini {
            self.provider(&json!({"setupComplete": {}}));
        } else {
            self.accept(OpenAi);
        }
        assert!(self.others.contains(&DialectAction::Reconnected), "{:?}", self.others);
    }

    fn answer(&mut self, id: &str, answered: AnswerStage) {
        let outcome = match answered {
            AnswerStage::Pending => r#"{"status":"pending"}"#.to_owned(),
            _ => r#"{"status":"ok","message":"seven"}"#.to_owned(),
        };
        let delivery = ResultDelivery::Wait;
        let answer = CallAnswer { id: id.to_owned(), answered, outcome, delivery };
        let actions = self.machine.on_event(DialectEvent::Answer(answer), self.now);
        self.note(actions);
        self.wait(500);
    }

    /// The client asks something in writing, and the model begins to answer.
    fn ask(&mut self, provider: RealtimeProtocol, question: &str, words: &str) {
        self.write(question);
        if provider == Gemini {
            self.provider(&json!({"serverContent": {"outputTranscription": {"text": words}}}));
        } else {
            let item = json!({"id": "item_u", "type": "message", "role": "user",
                "content": [{"type": "input_text", "text": question}]});
            self.provider(&json!({"type": "conversation.item.added", "item": item,
                "previous_item_id": null}));
            self.provider(&response("response.created", "in_progress", &json!([])));
            let item = json!({"id": "item_a", "type": "message", "role": "assistant",
                "content": []});
            let place = json!({"response_id": "r1", "output_index": 0, "item_id": "item_a",
                "content_index": 0});
            self.provider(&with(&place, "response.output_item.added", &json!({"item": item})));
            self.provider(&json!({"type": "conversation.item.added", "item": item,
                "previous_item_id": "item_u"}));
            self.provider(&with(
                &place,
                "response.content_part.added",
                &json!({"part": {"type": "audio", "transcript": ""}}),
            ));
            self.provider(&with(
                &place,
                "response.output_audio_transcript.delta",
                &json!({"delta": words}),
            ));
        }
    }

    fn write(&mut self, text: &str) {
        if self.client == OpenAi {
            self.client(&json!({"type": "conversation.item.create", "item": {"type": "message",
                "role": "user", "content": [{"type": "input_text", "text": text}]}}));
            self.client(&json!({"type": "response.create"}));
        } else {
            self.client(&json!({"clientContent": {"turnComplete": true,
                "turns": [{"role": "user", "parts": [{"text": text}]}]}}));
        }
    }

    /// All that the next model was told, as text.
    fn told(&self) -> String {
        self.to_provider.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
    }

    fn seen(&self) -> Vec<&str> {
        let kind = |event: &'static str| event;
        self.to_client
            .iter()
            .map(|event| match event["type"].as_str() {
                Some(kind) => kind,
                None if event["serverContent"]["interrupted"] == true => kind("interrupted"),
                None if event["serverContent"]["turnComplete"] == true => kind("turnComplete"),
                None => kind("other"),
            })
            .collect()
    }
}

fn with(place: &Value, kind: &str, more: &Value) -> Value {
    let mut event = place.clone();
    event["type"] = kind.into();
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event
}

fn response(kind: &str, status: &str, output: &Value) -> Value {
    json!({"type": kind, "response": {"id": "r1", "status": status, "conversation_id": "conv_1",
        "output": output}})
}

const PAIRS: [(RealtimeProtocol, RealtimeProtocol); 4] =
    [(OpenAi, OpenAi), (OpenAi, Gemini), (Gemini, Gemini), (Gemini, OpenAi)];

fn other(provider: RealtimeProtocol) -> RealtimeProtocol {
    if provider == Gemini { OpenAi } else { Gemini }
}

#[test]
fn the_next_model_has_settings_tools_conversation_and_the_notice() {
    for (client, first) in PAIRS {
        let mut talk = Talk::begun(client, first);
        talk.ask(first, "Where is the key?", "By the ");
        talk.move_to(other(first));
        talk.wait(100);
        let told = talk.told();
        for expected in [
            "Be kind.",
            "Be brief.",
            "lights",
            "look_up",
            "Where is the key?",
            "By the",
            "One moment.",
        ] {
            assert!(told.contains(expected), "{client} {first}: {expected}\n{told}");
        }
        let question = told.find("Where is the key?").unwrap();
        assert!(question < told.find("By the").unwrap(), "{client} {first}: in order\n{told}");
        if first == Gemini {
            let requests = talk.to_provider.iter().filter(|it| it["type"] == "response.create");
            assert_eq!(requests.count(), 1, "{client}: the answer is still due\n{told}");
        } else {
            assert!(told.contains("give the answer that is still due"), "{told}");
        }
    }
}

#[test]
fn the_client_sees_one_answer_end_and_no_second_session() {
    for (client, first) in PAIRS {
        let mut talk = Talk::begun(client, first);
        talk.ask(first, "Where is the key?", "By the ");
        talk.move_to(other(first));
        let seen = talk.seen();
        if client == OpenAi {
            assert_eq!(seen.last(), Some(&"response.done"), "{first}: {seen:?}");
            let done = talk.to_client.last().unwrap();
            assert_eq!(done["response"]["status"], "cancelled");
            assert!(!seen.iter().any(|kind| kind.starts_with("session.")), "{seen:?}");
        } else {
            assert_eq!(seen, ["interrupted", "turnComplete"], "{first}");
        }
    }
}

#[test]
fn a_result_of_the_gateways_tool_reaches_the_next_model() {
    for (client, first) in PAIRS {
        for late in [AnswerStage::Done, AnswerStage::Late] {
            let mut talk = Talk::begun(client, first);
            talk.write("Roll.");
            if first == Gemini {
                talk.provider(&json!({"toolCall": {"functionCalls": [
                    {"id": "call_1", "name": "look_up", "args": {}}]}}));
            } else {
                let call = json!({"id": "item_c", "type": "function_call", "call_id": "call_1",
                    "name": "look_up", "arguments": "{}", "status": "completed"});
                talk.provider(&response("response.created", "in_progress", &json!([])));
                talk.provider(&json!({"type": "response.output_item.done", "response_id": "r1",
                    "output_index": 0, "item": call}));
                talk.provider(&response("response.done", "completed", &json!([call])));
            }
            if late == AnswerStage::Late {
                talk.answer("call_1", AnswerStage::Pending);
            }
            talk.move_to(other(first));
            assert!(!talk.told().contains("seven"));
            talk.answer("call_1", late);
            talk.provider(&json!({"serverContent": {"turnComplete": true}}));
            talk.wait(3_000);
            let told = talk.told();
            assert!(told.contains("seven"), "{client} {first} {late:?}\n{told}");
            assert!(!format!("{:?}", talk.to_client).contains("seven"), "it is hidden");
        }
    }
}

#[test]
fn the_client_answers_its_own_call_at_the_next_model() {
    for (client, first) in PAIRS {
        let mut talk = Talk::begun(client, first);
        talk.write("Switch them on.");
        if first == Gemini {
            talk.provider(&json!({"toolCall": {"functionCalls": [
                {"id": "call_1", "name": "lights", "args": {"on": true}}]}}));
        } else {
            let call = json!({"id": "item_c", "type": "function_call", "call_id": "call_1",
                "name": "lights", "arguments": "{\"on\":true}", "status": "completed"});
            talk.provider(&response("response.created", "in_progress", &json!([])));
            talk.provider(&json!({"type": "response.output_item.done", "response_id": "r1",
                "output_index": 0, "item": call}));
            talk.provider(&response("response.done", "completed", &json!([call])));
        }
        let id = if client == OpenAi {
            let calls = talk.to_client.iter().find_map(|event| {
                event["response"]["output"].get(0)?["call_id"].as_str().map(str::to_owned)
            });
            calls.expect("the client has the call")
        } else {
            "call_1".to_owned()
        };
        talk.move_to(other(first));
        talk.forget();
        if client == OpenAi {
            talk.client(&json!({"type": "conversation.item.create", "item": {
                "type": "function_call_output", "call_id": id, "output": "they are on"}}));
            talk.client(&json!({"type": "response.create"}));
        } else {
            talk.client(&json!({"toolResponse": {"functionResponses": [
                {"id": id, "name": "lights", "response": {"output": "they are on"}}]}}));
        }
        // The notice has been spoken.
        talk.provider(&json!({"serverContent": {"turnComplete": true}}));
        talk.wait(3_000);
        let told = talk.told();
        assert!(told.contains("they are on"), "{client} {first}\n{told}");
        let errors =
            talk.to_client.iter().filter(|it| it["type"] == "error" || it["error"].is_object());
        assert_eq!(errors.count(), 0, "{client} {first}: {:?}", talk.to_client);
    }
}

#[test]
fn a_client_of_gemini_whose_setup_was_refused_begins_at_openai() {
    let mut talk = Talk::fresh(Gemini, Gemini);
    talk.configure();
    talk.client(&json!({"realtimeInput": {"text": "Hello?"}}));
    let (handover, actions) = talk.machine.hand_over(talk.now);
    assert_eq!(actions, []);
    let early = handover.early.expect("no provider has accepted it");
    assert_eq!(early, [r#"{"realtimeInput":{"text":"Hello?"}}"#]);
    assert!(handover.settings.unwrap().contains("Be kind."));
}

#[test]
fn speech_that_nobody_has_written_down_is_heard_again() {
    use base64::Engine as _;
    let loud = base64::engine::general_purpose::STANDARD.encode([0, 64].repeat(24_000));
    for (client, first) in PAIRS {
        let mut talk = Talk::begun(client, first);
        if client == OpenAi {
            if first == OpenAi {
                talk.provider(&json!({"type": "input_audio_buffer.speech_started",
                    "item_id": "i", "audio_start_ms": 0}));
            }
            talk.client(&json!({"type": "input_audio_buffer.append", "audio": loud}));
        } else {
            let blob = json!({"mimeType": "audio/pcm;rate=24000", "data": loud});
            if first == OpenAi {
                talk.provider(&json!({"type": "input_audio_buffer.speech_started",
                    "item_id": "i", "audio_start_ms": 0}));
            }
            talk.client(&json!({"realtimeInput": {"audio": blob}}));
        }
        talk.move_to(other(first));
        let audio = |message: &Value| {
            let data =
                message["audio"].as_str().or(message["realtimeInput"]["audio"]["data"].as_str());
            data.map_or(0, str::len)
        };
        let bytes: usize = talk.to_provider.iter().map(audio).sum();
        let rate = if first == OpenAi { 16_000 } else { 24_000 };
        let expected = rate * 2 * 4 / 3;
        assert!(
            bytes.abs_diff(expected) < expected / 20,
            "{client} {first}: {bytes} of {expected}"
        );
    }
}
