//! A connection after its upgrade to WebSocket: waits until both sides of a session are connected,
//! and then runs it.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, SinkExt, StreamExt};
use http::request::Parts;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::json;
use tokio::runtime::Handle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tollgate_core::agent::Agent;
use tollgate_core::lease::{RevocableLease, RevokedError};
use tollgate_engine::audit::{AuditAction, Decision};
use tollgate_engine::gate::UnknownAgentError;
use tollgate_llm::realtime::wire::{self, MessageStream};
use tollgate_llm::realtime::{
    CloseReason, DialedProvider, ProviderSessionTarget, RealtimeFrame, RealtimeProtocol,
    SessionEnds, SessionParty, SessionRequest, SessionSockets, TierOverrideRight, translation,
};
use tollgate_mcp::offload::LargeWork;

use super::message_budget::BudgetedStream;
use super::{conversation, secret_scope, target};
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::auth::Right;
use crate::auth::client_secret::ClientSecret;
use crate::pressure::ConnectionMemory;
use crate::realtime_threads::RealtimeThread;
use crate::request_context::{RequestContext, queue_depth};
use crate::variables::PromptVariables;

/// Timeout for the client's first message, which selects the model.
const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_secs(10);
/// Close reason at shutdown.
const STOPS: &str = "the gateway stops";
/// Limit on a close reason, in bytes.
const MAX_REASON_BYTES: usize = 123;

/// Takes a session from its request to the code that serves the connection, which runs it after
/// the HTTP upgrade.
#[derive(Clone, Default)]
pub(crate) struct UpgradeHandover(Arc<Mutex<Option<HandedSession>>>);

/// A session, and the thread that it is for.
pub(crate) struct HandedSession {
    pub(crate) session: BoxFuture<'static, ()>,
    pub(crate) thread: RealtimeThread,
}

impl UpgradeHandover {
    pub(crate) fn give(
        &self,
        thread: RealtimeThread,
        session: impl Future<Output = ()> + Send + 'static,
    ) {
        *self.0.lock() = Some(HandedSession { session: session.boxed(), thread });
    }

    pub(crate) fn take(&self) -> Option<HandedSession> {
        self.0.lock().take()
    }
}

pub(crate) type ClientWebSocket = WebSocketStream<BudgetedStream<TokioIo<Upgraded>>>;

/// Runs once the socket is available.
pub(super) type UpgradeCallback =
    Box<dyn FnOnce(Upgraded, LargeWork) -> BoxFuture<'static, OpenedSession> + Send>;

/// Runs a session; `None` if there is none to run. Apart from what opens it, whose memory a session
/// would keep to its end.
type OpenedSession = Option<BoxFuture<'static, CloseReason>>;

/// An authenticated client that has not selected a model yet.
pub(crate) struct PendingSession {
    front: Arc<AppState>,
    who: RequestContext,
    agent: Agent,
    live: RealtimeProtocol,
    place: ProviderSessionTarget,
    conversation: Option<String>,
    queue_depth: u32,
    variables: BTreeMap<String, String>,
    secret: Option<Arc<ClientSecret>>,
    /// The connection to which its messages are charged.
    connection: Option<Arc<ConnectionMemory>>,
    /// Runs its tool calls.
    worker: Handle,
}

impl PendingSession {
    pub(super) fn new(
        front: &Arc<AppState>,
        sent: &Parts,
        who: RequestContext,
        live: RealtimeProtocol,
        place: ProviderSessionTarget,
    ) -> Result<Self, ApiError> {
        let agent = target::agent(front, &who)?;
        let secret = secret_scope::presented_secret(sent);
        let (conversation, variables) = match &secret {
            Some(secret) => (secret.grant.conversation.clone(), secret.grant.variables.clone()),
            None => (conversation(sent)?, PromptVariables::read(&sent.headers, None)?.into_map()),
        };
        Ok(Self {
            front: Arc::clone(front),
            who,
            agent,
            live,
            place,
            conversation,
            queue_depth: queue_depth(sent)?,
            variables,
            secret,
            connection: sent.extensions.get().cloned(),
            worker: Handle::current(),
        })
    }

    /// A telephone call: nothing of it is in the headers.
    pub(crate) fn of_call(
        front: &Arc<AppState>,
        sent: &Parts,
        who: RequestContext,
    ) -> Result<Self, ApiError> {
        let agent = target::agent(front, &who)?;
        Ok(Self {
            front: Arc::clone(front),
            who,
            agent,
            live: RealtimeProtocol::OpenAi,
            place: ProviderSessionTarget::New,
            conversation: None,
            queue_depth: 0,
            variables: BTreeMap::new(),
            connection: sent.extensions.get().cloned(),
            worker: Handle::current(),
            secret: None,
        })
    }

    /// Sets what a telephone call tells when it begins.
    pub(crate) fn set_call(&mut self, conversation: String, variables: BTreeMap<String, String>) {
        self.conversation = Some(conversation);
        self.variables = variables;
    }

    /// Runs its tool calls.
    pub(crate) fn worker(&self) -> &Handle {
        &self.worker
    }

    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// The same at another place of the provider.
    pub(super) fn at(self, place: ProviderSessionTarget) -> Self {
        Self { place, ..self }
    }

    /// Whether the caller's credential was revoked.
    pub(super) fn is_revoked(&self) -> bool {
        self.who.lease.terms().revocation().is_some()
    }

    pub(crate) fn session_request(&self, named: Option<&str>) -> Result<SessionRequest, ApiError> {
        let named = match &self.secret {
            Some(secret) => {
                secret_scope::check_model(secret, named)?;
                Some(secret.grant.model.as_str())
            }
            None => named,
        };
        let model = target::model(&self.front, &self.who, &self.agent, self.live, named)?;
        let live = translation::provider_protocol(self.live, &model);
        let others = match self.place {
            // An existing session is where it is.
            ProviderSessionTarget::Attached(_) => Vec::new(),
            ProviderSessionTarget::New | ProviderSessionTarget::Version(_) => {
                target::others(&self.front, &self.agent, self.live, &model)
            }
        };
        let override_right = if self.who.rights.has(Right::OverrideTier) {
            TierOverrideRight::Held
        } else {
            TierOverrideRight::Lacking
        };
        Ok(SessionRequest {
            party: SessionParty {
                principal: self.who.principal.clone(),
                lease: self.who.lease.terms().clone(),
                grant: self.who.grant.clone(),
                agent: self.agent.id.as_str().into(),
                narrow: self.who.narrow.clone(),
                override_right,
                trace: self.who.trace.clone(),
            },
            agent: self.agent.clone(),
            live,
            client: self.live,
            model,
            others,
            served_at: None,
            place: self.place.clone(),
            tier: self.who.tier,
            conversation: self.conversation.clone(),
            queue_depth: self.queue_depth,
            variables: self.variables.clone(),
            usage: None,
            declared: None,
        })
    }

    /// The configuration of the client secret, as if the client had sent it first.
    fn first_message(&self) -> Option<Message> {
        let secret = self.secret.as_ref()?;
        let mut session = secret.grant.session.clone();
        // The connection has named the model already.
        session.shift_remove("model");
        let is_empty = session.keys().all(|key| key == "type");
        let update = json!({"type": "session.update", "session": session});
        (!is_empty).then(|| Message::text(update.to_string()))
    }

    pub(crate) async fn socket(
        &self,
        upgraded: Upgraded,
        large_work: &LargeWork,
        config: WebSocketConfig,
    ) -> ClientWebSocket {
        let mut stream = MessageStream::new(TokioIo::new(upgraded));
        stream.report_to(large_work);
        let is_key = !self.who.principal.is_local();
        let principal = is_key.then(|| self.who.principal.clone());
        let stream = BudgetedStream::new(stream, &self.front.bodies, principal)
            .on_account_of(self.connection.clone());
        WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await
    }

    /// Resolves to the reason when the session must end.
    pub(crate) fn ends(&self) -> SessionEnds {
        let front = Arc::clone(&self.front);
        let lease = self.who.lease.clone();
        let stop = front.stop.clone();
        let who = (self.who.principal.clone(), self.agent.id.clone());
        let of_agent = front.gate.lease(lease.terms(), Some(self.agent.id.as_str()));
        let ended = lease.wait_for_end(front.clock.wall());
        let at_once = async move {
            let why = tokio::select! {
                () = front.cut.cancelled() => return with(CloseCode::Away, STOPS),
                why = ended => why,
                why = wait_for_agent_removal(of_agent) => why,
            };
            let (principal, agent) = who;
            let row = Decision::new(AuditAction::Revocation, &principal, "revoked").agent(&agent);
            front.gate.ledger().note_later(row.about("live session").because(why.as_str()));
            with(CloseCode::Policy, why.as_str())
        };
        let after_turn = async move {
            stop.cancelled().await;
            with(CloseCode::Away, STOPS)
        };
        let drain = self.front.limits.drain;
        SessionEnds { at_once: at_once.boxed(), after_turn: after_turn.boxed(), drain }
    }
}

/// Resolves when the agent is removed, at once if it is already.
async fn wait_for_agent_removal(
    of_agent: Result<RevocableLease, UnknownAgentError>,
) -> RevokedError {
    match of_agent {
        Ok(lease) => lease.wait().await,
        Err(unknown) => RevokedError::because(unknown.to_string()),
    }
}

/// Starts a session whose provider is connected already.
pub(super) fn start_with_provider(
    front: Arc<AppState>,
    knock: PendingSession,
    request: SessionRequest,
    provider: DialedProvider,
) -> UpgradeCallback {
    let first = knock.first_message();
    Box::new(move |upgraded, large_work| {
        async move {
            let client = knock.socket(upgraded, &large_work, wire::config()).await;
            let calls = knock.worker.clone();
            let sockets = SessionSockets { client, provider, first, large_work, calls };
            Some(front.realtime_sessions.hold(request, sockets, knock.ends()))
        }
        .boxed()
    })
}

/// Starts a session whose first message selects the provider.
pub(super) fn start_after_first_message(
    front: Arc<AppState>,
    knock: PendingSession,
) -> UpgradeCallback {
    Box::new(move |upgraded, large_work| {
        async move {
            let mut client = knock.socket(upgraded, &large_work, wire::config()).await;
            if let Some(greeting) = knock.live.greeting() {
                // If the client is gone already, the next step notices.
                let _ = client.send(Message::text(greeting)).await;
            }
            let mut ends = knock.ends();
            let found = tokio::select! {
                found = dial_by_first_message(&knock, &mut client) => found,
                end = &mut ends.at_once => Err(end),
                end = &mut ends.after_turn => Err(end),
            };
            match found {
                Ok(DialedSession { request, provider, first }) => {
                    let first = Some(first);
                    let calls = knock.worker.clone();
                    let sockets = SessionSockets { client, provider, first, large_work, calls };
                    Some(front.realtime_sessions.hold(request, sockets, ends))
                }
                Err(end) => {
                    leave(client, end).await;
                    None
                }
            }
        }
        .boxed()
    })
}

/// A session whose first message has named the model, and whose provider is connected.
struct DialedSession {
    request: SessionRequest,
    provider: DialedProvider,
    first: Message,
}

async fn dial_by_first_message(
    knock: &PendingSession,
    client: &mut ClientWebSocket,
) -> Result<DialedSession, CloseReason> {
    let first = tokio::time::timeout(FIRST_MESSAGE_TIMEOUT, first(client)).await;
    let first = first.map_err(|_| with(CloseCode::Policy, "no message for 10 s"))??;
    let frame = match &first {
        Message::Binary(bytes) => RealtimeFrame::Binary(bytes),
        other => RealtimeFrame::Text(other.to_text().unwrap_or_default()),
    };
    let named = knock.live.model_in_first_message(frame);
    let refused = |problem: ApiError| with(CloseCode::Policy, &problem.detail);
    let mut request = knock.session_request(named.as_deref()).map_err(refused)?;
    let room = request.reserve(knock.front.gate.model_usage());
    room.map_err(|limited| {
        with(CloseCode::Again, &format!("model_limit_exceeded: {}", limited.message))
    })?;
    let provider = request.dial().await;
    let provider = provider.map_err(|failure| with(CloseCode::Error, &failure.message))?;
    Ok(DialedSession { request, provider, first })
}

async fn first(client: &mut ClientWebSocket) -> Result<Message, CloseReason> {
    loop {
        match client.next().await {
            Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => return Ok(message),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Close(_))) | None => return Err(with(CloseCode::Normal, "")),
            Some(Err(_)) => return Err(with(CloseCode::Protocol, "unsupported message")),
        }
    }
}

fn with(code: CloseCode, reason: &str) -> CloseReason {
    CloseReason { code: code.into(), reason: reason.to_owned() }
}

pub(crate) async fn leave(mut client: ClientWebSocket, with: CloseReason) {
    let reason = &with.reason[..with.reason.floor_char_boundary(MAX_REASON_BYTES)];
    let frame = CloseFrame { code: with.code.into(), reason: reason.into() };
    let goodbye = async {
        client.send(Message::Close(Some(frame))).await?;
        while client.next().await.is_some_and(|next| next.is_ok()) {}
        client.close(None).await
    };
    let _ = tokio::time::timeout(Duration::from_secs(2), goodbye).await;
}
