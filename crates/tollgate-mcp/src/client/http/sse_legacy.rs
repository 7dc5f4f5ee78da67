//! HTTP+SSE of 2024-11-05: one event stream for everything received, and a URL, announced on it, to
//! which everything is POSTed.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, StatusCode, Uri};
use parking_lot::Mutex;
use tokio::time::timeout;
use tollgate_core::json::Object;

use super::reply::describe;
use super::server_http::ServerHttp;
use crate::client::dispatch::{Dispatch, ReceivedKind};
use crate::client::inbound::Outbox;
use crate::client::watch::SubscriptionWatch;
use crate::client::{
    Answer, ConnectError, ConnectOptions, McpConnection, OutgoingRequest, RequestError,
    ServerFacts, ServerListener, SharedConnection, handshake,
};
use crate::flood_control::FloodControl;
use crate::memory_budget::NoRoomError;
use crate::sse::{SseError, SseEvent};
use crate::tasks::{self, Task, TaskGroup};
use crate::web::body::{self, EventStream};
use crate::{Era, Revision};

/// Timeout of fire-and-forget messages.
const ASIDE: Duration = Duration::from_secs(2);
const ASIDES: usize = 256;

pub(super) async fn connect(
    wire: Arc<ServerHttp>,
    listener: Arc<dyn ServerListener>,
    options: &ConnectOptions,
) -> Result<SharedConnection, ConnectError> {
    let response = wire.get_stream(HeaderMap::new()).await?;
    let status = response.status();
    if status.is_server_error() {
        return Err(ConnectError::Unreachable(describe(status, None)));
    }
    if status != StatusCode::OK || !body::is_event_stream(response.headers()) {
        let reason = format!("there is no event stream at this URL: HTTP {}", status.as_u16());
        return Err(ConnectError::Protocol(reason));
    }
    let mut stream = EventStream::new(response, options.message_limit);
    let endpoint = endpoint(&wire.url, &mut stream).await?;
    let poster =
        Arc::new(MessagePoster { wire, endpoint, asides: TaskGroup::new("message", ASIDES) });
    let outbox = Arc::clone(&poster) as Arc<dyn Outbox>;
    let dispatch = Arc::new(Dispatch::new(listener, outbox));
    let reader = tasks::spawn("event stream", read_all(stream, Arc::clone(&dispatch)));
    let pinned = options.pinned.filter(|pinned| pinned.era() == Era::Legacy);
    let requested = pinned.unwrap_or(Revision::NEWEST_LEGACY);
    let facts = handshake::initialize(&dispatch, requested, pinned).await?;
    dispatch.inbound.set_revision(facts.revision);
    let notified = dispatch.notify("notifications/initialized", Object::new()).await;
    notified.map_err(|error| ConnectError::Unreachable(error.to_string()))?;
    let watch = SubscriptionWatch::new(Arc::clone(&dispatch.inbound.listener));
    let reader = Mutex::new(Some(reader));
    Ok(Arc::new(SseLegacyConnection { facts, dispatch, poster, watch, reader }))
}

struct SseLegacyConnection {
    facts: ServerFacts,
    dispatch: Arc<Dispatch>,
    poster: Arc<MessagePoster>,
    watch: SubscriptionWatch,
    reader: Mutex<Option<Task>>,
}

#[async_trait]
impl McpConnection for SseLegacyConnection {
    fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    async fn request(&self, request: OutgoingRequest<'_>) -> Result<Answer, RequestError> {
        self.dispatch.request(request).await
    }

    async fn notify(&self, method: &str, params: Object<'_>) -> Result<(), RequestError> {
        self.dispatch.notify(method, params).await
    }

    async fn watch(&self, resources: &[String]) -> Result<(), RequestError> {
        self.watch.subscribe(self, resources).await
    }

    async fn close(&self) {
        self.dispatch.end();
        *self.reader.lock() = None;
    }
}

impl Drop for SseLegacyConnection {
    fn drop(&mut self) {
        self.dispatch.end();
        self.poster.asides.abort_all();
    }
}

async fn read_all(mut stream: EventStream, dispatch: Arc<Dispatch>) {
    let mut flood = FloodControl::default();
    while let Some(event) = stream.next().await {
        let size = event.as_ref().map_or(0, |event| event.data.len());
        match event {
            Ok(SseEvent { name: Some(name), .. }) if name != "message" => {}
            Ok(event) if event.data.is_empty() => {}
            Ok(event) => {
                match dispatch.receive_any(event.data.into(), stream.take_permit()).await {
                    ReceivedKind::Answer => flood.reset(),
                    ReceivedKind::Talk => {}
                }
            }
            Err(fault) => {
                dispatch.inbound.listener.on_garbage(&fault.to_string());
                match fault {
                    SseError::TooLarge { limit } => {
                        dispatch.fail_skipped(&[], &[], RequestError::TooLarge { limit });
                    }
                    SseError::NoRoom => {
                        dispatch.fail_skipped(&[], &[], RequestError::NoRoom(NoRoomError));
                    }
                    SseError::TooMuch { .. } | SseError::NotUtf8 => {}
                }
            }
        }
        flood.record_message(size).await;
    }
    dispatch.close("the server's event stream ended");
}

/// POSTs messages to the URL that the server announced.
struct MessagePoster {
    wire: Arc<ServerHttp>,
    endpoint: Uri,
    asides: TaskGroup,
}

#[async_trait]
impl Outbox for MessagePoster {
    async fn send(&self, message: String) -> Result<(), RequestError> {
        post(&self.wire, &self.endpoint, message).await
    }

    fn send_later(&self, message: String) {
        let wire = Arc::clone(&self.wire);
        let endpoint = self.endpoint.clone();
        let sent = self.asides.spawn(async move {
            let _ = timeout(ASIDE, post(&wire, &endpoint, message)).await;
        });
        if sent.is_err() {
            tracing::debug!("a message was dropped: too many are in flight");
        }
    }
}

async fn post(wire: &ServerHttp, endpoint: &Uri, message: String) -> Result<(), RequestError> {
    let response = wire.post_to(endpoint, HeaderMap::new(), message.into()).await?;
    let status = response.status();
    body::discard(response).await;
    if status.is_success() { Ok(()) } else { Err(RequestError::Unusable(describe(status, None))) }
}

/// The URL announced by the first event. It must have the same origin, since credentials are sent
/// to it.
async fn endpoint(base: &Uri, stream: &mut EventStream) -> Result<Uri, ConnectError> {
    let refuse = |reason: &str| Err(ConnectError::Protocol(reason.to_owned()));
    loop {
        match stream.next().await {
            Some(Ok(event)) if event.name.as_deref() == Some("endpoint") => {
                let Some(url) = resolve(base, event.data.trim()) else {
                    return refuse("the server's `endpoint` is not a URL of the same origin");
                };
                return Ok(url);
            }
            Some(Ok(event)) if is_other(&event) => {}
            Some(_) => return refuse("the event stream does not begin with an `endpoint`"),
            None => return refuse("the event stream ended before its `endpoint`"),
        }
    }
}

fn is_other(event: &SseEvent) -> bool {
    event.data.is_empty() || event.name.as_deref().is_some_and(|name| name != "message")
}

/// Resolves a URL reference against `base`; `None` if it has another origin.
fn resolve(base: &Uri, reference: &str) -> Option<Uri> {
    let path = if reference.starts_with("//") {
        return None;
    } else if reference.starts_with('/') {
        reference.to_owned()
    } else if reference.contains("://") {
        let url: Uri = reference.parse().ok()?;
        return (Origin::of(&url)? == Origin::of(base)?).then_some(url);
    } else {
        let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{folder}/{reference}")
    };
    let mut parts = base.clone().into_parts();
    parts.path_and_query = Some(path.parse::<PathAndQuery>().ok()?);
    Uri::from_parts(parts).ok()
}

/// The origin of a URL (RFC 6454).
#[derive(PartialEq, Eq)]
struct Origin {
    scheme: Scheme,
    host: String,
    port: u16,
}

impl Origin {
    fn of(url: &Uri) -> Option<Self> {
        let scheme = url.scheme()?.clone();
        let port = url.port_u16().unwrap_or(if scheme == Scheme::HTTPS { 443 } else { 80 });
        let authority: &Authority = url.authority()?;
        if authority.as_str().contains('@') {
            return None;
        }
        Some(Self { scheme, host: authority.host().to_ascii_lowercase(), port })
    }
}

#[cfg(test)]
mod tests;
