//! Whatever happens, in whatever order: the rules hold.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tollgate_core::tool::ResultDelivery;

use super::{Script, offer, offer_of};
use crate::realtime::events::{
    AnswerStage, CallAnswer, DialectAction, DialectEvent, DialectStep, MessageFate,
    RealtimeDialect, RealtimeFrame,
};

/// Something that can happen at any time. Numbers choose among what there is.
#[derive(Debug, Clone)]
enum Event {
    Calls(Vec<u8>),
    TakeBack(u8),
    Interrupted,
    TurnComplete,
    Speech,
    Resumable,
    GoAway,
    SetupComplete,
    Answer(u8, u8),
    ClientAnswers(u8),
    ClientForges(u8),
    ClientWrites,
    Offer(u8),
    Wait(u16),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 1..4).prop_map(Event::Calls),
        2 => any::<u8>().prop_map(Event::TakeBack),
        1 => Just(Event::Interrupted),
        2 => Just(Event::TurnComplete),
        1 => Just(Event::Speech),
        2 => Just(Event::Resumable),
        1 => Just(Event::GoAway),
        3 => Just(Event::SetupComplete),
        6 => (any::<u8>(), any::<u8>()).prop_map(|(which, how)| Event::Answer(which, how)),
        1 => any::<u8>().prop_map(Event::ClientAnswers),
        1 => any::<u8>().prop_map(Event::ClientForges),
        1 => Just(Event::ClientWrites),
        1 => any::<u8>().prop_map(Event::Offer),
        4 => (0_u16..3_000).prop_map(Event::Wait),
    ];
    prop::collection::vec(event, 0..120)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reported {
    Nothing,
    Pending,
    All,
}

/// What the world around the machine knows, to judge it by.
struct World {
    script: Script,
    made: u32,
    /// Ours that run or are pending, in order.
    running: Vec<(String, Reported)>,
    theirs: Vec<String>,
    ours: HashSet<String>,
    /// Taken back, or made on a connection that is gone.
    unanswerable: HashSet<String>,
    answered: HashMap<String, Reported>,
    resuming: bool,
}

impl World {
    fn new(model: &str) -> Self {
        Self {
            script: Script::resumable(model),
            made: 0,
            running: Vec::new(),
            theirs: Vec::new(),
            ours: HashSet::new(),
            unanswerable: HashSet::new(),
            answered: HashMap::new(),
            resuming: false,
        }
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::Calls(names) => self.calls(names),
            Event::TakeBack(which) => self.take_back(*which),
            Event::Interrupted => self.describe(&json!({"serverContent": {"interrupted": true}})),
            Event::TurnComplete => self.describe(&json!({"serverContent": {"turnComplete": true}})),
            Event::Speech => {
                self.describe(&json!({"serverContent": {"inputTranscription": {"text": "word "}}}));
            }
            Event::Resumable => {
                let update = json!({"newHandle": "h", "resumable": true});
                self.describe(&json!({"sessionResumptionUpdate": update}));
            }
            Event::GoAway => self.describe(&json!({"goAway": {"timeLeft": "3s"}})),
            Event::SetupComplete if self.resuming => self.describe(&json!({"setupComplete": {}})),
            Event::SetupComplete => (),
            Event::Answer(which, how) => self.answer(*which, *how),
            Event::ClientAnswers(which) => {
                if let Some(at) = pick(self.theirs.len(), *which) {
                    let id = self.theirs.remove(at);
                    self.client_answers(&id, "lights");
                }
            }
            Event::ClientForges(which) => {
                if let Some(at) = pick(self.running.len(), *which) {
                    let id = self.running[at].0.clone();
                    self.client_answers(&id, "roll");
                }
            }
            Event::ClientWrites => {
                self.make_request(&json!({"realtimeInput": {"text": "Hello."}}));
            }
            Event::Offer(0..128) => self.news(DialectEvent::Offer(offer())),
            Event::Offer(_) => self.news(DialectEvent::Offer(offer_of("weather", "Be brief."))),
            Event::Wait(ms) => self.wait(u64::from(*ms)),
        }
    }

    fn calls(&mut self, names: &[u8]) {
        if self.resuming {
            return;
        }
        let mut calls = Vec::new();
        for name in names {
            self.made += 1;
            let id = format!("f{}", self.made);
            let name = ["roll", "search", "note", "nobody", "lights"][usize::from(name % 5)];
            calls.push(json!({"id": id, "name": name, "args": {}}));
            match name {
                "lights" => self.theirs.push(id),
                _ => {
                    self.ours.insert(id);
                }
            }
        }
        self.describe(&json!({"toolCall": {"functionCalls": calls}}));
    }

    fn take_back(&mut self, which: u8) {
        if self.resuming {
            return;
        }
        if let Some(at) = pick(self.running.len(), which) {
            let id = self.running[at].0.clone();
            self.unanswerable.insert(id.clone());
            self.describe(&json!({"toolCallCancellation": {"ids": [id]}}));
        }
    }

    fn answer(&mut self, which: u8, how: u8) {
        let Some(at) = pick(self.running.len(), which) else { return };
        let (id, told) = self.running[at].clone();
        let answered = match (told, how % 3) {
            (Reported::Pending, _) => AnswerStage::Late,
            (_, 0) => AnswerStage::Pending,
            (_, 1) => AnswerStage::Cancelled,
            _ => AnswerStage::Done,
        };
        match answered {
            AnswerStage::Pending => self.running[at].1 = Reported::Pending,
            _ => drop(self.running.remove(at)),
        }
        let outcome = json!({"status": "ok", "message": "a word"}).to_string();
        let delivery = [
            ResultDelivery::Wait,
            ResultDelivery::WhenIdle,
            ResultDelivery::Interrupt,
            ResultDelivery::Silent,
        ][usize::from(how % 4)];
        self.news(DialectEvent::Answer(CallAnswer { id, answered, outcome, delivery }));
    }

    fn client_answers(&mut self, id: &str, name: &str) {
        let response = json!({"id": id, "name": name, "response": {"output": "theirs"}});
        self.make_request(&json!({"toolResponse": {"functionResponses": [response]}}));
    }

    fn wait(&mut self, ms: u64) {
        let until = self.script.now + Duration::from_millis(ms);
        while let Some(wake) = self.script.machine.wakes().filter(|wake| *wake <= until) {
            self.script.now = self.script.now.max(wake);
            self.news(DialectEvent::Time);
        }
        self.script.now = until;
    }

    fn describe(&mut self, message: &Value) {
        // What an old connection still says is not heard.
        if self.resuming && message.get("setupComplete").is_none() {
            return;
        }
        let text = message.to_string();
        let step =
            self.script.machine.on_provider_message(RealtimeFrame::Text(&text), self.script.now);
        let seen = match step.fate {
            MessageFate::Forward => Some(text),
            MessageFate::Replace(text) => Some(text),
            MessageFate::Swallow => None,
        };
        if let Some(seen) = seen {
            self.seen_by_client(&seen);
        }
        self.finish_turn(step.actions);
    }

    fn make_request(&mut self, message: &Value) {
        if self.resuming {
            return;
        }
        let text = message.to_string();
        let DialectStep { fate, actions } =
            self.script.machine.on_client_message(RealtimeFrame::Text(&text), self.script.now);
        match fate {
            MessageFate::Forward => self.seen_by_provider(&text, Who::Client),
            MessageFate::Replace(text) => self.seen_by_provider(&text, Who::Client),
            MessageFate::Swallow => (),
        }
        self.finish_turn(actions);
    }

    fn news(&mut self, news: DialectEvent) {
        let actions = self.script.machine.on_event(news, self.script.now);
        self.finish_turn(actions);
    }

    fn finish_turn(&mut self, actions: Vec<DialectAction>) {
        for action in actions {
            match action {
                DialectAction::Run(call) => {
                    assert!(self.ours.contains(&call.id), "only ours are run: {call:?}");
                    assert!(self.running.iter().all(|(id, _)| *id != call.id), "once: {call:?}");
                    self.running.push((call.id, Reported::Nothing));
                }
                DialectAction::ToClient(text) => self.seen_by_client(&text),
                DialectAction::ToProvider(text) => self.seen_by_provider(&text, Who::Gateway),
                DialectAction::Reconnect(first) => {
                    assert!(!self.resuming, "one at a time");
                    assert_eq!(first.len(), 1);
                    self.resuming = true;
                    self.unanswerable.extend(self.ours.iter().cloned());
                    self.theirs.clear();
                }
                DialectAction::Reconnected => self.resuming = false,
                DialectAction::Close(close) => panic!("{close:?}"),
                _ => (),
            }
        }
    }

    fn seen_by_client(&self, text: &str) {
        for hidden in
            ["weather", "\"roll\"", "\"search\"", "\"note\"", "nobody", "newHandle", "goAway"]
        {
            assert!(!text.contains(hidden), "{hidden} is visible: {text}");
        }
        let message: Value = serde_json::from_str(text).unwrap();
        let ids = message.pointer("/toolCallCancellation/ids").and_then(Value::as_array);
        for id in ids.into_iter().flatten() {
            assert!(!self.ours.contains(id.as_str().unwrap()), "{text}");
        }
    }

    fn seen_by_provider(&mut self, text: &str, who: Who) {
        assert!(!self.resuming, "not ready: {text}");
        let message: Value = serde_json::from_str(text).unwrap();
        let responses = message.pointer("/toolResponse/functionResponses");
        for response in responses.and_then(Value::as_array).into_iter().flatten() {
            let id = response["id"].as_str().unwrap();
            if who == Who::Client {
                assert!(!self.ours.contains(id), "forged: {text}");
                continue;
            }
            assert!(!self.unanswerable.contains(id), "taken back: {text}");
            let now = match response.get("willContinue") {
                Some(Value::Bool(true)) => Reported::Pending,
                _ => Reported::All,
            };
            let before = self.answered.insert(id.to_owned(), now);
            let before = before.unwrap_or(Reported::Nothing);
            assert!(
                before == Reported::Nothing
                    || (before == Reported::Pending && now == Reported::All),
                "twice: {text}"
            );
        }
    }

    /// Everything that runs comes to its end; then every call must have had its answer.
    fn finish(mut self) {
        self.wait(10_000);
        self.happen(&Event::SetupComplete);
        while !self.running.is_empty() {
            self.answer(0, 2);
            self.wait(300);
            self.happen(&Event::SetupComplete);
        }
        self.wait(10_000);
        for id in &self.ours {
            let told = self.answered.get(id).copied().unwrap_or(Reported::Nothing);
            let excused = self.unanswerable.contains(id);
            assert!(excused || told == Reported::All, "{id} is {told:?}");
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Client,
    Gateway,
}

fn pick(among: usize, which: u8) -> Option<usize> {
    (among > 0).then(|| usize::from(which) % among)
}

/// Messages that are nearly right.
const NEARLY: &[&str] = &[
    r#"{"toolCall":{"functionCalls":[{"id":"f1","name":"roll","args":{"ü":[1,{"a":"\u00e9"}]}},7,null]}}"#,
    r#"{"toolCallCancellation":{"ids":["f1",7]},"usageMetadata":{}}"#,
    r#"{"serverContent":{"inputTranscription":{"text":"Grüße, 世界","finished":1},"interrupted":"true"}}"#,
    r#"{"serverContent":{"modelTurn":{"parts":[{"text":"é"},{"inlineData":"x"}]},"turnComplete":true}}"#,
    r#"{"sessionResumptionUpdate":{"newHandle":7,"resumable":true},"goAway":{"timeLeft":"9.s"}}"#,
    r#"{"setup":{"model":"models/é","tools":[{"functionDeclarations":[{"name":7},{"name":"x"}]}]}}"#,
    r#"{"toolResponse":{"functionResponses":[{"id":"f1","response":"é"},[]]}}"#,
    r#"{"clientContent":{"turns":{"parts":[{"text":"é"}]},"turnComplete":true}}"#,
    r#"{"contextUpdate":{"tools":{"tools":[{"functionDeclarations":{}}]},"systemInstruction":"é"}}"#,
    r#"{"realtimeInput":{"text":"\ud800","activityStart":{}}}"#,
    r#"{"tollgate":{"tier":["é"]}}"#,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn b_ws_11_bytes_that_mean_nothing_hurt_nobody(
        messages in prop::collection::vec(
            (prop::sample::select(NEARLY), any::<prop::sample::Index>(), any::<u8>(), any::<bool>()),
            1..20,
        ),
        cut in any::<bool>(),
    ) {
        let mut script = Script::resumable("gemini-3.8-live");
        for (message, place, byte, by_client) in messages {
            let mut bytes = message.as_bytes().to_vec();
            let at = place.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            let frame = RealtimeFrame::Binary(&bytes);
            let step = if by_client {
                script.machine.on_client_message(frame, script.now)
            } else {
                script.machine.on_provider_message(frame, script.now)
            };
            let closes = step.actions.iter().any(|action| matches!(action, DialectAction::Close(_)));
            prop_assert!(!closes, "{message}");
            script.wait(100);
        }
    }

    #[test]
    fn every_call_is_answered_once_none_that_was_taken_back_and_nothing_of_ours_is_seen(
        model in prop::sample::select(vec![
            "gemini-2.5-flash-live",
            "gemini-3.1-flash-live-preview",
            "gemini-3.8-live",
            "gemini-3.8-live-extended-thinking",
        ]),
        events in events(),
    ) {
        let mut world = World::new(model);
        for event in &events {
            world.happen(event);
        }
        world.finish();
    }
}
