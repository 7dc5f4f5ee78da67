//! Starts a session: connects its sockets, its entry in the registry and its driver. Called by the
//! fronts.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tollgate_core::call::CallId;
use tollgate_engine::gate::UnknownAgentError;
use tollgate_engine::notices::{LiveEvent, LiveSession, Notice};
use tollgate_mcp::offload::LargeWork;

use super::dial::DialedProvider;
use super::driver::{self, DriverInputs};
use super::events::CloseReason;
use super::openai;
use super::session::{RealtimeSession, first_offer};
use super::session_registry::{RealtimeSessionRegistry, SessionEnds};
use super::session_request::SessionRequest;
use super::wire::SocketSide;

/// Commands queued for a session.
const MAX_QUEUED_COMMANDS: usize = 8;
/// The two sockets of a session.
pub struct SessionSockets<S> {
    pub client: WebSocketStream<S>,
    pub provider: DialedProvider,
    /// The client's first message, if it was needed to select the provider.
    pub first: Option<Message>,
    /// Both sockets report large messages here.
    pub large_work: LargeWork,
    /// Runs tool calls and other models, so that audio does not wait for them.
    pub calls: Handle,
}

/// Both sides of a session that begins.
struct ConnectedSides<S> {
    client: SocketSide<S>,
    provider: DialedProvider,
    first: Option<Message>,
    calls: Handle,
}

impl RealtimeSessionRegistry {
    /// Opens a session. The future runs it until the client, the provider or `ends` ends it, and
    /// returns the close reason sent to the client.
    pub fn hold<S>(
        self: &Arc<Self>,
        session_request: SessionRequest,
        sockets: SessionSockets<S>,
        ends: SessionEnds,
    ) -> BoxFuture<'static, CloseReason>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let SessionSockets { client, provider, first, large_work, calls } = sockets;
        let client = SocketSide::new(client, large_work, self.clock.now());
        self.hold_sides(session_request, ConnectedSides { client, provider, first, calls }, ends)
    }

    /// The same for a call whose client is connected to the provider, not to the gateway.
    pub fn hold_sideband(
        self: &Arc<Self>,
        session_request: SessionRequest,
        provider: DialedProvider,
        large_work: LargeWork,
        calls: Handle,
        ends: SessionEnds,
    ) -> BoxFuture<'static, CloseReason> {
        let client = SocketSide::absent(large_work, self.clock.now());
        let sides = ConnectedSides { client, provider, first: None, calls };
        self.hold_sides(session_request, sides, ends)
    }

    /// The configuration with which a call is created: the client's, with the agent's tools and
    /// prompt. The session of the call knows from the request what was declared.
    pub fn configure_call(
        &self,
        session_request: &mut SessionRequest,
        mut session: Map<String, Value>,
    ) -> Result<Map<String, Value>, UnknownAgentError> {
        let id = CallId::new(self.clock.wall(), rand::random());
        let mut offer = first_offer(self, session_request, &id.to_string())?;
        openai::configure_call(&mut offer, &session_request.model_id(), &mut session);
        session_request.declared = Some(offer);
        Ok(session)
    }

    fn hold_sides<S>(
        self: &Arc<Self>,
        mut session_request: SessionRequest,
        sides: ConnectedSides<S>,
        ends: SessionEnds,
    ) -> BoxFuture<'static, CloseReason>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let ConnectedSides { client, provider, first, calls } = sides;
        let DialedProvider { socket: mut provider, served, greeting } = provider;
        session_request.adopt(&served);
        let (orders, given) = mpsc::channel(MAX_QUEUED_COMMANDS);
        let id = CallId::new(self.clock.wall(), rand::random());
        let session = Arc::new(LiveSession {
            id: id.to_string(),
            principal: session_request.party.principal.clone(),
            agent: session_request.agent.id.clone(),
            dialect: session_request.live.as_str(),
            model: session_request.model.settings.name.clone(),
        });
        let guard = self.register(&session, orders);
        let now = self.clock.now();
        let large_work = client.large_work().clone();
        provider.get_mut().report_to(&large_work);
        let provider = SocketSide::new(provider, large_work, now);
        let facts = Arc::clone(&session);
        let begun = RealtimeSession::begin(Arc::clone(self), session_request, facts, calls);
        let running = match begun {
            Ok(session) => {
                let inputs =
                    DriverInputs { client, provider, greeting, first, orders: given, ends };
                driver::drive(session, inputs).boxed()
            }
            Err(with) => driver::turn_away(client, provider, with).boxed(),
        };
        let gate = Arc::clone(&self.gate);
        async move {
            let ended = running.await;
            drop(guard);
            let code = ended.code;
            let reason = ended.reason.clone();
            gate.announce(Notice::Live { session, event: LiveEvent::Closed { code, reason } });
            ended
        }
        .boxed()
    }
}
