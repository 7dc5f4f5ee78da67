//! One realtime session between two sockets: performs the actions that the dialect's state machine
//! decides on. Called by the driver; sends nothing itself.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, BoxFuture};
use futures_util::stream::{FuturesOrdered, FuturesUnordered};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;
use tollgate_core::call::Outcome;
use tollgate_core::tool::{ResultDelivery, Tool};
use tollgate_engine::memory::RecalledNotes;
use tollgate_engine::notices::LiveSession;

use super::call_table::CallTable;
use super::events::{
    CloseReason, DialectAction, DialectEvent, DialectStep, MessageFate, NoDeepAnswerError,
    ProviderFault, RealtimeCall, RealtimeDialect, RealtimeFrame, RealtimeInit, RealtimeOffer,
    UtteranceStage,
};
use super::failover::FailoverPolicy;
use super::observer::SessionObserver;
use super::session_registry::{RealtimeSessionRegistry, SessionCommand};
use super::session_request::{DialFuture, SessionRequest};
use super::translation;
use super::wire::{close, code};

mod failover;
mod offers;
mod protocol_change;
mod recall;
mod routing;
mod running_calls;
mod silence;
mod spans;
mod turns;
mod usage;

pub(super) use offers::first_offer;
use recall::SessionRecall;
use silence::SessionSilence;
use spans::SessionSpans;
use turns::{SessionTranscript, SessionTurnState};
use usage::SessionUsage;
pub(super) use usage::limit_close;

/// Queued announcements of slow calls.
const MAX_QUEUED_NOTICES: usize = 16;

pub(super) struct RealtimeSession {
    session_registry: Arc<RealtimeSessionRegistry>,
    session_request: SessionRequest,
    facts: Arc<LiveSession>,
    /// Conversation id for memory and tier selection.
    conversation: String,
    machine: Box<dyn RealtimeDialect>,
    prompt: Option<Arc<str>>,
    offer: RealtimeOffer,
    call_progress: SessionTurnState,
    talk: SessionTranscript,
    ledger: CallTable,
    /// Runs the calls and the other models, apart from the sockets.
    calls: Handle,
    running: FuturesUnordered<BoxFuture<'static, BackgroundResult>>,
    /// Answers of another model, in the order of the requests.
    speaking: FuturesOrdered<BoxFuture<'static, Result<String, NoDeepAnswerError>>>,
    running_calls: HashMap<String, RunningCall>,
    slow: Option<SlowCallChannel>,
    outbox: VecDeque<DriverCommand>,
    failover: FailoverPolicy,
    /// Why another connection is being opened.
    fault: Option<ProviderFault>,
    spans: SessionSpans,
    observer: Box<dyn SessionObserver>,
    usage: SessionUsage,
    silence: SessionSilence,
    recall: SessionRecall,
}

/// A call that has no answer yet.
struct RunningCall {
    call: RealtimeCall,
    tool: Option<Arc<Tool>>,
    delivery: ResultDelivery,
    /// `None`: the call is held.
    abort: Option<AbortHandle>,
    /// The turn in which it began.
    turn: u64,
}

/// Made for the first call: most sessions wait for one, and a channel is kilobytes.
struct SlowCallChannel {
    sender: mpsc::Sender<SlowCallNotice>,
    receiver: mpsc::Receiver<SlowCallNotice>,
}

impl SlowCallChannel {
    fn new() -> Self {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED_NOTICES);
        Self { sender, receiver }
    }
}

/// Announcement of a slow call, or of another model's turn.
pub(super) struct SlowCallNotice {
    /// `None`: the turn.
    call: Option<String>,
    message: Arc<str>,
}

/// Result of background work.
pub(super) enum BackgroundResult {
    Ran {
        id: String,
        outcome: Outcome,
    },
    Late(LateCallResult),
    Recalled {
        notes: Option<Arc<RecalledNotes>>,
        stage: UtteranceStage,
    },
    /// Stopped, or there is nothing to wait for.
    Nothing,
}

/// The result of a call that was pending.
pub(super) struct LateCallResult {
    /// Ids of the call and of equal calls.
    ids: Vec<String>,
    tool: Option<Arc<Tool>>,
    delivery: ResultDelivery,
    outcome: Outcome,
}

/// A command for the driver.
pub(super) enum DriverCommand {
    ToClient(Message),
    ToProvider(Message),
    PrepareReconnect,
    Reconnect(Vec<String>),
    Reconnected,
    /// Continues on a connection that knows nothing of the session.
    Replace {
        dial: DialFuture,
        /// Whether the connection that was opened beside the old one may be used.
        keeps_successor: bool,
    },
    Close(CloseReason),
}

/// An event of background work.
pub(super) enum BackgroundEvent {
    Came(Box<BackgroundResult>),
    Spoken(Result<String, NoDeepAnswerError>),
    Slow(SlowCallNotice),
}

impl RealtimeSession {
    pub(super) fn begin(
        session_registry: Arc<RealtimeSessionRegistry>,
        mut session_request: SessionRequest,
        facts: Arc<LiveSession>,
        calls: Handle,
    ) -> Result<Self, CloseReason> {
        let gate = &session_registry.gate;
        let meter = session_request.take_usage(gate.model_usage());
        let meter = meter.map_err(|refused| limit_close(&refused.message))?;
        let usage = SessionUsage::new(meter, session_registry.clock.now());
        // A call was created with its prompt: the values in it must not change now.
        let prompt = match &session_request.declared {
            Some(declared) => declared.prompt.clone(),
            None => offers::render_prompt(&session_request, &facts.id),
        };
        let call_progress = SessionTurnState::begin(&session_registry, &session_request);
        let spans = SessionSpans::begin(&session_registry, &session_request, &facts);
        let turn = session_registry
            .gate
            .turn(session_request.party.turn_request(call_progress.wish(&session_request.party)));
        let turn = turn.map_err(|unknown| close(code::POLICY, unknown.to_string()))?;
        let offer = offers::offer(&session_request, &turn, prompt.clone());
        let opening = RealtimeInit {
            offer: offer.clone(),
            model: session_request.model_id(),
            routing: call_progress.routing(&session_registry, &session_request),
            declared: session_request.declared.clone(),
        };
        let mut session = Self {
            conversation: session_request.conversation.clone().unwrap_or_else(|| facts.id.clone()),
            machine: translation::machine(session_request.client, session_request.live, opening),
            observer: translation::observer(session_request.client, session_request.live),
            session_registry,
            session_request,
            facts,
            prompt,
            offer,
            call_progress,
            talk: SessionTranscript::default(),
            ledger: CallTable::default(),
            calls,
            running: FuturesUnordered::new(),
            speaking: FuturesOrdered::new(),
            running_calls: HashMap::new(),
            slow: None,
            outbox: VecDeque::new(),
            failover: FailoverPolicy::default(),
            fault: None,
            spans,
            usage,
            silence: SessionSilence::default(),
            recall: SessionRecall::default(),
        };
        session.machine.synchronize(session.now(), session.session_registry.clock.wall());
        session.show_tier("the session begins".to_owned());
        let now = session.now();
        session.update_hold(now);
        let actions = session.machine.begin(now);
        session.perform(actions, now);
        Ok(session)
    }

    /// Where announcements of slow calls go.
    fn slow_calls(&mut self) -> mpsc::Sender<SlowCallNotice> {
        self.slow.get_or_insert_with(SlowCallChannel::new).sender.clone()
    }

    pub(super) fn session_registry(&self) -> &Arc<RealtimeSessionRegistry> {
        &self.session_registry
    }

    pub(super) fn session_request(&self) -> &SessionRequest {
        &self.session_request
    }

    pub(super) fn now(&self) -> Instant {
        self.session_registry.clock.now()
    }

    pub(super) fn config_bytes(&self) -> usize {
        self.machine.config_bytes()
    }

    pub(super) fn wakes(&self) -> Option<Instant> {
        let charge = self.usage.wakes(self.call_progress.is_in_turn());
        Some(self.machine.wakes().map_or(charge, |at| at.min(charge)))
    }

    pub(super) fn next_out(&mut self) -> Option<DriverCommand> {
        self.outbox.pop_front()
    }

    pub(super) fn on_client_message(&mut self, message: Message, now: Instant) {
        let Some(message) = self.hold_for_recall(message, now) else { return };
        self.pass_client_message(message, now);
    }

    fn pass_client_message(&mut self, message: Message, now: Instant) {
        let Some(frame) = frame(&message) else { return };
        let observed = self.observer.on_client_message(frame);
        self.observe_client(&observed, now);
        let DialectStep { fate, actions } = self.machine.on_client_message(frame, now);
        match fate {
            MessageFate::Forward => self.outbox.push_back(DriverCommand::ToProvider(message)),
            MessageFate::Swallow => {}
            MessageFate::Replace(text) => {
                self.outbox.push_back(DriverCommand::ToProvider(same_kind(&message, text)))
            }
        }
        self.perform(actions, now);
        self.watch(now);
    }

    pub(super) fn on_provider_message(&mut self, message: Message, now: Instant) {
        let Some(frame) = frame(&message) else { return };
        let observed = self.observer.on_provider_message(frame);
        let DialectStep { fate, actions } = self.machine.on_provider_message(frame, now);
        // A translated message is swallowed, and what it means is among the actions.
        let is_translated = self.session_request.client != self.session_request.live;
        let is_told = |action: &DialectAction| matches!(action, DialectAction::ToClient(_));
        let is_shown =
            fate != MessageFate::Swallow || (is_translated && actions.iter().any(is_told));
        match fate {
            MessageFate::Forward => self.outbox.push_back(DriverCommand::ToClient(message)),
            MessageFate::Swallow => {}
            MessageFate::Replace(text) => {
                self.outbox.push_back(DriverCommand::ToClient(same_kind(&message, text)))
            }
        }
        self.perform(actions, now);
        self.observe_provider(&observed, is_shown, now);
        self.watch(now);
    }

    pub(super) fn time(&mut self, now: Instant) {
        self.send_event(DialectEvent::Time, now);
        self.watch(now);
    }

    pub(super) fn run_command(&mut self, order: SessionCommand, now: Instant) {
        match order {
            SessionCommand::Tier(tier) => self.insist(tier, "an administrator", now),
            SessionCommand::Close => {
                let with = close(code::GOING_AWAY, "closed by an administrator");
                self.outbox.push_back(DriverCommand::Close(with));
            }
        }
    }

    pub(super) fn poll_inner(&mut self, context: &mut Context<'_>) -> Poll<BackgroundEvent> {
        if let Some(slow) = &mut self.slow
            && let Poll::Ready(Some(notice)) = slow.receiver.poll_recv(context)
        {
            return Poll::Ready(BackgroundEvent::Slow(notice));
        }
        // Do not poll it while empty; it is polled again after the next push.
        if !self.running.is_empty()
            && let Poll::Ready(Some(came)) = self.running.poll_next_unpin(context)
        {
            return Poll::Ready(BackgroundEvent::Came(Box::new(came)));
        }
        if !self.speaking.is_empty()
            && let Poll::Ready(Some(text)) = self.speaking.poll_next_unpin(context)
        {
            return Poll::Ready(BackgroundEvent::Spoken(text));
        }
        Poll::Pending
    }

    pub(super) fn inner(&mut self, inner: BackgroundEvent, now: Instant) {
        match inner {
            BackgroundEvent::Slow(SlowCallNotice { call: Some(id), message }) => {
                if self.running_calls.contains_key(&id) {
                    self.send_event(DialectEvent::Slow { id, message }, now);
                }
            }
            BackgroundEvent::Slow(SlowCallNotice { call: None, message }) => {
                self.send_event(DialectEvent::SlowTurn(message), now);
            }
            BackgroundEvent::Came(came) => match *came {
                BackgroundResult::Ran { id, outcome } => self.finish_call(&id, &outcome, now),
                BackgroundResult::Nothing => {}
                BackgroundResult::Late(late) => self.deliver_late_result(late, now),
                BackgroundResult::Recalled { notes, stage } => {
                    self.on_recalled(notes.as_deref(), stage, now);
                }
            },
            BackgroundEvent::Spoken(content) => {
                if let Ok(text) = &content {
                    self.talk.give(text);
                }
                self.send_event(DialectEvent::Speak(content), now);
            }
        }
        self.watch(now);
    }

    /// Number of the current turn; `None` between turns.
    pub(super) fn running_turn(&self) -> Option<u64> {
        self.call_progress.is_in_turn().then_some(self.call_progress.number)
    }

    /// Whether the turn with that number is over; without a number, whether the calls outside turns
    /// are.
    pub(super) fn may_leave(&self, turn: Option<u64>) -> bool {
        match turn {
            Some(_) => self.running_turn() != turn,
            None => self.running_calls.is_empty() || self.running_turn().is_some(),
        }
    }

    /// Ends the session: what was said in its last turn is recorded.
    pub(super) fn end(mut self, now: Instant) {
        if self.call_progress.is_in_turn() {
            self.end_turn(tollgate_engine::notices::LiveEnding::Interrupted, now);
        }
        self.charge_time(0, now);
    }

    fn send_event(&mut self, news: DialectEvent, now: Instant) {
        let actions = self.machine.on_event(news, now);
        self.perform(actions, now);
    }

    fn perform(&mut self, actions: Vec<DialectAction>, now: Instant) {
        for action in actions {
            self.act(action, now);
        }
    }

    fn act(&mut self, action: DialectAction, now: Instant) {
        match action {
            DialectAction::ToClient(text) => {
                self.outbox.push_back(DriverCommand::ToClient(Message::text(text)))
            }
            DialectAction::ToProvider(text) => {
                self.silence.note_sent();
                self.outbox.push_back(DriverCommand::ToProvider(Message::text(text)))
            }
            DialectAction::Run(call) => self.run(call, now),
            DialectAction::Confirm(ids) => self.confirm(&ids, now),
            DialectAction::Cancel(id) => self.cancel(&id, now),
            DialectAction::CallerSpeech { text, form } => self.hear(&text, form, now),
            DialectAction::AgentSpeech(text) => self.talk.say(&text),
            DialectAction::Turn(event) => self.on_turn_event(event, now),
            DialectAction::Announced => self.call_progress.figures.announced += 1,
            DialectAction::LateTold => self.call_progress.figures.late += 1,
            DialectAction::Tier(tier) => self.insist(tier, "the client", now),
            DialectAction::Delegate => self.delegate(),
            DialectAction::PrepareReconnect => {
                self.outbox.push_back(DriverCommand::PrepareReconnect)
            }
            DialectAction::Reconnect(first) => {
                self.silence.note_reconnect();
                self.outbox.push_back(DriverCommand::Reconnect(first))
            }
            DialectAction::Replace(fault) => self.replace_provider(fault, now),
            DialectAction::Reconnected => {
                self.silence.note_reconnected();
                self.outbox.push_back(DriverCommand::Reconnected);
            }
            DialectAction::Close(with) => self.outbox.push_back(DriverCommand::Close(with)),
        }
    }
}

fn frame(message: &Message) -> Option<RealtimeFrame<'_>> {
    match message {
        Message::Text(text) => Some(RealtimeFrame::Text(text.as_str())),
        Message::Binary(bytes) => Some(RealtimeFrame::Binary(bytes)),
        Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_) => None,
    }
}

/// Some servers send their JSON in binary frames, and expect the same.
fn same_kind(message: &Message, text: String) -> Message {
    match message {
        Message::Binary(_) => Message::binary(text.into_bytes()),
        _ => Message::text(text),
    }
}
