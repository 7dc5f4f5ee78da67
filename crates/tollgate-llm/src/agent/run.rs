//! Runs a prepared answer, round after round, until the model is done or the turn is.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
use tollgate_core::agent::{Engine, MixedResponse};
use tollgate_engine::spans::{self, Follow, Span};

use super::asking::{self, Asking, Heard, Reached};
use super::calls::{Dealt, Room, walled};
use super::inlined::inlined;
use super::mouth::Mouth;
use super::offer::Offer;
use super::opener::{self, Opened};
use super::prepare::Prepared;
use super::{Acting, Answer, Chat, Times, Voice};
use crate::cascade;
use crate::conversation::{
    Content, Message, Part, Request, Response, Role, Stop, ToolChoice, Usage,
};
use crate::delta::Assembly;
use crate::failure::{Failure, Kind, Repeat};
use crate::provider::{Model, spent};
use crate::told::{Ended, Note, Ran, Told};
use crate::turn::{self, Ids, Offered, Sorted, Spent, Step, Then};

/// Of one answer, all rounds together.
const LONGEST: Duration = Duration::from_secs(600);

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
    /// What a model has to know beside the conversation.
    aside: Option<Message>,
    spent: Spent,
    bounds: turn::Bounds,
    /// However slow models are, nobody waits beyond this.
    until: Instant,
    mouth: Mouth,
    usage: Usage,
    ran: Vec<Ran>,
    rounds: u32,
    times: Times,
    /// What the provider had no words for.
    lost: Vec<String>,
    /// What it is part of: the span of the whole turn, where there is an agent.
    follow: Follow,
    span: Span,
}

impl Run {
    pub(super) fn new(prepared: Prepared, voice: Option<Voice>) -> Self {
        let Prepared { chat, mut acting, chain, offer, request, bounds, trace, .. } = prepared;
        let follow = Follow { tracer: chat.gate.tracer().clone(), trace };
        let span = invoked(&follow, acting.as_ref());
        let follow = follow.within(&span);
        if let Some(acting) = &mut acting {
            acting.turn.trace.clone_from(&follow.trace);
        }
        let until = chat.clock.now() + LONGEST;
        Self {
            chat,
            acting,
            chain,
            offer,
            offered: Offered::default(),
            asked: request.messages.len(),
            until,
            mouth: Mouth::new(Ids::behind(&request.messages), voice),
            request,
            aside: None,
            spent: Spent::default(),
            bounds,
            usage: Usage::default(),
            ran: Vec::new(),
            rounds: 0,
            times: Times::default(),
            lost: Vec::new(),
            follow,
            span,
        }
    }

    /// Fails only before any tool was run, or says that some were.
    pub(super) async fn finished(mut self) -> Result<Answer, Failure> {
        let last = self.last_response().await;
        self.told(last.as_ref().err());
        match last {
            Ok(last) => Box::pin(self.close(last)).await,
            Err(failure) if self.ran.is_empty() => Err(failure),
            Err(failure) => {
                let message =
                    format!("{failure}; tools were run before this, and are in the trail");
                Err(Failure { repeat: Repeat::RunsToolsAgain, message, ..failure })
            }
        }
    }

    fn told(&mut self, failure: Option<&Failure>) {
        let (usage, rounds) = (&self.usage, self.rounds);
        self.span.tell(|said| {
            spent(said, usage);
            said.set("tollgate.rounds", u64::from(rounds));
        });
        match failure {
            None => self.span.done(),
            Some(failure) => self.span.refused(failure.kind.code(), || failure.to_string()),
        }
    }

    /// What comes after the first words is boxed: a stream that only speaks holds no room for it.
    async fn last_response(&mut self) -> Result<Last, Failure> {
        let mut response = self.first_round().await?;
        loop {
            let step = turn::next(&response, &self.offered, &self.spent, &self.bounds);
            let (sorted, then) = match step {
                Step::Finish(ended) => return Ok(self.finish(response, ended)),
                Step::Deal { sorted, then } => (sorted, then),
            };
            let stop = response.stop.clone();
            Box::pin(self.deal(response, &sorted)).await;
            match then {
                Then::Ask => {}
                Then::Return => return Ok(Box::pin(self.returned(stop)).await),
                Then::Conclude(ended) => {
                    self.offer.withdraw();
                    self.request.tool_choice = ToolChoice::None;
                    let response = self.round().await?;
                    return Ok(self.finish(response, ended));
                }
            }
            response = self.round().await?;
        }
    }

    async fn first_round(&mut self) -> Result<Response, Failure> {
        match self.opener() {
            Some(opener) => Box::pin(self.opened_round(&opener)).await,
            None => self.round().await,
        }
    }

    /// Who speaks the first sentence. Nobody has to where the answer comes whole.
    fn opener(&self) -> Option<Arc<Model>> {
        let engine = &self.acting.as_ref()?.agent.persona.engine;
        let Engine::SentenceCascade { opener } = engine else { return None };
        self.mouth.voice()?;
        self.chat.models().find(opener)
    }

    async fn opened_round(&mut self, opener: &Arc<Model>) -> Result<Response, Failure> {
        let began = self.chat.clock.now();
        self.rounds += 1;
        let strong = self.asking();
        let fast = opener::question(&strong, opener);
        let strong = asking::ask(strong);
        let model = self.model().settings.id.clone();
        let opened = opener::open(&mut self.mouth, (fast, strong), &model).await?;
        let (opener, heard, rest) = match opened {
            Opened::Alone { heard, rest } => (None, heard, rest),
            Opened::Said { opener, heard } => (Some(opener), heard, stream::empty().boxed()),
            Opened::Blind { opener } => {
                self.times.models += self.chat.clock.now().saturating_duration_since(began);
                self.begun_by(&opener);
                let mut response = self.round().await?;
                opener::put_before(&mut response, opener);
                return Ok(response);
            }
        };
        let whole = stream::iter(heard.into_iter().map(Ok)).chain(rest).boxed();
        let mut response = self.hear(whole, began).await?;
        if let Some(opener) = opener {
            self.begun_by(&opener);
            opener::put_before(&mut response, opener);
        }
        Ok(response)
    }

    /// This much of the answer was said already.
    fn begun_by(&mut self, opener: &str) {
        self.mouth.said_before(opener);
        self.aside = Some(cascade::to_strong(opener));
    }

    /// Asks once, and gives what comes of it to the client as far as it is the client's.
    async fn round(&mut self) -> Result<Response, Failure> {
        self.rounds += 1;
        self.mouth.next_round();
        let began = self.chat.clock.now();
        let answer = asking::ask(self.asking());
        self.hear(answer, began).await
    }

    fn asking(&self) -> Asking {
        let mut request = self.request.clone();
        request.messages.extend(self.aside.clone());
        Asking {
            clock: Arc::clone(&self.chat.clock),
            models: self.chain.clone(),
            offer: self.offer.clone(),
            request,
            until: self.until,
            follow: self.follow.clone(),
            voice: self.mouth.voice().cloned(),
        }
    }

    async fn hear(
        &mut self,
        mut answer: asking::Answer,
        began: Instant,
    ) -> Result<Response, Failure> {
        let mut round = Assembly::default();
        while let Some(heard) = answer.next().await {
            match heard? {
                Heard::Reached(reached) => self.reached(reached).await,
                Heard::Delta(delta) => self.mouth.take(delta, &self.offered, &mut round).await,
            }
        }
        self.times.models += self.chat.clock.now().saturating_duration_since(began);
        let broken = || Failure::new(Kind::Provider, "the model's answer broke off");
        let response = round.finish().ok_or_else(broken)?;
        self.chat.figures.spent(&self.model().settings.name, &response.usage);
        self.usage = self.usage.and(&response.usage);
        Ok(response)
    }

    /// Who answered last, or is asked first.
    fn model(&self) -> Arc<Model> {
        Arc::clone(self.chain.first().expect("prepared for at least one model"))
    }

    /// A model that has begun a turn goes on with it: it knows its own thoughts.
    async fn reached(&mut self, reached: Reached) {
        let Reached { model, offered, lost } = reached;
        if let Some(at) = self.chain.iter().position(|it| Arc::ptr_eq(it, &model)) {
            self.chain.drain(..at);
        }
        self.offered = offered;
        if !lost.is_empty() {
            self.mouth.note(Note::Lost(lost.clone())).await;
            self.lost = lost;
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
        let (gate, voice) = (&*self.chat.gate, self.mouth.voice());
        let model = self.model();
        let room = Room { gate, turn: &turn, model: &model, voice };
        let mut dealt = room.run(&sorted.run).await;
        self.spent.tool_time += self.chat.clock.now().saturating_duration_since(began);
        let dealt_with = sorted.run.len() + sorted.search.len() + sorted.refused.len();
        self.spent.calls += u32::try_from(dealt_with).unwrap_or(u32::MAX);
        self.spent.depth += 1;
        for call in &sorted.search {
            let outcome = self.offer.search(&self.request, call);
            dealt.push(room.dealt(call, &outcome).await);
        }
        for (call, why) in &sorted.refused {
            dealt.push(room.refuse(call, *why, &self.offered).await);
        }
        self.keep(response, dealt);
        self.request.tool_choice = turn::relaxed(&self.request.tool_choice);
    }

    /// Into the history: the answer, then the results in the order of its calls.
    fn keep(&mut self, response: Response, mut dealt: Vec<Dealt>) {
        let order: HashMap<String, usize> =
            response.calls().enumerate().map(|(at, call)| (call.id.clone(), at)).collect();
        self.request.messages.push(response.into_message());
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
    async fn returned(&mut self, stop: Stop) -> Last {
        let form = self.acting.as_ref().map(|acting| acting.agent.persona.mixed_response);
        let stop = if form == Some(MixedResponse::Inline) && !self.ran.is_empty() {
            self.mouth.say(inlined(&self.request.messages[self.asked..])).await;
            Stop::End
        } else if stop.is_whole() {
            Stop::Calls
        } else {
            stop
        };
        Last { stop, ended: Ended::CallsPending }
    }

    fn finish(&mut self, mut response: Response, ended: Ended) -> Last {
        let has_calls = response.calls().next().is_some();
        let (stop, ended) = match (&response.stop, has_calls) {
            // It asked for what nobody runs any more.
            (Stop::Calls, true) => (Stop::End, ended),
            // Calls of a kind that only its dialect has: the client's.
            (Stop::Calls, false) => (Stop::Calls, Ended::CallsPending),
            (stop, _) => (stop.clone(), ended),
        };
        // A history with calls that never get results could not be sent back.
        response.parts.retain(|part| part.as_call().is_none());
        self.request.messages.push(response.into_message());
        Last { stop, ended }
    }

    async fn close(mut self, last: Last) -> Result<Answer, Failure> {
        if let Some(acting) = &self.acting {
            self.chat.figures.took(&acting.agent.id, self.rounds);
        }
        let told = self.acting.is_some().then(|| Told {
            ended: last.ended,
            model: self.model().settings.name.clone(),
            rounds: self.rounds,
            history: match self.ran.is_empty() {
                true => Vec::new(),
                false => self.request.messages.split_off(self.asked),
            },
            calls: std::mem::take(&mut self.ran),
        });
        let times = Times { tools: self.spent.tool_time, ..self.times };
        let response = self.mouth.close(last.stop, self.usage).await;
        let response =
            response.ok_or_else(|| Failure::new(Kind::Internal, "the answer has no end"))?;
        Ok(Answer { response, told, times, lost: self.lost })
    }
}

/// The span of a turn of an agent. A model that answers alone has the one of its question.
fn invoked(follow: &Follow, acting: Option<&Acting>) -> Span {
    let Some(acting) = acting else { return Span::part_of(follow.trace.as_ref()) };
    let agent = acting.agent.id.as_str();
    let mut span = follow.begin(spans::Kind::Internal, || format!("invoke_agent {agent}").into());
    span.tell(|said| {
        said.set("gen_ai.operation.name", "invoke_agent");
        said.set("gen_ai.agent.name", agent.to_owned());
        said.set("tollgate.tier", acting.turn.view.tier.as_str());
    });
    span
}

/// How an answer ends.
struct Last {
    stop: Stop,
    ended: Ended,
}
