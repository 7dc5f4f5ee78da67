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
use tollgate_llm::provider::Socket;
use tollgate_llm::realtime::{
    CloseWith, Frame, Live, OverrideRight, Party, Place, Sockets, Visit, wire,
};

use super::{conversation, target};
use crate::auth::Right;
use crate::mcp::Front;
use crate::problem::Problem;
use crate::rest::queue_depth;
use crate::variables::Variables;
use crate::who::Who;

/// Until a client has said what it wants.
const FIRST_WORD: Duration = Duration::from_secs(10);
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

type Client = WebSocketStream<TokioIo<Upgraded>>;

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

    /// Why a session must end, once it must.
    fn ends(&self) -> BoxFuture<'static, CloseWith> {
        let (front, lease) = (Arc::clone(&self.front), self.who.lease.clone());
        let ended = lease.ended(front.clock.wall());
        async move {
            tokio::select! {
                () = front.stop.cancelled() => with(CloseCode::Away, "the gateway stops"),
                () = ended => with(CloseCode::Policy, "the key lets nobody in any more"),
            }
        }
        .boxed()
    }
}

/// The provider is there already.
pub(super) fn known(front: Arc<Front>, knock: Knock, (visit, provider): (Visit, Socket)) -> Open {
    Box::new(move |upgraded| {
        async move {
            let client = socket(upgraded).await;
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
            let mut client = socket(upgraded).await;
            if let Some(greeting) = knock.live.greeting() {
                // Whoever is gone already is noticed by what follows.
                let _ = client.send(Message::text(greeting)).await;
            }
            let mut ends = knock.ends();
            let found = tokio::select! {
                found = introduced(&knock, &mut client) => found,
                end = &mut ends => Err(end),
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

async fn socket(upgraded: Upgraded) -> Client {
    let io = TokioIo::new(upgraded);
    WebSocketStream::from_raw_socket(io, Role::Server, Some(wire::config())).await
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
