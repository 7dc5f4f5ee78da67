//! Everything at once, in any order: a provider that keeps its own rules, a client and a gate that
//! do as chance wants.
//!
//! Whatever happens, each call of ours is answered once, after its response; nothing is asked for
//! while something is under way; and the client sees nothing of it.

use std::collections::{HashMap, HashSet, VecDeque};

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use tollgate_core::tool::ResultDelivery;

use super::script::{Talk, function, offer};
use crate::realtime::events::{
    AnswerStage, CallAnswer, DialectAction, DialectEvent, DialectStep, MessageFate,
    NoDeepAnswerError, RealtimeDialect, RealtimeFrame, TurnEvent, UtteranceStage,
};

const TOOLS: &str = "ours_wait ours_idle:idle ours_interrupt:interrupt ours_silent:silent";

struct World {
    talk: Talk,
    server: Server,
    gate: Gate,
    client: Client,
    /// On the way.
    to_machine: VecDeque<Value>,
    to_server: VecDeque<Value>,
    turn: Option<TurnEvent>,
    /// The response that the machine has seen begin and not end.
    begun: Option<String>,
    /// An utterance that has got no response yet.
    unanswered: bool,
}

/// The provider, with its rules.
#[derive(Default)]
struct Server {
    count: u32,
    active: Option<Response>,
    asides: Vec<Response>,
    items: Vec<String>,
    /// Calls in the conversation, and whether their response is over, and their answers.
    calls: HashMap<String, Call>,
    /// Outputs in the conversation.
    outputs: Vec<String>,
    /// The item of what the caller says.
    speaking: Option<String>,
    /// It leaves the responses to the gateway.
    waits: bool,
    /// Utterances, the newest last.
    utterances: Vec<String>,
}

struct Response {
    id: String,
    metadata: Value,
    output: Vec<Value>,
    /// The item of its speech.
    message: Option<String>,
}

struct Call {
    name: String,
    over: bool,
    answers: u32,
}

/// The session around the machine.
#[derive(Default)]
struct Gate {
    running: Vec<(String, ResultDelivery)>,
    pending: Vec<(String, ResultDelivery)>,
    ran: HashSet<String>,
    /// Calls whose late result came.
    landed: Vec<String>,
    told: usize,
    /// Another model works.
    routed: bool,
    /// Decisions so far.
    decided: usize,
    /// Responses that the client knew before the other model began.
    begun_before: HashSet<String>,
}

#[derive(Default)]
struct Client {
    seen: HashSet<String>,
    responses: HashSet<String>,
    open_calls: Vec<String>,
    /// Responses in the conversation of which it heard something.
    heard: HashSet<String>,
}

impl Server {
    fn session(&self, kind: &str) -> Value {
        json!({ "type": kind, "session": { "type": "realtime", "tools": [], "audio": { "input": {
            "transcription": { "model": "whisper-1" },
            "turn_detection": { "type": "server_vad", "create_response": !self.waits } } } } })
    }
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            talk: Talk::fresh(TOOLS),
            server: Server::default(),
            gate: Gate::default(),
            client: Client::default(),
            to_machine: VecDeque::new(),
            to_server: VecDeque::new(),
            turn: None,
            begun: None,
            unanswered: false,
        };
        let created = world.server.session("session.created");
        world.emit(created);
        world.client_says(json!({ "type": "session.update", "session": {
            "type": "realtime", "tools": [function("theirs")] } }));
        world
    }

    fn step(&mut self, choice: u16) {
        let extra = usize::from(choice / 40);
        match choice % 40 {
            0..=6 | 32 => self.deliver(),
            7..=11 | 33 => self.serve(),
            34 | 35 => self.server_transcribes(extra),
            36 | 37 => self.server_speaks(),
            38 => {
                let hold = [None, Some(0), Some(300), Some(300)][extra % 4];
                self.news(DialectEvent::Hold(hold.map(std::time::Duration::from_millis)));
            }
            39 => self.news(DialectEvent::SlowTurn("One moment.".into())),
            12 => self.server_hears(),
            13 => self.server_commits(),
            14 | 15 => self.server_calls(extra),
            16 | 17 => self.server_finishes("completed"),
            18 => self.server_finishes(["incomplete", "failed"][extra % 2]),
            19..=21 => self.gate_answers(extra),
            22 => self.gate_lands(extra),
            23 => self.client_says(json!({ "type": "conversation.item.create", "item": {
                "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "hm" }] } })),
            24 => self.client_says(json!({ "type": "response.create" })),
            25 => {
                self.unanswered = false;
                self.client_says(json!({ "type": "response.cancel" }));
            }
            26 | 27 => self.client_answers(),
            28 => self.pass(100 * (extra as u64 + 1)),
            29 => {
                if let Some((id, _)) = self.gate.running.first().cloned() {
                    self.news(DialectEvent::Slow { id, message: "One moment.".into() });
                }
            }
            30 => self.gate_speaks(extra),
            _ => {
                let tools = ["ours_wait", TOOLS][extra % 2];
                self.news(DialectEvent::Offer(offer(tools)));
            }
        }
    }

    // === the wires ===

    fn deliver(&mut self) {
        let Some(event) = self.to_machine.pop_front() else { return };
        let writes = !event["response"]["conversation_id"].is_null();
        match event["type"].as_str() {
            Some("response.created") if writes => {
                self.begun = event["response"]["id"].as_str().map(str::to_owned);
            }
            Some("response.done") if writes => self.begun = None,
            _ => {}
        }
        let text = event.to_string();
        let now = self.talk.now;
        let step = self.talk.machine.on_provider_message(RealtimeFrame::Text(&text), now);
        let DialectStep { fate, actions } = step;
        match fate {
            MessageFate::Forward => self.client_hears(&text),
            MessageFate::Replace(text) => self.client_hears(&text),
            MessageFate::Swallow => {}
        }
        self.act(actions);
    }

    fn client_says(&mut self, event: Value) {
        let text = event.to_string();
        let now = self.talk.now;
        let DialectStep { fate, actions } =
            self.talk.machine.on_client_message(RealtimeFrame::Text(&text), now);
        match fate {
            MessageFate::Forward => self.to_server.push_back(event),
            MessageFate::Replace(text) => {
                self.to_server.push_back(serde_json::from_str(&text).unwrap())
            }
            MessageFate::Swallow => {}
        }
        self.act(actions);
    }

    fn news(&mut self, news: DialectEvent) {
        let now = self.talk.now;
        let actions = self.talk.machine.on_event(news, now);
        self.act(actions);
    }

    fn pass(&mut self, ms: u64) {
        self.talk.now += std::time::Duration::from_millis(ms);
        if self.talk.machine.wakes().is_some_and(|at| at <= self.talk.now) {
            self.news(DialectEvent::Time);
        }
    }

    fn act(&mut self, actions: Vec<DialectAction>) {
        for action in actions {
            match action {
                DialectAction::ToClient(text) => self.client_hears(&text),
                DialectAction::ToProvider(text) => {
                    let event: Value = serde_json::from_str(&text).unwrap();
                    let is_ours =
                        event["event_id"].as_str().is_some_and(|id| id.starts_with("tg-"));
                    let writes = event["response"]["conversation"] != "none";
                    if event["type"] == "response.create" && is_ours && writes {
                        assert_eq!(self.begun, None, "asked while a response was under way");
                    }
                    let cut = event["response_id"].as_str().unwrap_or_default();
                    let may_cut = self.gate.ran.iter().any(|id| id.contains("interrupt"));
                    if event["type"] == "response.cancel" && is_ours && !may_cut {
                        assert!(!self.client.heard.contains(cut), "cuts an answer that is heard");
                    }
                    self.to_server.push_back(event);
                }
                DialectAction::Run(call) => {
                    assert!(call.name.starts_with("ours"), "ran {}", call.name);
                    assert!(self.gate.ran.insert(call.id.clone()), "ran {} twice", call.id);
                    if call.name == "ours_interrupt" {
                        self.gate.ran.insert(format!("interrupt {}", call.id));
                    }
                    self.gate.running.push((call.id, delivery(&call.name)));
                }
                DialectAction::Cancel(id) => self.gate_cancels(&id),
                DialectAction::Turn(event) => self.turns(event),
                DialectAction::CallerSpeech { form, .. } => self.gate_decides(form),
                DialectAction::Delegate => {
                    self.gate.routed = true;
                    self.gate.begun_before.clone_from(&self.client.responses);
                }
                DialectAction::LateTold => self.gate.told += 1,
                _ => {}
            }
        }
    }

    fn turns(&mut self, event: TurnEvent) {
        let is_open = self.turn == Some(TurnEvent::Began);
        assert_eq!(event == TurnEvent::Began, !is_open, "{event:?} after {:?}", self.turn);
        self.turn = Some(event);
        // The session drops the other model's work.
        self.gate.routed &= event == TurnEvent::Ended;
    }

    // === the client ===

    fn client_hears(&mut self, text: &str) {
        for ours in ["ours_", "tollgate", "\"tg-", "call_tg"] {
            assert!(!text.contains(ours), "the client sees {text}");
        }
        let event: Value = serde_json::from_str(text).unwrap();
        if let Some(before) = event["previous_item_id"].as_str() {
            assert!(self.client.seen.contains(before), "points to what is not there: {text}");
        }
        let id = event["response"]["id"].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str().unwrap() {
            "conversation.item.added" => {
                self.client.seen.insert(event["item"]["id"].as_str().unwrap().to_owned());
            }
            "response.created" => assert!(self.client.responses.insert(id)),
            "response.output_audio.delta" => {
                let of = event["response_id"].as_str().unwrap().to_owned();
                assert!(self.client.responses.contains(&of), "sounds before it begins: {text}");
                let is_earlier = self.gate.begun_before.contains(&of);
                assert!(!self.gate.routed || is_earlier, "two models answer: {text}");
                self.client.heard.insert(of);
            }
            "response.done" => {
                assert!(self.client.responses.remove(&id), "an end without a beginning: {text}");
                for item in event["response"]["output"].as_array().unwrap() {
                    if item["type"] == "function_call" && event["response"]["status"] == "completed"
                    {
                        self.client.open_calls.push(item["call_id"].as_str().unwrap().to_owned());
                    }
                }
            }
            _ => {}
        }
    }

    fn client_answers(&mut self) {
        let Some(call_id) = self.client.open_calls.pop() else { return };
        self.client_says(json!({ "type": "conversation.item.create", "item": {
            "type": "function_call_output", "call_id": call_id, "output": "{}" } }));
        if self.client.open_calls.is_empty() {
            self.client_says(json!({ "type": "response.create" }));
        }
    }

    // === the gate ===

    fn gate_answers(&mut self, extra: usize) {
        if self.gate.running.is_empty() {
            return;
        }
        let at = extra % self.gate.running.len();
        let (id, delivery) = self.gate.running.remove(at);
        let answered = match (extra / 4 % 4, delivery) {
            (0, ResultDelivery::Wait) => {
                self.gate.pending.push((id.clone(), delivery));
                AnswerStage::Pending
            }
            _ => AnswerStage::Done,
        };
        self.answer(id, answered, delivery);
    }

    fn gate_lands(&mut self, extra: usize) {
        if self.gate.pending.is_empty() {
            return;
        }
        let at = extra % self.gate.pending.len();
        let (id, delivery) = self.gate.pending.remove(at);
        self.gate.landed.push(id.clone());
        self.answer(id, AnswerStage::Late, delivery);
    }

    fn gate_cancels(&mut self, id: &str) {
        let Some(at) = self.gate.running.iter().position(|(known, _)| known == id) else { return };
        // Every other one cannot be stopped, and ends later.
        if at % 2 == 0 {
            let (id, delivery) = self.gate.running.remove(at);
            self.answer(id, AnswerStage::Cancelled, delivery);
        }
    }

    /// The other model has finished.
    fn gate_speaks(&mut self, extra: usize) {
        if !std::mem::take(&mut self.gate.routed) {
            return;
        }
        let words = if extra.is_multiple_of(3) {
            Err(NoDeepAnswerError::Empty)
        } else {
            Ok("words".to_owned())
        };
        self.news(DialectEvent::Speak(words));
    }

    /// Decides about the caller's words as chance wants.
    fn gate_decides(&mut self, form: UtteranceStage) {
        self.gate.decided += 1;
        if self.gate.decided.is_multiple_of(3) {
            self.news(DialectEvent::Route);
        } else if form == UtteranceStage::Final {
            self.news(DialectEvent::Stay);
        }
    }

    fn answer(&mut self, id: String, answered: AnswerStage, delivery: ResultDelivery) {
        let outcome = format!("{answered:?} {id}");
        self.news(DialectEvent::Answer(CallAnswer { id, answered, outcome, delivery }));
    }

    // === the provider ===

    fn emit(&mut self, event: Value) {
        self.to_machine.push_back(event);
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.server.count += 1;
        format!("{prefix}_{}", self.server.count)
    }

    fn refuse(&mut self, event: &Value, code: &str) {
        let error = json!({ "code": code, "message": code, "event_id": event["event_id"] });
        self.emit(json!({ "type": "error", "error": error }));
    }

    fn serve(&mut self) {
        let Some(event) = self.to_server.pop_front() else { return };
        match event["type"].as_str().unwrap() {
            "session.update" => {
                let detection = &event["session"]["audio"]["input"]["turn_detection"];
                if detection.is_object() {
                    self.server.waits = detection["create_response"] == false;
                }
                let mut updated = self.server.session("session.updated");
                updated["session"]["tools"] = event["session"]["tools"].clone();
                self.emit(updated);
            }
            "conversation.item.create" => self.server_takes(&event),
            "conversation.item.delete" => {
                let id = event["item_id"].as_str().unwrap();
                self.server.items.retain(|known| known != id);
                let id = id.to_owned();
                self.server.calls.retain(|call, _| format!("item_{call}") != id);
                self.emit(json!({ "type": "conversation.item.deleted", "item_id": id }));
            }
            "response.create" => self.on_response_create(&event),
            "response.cancel" => self.server_cancels(&event),
            other => panic!("the provider knows no {other}"),
        }
    }

    fn server_takes(&mut self, event: &Value) {
        let mut item = event["item"].clone();
        let call_id = item["call_id"].as_str().unwrap_or_default().to_owned();
        match item["type"].as_str().unwrap() {
            "function_call" => {
                let name = item["name"].as_str().unwrap().to_owned();
                self.server.calls.insert(call_id, Call { name, over: true, answers: 0 });
            }
            "function_call_output" => {
                let call = self.server.calls.get_mut(&call_id);
                let call = call.unwrap_or_else(|| panic!("an answer for {call_id}: no such call"));
                assert!(call.over, "{call_id} was answered before its response was over");
                call.answers += 1;
                assert_eq!(call.answers, 1, "{call_id} was answered twice");
                self.server.outputs.push(item["output"].as_str().unwrap().to_owned());
            }
            _ => {}
        }
        if item["id"].is_null() {
            item["id"] = json!(self.fresh("item"));
        }
        self.server_adds(&item);
    }

    fn server_adds(&mut self, item: &Value) {
        let previous = self.server.items.last().cloned();
        self.server.items.push(item["id"].as_str().unwrap().to_owned());
        self.emit(json!({ "type": "conversation.item.added", "previous_item_id": previous, "item": item }));
    }

    fn on_response_create(&mut self, event: &Value) {
        let aside = event["response"]["conversation"] == "none";
        if !aside && self.server.active.is_some() {
            return self.refuse(event, "conversation_already_has_active_response");
        }
        let metadata = event["response"]["metadata"].clone();
        self.server_begins(&metadata, aside.then_some(()));
    }

    fn server_begins(&mut self, metadata: &Value, aside: Option<()>) {
        let id = self.fresh("resp");
        let metadata_of = metadata.clone();
        let response =
            Response { id: id.clone(), metadata: metadata_of, output: Vec::new(), message: None };
        self.unanswered &= aside.is_some();
        let conversation = match aside {
            Some(()) => {
                self.server.asides.push(response);
                Value::Null
            }
            None => {
                self.server.active = Some(response);
                json!("conv")
            }
        };
        self.emit(json!({ "type": "response.created", "response": { "id": id,
            "status": "in_progress", "conversation_id": conversation, "metadata": metadata,
            "output": [] } }));
    }

    fn server_cancels(&mut self, event: &Value) {
        let of = event["response_id"].as_str();
        let is_it = |response: &Option<Response>| {
            response.as_ref().is_some_and(|it| of.is_none_or(|id| id == it.id))
        };
        if self.server.asides.iter().any(|aside| of == Some(&*aside.id)) {
            self.end_asides(of, "cancelled");
        } else if is_it(&self.server.active) {
            self.server_ends("cancelled", "client_cancelled");
        } else {
            self.refuse(event, "response_cancel_not_active");
        }
    }

    fn server_hears(&mut self) {
        if self.server.speaking.is_some() {
            return;
        }
        let id = self.fresh("user");
        self.server.speaking = Some(id.clone());
        self.emit(json!({ "type": "input_audio_buffer.speech_started", "item_id": id }));
        self.server_ends("cancelled", "turn_detected");
    }

    fn server_commits(&mut self) {
        let Some(id) = self.server.speaking.take() else { return };
        self.emit(json!({ "type": "input_audio_buffer.speech_stopped", "item_id": id }));
        let previous = self.server.items.last().cloned();
        self.emit(json!({ "type": "input_audio_buffer.committed", "item_id": id, "previous_item_id": previous }));
        self.server_adds(&json!({ "id": id, "type": "message", "role": "user" }));
        self.server_ends("cancelled", "turn_detected");
        self.server.utterances.push(id);
        self.unanswered = true;
        if !self.server.waits {
            self.server_begins(&Value::Null, None);
        }
    }

    /// Some of what the caller said, all of it, all of it again, or nothing.
    fn server_transcribes(&mut self, extra: usize) {
        let newest = self.server.utterances.len();
        let speaking = self.server.speaking.clone();
        let item = match extra % 4 {
            0 => self.server.utterances.get(newest.wrapping_sub(2)).cloned(),
            1 if speaking.is_some() => speaking,
            _ => self.server.utterances.last().cloned(),
        };
        let Some(item) = item else { return };
        let kind = "conversation.item.input_audio_transcription";
        self.emit(match extra / 4 % 8 {
            0..=2 => json!({ "type": format!("{kind}.delta"), "item_id": item, "delta": "words " }),
            3..=6 => json!({ "type": format!("{kind}.completed"), "item_id": item, "transcript": "words" }),
            _ => json!({ "type": format!("{kind}.failed"), "item_id": item, "error": {} }),
        });
    }

    fn server_speaks(&mut self) {
        let item = self.fresh("speech");
        let Some(active) = &mut self.server.active else { return };
        let response_id = active.id.clone();
        let begins = active.message.is_none();
        let id = active.message.get_or_insert(item).clone();
        let of = |kind: &str| json!({ "type": format!("response.{kind}"), "response_id": response_id, "item_id": id });
        let sound = of("output_audio.delta");
        if begins {
            let item = json!({ "id": id, "type": "message", "role": "assistant" });
            let mut added = of("output_item.added");
            added["item"] = item.clone();
            let part = of("content_part.added");
            self.emit(added);
            self.server_adds(&item);
            self.emit(part);
        } else {
            self.emit(sound);
        }
    }

    fn server_calls(&mut self, extra: usize) {
        let names = [
            "ours_wait",
            "ours_wait",
            "ours_idle",
            "ours_interrupt",
            "ours_silent",
            "theirs",
            "nobodys_ours",
        ];
        let name = match names[extra % names.len()] {
            "nobodys_ours" => "ours_unknown",
            name => name,
        };
        let call_id = self.fresh("call");
        let Some(active) = &mut self.server.active else { return };
        let status = if (extra / 8).is_multiple_of(4) { "incomplete" } else { "completed" };
        let item = json!({ "id": format!("item_{call_id}"), "type": "function_call", "name": name,
            "call_id": call_id, "arguments": "{}", "status": status });
        active.output.push(item.clone());
        let response_id = active.id.clone();
        let call = Call { name: name.to_owned(), over: false, answers: 0 };
        self.server.calls.insert(call_id, call);
        let mut begun = item.clone();
        begun["status"] = json!("in_progress");
        let of = |kind: &str, item: &Value| json!({ "type": kind, "response_id": response_id, "output_index": 0, "item": item });
        let added = of("response.output_item.added", &begun);
        let done = of("response.output_item.done", &item);
        self.emit(added);
        self.server_adds(&begun);
        self.emit(done);
    }

    fn server_finishes(&mut self, status: &str) {
        self.end_asides(None, "completed");
        self.server_ends(status, "");
    }

    /// Ends the one with this id, or all.
    fn end_asides(&mut self, id: Option<&str>, status: &str) {
        let asides = std::mem::take(&mut self.server.asides).into_iter();
        let (ended, left): (Vec<_>, _) =
            asides.partition(|aside| id.is_none_or(|id| aside.id == id));
        self.server.asides = left;
        for Response { id, metadata, .. } in ended {
            self.emit(json!({ "type": "response.done", "response": { "id": id, "status": status,
                "conversation_id": null, "metadata": metadata, "output": [] } }));
        }
    }

    fn server_ends(&mut self, status: &str, reason: &str) {
        let Some(response) = self.server.active.take() else { return };
        for item in &response.output {
            if let Some(call) = self.server.calls.get_mut(item["call_id"].as_str().unwrap()) {
                call.over = true;
            }
        }
        self.emit(json!({ "type": "response.done", "response": { "id": response.id,
            "status": status, "status_details": { "reason": reason }, "conversation_id": "conv",
            "metadata": response.metadata, "output": response.output } }));
    }

    // === the end ===

    fn settle(&mut self) {
        for _ in 0..400 {
            while !self.to_server.is_empty() {
                self.serve();
            }
            while !self.to_machine.is_empty() {
                self.deliver();
            }
            self.server_commits();
            self.server_finishes("completed");
            self.gate_answers(7);
            self.gate_lands(0);
            self.client_answers();
            self.gate_speaks(1);
            self.pass(1000);
        }
    }

    fn check(&self) {
        for (id, call) in &self.server.calls {
            let is_ours = call.name.starts_with("ours") || id.starts_with("call_tg");
            let expected = if is_ours { 1 } else { call.answers };
            assert_eq!(call.answers, expected, "{id} {}", call.name);
        }
        assert!(self.talk.machine.speech_queue.is_nothing(), "something is still owed");
        assert!(self.client.responses.is_empty(), "a response never ended");
        assert_ne!(self.turn, Some(TurnEvent::Began), "a turn never ended");
        assert!(self.gate.running.is_empty());
        assert!(!self.unanswered, "an utterance got no response");
        for id in &self.gate.landed {
            let told = format!("Late {id}");
            let times = self.server.outputs.iter().filter(|output| **output == told).count();
            assert_eq!(times, 1, "the late result of {id}");
        }
        assert_eq!(self.gate.told, self.gate.landed.len());
        assert_eq!(self.talk.machine.wakes(), None, "it waits for nothing, and wants to be woken");
    }
}

fn delivery(name: &str) -> ResultDelivery {
    match name {
        "ours_idle" => ResultDelivery::WhenIdle,
        "ours_interrupt" => ResultDelivery::Interrupt,
        "ours_silent" => ResultDelivery::Silent,
        _ => ResultDelivery::Wait,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_each_call_is_answered_once_and_the_client_sees_nothing_of_it(
        choices in vec(0_u16..2560, 1..300),
    ) {
        let mut world = World::new();
        for choice in choices {
            world.step(choice);
        }
        world.settle();
        world.check();
    }
}

/// Choices that broke it once.
fn replay(choices: &[u16]) {
    let mut world = World::new();
    for choice in choices {
        world.step(*choice);
    }
    world.settle();
    world.check();
}

#[test]
fn an_utterance_gets_its_response_though_the_client_writes_text() {
    replay(&[
        567, 2007, 598, 760, 360, 152, 207, 12, 2263, 2183, 133, 1560, 1080, 1440, 272, 1103, 1428,
        2263,
    ]);
}

#[test]
fn an_old_request_for_words_does_not_speak_while_another_model_works() {
    replay(&[
        2398, 732, 2047, 2047, 440, 200, 360, 520, 113, 1333, 2360, 2040, 1463, 474, 32, 1384,
        1914, 120, 40, 440, 2110, 7, 167, 863, 2087, 2287, 1556, 2543, 543, 1196,
    ]);
}

#[test]
fn a_turn_that_the_client_cancels_ends() {
    replay(&[
        807, 120, 567, 752, 200, 798, 1807, 1544, 512, 1052, 120, 447, 512, 333, 1480, 360, 1785,
    ]);
}
