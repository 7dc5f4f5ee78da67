//! Scripts: who says what, and in short words what the machine makes of it. Answers of the machine
//! stand one behind the other, parted by ` | `; `passes` is the message itself, byte for byte.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_core::tool::{ResultDelivery, ToolEffect};

use crate::realtime::events::{
    AnswerStage, CallAnswer, DeclaredTool, DeepTurnRouting, DialectAction, DialectEvent,
    DialectStep, MessageFate, RealtimeDialect, RealtimeFrame, RealtimeInit, RealtimeOffer,
    UtteranceStage,
};
use crate::realtime::openai::OpenAiRealtime;

pub(super) enum Says {
    Client(Value),
    Provider(Value),
    News(DialectEvent),
    /// So much later.
    Wait(u64),
}

pub(super) struct Talk {
    pub(super) machine: OpenAiRealtime,
    pub(super) now: Instant,
}

impl Talk {
    /// A session with these tools of ours, `name` or `name:delivery`, that has just begun.
    pub(super) fn with(tools: &str) -> Self {
        let mut talk = Self::fresh(tools);
        talk.says(Says::Provider(session("session.created", &json!([]))));
        let declared = json!([]);
        if !tools.is_empty() {
            talk.says(Says::Provider(session("session.updated", &declared)));
        }
        talk
    }

    /// The same, where turns may go to another model: the caller's words are transcribed, and the
    /// realtime model waits for them for so many milliseconds.
    pub(super) fn routed(tools: &str, hold_ms: u64) -> Self {
        let mut talk = Self::fresh(tools);
        talk.says(Says::News(DialectEvent::Hold(Some(Duration::from_millis(hold_ms)))));
        talk.says(provider(session_that_hears("session.created", true)));
        // In the order of the updates: of the turn detection, of the tools.
        for _ in 0..if hold_ms == 0 { 1 } else { 2 } {
            talk.says(provider(session_that_hears("session.updated", hold_ms == 0)));
        }
        talk
    }

    pub(super) fn fresh(tools: &str) -> Self {
        Self::open_session(OpenAiRealtime::new(opening(offer(tools))))
    }

    pub(super) fn open_session(machine: OpenAiRealtime) -> Self {
        #[expect(clippy::disallowed_methods, reason = "any instant is as good as another")]
        let now = Instant::now();
        Self { machine, now }
    }

    pub(super) fn says(&mut self, says: Says) -> String {
        match says {
            Says::Client(event) => {
                let text = event.to_string();
                let step = self.machine.on_client_message(RealtimeFrame::Text(&text), self.now);
                describe(&step, "provider")
            }
            Says::Provider(event) => {
                let text = event.to_string();
                let step = self.machine.on_provider_message(RealtimeFrame::Text(&text), self.now);
                describe(&step, "client")
            }
            Says::News(news) => actions(&self.machine.on_event(news, self.now)),
            Says::Wait(ms) => {
                self.now += Duration::from_millis(ms);
                match self.machine.wakes() {
                    Some(at) if at <= self.now => {
                        actions(&self.machine.on_event(DialectEvent::Time, self.now))
                    }
                    _ => String::new(),
                }
            }
        }
    }

    pub(super) fn check(&mut self, script: impl IntoIterator<Item = (Says, &'static str)>) {
        for (at, (says, expected)) in script.into_iter().enumerate() {
            let text = self.says(says);
            assert_eq!(text, expected, "at line {}", at + 1);
        }
    }
}

pub(super) fn opening(offer: RealtimeOffer) -> RealtimeInit {
    let model = "gpt-realtime-2.1".to_owned();
    RealtimeInit { offer, model, routing: DeepTurnRouting::Cascaded, declared: None }
}

pub(super) fn offer(tools: &str) -> RealtimeOffer {
    let tools = tools.split_whitespace().map(|tool| {
        let (name, delivery) = tool.split_once(':').unwrap_or((tool, "wait"));
        let delivery = match delivery {
            "idle" => ResultDelivery::WhenIdle,
            "interrupt" => ResultDelivery::Interrupt,
            "silent" => ResultDelivery::Silent,
            _ => ResultDelivery::Wait,
        };
        DeclaredTool {
            name: name.to_owned(),
            definition: Arc::new(function(name)),
            delivery,
            effect: ToolEffect::ReadOnly,
        }
    });
    RealtimeOffer { tools: tools.collect(), prompt: None }
}

pub(super) fn prompt_with(tools: &str, prompt: &str) -> RealtimeOffer {
    RealtimeOffer { prompt: Some(Arc::from(prompt)), ..offer(tools) }
}

pub(super) fn function(name: &str) -> Value {
    json!({ "type": "function", "name": name, "parameters": { "type": "object" } })
}

// === what they say ===

pub(super) fn client(event: Value) -> Says {
    Says::Client(event)
}

pub(super) fn provider(event: Value) -> Says {
    Says::Provider(event)
}

pub(super) fn session(kind: &str, tools: &Value) -> Value {
    json!({ "type": kind, "event_id": "event_1", "session": {
        "type": "realtime", "id": "sess_1", "instructions": "be kind", "tools": tools } })
}

/// A session with turn detection and transcripts. `creates`: whether it answers by itself.
pub(super) fn session_that_hears(kind: &str, creates: bool) -> Value {
    let mut event = session(kind, &json!([]));
    event["session"]["audio"] = json!({ "input": {
        "transcription": { "model": "whisper-1" },
        "turn_detection": { "type": "server_vad", "threshold": 0.5, "idle_timeout_ms": null,
            "create_response": creates, "interrupt_response": true } } });
    event
}

/// A part of the transcript of an utterance.
pub(super) fn heard(item: &str, words: &str) -> Says {
    provider(json!({ "type": "conversation.item.input_audio_transcription.delta",
        "event_id": "event_8", "item_id": item, "content_index": 0, "delta": words }))
}

/// The whole of it.
pub(super) fn heard_all(item: &str, words: &str) -> Says {
    provider(json!({ "type": "conversation.item.input_audio_transcription.completed",
        "event_id": "event_8", "item_id": item, "content_index": 0, "transcript": words }))
}

/// There will be no transcript of it.
pub(super) fn not_heard(item: &str) -> Says {
    provider(json!({ "type": "conversation.item.input_audio_transcription.failed",
        "event_id": "event_8", "item_id": item, "content_index": 0, "error": { "code": "no" } }))
}

pub(super) fn make_created_event(id: &str) -> Says {
    provider(json!({ "type": "response.created", "event_id": "event_2", "response": {
        "id": id, "status": "in_progress", "conversation_id": "conv_1", "metadata": null,
        "output": [] } }))
}

/// One that the machine asked for, by the number of its message.
pub(super) fn created_by_us(id: &str, mark: &str) -> Says {
    provider(json!({ "type": "response.created", "event_id": "event_2", "response": {
        "id": id, "status": "in_progress", "conversation_id": "conv_1",
        "metadata": { "tollgate": mark }, "output": [] } }))
}

pub(super) fn created_aside(id: &str, metadata: &Value) -> Says {
    provider(json!({ "type": "response.created", "event_id": "event_2", "response": {
        "id": id, "status": "in_progress", "conversation_id": null, "metadata": metadata,
        "output": [] } }))
}

/// `calls`: `call_id:name`, or `call_id:name:status`.
pub(super) fn finish_turn(id: &str, status: &str, calls: &str) -> Says {
    let output: Vec<Value> = calls.split_whitespace().map(call_item).collect();
    let reason = (status == "cancelled").then_some("turn_detected");
    provider(json!({ "type": "response.done", "event_id": "event_3", "response": {
        "id": id, "status": status, "status_details": { "reason": reason },
        "conversation_id": "conv_1", "metadata": null, "output": output } }))
}

fn call_item(call: &str) -> Value {
    let mut parts = call.split(':');
    let id = parts.next().unwrap();
    let name = parts.next().unwrap();
    let status = parts.next().unwrap_or("completed");
    json!({ "id": format!("item_{id}"), "type": "function_call", "call_id": id, "name": name,
        "status": status, "arguments": "{}" })
}

pub(super) fn item_began(response: &str, call: &str) -> Says {
    let mut item = call_item(call);
    item["status"] = json!("in_progress");
    provider(json!({ "type": "response.output_item.added", "event_id": "event_4",
        "response_id": response, "output_index": 0, "item": item }))
}

pub(super) fn item_done(response: &str, call: &str) -> Says {
    provider(json!({ "type": "response.output_item.done", "event_id": "event_4",
        "response_id": response, "output_index": 0, "item": call_item(call) }))
}

pub(super) fn item_added(item: &Value, previous: Option<&str>) -> Says {
    provider(json!({ "type": "conversation.item.added", "event_id": "event_5",
        "previous_item_id": previous, "item": item }))
}

/// The provider has our answer.
pub(super) fn output_added(call: &str) -> Says {
    item_added(
        &json!({ "id": format!("out_{call}"), "type": "function_call_output", "call_id": call,
            "output": "{}" }),
        None,
    )
}

pub(super) fn error(event_id: &str, code: &str) -> Says {
    provider(json!({ "type": "error", "event_id": "event_6", "error": {
        "type": "invalid_request_error", "code": code, "message": "no", "event_id": event_id } }))
}

pub(super) fn speech(kind: &str) -> Says {
    provider(json!({ "type": format!("input_audio_buffer.{kind}"), "event_id": "event_7",
        "item_id": "user_1" }))
}

pub(super) fn update(tools: &[&str]) -> Says {
    let tools: Vec<Value> = tools.iter().map(|name| function(name)).collect();
    client(json!({ "type": "session.update", "event_id": "mine", "session": {
        "type": "realtime", "tools": tools } }))
}

pub(super) fn create() -> Says {
    client(json!({ "type": "response.create", "event_id": "mine" }))
}

pub(super) fn type_text(text: &str) -> Says {
    client(json!({ "type": "conversation.item.create", "item": {
        "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] } }))
}

pub(super) fn output(call: &str) -> Says {
    client(json!({ "type": "conversation.item.create", "event_id": "mine", "item": {
        "type": "function_call_output", "call_id": call, "output": "{}" } }))
}

pub(super) fn answer(id: &str, answered: AnswerStage, delivery: ResultDelivery) -> Says {
    let outcome = format!("{answered:?}").to_lowercase();
    Says::News(DialectEvent::Answer(CallAnswer { id: id.to_owned(), answered, outcome, delivery }))
}

pub(super) fn answer_of(id: &str) -> Says {
    answer(id, AnswerStage::Done, ResultDelivery::Wait)
}

// === what comes of it ===

fn describe(step: &DialectStep, other: &str) -> String {
    let fate = match &step.fate {
        MessageFate::Forward => Some("passes".to_owned()),
        MessageFate::Swallow => None,
        MessageFate::Replace(text) => Some(format!("{other}: {}", brief(text))),
    };
    let rest = Some(actions(&step.actions)).filter(|rest| !rest.is_empty());
    fate.into_iter().chain(rest).collect::<Vec<_>>().join(" | ")
}

fn actions(actions: &[DialectAction]) -> String {
    actions.iter().map(action).collect::<Vec<_>>().join(" | ")
}

fn action(action: &DialectAction) -> String {
    match action {
        DialectAction::ToClient(text) => format!("client: {}", brief(text)),
        DialectAction::ToProvider(text) => format!("provider: {}", brief(text)),
        DialectAction::Run(call) => format!("run {} {}", call.id, call.name),
        DialectAction::Confirm(ids) => format!("confirm {}", ids.join(" ")),
        DialectAction::Cancel(id) => format!("stop {id}"),
        DialectAction::CallerSpeech { text, form: UtteranceStage::Partial } => {
            format!("hears {text}...")
        }
        DialectAction::CallerSpeech { text, form: UtteranceStage::Final } => {
            format!("hears {text}")
        }
        DialectAction::AgentSpeech(text) => format!("said {text}"),
        DialectAction::Turn(event) => format!("turn {}", format!("{event:?}").to_lowercase()),
        DialectAction::Tier(tier) => format!("tier {}", tier.map_or("free", |tier| tier.as_str())),
        DialectAction::LateTold => "late told".to_owned(),
        other => format!("{other:?}"),
    }
}

/// A message without what is the same in all of them.
fn brief(text: &str) -> String {
    let event: Value = serde_json::from_str(text).unwrap();
    let kind = event["type"].as_str().unwrap();
    match kind {
        "session.update" | "session.updated" => {
            let session = &event["session"];
            let names = |tools: &Vec<Value>| {
                let names = tools.iter().filter_map(|tool| tool["name"].as_str());
                format!(" [{}]", names.collect::<Vec<_>>().join(" "))
            };
            let tools = session["tools"].as_array().map(names).unwrap_or_default();
            let instructions = session["instructions"].as_str().map(|text| format!(" {text:?}"));
            let creates = session["audio"]["input"]["turn_detection"]["create_response"].as_bool();
            let creates = creates.map(|creates| format!(" create_response={creates}"));
            format!(
                "{kind}{tools}{}{}",
                instructions.unwrap_or_default(),
                creates.unwrap_or_default()
            )
        }
        "conversation.item.create" => {
            let item = &event["item"];
            let after = event["previous_item_id"].as_str().map(|id| format!(" after {id}"));
            let call = item["call_id"].as_str().unwrap_or_default();
            let what = item["output"].as_str().or(item["name"].as_str()).unwrap_or_default();
            let kind = item["type"].as_str().unwrap();
            format!("{kind} {call} {what}{}", after.unwrap_or_default())
        }
        "response.create" => {
            let response = &event["response"];
            let extra = ["conversation", "tool_choice", "instructions"].map(|key| {
                let value = response[key].as_str().map(|text| text.chars().take(20).collect());
                value.map(|text: String| format!(" {key}={text}")).unwrap_or_default()
            });
            let names = response["tools"].as_array().map(|tools| {
                let names = tools.iter().filter_map(|tool| tool["name"].as_str());
                format!(" [{}]", names.collect::<Vec<_>>().join(" "))
            });
            let id = event["event_id"].as_str().unwrap_or_default();
            format!("create {id}{}{}", names.unwrap_or_default(), extra.concat())
        }
        "error" => format!(
            "error {} for {}",
            event["error"]["code"].as_str().unwrap_or_default(),
            event["error"]["event_id"]
        ),
        "response.created" | "response.done" => {
            let response = &event["response"];
            let output = response["output"].as_array().unwrap();
            let calls: Vec<&str> =
                output.iter().filter_map(|item| item["call_id"].as_str()).collect();
            format!("{kind} {} [{}] {}", response["id"], calls.join(" "), response["metadata"])
        }
        _ => {
            let about = ["item_id", "response_id", "previous_item_id", "tier", "reason"];
            let about = about.iter().filter_map(|key| event.get(key).map(|it| format!(" {it}")));
            format!("{kind}{}", about.collect::<String>())
        }
    }
}
