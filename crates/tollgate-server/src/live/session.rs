//! A connection that has become a socket: until both sides of a session are there, and then for as
//! long as it lasts.

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
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};
use tollgate_core::agent::Agent;
use tollgate_core::lease::{Lease, Revoked};
use tollgate_core::turn::Principal;
use tollgate_engine::audit::{Act, Decision};
use tollgate_engine::gate::UnknownAgent;
use tollgate_llm::provider::Socket;
use tollgate_llm::realtime::{
    CloseWith, Frame, Live, OverrideRight, Party, Place, SessionEnds, Sockets, Visit, wire,
};

use super::metered::Metered;
use super::{conversation, target};
use crate::auth::Right;
use crate::mcp::Front;
use crate::problem::Problem;
use crate::rest::queue_depth;
use crate::variables::Variables;
use crate::who::Who;

/// Until a client has said what it wants.
const FIRST_WORD: Duration = Duration::from_secs(10);
/// Why a session ends that could have gone on.
const STOPS: &str = "the gateway stops";
/// Of a reason to close.
const LONGEST_REASON: usize = 123;

/// What a connection does when it is no HTTP any more: run by whoever serves it, in its own task.
#[derive(Clone, Default)]
pub(crate) struct Handover(Arc<Mutex<Option<BoxFuture<'static, ()>>>>);

impl Handover {
    pub(super) fn give(&self, session: impl Future<Output = ()> + Send + 'static) {
        *self.0.lock() = Some(session.boxed());
    }

    pub(crate) fn take(&self) -> Option<BoxFuture<'static, ()>> {
        self.0.lock().take()
    }
}

type Client = WebSocketStream<Metered<TokioIo<Upgraded>>>;

/// What runs once the socket is there.
pub(super) type Open = Box<dyn FnOnce(Upgraded) -> BoxFuture<'static, ()> + Send>;

/// Somebody who was let in and has not said yet with which model they want to talk.
pub(super) struct Knock {
    front: Arc<Front>,
    who: Who,
    agent: Agent,
    live: Live,
    place: Place,
    conversation: Option<String>,
    queue_depth: u32,
    variables: BTreeMap<String, String>,
}

impl Knock {
    pub(super) fn new(
        front: &Arc<Front>,
        sent: &Parts,
        (who, live, place): (Who, Live, Place),
    ) -> Result<Self, Problem> {
        let agent = target::agent(front, &who)?;
        Ok(Self {
            front: Arc::clone(front),
            who,
            agent,
            live,
            place,
            conversation: conversation(sent)?,
            queue_depth: queue_depth(sent)?,
            variables: Variables::read(&sent.headers, None)?.into_map(),
        })
    }

    pub(super) fn visit(&self, named: Option<&str>) -> Result<Visit, Problem> {
        let model = target::model(&self.front, (&self.who, &self.agent), (self.live, named))?;
        let override_right = match self.who.rights.has(Right::OverrideTier) {
            true => OverrideRight::Held,
            false => OverrideRight::Lacking,
        };
        Ok(Visit {
            party: Party {
                principal: self.who.principal.clone(),
                lease: self.who.lease.terms().clone(),
                grant: self.who.grant.clone(),
                agent: self.agent.id.as_str().into(),
                narrow: self.who.narrow.clone(),
                override_right,
                trace: self.who.trace.clone(),
            },
            agent: self.agent.clone(),
            live: self.live,
            model,
            place: self.place.clone(),
            tier: self.who.tier,
            conversation: self.conversation.clone(),
            queue_depth: self.queue_depth,
            variables: self.variables.clone(),
        })
    }

    async fn socket(&self, upgraded: Upgraded) -> Client {
        let is_key = self.who.principal != Principal::local();
        let principal = is_key.then(|| self.who.principal.clone());
        let stream = Metered::new(TokioIo::new(upgraded), &self.front.bodies, principal);
        WebSocketStream::from_raw_socket(stream, Role::Server, Some(wire::config())).await
    }

    /// Why a session must end, once it must.
    fn ends(&self) -> SessionEnds {
        let (front, lease) = (Arc::clone(&self.front), self.who.lease.clone());
        let stop = front.stop.clone();
        let who = (self.who.principal.clone(), self.agent.id.clone());
        let of_agent = front.gate.lease(lease.terms(), Some(self.agent.id.as_str()));
        let ended = lease.ended(front.clock.wall());
        let at_once = async move {
            let why = tokio::select! {
                () = front.cut.cancelled() => return with(CloseCode::Away, STOPS),
                why = ended => why,
                why = gone(of_agent) => why,
            };
            let (principal, agent) = who;
            let row = Decision::new(Act::Revocation, &principal, "revoked").agent(&agent);
            front.gate.ledger().note_later(row.about("live session").because(why.as_str()));
            with(CloseCode::Policy, why.as_str())
        };
        let after_turn = async move {
            stop.cancelled().await;
            with(CloseCode::Away, STOPS)
        };
        SessionEnds { at_once: at_once.boxed(), after_turn: after_turn.boxed() }
    }
}

/// When the agent is taken away; at once if it is already.
async fn gone(of_agent: Result<Lease, UnknownAgent>) -> Revoked {
    match of_agent {
        Ok(lease) => lease.wait().await,
        Err(unknown) => Revoked::because(unknown.to_string()),
    }
}

/// The provider is there already.
pub(super) fn known(front: Arc<Front>, knock: Knock, (visit, provider): (Visit, Socket)) -> Open {
    Box::new(move |upgraded| {
        async move {
            let client = knock.socket(upgraded).await;
            let sockets = Sockets { client, provider, first: None };
            Box::pin(front.hall.hold(visit, sockets, knock.ends())).await;
        }
        .boxed()
    })
}

/// The first message says which provider is meant.
pub(super) fn unknown(front: Arc<Front>, knock: Knock) -> Open {
    Box::new(move |upgraded| {
        async move {
            let mut client = knock.socket(upgraded).await;
            if let Some(greeting) = knock.live.greeting() {
                // Whoever is gone already is noticed by what follows.
                let _ = client.send(Message::text(greeting)).await;
            }
            let mut ends = knock.ends();
            let found = tokio::select! {
                found = introduced(&knock, &mut client) => found,
                end = &mut ends.at_once => Err(end),
                end = &mut ends.after_turn => Err(end),
            };
            match found {
                Ok((visit, provider, first)) => {
                    let sockets = Sockets { client, provider, first: Some(first) };
                    Box::pin(front.hall.hold(visit, sockets, ends)).await;
                }
                Err(end) => leave(client, end).await,
            }
        }
        .boxed()
    })
}

async fn introduced(
    knock: &Knock,
    client: &mut Client,
) -> Result<(Visit, Socket, Message), CloseWith> {
    let first = tokio::time::timeout(FIRST_WORD, first(client)).await;
    let first = first.map_err(|_| with(CloseCode::Policy, "nothing was said for 10 s"))??;
    let frame = match &first {
        Message::Binary(bytes) => Frame::Binary(bytes),
        other => Frame::Text(other.to_text().unwrap_or_default()),
    };
    let named = knock.live.asked_model(frame);
    let refused = |problem: Problem| with(CloseCode::Policy, &problem.detail);
    let visit = knock.visit(named.as_deref()).map_err(refused)?;
    let provider = visit.dial().await;
    let provider = provider.map_err(|failure| with(CloseCode::Error, &failure.message))?;
    Ok((visit, provider, first))
}

async fn first(client: &mut Client) -> Result<Message, CloseWith> {
    loop {
        match client.next().await {
            Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => return Ok(message),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Close(_))) | None => return Err(with(CloseCode::Normal, "")),
            Some(Err(_)) => return Err(with(CloseCode::Protocol, "this is not understood")),
        }
    }
}

fn with(code: CloseCode, reason: &str) -> CloseWith {
    CloseWith { code: code.into(), reason: reason.to_owned() }
}

async fn leave(mut client: Client, with: CloseWith) {
    let reason = &with.reason[..with.reason.floor_char_boundary(LONGEST_REASON)];
    let frame = CloseFrame { code: with.code.into(), reason: reason.into() };
    let goodbye = async {
        client.send(Message::Close(Some(frame))).await?;
        while client.next().await.is_some_and(|next| next.is_ok()) {}
        client.close(None).await
    };
    let _ = tokio::time::timeout(Duration::from_secs(2), goodbye).await;
}
