//! One live session between the two sockets: lets the dialect's machine decide, and does what it
//! decides. Called by the driver; sends nothing itself.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, BoxFuture};
use futures_util::stream::{FuturesOrdered, FuturesUnordered};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;
use tollgate_core::call::Outcome;
use tollgate_core::template::{self, Values};
use tollgate_core::tool::{Delivery, Tool};
use tollgate_engine::notices::LiveSession;

use super::events::{
    Action, Call, CloseWith, Fate, Frame, News, Offer, Opening, RealtimeDialect, Step,
};
use super::hall::{Hall, Order};
use super::ledger::Ledger;
use super::visit::Visit;
use super::wire::{close, code};

mod offers;
mod running;
mod told;
mod turns;

use told::Told;
use turns::{Course, Talk};

/// Words for slow calls that wait to be said.
const QUEUE: usize = 16;

pub(super) struct Session {
    hall: Arc<Hall>,
    visit: Visit,
    facts: Arc<LiveSession>,
    /// By which the memory and the selector know it.
    conversation: String,
    machine: Box<dyn RealtimeDialect>,
    prompt: Option<Arc<str>>,
    offer: Offer,
    course: Course,
    talk: Talk,
    ledger: Ledger,
    running: FuturesUnordered<BoxFuture<'static, Came>>,
    /// Another model's answers, in the order in which they were asked for.
    speaking: FuturesOrdered<BoxFuture<'static, Result<String, String>>>,
    errands: HashMap<String, Running>,
    slow: (mpsc::Sender<Slow>, mpsc::Receiver<Slow>),
    outbox: VecDeque<Out>,
    told: Told,
}

/// A call that has no answer yet.
struct Running {
    call: Call,
    tool: Option<Arc<Tool>>,
    delivery: Delivery,
    /// `None`: it is held.
    abort: Option<AbortHandle>,
    /// In which it began.
    turn: u64,
}

/// Said of a call that takes long.
struct Slow {
    id: String,
    message: Arc<str>,
}

/// What comes of work that runs beside the sockets.
pub(super) enum Came {
    Ran {
        id: String,
        outcome: Outcome,
    },
    Late(Landed),
    /// It was stopped, or there is nothing to wait for.
    Nothing,
}

/// The result of a call that was pending.
pub(super) struct Landed {
    /// Of the call, and of those that asked for the same.
    ids: Vec<String>,
    tool: Option<Arc<Tool>>,
    delivery: Delivery,
    outcome: Outcome,
}

/// What the driver has to do.
pub(super) enum Out {
    ToClient(Message),
    ToProvider(Message),
    Reconnect(Vec<String>),
    Reconnected,
    Close(CloseWith),
}

/// Something that happens beside the sockets.
pub(super) enum Inner {
    Came(Box<Came>),
    Spoken(Result<String, String>),
    Slow { id: String, message: Arc<str> },
}

impl Session {
    pub(super) fn begin(
        hall: Arc<Hall>,
        visit: Visit,
        facts: Arc<LiveSession>,
    ) -> Result<Self, CloseWith> {
        let values = Values { request: &visit.variables, agent: &visit.agent, call_id: &facts.id };
        let prompt = visit.agent.persona.prompt.as_ref();
        let prompt = prompt.map(|prompt| template::render(prompt, &values).into());
        let course = Course::begin(&hall, &visit);
        let told = Told::begin(&hall, &visit, &facts);
        let turn = hall.gate.turn(visit.party.asked(course.wish(&visit.party)));
        let turn = turn.map_err(|unknown| close(code::POLICY, unknown.to_string()))?;
        let offer = offers::offer(&visit, &turn, prompt.clone());
        let opening = Opening {
            offer: offer.clone(),
            model: visit.model_id(),
            routing: course.routing(&hall, &visit),
        };
        let mut session = Self {
            conversation: visit.conversation.clone().unwrap_or_else(|| facts.id.clone()),
            machine: visit.live.machine(opening),
            hall,
            visit,
            facts,
            prompt,
            offer,
            course,
            talk: Talk::default(),
            ledger: Ledger::default(),
            running: FuturesUnordered::new(),
            speaking: FuturesOrdered::new(),
            errands: HashMap::new(),
            slow: mpsc::channel(QUEUE),
            outbox: VecDeque::new(),
            told,
        };
        session.show_tier("the session begins".to_owned());
        Ok(session)
    }

    pub(super) fn hall(&self) -> &Arc<Hall> {
        &self.hall
    }

    pub(super) fn visit(&self) -> &Visit {
        &self.visit
    }

    pub(super) fn now(&self) -> Instant {
        self.hall.clock.now()
    }

    pub(super) fn wakes(&self) -> Option<Instant> {
        self.machine.wakes()
    }

    pub(super) fn next_out(&mut self) -> Option<Out> {
        self.outbox.pop_front()
    }

    pub(super) fn client_said(&mut self, message: Message, now: Instant) {
        let Some(frame) = frame(&message) else { return };
        let Step { fate, actions } = self.machine.client_said(frame, now);
        match fate {
            Fate::Forward => self.outbox.push_back(Out::ToProvider(message)),
            Fate::Swallow => {}
            Fate::Replace(text) => {
                self.outbox.push_back(Out::ToProvider(same_kind(&message, text)))
            }
        }
        self.perform(actions, now);
    }

    pub(super) fn provider_said(&mut self, message: Message, now: Instant) {
        let Some(frame) = frame(&message) else { return };
        let Step { fate, actions } = self.machine.provider_said(frame, now);
        match fate {
            Fate::Forward => self.outbox.push_back(Out::ToClient(message)),
            Fate::Swallow => {}
            Fate::Replace(text) => self.outbox.push_back(Out::ToClient(same_kind(&message, text))),
        }
        self.perform(actions, now);
    }

    pub(super) fn time(&mut self, now: Instant) {
        self.news(News::Time, now);
    }

    pub(super) fn ordered(&mut self, order: Order, now: Instant) {
        match order {
            Order::Tier(tier) => self.insist(tier, "an administrator", now),
            Order::Close => {
                let with = close(code::GOING_AWAY, "closed by an administrator");
                self.outbox.push_back(Out::Close(with));
            }
        }
    }

    pub(super) fn poll_inner(&mut self, context: &mut Context<'_>) -> Poll<Inner> {
        if let Poll::Ready(Some(Slow { id, message })) = self.slow.1.poll_recv(context) {
            return Poll::Ready(Inner::Slow { id, message });
        }
        // Empty, it has nothing to wait for; the next that is pushed is polled again.
        if !self.running.is_empty()
            && let Poll::Ready(Some(came)) = self.running.poll_next_unpin(context)
        {
            return Poll::Ready(Inner::Came(Box::new(came)));
        }
        if !self.speaking.is_empty()
            && let Poll::Ready(Some(said)) = self.speaking.poll_next_unpin(context)
        {
            return Poll::Ready(Inner::Spoken(said));
        }
        Poll::Pending
    }

    pub(super) fn inner(&mut self, inner: Inner, now: Instant) {
        match inner {
            Inner::Slow { id, message } => {
                if self.errands.contains_key(&id) {
                    self.news(News::Slow { id, message }, now);
                }
            }
            Inner::Came(came) => match *came {
                Came::Ran { id, outcome } => self.ran(&id, &outcome, now),
                Came::Nothing => {}
                Came::Late(late) => self.landed(late, now),
            },
            Inner::Spoken(said) => {
                if let Ok(text) = &said {
                    self.talk.give(text);
                }
                self.news(News::Speak(said), now);
            }
        }
    }

    /// The number of the turn that runs; `None` between two.
    pub(super) fn running_turn(&self) -> Option<u64> {
        self.course.is_in_turn().then_some(self.course.number)
    }

    /// Whether the turn of that number is over, or, without one, what was called beside the turns.
    pub(super) fn may_leave(&self, turn: Option<u64>) -> bool {
        match turn {
            Some(_) => self.running_turn() != turn,
            None => self.errands.is_empty() || self.running_turn().is_some(),
        }
    }

    /// The session is over: what was said in its last turn is kept.
    pub(super) fn end(mut self, now: Instant) {
        if self.course.is_in_turn() {
            self.end_turn(tollgate_engine::notices::LiveEnding::Interrupted, now);
        }
    }

    fn news(&mut self, news: News, now: Instant) {
        let actions = self.machine.news(news, now);
        self.perform(actions, now);
    }

    fn perform(&mut self, actions: Vec<Action>, now: Instant) {
        for action in actions {
            self.act(action, now);
        }
    }

    fn act(&mut self, action: Action, now: Instant) {
        match action {
            Action::ToClient(text) => self.outbox.push_back(Out::ToClient(Message::text(text))),
            Action::ToProvider(text) => self.outbox.push_back(Out::ToProvider(Message::text(text))),
            Action::Run(call) => self.run(call, now),
            Action::Confirm(ids) => self.confirm(&ids, now),
            Action::Cancel(id) => self.cancel(&id, now),
            Action::Heard { text, form } => self.heard(&text, form, now),
            Action::Said(text) => self.talk.say(&text),
            Action::Turn(event) => self.turned(event, now),
            Action::Announced => self.course.figures.announced += 1,
            Action::Tier(tier) => self.insist(tier, "the client", now),
            Action::Delegate => self.delegate(),
            Action::Reconnect(first) => self.outbox.push_back(Out::Reconnect(first)),
            Action::Reconnected => self.outbox.push_back(Out::Reconnected),
            Action::Close(with) => self.outbox.push_back(Out::Close(with)),
        }
    }
}

fn frame(message: &Message) -> Option<Frame<'_>> {
    match message {
        Message::Text(text) => Some(Frame::Text(text.as_str())),
        Message::Binary(bytes) => Some(Frame::Binary(bytes)),
        Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_) => None,
    }
}

/// Some send their JSON as binary, and read it so.
fn same_kind(message: &Message, text: String) -> Message {
    match message {
        Message::Binary(_) => Message::binary(text.into_bytes()),
        _ => Message::text(text),
    }
}
