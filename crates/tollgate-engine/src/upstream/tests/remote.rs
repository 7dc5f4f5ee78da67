//! A server over HTTP that goes away and comes back.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::mpsc;
use tollgate_core::secret::Secret;
use tollgate_mcp::tasks::{self, Task};

use super::super::{Update, Upstream, UpstreamContext, UpstreamState, UpstreamStatus};
use super::fake::{call, server};
use crate::backend::BackendError;
use crate::clock::{Clock, SystemClock};
use crate::notices::Notices;
use crate::settings::{ClientCredentials, HttpEndpoint, ServerAuth, ServerTransport};

/// Serves until it is dropped.
async fn serve(address: SocketAddr) -> (Task, SocketAddr) {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    (serve_on(listener), address)
}

fn serve_on(listener: TcpListener) -> Task {
    tasks::spawn("remote", async move {
        let group = tasks::TaskGroup::new("connection", 100);
        while let Ok((stream, _)) = listener.accept().await {
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(answer));
            let _ = group.spawn(async move {
                let _ = connection.await;
            });
        }
    })
}

/// Keeps the port of a server that is away: nobody listens there, and nobody else gets it.
fn reserve(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(address).unwrap();
    socket
}

/// Legacy, with a token endpoint of its own and a path that wants its tokens.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::POST {
        return Ok(respond(405, &Value::Null));
    }
    let path = request.uri().path().to_owned();
    if path == "/token" {
        return Ok(respond(200, &json!({"access_token": "good", "token_type": "Bearer"})));
    }
    let authorized = request.headers().get(AUTHORIZATION).is_some_and(|it| it == "Bearer good");
    if path == "/closed" && !authorized {
        let mut refusal = respond(401, &Value::Null);
        refusal.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return Ok(refusal);
    }
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let message: Value = serde_json::from_slice(&body).unwrap();
    let id = &message["id"];
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}),
        "tools/list" => json!({"tools": [{"name": "echo"}]}),
        "tools/call" => json!({"content": []}),
        "ping" => json!({}),
        _ if id.is_null() => return Ok(respond(202, &Value::Null)),
        _ => {
            let error = json!({"code": -32601, "message": "unknown"});
            return Ok(respond(200, &json!({"jsonrpc": "2.0", "id": id, "error": error})));
        }
    };
    Ok(respond(200, &json!({"jsonrpc": "2.0", "id": id, "result": result})))
}

fn respond(status: u16, body: &Value) -> Response<Full<Bytes>> {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

struct Remote {
    upstream: Arc<Upstream>,
    _updates: mpsc::Receiver<Update>,
}

impl Remote {
    fn start(url: String, auth: ServerAuth) -> Self {
        let mut settings = server();
        let headers = BTreeMap::from([("x-team".to_owned(), Secret::new("voice"))]);
        settings.transport = ServerTransport::StreamableHttp(HttpEndpoint { url, headers, auth });
        let (sender, updates) = mpsc::channel(64);
        let data = std::env::temp_dir();
        let context = UpstreamContext {
            clock: Arc::new(SystemClock),
            updates: sender,
            data,
            launcher: None,
            store: None,
            notices: Notices::default(),
        };
        Self { upstream: Upstream::start(settings, &context), _updates: updates }
    }

    async fn until(&self, state: UpstreamState) -> UpstreamStatus {
        let mut changes = self.upstream.changes();
        let reached = changes.wait_for(|status| status.state == state);
        let reached = tokio::time::timeout(Duration::from_secs(30), reached).await;
        reached.unwrap_or_else(|_| panic!("stuck: {:?}", self.upstream.status())).unwrap().clone()
    }

    async fn call(&self) -> Result<String, BackendError> {
        call(&self.upstream, "tools/call", r#"{"name":"echo","arguments":{}}"#).await
    }
}

#[tokio::test]
async fn r_23_a_server_that_comes_back_is_in_service_within_two_seconds() {
    let (first, address) = serve(([127, 0, 0, 1], 0).into()).await;
    let remote = Remote::start(format!("http://{address}/mcp"), ServerAuth::None);
    assert_eq!(remote.until(UpstreamState::Ready).await.tools, 1);
    remote.call().await.unwrap();
    drop(first);
    let failed = remote.call().await;
    assert!(
        matches!(failed, Err(BackendError::Lost(_) | BackendError::Offline { .. })),
        "{failed:?}"
    );
    remote.until(UpstreamState::Offline).await;
    let reserved = reserve(address);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let _second = serve_on(reserved.listen(100).unwrap());
    let back = SystemClock.now();
    remote.until(UpstreamState::Ready).await;
    let took = SystemClock.now().duration_since(back);
    // Two seconds, as told by a clock that stands still in `life`; machines that run tests are busy.
    assert!(took <= Duration::from_secs(9), "{took:?}");
    remote.call().await.unwrap();
    remote.upstream.stop().await;
}

#[tokio::test]
async fn client_credentials_open_a_closed_server() {
    let (_server, address) = serve(([127, 0, 0, 1], 0).into()).await;
    let auth = ServerAuth::ClientCredentials(ClientCredentials {
        client_id: "me".to_owned(),
        client_secret: Secret::new("canary"),
        token_url: Some(format!("http://{address}/token")),
        scopes: Vec::new(),
    });
    let remote = Remote::start(format!("http://{address}/closed"), auth);
    remote.until(UpstreamState::Ready).await;
    remote.call().await.unwrap();

    let url = format!("http://{address}/closed?key=canary");
    let wrong = Remote::start(url, ServerAuth::Token(Secret::new("bad")));
    let reason = wrong.until(UpstreamState::Failed).await.reason;
    assert!(reason.contains("401"), "{reason}");
    assert!(reason.starts_with(&format!("http://{address}/closed: ")), "{reason}");
    assert!(!reason.contains("bad") && !reason.contains("canary"), "{reason}");
}
