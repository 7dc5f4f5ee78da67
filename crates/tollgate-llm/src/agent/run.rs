//! Runs a prepared answer, round after round, until the model is done or the turn is.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::map::Entry;
use serde_json::{Map, Value};
use tollgate_core::agent::MixedResponse;

use super::calls::{Dealt, Room, walled};
use super::offer::{Offer, dialect};
use super::prepare::Prepared;
use super::relay::Relay;
use super::{Acting, Answer, Chat, Said, Times, Voice};
use crate::conversation::{
    Content, Delivery, Message, Part, Request, Response, Role, Stop, ToolChoice, Usage,
};
use crate::delta::{Assembly, Delta, Opening, steps};
use crate::dialect::Dialect;
use crate::failure::{Failure, Kind};
use crate::mode::{self, Reading};
use crate::provider::{Chain, Model};
use crate::told::{Ended, Note, Told};
use crate::turn::{self, Ids, Offered, Sorted, Spent, Step, Then};

/// One answer in the making.
pub(super) struct Run {
    chat: Arc<Chat>,
    acting: Option<Acting>,
    chain: Vec<Arc<Model>>,
    offer: Offer,
    /// What could be called in the last answer.
    offered: Offered,
    /// The conversation so far, without the gateway's own tools.
    request: Request,
    /// Where in it the answer begins.
    asked: usize,
    spent: Spent,
    bounds: turn::Bounds,
    relay: Relay,
    /// What the client gets.
    whole: Assembly,
    ids: Ids,
    usage: Usage,
    ran: Vec<crate::told::Ran>,
    rounds: u32,
    times: Times,
    /// What the provider had no words for.
    lost: Vec<String>,
    /// In which the last answer was given.
    dialect: Dialect,
    voice: Option<Voice>,
}

impl Run {
    pub(super) fn new(prepared: Prepared, voice: Option<Voice>) -> Self {
        let Prepared { chat, acting, chain, offer, request, bounds, .. } = prepared;
        Self {
            chat,
            acting,
            chain,
            offer,
            offered: Offered::default(),
            asked: request.messages.len(),
            ids: Ids::behind(&request.messages),
            request,
            spent: Spent::default(),
            bounds,
            relay: Relay::default(),
            whole: Assembly::default(),
            usage: Usage::default(),
            ran: Vec::new(),
            rounds: 0,
            times: Times::default(),
            lost: Vec::new(),
            dialect: Dialect::OpenAiChat,
            voice,
        }
    }

    pub(super) async fn finished(mut self) -> Result<Answer, Failure> {
        loop {
            let response = self.round().await?;
            let step = turn::next(&response.parts, &self.offered, &self.spent, &self.bounds);
            let (sorted, then) = match step {
                Step::Finish(ended) => return self.finish(response, ended).await,
                Step::Deal { sorted, then } => (sorted, then),
            };
            self.deal(response, &sorted).await;
            match then {
                Then::Ask => {}
                Then::Return => return self.returned().await,
                Then::Conclude(ended) => {
                    self.offer.withdraw();
                    self.request.tool_choice = ToolChoice::None;
                    let response = self.round().await?;
                    return self.finish(response, ended).await;
                }
            }
        }
    }

    /// Asks once, and gives what comes of it to the client as far as it is the client's.
    async fn round(&mut self) -> Result<Response, Failure> {
        self.rounds += 1;
        self.relay.next_round();
        let began = self.chat.clock.now();
        let mut assembly = Assembly::default();
        let model = self.ask(&mut assembly).await?;
        self.times.models += self.chat.clock.now().saturating_duration_since(began);
        self.prefer(&model);
        let response = assembly.finish().ok_or_else(|| {
            let name = &model.settings.name;
            Failure::new(Kind::Provider, format!("the answer of `{name}` broke off"))
        })?;
        self.usage = self.usage.and(&response.usage);
        Ok(response)
    }

    async fn ask(&mut self, assembly: &mut Assembly) -> Result<Arc<Model>, Failure> {
        let (models, clock) = (self.chain.clone(), Arc::clone(&self.chat.clock));
        let voice = self.voice.clone();
        let on_fallback = |note: Note| {
            if let Some(voice) = &voice {
                voice.try_say(Said::Note(note));
            }
        };
        let chain =
            Chain { models: &models, clock: &*clock, until: None, on_fallback: &on_fallback };
        // Of the model that was asked last, which is the one that answers.
        let asked = Mutex::new((Offered::default(), Reading::default()));
        let (offer, request) = (self.offer.clone(), self.request.clone());
        let write = |model: &Model| {
            let round = offer.round(&request, model)?;
            let (request, reading) = mode::prepare(round.request, model.settings.tool_mode);
            *asked.lock() = (round.offered, reading);
            Ok(request)
        };
        match self.request.delivery {
            Delivery::Whole => {
                let reached = chain.ask(write).await?;
                let (offered, reading) = asked.into_inner();
                (self.offered, self.lost) = (offered, reached.lost);
                for delta in steps(&reading.whole(reached.answer)) {
                    self.take(delta, assembly).await;
                }
                Ok(reached.model)
            }
            Delivery::Streamed => {
                let mut reached = chain.stream(write).await?;
                let (offered, mut reading) = asked.into_inner();
                self.offered = offered;
                if !reached.lost.is_empty() {
                    self.note(Note::Lost(std::mem::take(&mut reached.lost))).await;
                }
                while let Some(delta) = reached.answer.next().await {
                    for delta in reading.read(delta?) {
                        self.take(delta, assembly).await;
                    }
                }
                Ok(reached.model)
            }
        }
    }

    /// One that has begun a turn goes on with it: it knows its own thoughts.
    fn prefer(&mut self, model: &Arc<Model>) {
        if let Some(at) = self.chain.iter().position(|it| Arc::ptr_eq(it, model)) {
            self.chain.drain(..at);
        }
        self.dialect = dialect(model);
    }

    async fn take(&mut self, mut delta: Delta, assembly: &mut Assembly) {
        if let Delta::Open { opening: Opening::Call { id, .. }, .. } = &mut delta {
            *id = self.ids.distinct(id);
        }
        assembly.add(&delta);
        let passed = self.relay.pass(&delta, &self.offered);
        self.give(passed).await;
    }

    async fn give(&mut self, deltas: Vec<Delta>) {
        for delta in deltas {
            self.whole.add(&delta);
            if let Some(voice) = &self.voice {
                voice.say(Said::Delta(delta)).await;
            }
        }
    }

    async fn note(&self, note: Note) {
        if let Some(voice) = &self.voice {
            voice.say(Said::Note(note)).await;
        }
    }

    /// Every call that is not the client's gets its result; both go into the history.
    async fn deal(&mut self, response: Response, sorted: &Sorted) {
        let Some(acting) = &self.acting else {
            self.request.messages.push(response.into_message());
            return;
        };
        let began = self.chat.clock.now();
        let left = self.bounds.tool_time.map(|all| all.saturating_sub(self.spent.tool_time));
        let turn = walled(&acting.turn, left, began);
        let (gate, voice) = (&*self.chat.gate, self.voice.as_ref());
        let room = Room { gate, turn: &turn, dialect: self.dialect, voice };
        let mut dealt = room.run(&sorted.run).await;
        self.spent.tool_time += self.chat.clock.now().saturating_duration_since(began);
        self.spent.calls += u32::try_from(sorted.run.len()).unwrap_or(u32::MAX);
        self.spent.depth += 1;
        for call in &sorted.search {
            let outcome = self.offer.search(&self.request, call);
            dealt.push(room.dealt(call, &outcome).await);
        }
        for (call, why) in &sorted.refused {
            dealt.push(room.refuse(call, *why, &self.offered).await);
        }
        self.keep(response, dealt);
        // What the client insisted on was done: insisting again would go on for ever.
        if !matches!(self.request.tool_choice, ToolChoice::None | ToolChoice::Unsaid) {
            self.request.tool_choice = ToolChoice::Auto;
        }
    }

    /// Into the history: the answer, then the results in the order of its calls.
    fn keep(&mut self, response: Response, dealt: Vec<Dealt>) {
        let order: HashMap<String, usize> =
            response.calls().enumerate().map(|(at, call)| (call.id.clone(), at)).collect();
        self.request.messages.push(response.into_message());
        let mut dealt = dealt;
        dealt.sort_by_key(|dealt| order.get(&dealt.ran.id).copied());
        let mut results = Vec::new();
        for Dealt { ran, result } in dealt {
            self.ran.push(ran);
            results.push(Part::new(Content::Result(result)));
        }
        if !results.is_empty() {
            self.request.messages.push(Message::new(Role::User, results));
        }
    }

    /// Calls wait for the client.
    async fn returned(mut self) -> Result<Answer, Failure> {
        let form = self.acting.as_ref().map(|acting| acting.agent.persona.mixed_response);
        let stop = match form {
            Some(MixedResponse::Inline) if !self.ran.is_empty() => {
                let said = self.relay.say(inlined(&self.request.messages[self.asked..]));
                self.give(said).await;
                Stop::End
            }
            Some(MixedResponse::Inline | MixedResponse::Native) | None => Stop::Calls,
        };
        self.close(stop, Ended::CallsPending).await
    }

    async fn finish(mut self, response: Response, ended: Ended) -> Result<Answer, Failure> {
        let stop = match &response.stop {
            // It asked for what nobody runs any more.
            Stop::Calls => Stop::End,
            stop => stop.clone(),
        };
        self.request.messages.push(response.into_message());
        self.close(stop, ended).await
    }

    async fn close(mut self, stop: Stop, ended: Ended) -> Result<Answer, Failure> {
        let end = self.relay.end(stop, self.usage.clone());
        self.give(vec![end]).await;
        let told = self.acting.is_some().then(|| Told {
            ended,
            rounds: self.rounds,
            history: match self.ran.is_empty() {
                true => Vec::new(),
                false => self.request.messages.split_off(self.asked),
            },
            calls: std::mem::take(&mut self.ran),
        });
        let broken = || Failure::new(Kind::Internal, "the answer has no end");
        let times = Times { tools: self.spent.tool_time, ..self.times };
        Ok(Answer {
            response: self.whole.finish().ok_or_else(broken)?,
            told,
            times,
            lost: self.lost,
        })
    }
}

/// What tools said, by their names: one text, or a list where one was called more than once.
fn inlined(history: &[Message]) -> String {
    let mut said: Map<String, Value> = Map::new();
    for part in history.iter().flat_map(|message| &message.parts) {
        let Content::Result(result) = &part.content else { continue };
        let text: String = result.parts.iter().filter_map(Part::as_text).collect();
        let text = Value::String(text);
        match said.entry(result.name.clone().unwrap_or_default()) {
            Entry::Vacant(place) => {
                place.insert(text);
            }
            Entry::Occupied(mut place) => match place.get_mut() {
                Value::Array(list) => list.push(text),
                first => *first = Value::Array(vec![first.take(), text]),
            },
        }
    }
    Value::Object(said).to_string()
}
