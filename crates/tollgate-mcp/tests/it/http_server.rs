//! An HTTP server that does exactly what a test says, down to the byte.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::HeaderMap;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tollgate_mcp::client::{
    ConnectError, ConnectOptions, Credentials, HttpTarget, HttpTransport, SharedConnection,
    connect_http,
};
use tollgate_mcp::tasks::{self, Task, TaskGroup};

use crate::support::{Recorder, discovered, initialized};

type Handler =
    Arc<dyn Fn(Seen, Reply) -> Pin<Box<dyn Future<Output = Reply> + Send>> + Send + Sync>;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) requests: Arc<Mutex<Vec<Seen>>>,
    pub(crate) connections: Arc<AtomicUsize>,
    _task: Task,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) verb: String,
    pub(crate) path: String,
    headers: HashMap<String, String>,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn result(&self, result: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result})
    }

    pub(crate) fn error(&self, code: i64, data: &Value) -> Value {
        let error = json!({"code": code, "message": "no session, sorry", "data": data});
        json!({"jsonrpc": "2.0", "id": self.body["id"], "error": error})
    }
}

/// The way back to the client. Writes are not checked: the client may be gone.
pub(crate) struct Reply {
    write: OwnedWriteHalf,
    /// Where the client's hanging up can be seen while a request is served.
    pub(crate) read: BufReader<OwnedReadHalf>,
    is_open: bool,
}

impl Reply {
    pub(crate) async fn raw(mut self, bytes: impl AsRef<[u8]>) -> Self {
        let _ = self.write.write_all(bytes.as_ref()).await;
        self
    }

    /// One whole response with these header lines (each with its line end).
    pub(crate) async fn respond(self, status: u16, headers: &str, body: &[u8]) -> Self {
        let head =
            format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
        self.raw(head).await.raw(body).await
    }

    pub(crate) async fn json(self, status: u16, body: &Value) -> Self {
        let body = body.to_string();
        self.respond(status, "content-type: application/json\r\n", body.as_bytes()).await
    }

    pub(crate) async fn stream(self) -> Self {
        self.raw("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            .await
    }

    pub(crate) async fn chunk(self, text: &str) -> Self {
        self.raw(format!("{:x}\r\n{text}\r\n", text.len())).await
    }

    pub(crate) async fn event(self, message: &Value) -> Self {
        self.chunk(&format!("data: {message}\n\n")).await
    }

    pub(crate) async fn end(self) -> Self {
        self.raw("0\r\n\r\n").await
    }

    /// Closes the connection once the handler returns.
    pub(crate) fn hang_up(mut self) -> Self {
        self.is_open = false;
        self
    }
}

impl Server {
    pub(crate) async fn start<F, Fut>(handler: F) -> Self
    where
        F: Fn(Seen, Reply) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reply> + Send + 'static,
    {
        let handler: Handler = Arc::new(move |seen, reply| Box::pin(handler(seen, reply)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let log = Arc::clone(&requests);
        let count = Arc::clone(&connections);
        let task = tasks::spawn("http server", async move {
            let serving = TaskGroup::new("connection", 1000);
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                stream.set_nodelay(true).unwrap();
                serving.spawn(serve(stream, Arc::clone(&handler), Arc::clone(&log))).unwrap();
            }
        });
        Self { address, requests, connections, _task: task }
    }

    /// Modern: answers the probe, and leaves the rest to `handler`.
    pub(crate) async fn modern<F, Fut>(handler: F) -> Self
    where
        F: Fn(Seen, Reply) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reply> + Send + 'static,
    {
        let handler = Arc::new(handler);
        Self::start(move |seen, reply| {
            let handler = Arc::clone(&handler);
            async move {
                match seen.method() {
                    "server/discover" => reply.json(200, &seen.result(&discovered())).await,
                    _ => handler(seen, reply).await,
                }
            }
        })
        .await
    }

    /// Legacy: plays the handshake with a session, and leaves the rest to `handler`.
    pub(crate) async fn legacy<F, Fut>(handler: F) -> Self
    where
        F: Fn(Seen, Reply) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reply> + Send + 'static,
    {
        let handler = Arc::new(handler);
        Self::start(move |seen, reply| {
            let handler = Arc::clone(&handler);
            async move {
                match seen.method() {
                    "server/discover" => reply.json(400, &seen.error(-32000, &Value::Null)).await,
                    "initialize" => {
                        let body = seen.result(&initialized("2025-11-25")).to_string();
                        let headers = "content-type: application/json\r\nmcp-session-id: s-1\r\n";
                        reply.respond(200, headers, body.as_bytes()).await
                    }
                    "notifications/initialized" => reply.respond(202, "", b"").await,
                    _ => handler(seen, reply).await,
                }
            }
        })
        .await
    }

    pub(crate) fn target(&self) -> HttpTarget {
        HttpTarget {
            url: format!("http://{}/mcp", self.address).parse().unwrap(),
            transport: HttpTransport::Streamable,
            headers: HeaderMap::new(),
            credentials: None,
        }
    }

    pub(crate) async fn connect(&self) -> (SharedConnection, Arc<Recorder>) {
        self.connect_with(&ConnectOptions::default()).await
    }

    pub(crate) async fn connect_with(
        &self,
        options: &ConnectOptions,
    ) -> (SharedConnection, Arc<Recorder>) {
        let recorder = Arc::new(Recorder::default());
        let connection = connect_http(self.target(), recorder.clone(), options).await.unwrap();
        (connection, recorder)
    }

    pub(crate) async fn try_connect(&self) -> Result<SharedConnection, ConnectError> {
        let recorder = Arc::new(Recorder::default());
        connect_http(self.target(), recorder, &ConnectOptions::default()).await
    }

    pub(crate) async fn connect_as(
        &self,
        credentials: Arc<dyn Credentials>,
    ) -> Result<SharedConnection, ConnectError> {
        let target = HttpTarget { credentials: Some(credentials), ..self.target() };
        connect_http(target, Arc::new(Recorder::default()), &ConnectOptions::default()).await
    }

    /// Requests with this JSON-RPC method, or with this HTTP verb.
    pub(crate) fn seen(&self, what: &str) -> Vec<Seen> {
        let requests = self.requests.lock();
        requests.iter().filter(|it| it.method() == what || it.verb == what).cloned().collect()
    }

    /// Waits until such a request has arrived.
    pub(crate) async fn wait_for(&self, what: &str) -> Seen {
        self.wait_for_many(what, 1).await.pop().unwrap()
    }

    /// Waits until so many of them have arrived.
    pub(crate) async fn wait_for_many(&self, what: &str, count: usize) -> Vec<Seen> {
        for _ in 0..2000 {
            let seen = self.seen(what);
            if seen.len() >= count {
                return seen;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("{what} did not come {count} times");
    }

    /// Drops a call once it has arrived, as the one that makes so many.
    pub(crate) async fn give_up<T>(&self, call: impl Future<Output = T>, count: usize) {
        tokio::select! {
            _ = call => panic!("it was answered"),
            _ = self.wait_for_many("tools/call", count) => {}
        }
    }
}

async fn serve(stream: TcpStream, handler: Handler, log: Arc<Mutex<Vec<Seen>>>) {
    let (read, write) = stream.into_split();
    let mut reply = Reply { write, read: BufReader::new(read), is_open: true };
    while let Some(seen) = read_request(&mut reply.read).await {
        log.lock().push(seen.clone());
        reply = handler(seen, reply).await;
        if !reply.is_open {
            return;
        }
    }
}

async fn read_request(read: &mut BufReader<OwnedReadHalf>) -> Option<Seen> {
    let mut line = String::new();
    read.read_line(&mut line).await.ok().filter(|count| *count > 0)?;
    let mut words = line.split(' ').map(str::to_owned);
    let verb = words.next()?;
    let path = words.next()?;
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        read.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        let known = headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        assert!(known.is_none(), "header {name} was sent twice");
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    read.read_exact(&mut body).await.ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Seen { verb, path, headers, body })
}
