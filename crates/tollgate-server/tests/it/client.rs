//! A small HTTP client: one connection per request, everything bounded in time.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tollgate_mcp::tasks::{self, Task};

use crate::openapi_answers;
use crate::stage::{ADMIN, Stage, modern_headers};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// `status code` of an error, `status ok` of a result, `status` of nothing.
    pub(crate) fn brief(&self) -> String {
        if self.text.is_empty() {
            return self.status.to_string();
        }
        let message = match self.header("content-type").as_deref() {
            Some("text/event-stream") => self.events().pop().unwrap_or_default(),
            _ => self.json(),
        };
        match (message.get("error"), message.get("result")) {
            (Some(error), None) => format!("{} {}", self.status, error["code"]),
            (None, Some(result)) if result["isError"] == true => format!("{} failed", self.status),
            (None, Some(_)) => format!("{} ok", self.status),
            _ => format!("{} other", self.status),
        }
    }

    /// `status code` of an error of the HTTP APIs.
    pub(crate) fn code(&self) -> String {
        let body = serde_json::from_str(&self.text).unwrap_or(Value::Null);
        let code = body["error"]["code"].as_str().or_else(|| body["code"].as_str());
        format!("{} {}", self.status, code.unwrap_or("-"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        Some(self.headers.get(name)?.to_str().unwrap().to_owned())
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.text.lines().filter_map(|line| line.strip_prefix("data: "));
        let data = data.filter(|text| *text != "[DONE]");
        data.map(|text| serde_json::from_str(text).unwrap()).collect()
    }
}

/// A request, ready to be changed.
pub(crate) struct Call {
    address: SocketAddr,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Bytes,
}

impl Stage {
    pub(crate) fn request(&self, method: &str, path: &str) -> Call {
        Call {
            address: self.address,
            method: method.to_owned(),
            path: path.to_owned(),
            headers: vec![("host".to_owned(), self.address.to_string())],
            body: Bytes::new(),
        }
    }

    /// A POST of this body to `/mcp`, with the headers that every MCP client sends.
    pub(crate) fn post(&self, body: impl Into<Bytes>) -> Call {
        self.request("POST", "/mcp")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(body)
    }

    /// A whole modern request.
    pub(crate) fn modern(&self, method: &str, params: Value) -> Call {
        let params = with_meta(params);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut call = self.post(body.to_string());
        call.headers.extend(modern_headers(method, &params));
        call
    }

    pub(crate) async fn open_session(&self, version: &str, capabilities: Value) -> Session<'_> {
        let params = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let reply = self.post(body.to_string()).send().await;
        assert_eq!(reply.brief(), "200 ok", "{reply:?}");
        let id = reply.header("mcp-session-id").expect("a session");
        let version = reply.json()["result"]["protocolVersion"].as_str().unwrap().to_owned();
        Session { stage: self, id, version }
    }
}

pub(crate) fn with_meta(mut params: Value) -> Value {
    let meta = params.as_object_mut().unwrap().entry("_meta").or_insert_with(|| json!({}));
    let meta = meta.as_object_mut().unwrap();
    let version = "io.modelcontextprotocol/protocolVersion".to_owned();
    meta.entry(version).or_insert_with(|| json!("2026-07-28"));
    let capabilities = "io.modelcontextprotocol/clientCapabilities".to_owned();
    meta.entry(capabilities).or_insert_with(|| json!({}));
    params
}

pub(crate) struct Session<'s> {
    pub(crate) stage: &'s Stage,
    pub(crate) id: String,
    pub(crate) version: String,
}

impl Session<'_> {
    pub(crate) fn post(&self, body: impl Into<Bytes>) -> Call {
        self.add_headers(self.stage.post(body))
    }

    pub(crate) fn add_headers(&self, call: Call) -> Call {
        call.header("mcp-session-id", &self.id).header("mcp-protocol-version", &self.version)
    }

    pub(crate) fn call(&self, id: u64, method: &str, params: &Value) -> Call {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.post(body.to_string())
    }

    pub(crate) fn notify(&self, method: &str, params: &Value) -> Call {
        self.post(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string())
    }
}

impl Call {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With the token of whoever runs the gateway.
    pub(crate) fn by_admin(self) -> Self {
        self.set("authorization", &format!("Bearer {ADMIN}"))
    }

    /// Replaces every header of the name.
    pub(crate) fn set(self, name: &str, value: &str) -> Self {
        self.without(name).header(name, value)
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn path(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) async fn send(self) -> Reply {
        let method = self.method.clone();
        let path = self.path.clone();
        let sent = async {
            let (response, _connection) = self.start().await;
            let (parts, body) = response.into_parts();
            let bytes = body.collect().await.unwrap().to_bytes();
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            Reply { status: parts.status.as_u16(), headers: parts.headers, text }
        };
        let reply = tokio::time::timeout(TIMEOUT, sent).await.expect("an answer in time");
        openapi_answers::check(&method, &path, &reply);
        reply
    }

    /// Only what the answer comes to, in short.
    pub(crate) async fn brief(self) -> String {
        self.send().await.brief()
    }

    /// Of answers that may never end.
    pub(crate) async fn status(self) -> u16 {
        let started = tokio::time::timeout(TIMEOUT, self.start()).await;
        started.expect("headers in time").0.status().as_u16()
    }

    pub(crate) async fn stream(self) -> Stream {
        let path = self.path.clone();
        let (response, connection) =
            tokio::time::timeout(TIMEOUT, self.start()).await.expect("headers in time");
        assert_eq!(response.status(), 200);
        let body = response.into_body();
        let buffer = String::new();
        Stream { path, body, buffer, _connection: connection }
    }

    async fn start(self) -> (Response<Incoming>, Task) {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        let task = tasks::spawn("client", async move {
            let _ = connection.await;
        });
        let mut request = Request::builder().method(&*self.method).uri(&*self.path);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(self.body)).unwrap();
        (sender.send_request(request).await.unwrap(), task)
    }
}

/// An event stream that is read as it comes.
pub(crate) struct Stream {
    path: String,
    body: Incoming,
    buffer: String,
    _connection: Task,
}

impl Stream {
    pub(crate) async fn next(&mut self) -> Option<Value> {
        self.next_named().await.map(|(_, data)| data)
    }

    /// With the event's name.
    pub(crate) async fn next_named(&mut self) -> Option<(String, Value)> {
        let event = tokio::time::timeout(TIMEOUT, self.read()).await.expect("an event in time");
        if let Some((name, data)) = &event {
            openapi_answers::check_event(&self.path, name, data);
        }
        event
    }

    /// The next event of a stream of OpenAI's chat API, which has no names.
    pub(crate) async fn next_chunk(&mut self) -> Option<Value> {
        let chunk = async {
            loop {
                let Some(end) = self.buffer.find("\n\n") else {
                    let frame = self.body.frame().await?.ok()?;
                    self.buffer.push_str(std::str::from_utf8(&frame.into_data().ok()?).unwrap());
                    continue;
                };
                let event: String = self.buffer.drain(..end + 2).collect();
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                if let Some(data) = data.filter(|data| *data != "[DONE]") {
                    return Some(serde_json::from_str(data).unwrap());
                }
            }
        };
        tokio::time::timeout(TIMEOUT, chunk).await.expect("an event in time")
    }

    /// That nothing is said for a while.
    pub(crate) async fn silent(&mut self) {
        let heard = tokio::time::timeout(Duration::from_millis(300), self.read()).await;
        assert!(heard.is_err(), "{heard:?}");
    }

    async fn read(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some(end) = self.buffer.find("\n\n") {
                let event: String = self.buffer.drain(..end + 2).collect();
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                if let (Some(name), Some(data)) = (field("event: "), field("data: ")) {
                    return Some((name.to_owned(), serde_json::from_str(data).unwrap()));
                }
                continue;
            }
            let frame = self.body.frame().await?.ok()?;
            self.buffer.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
        }
    }
}

/// Sends bytes as they are, and reads what comes until the server closes or is silent after an
/// answer.
pub(crate) async fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    raw_until(address, bytes, 1).await
}

/// The same with so many answers. Before them silence is only a busy machine.
pub(crate) async fn raw_until(address: SocketAddr, bytes: &[u8], answers: usize) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A server that refuses early may close before all is sent.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    loop {
        let received = String::from_utf8_lossy(&answer).matches("HTTP/1.").count();
        let silence = if received < answers { 10_000 } else { 700 };
        let read = stream.read(&mut buffer);
        match tokio::time::timeout(Duration::from_millis(silence), read).await {
            Ok(Ok(length @ 1..)) => answer.extend_from_slice(&buffer[..length]),
            _ => return String::from_utf8_lossy(&answer).into_owned(),
        }
    }
}
