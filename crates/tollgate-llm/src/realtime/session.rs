//! One realtime session between two sockets: performs the actions that the dialect's state machine
//! decides on. Called by the driver; sends nothing itself.

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
use tollgate_core::tool::{ResultDelivery, Tool};
use tollgate_engine::notices::LiveSession;

use super::call_table::CallTable;
use super::events::{
    CloseReason, DialectAction, DialectEvent, DialectStep, MessageFate, NoDeepAnswerError,
    ProviderGone, RealtimeCall, RealtimeDialect, RealtimeFrame, RealtimeInit, RealtimeOffer,
};
use super::session_registry::{RealtimeSessionRegistry, SessionCommand};
use super::session_request::SessionRequest;
use super::wire::{close, code};

mod offers;
mod running_calls;
mod spans;
mod turns;

use spans::SessionSpans;
use turns::{SessionTranscript, SessionTurnState};

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
    running: FuturesUnordered<BoxFuture<'static, BackgroundResult>>,
    /// Answers of another model, in the order of the requests.
    speaking: FuturesOrdered<BoxFuture<'static, Result<String, NoDeepAnswerError>>>,
    running_calls: HashMap<String, RunningCall>,
    slow: Option<SlowCallChannel>,
    outbox: VecDeque<DriverCommand>,
    spans: SessionSpans,
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

/// Announcement of a slow call.
struct SlowCallNotice {
    id: String,
    message: Arc<str>,
}

/// Result of background work.
pub(super) enum BackgroundResult {
    Ran {
        id: String,
        outcome: Outcome,
    },
    Late(LateCallResult),
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
    Close(CloseReason),
}

/// An event of background work.
pub(super) enum BackgroundEvent {
    Came(Box<BackgroundResult>),
    Spoken(Result<String, NoDeepAnswerError>),
    Slow { id: String, message: Arc<str> },
}

impl RealtimeSession {
    pub(super) fn begin(
        session_registry: Arc<RealtimeSessionRegistry>,
        session_request: SessionRequest,
        facts: Arc<LiveSession>,
    ) -> Result<Self, CloseReason> {
        let prompt = offers::render_prompt(&session_request, &facts.id);
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
        };
        let mut session = Self {
            conversation: session_request.conversation.clone().unwrap_or_else(|| facts.id.clone()),
            machine: session_request.live.machine(opening),
            session_registry,
            session_request,
            facts,
            prompt,
            offer,
            call_progress,
            talk: SessionTranscript::default(),
            ledger: CallTable::default(),
            running: FuturesUnordered::new(),
            speaking: FuturesOrdered::new(),
            running_calls: HashMap::new(),
            slow: None,
            outbox: VecDeque::new(),
            spans,
        };
        session.show_tier("the session begins".to_owned());
        Ok(session)
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
        self.machine.wakes()
    }

    pub(super) fn next_out(&mut self) -> Option<DriverCommand> {
        self.outbox.pop_front()
    }

    pub(super) fn on_client_message(&mut self, message: Message, now: Instant) {
        let Some(frame) = frame(&message) else { return };
        let DialectStep { fate, actions } = self.machine.on_client_message(frame, now);
        match fate {
            MessageFate::Forward => self.outbox.push_back(DriverCommand::ToProvider(message)),
            MessageFate::Swallow => {}
            MessageFate::Replace(text) => {
                self.outbox.push_back(DriverCommand::ToProvider(same_kind(&message, text)))
            }
        }
        self.perform(actions, now);
    }

    pub(super) fn on_provider_message(&mut self, message: Message, now: Instant) {
        let Some(frame) = frame(&message) else { return };
        let DialectStep { fate, actions } = self.machine.on_provider_message(frame, now);
        match fate {
            MessageFate::Forward => self.outbox.push_back(DriverCommand::ToClient(message)),
            MessageFate::Swallow => {}
            MessageFate::Replace(text) => {
                self.outbox.push_back(DriverCommand::ToClient(same_kind(&message, text)))
            }
        }
        self.perform(actions, now);
    }

    /// The provider's connection ended: `true` if the session continues on another one.
    pub(super) fn survives_provider(&mut self, with: &CloseReason, now: Instant) -> bool {
        match self.machine.on_provider_gone(with, now) {
            ProviderGone::End => false,
            ProviderGone::Resume(actions) => {
                tracing::info!(code = with.code, "the provider is gone; resuming the session");
                self.perform(actions, now);
                true
            }
        }
    }

    pub(super) fn time(&mut self, now: Instant) {
        self.send_event(DialectEvent::Time, now);
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
            let SlowCallNotice { id, message } = notice;
            return Poll::Ready(BackgroundEvent::Slow { id, message });
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
            BackgroundEvent::Slow { id, message } => {
                if self.running_calls.contains_key(&id) {
                    self.send_event(DialectEvent::Slow { id, message }, now);
                }
            }
            BackgroundEvent::Came(came) => match *came {
                BackgroundResult::Ran { id, outcome } => self.finish_call(&id, &outcome, now),
                BackgroundResult::Nothing => {}
                BackgroundResult::Late(late) => self.deliver_late_result(late, now),
            },
            BackgroundEvent::Spoken(content) => {
                if let Ok(text) = &content {
                    self.talk.give(text);
                }
                self.send_event(DialectEvent::Speak(content), now);
            }
        }
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
                self.outbox.push_back(DriverCommand::Reconnect(first))
            }
            DialectAction::Reconnected => self.outbox.push_back(DriverCommand::Reconnected),
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
