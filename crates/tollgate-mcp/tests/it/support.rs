//! A listener that remembers, and the far end of a pipe, driven line by line.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::sync::Notify;
use tokio::time::timeout;
use tollgate_core::json::Object;
use tollgate_mcp::client::{
    Answer, ConnectError, ConnectOptions, McpConnection, OutgoingRequest, PipeConnection,
    ProgressReporting, RequestError, ServerEventSender, ServerListener, connect_pipe,
};
use tollgate_mcp::meta::ClientFacts;

/// Writes down what it is told: `notified …`, `closed …`, `garbage …`.
#[derive(Default)]
pub(crate) struct Recorder {
    lines: Mutex<Vec<String>>,
    changed: Notify,
}

impl Recorder {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().clone()
    }

    pub(crate) fn count(&self, needle: &str) -> usize {
        self.lines.lock().iter().filter(|line| line.contains(needle)).count()
    }

    /// Waits until a line contains `needle`.
    pub(crate) async fn wait_for(&self, needle: &str) {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                if self.count(needle) > 0 {
                    return;
                }
                changed.await;
            }
        };
        let told = timeout(Duration::from_secs(20), wait).await;
        assert!(told.is_ok(), "never told {needle:?}, only {:?}", self.lines());
    }

    fn write(&self, line: String) {
        self.lines.lock().push(line);
        self.changed.notify_waiters();
    }
}

impl ServerListener for Recorder {
    fn on_notification(&self, method: &str, params: Option<&RawValue>) {
        self.write(format!("notified {method} {}", params.map_or("", RawValue::get)));
    }

    fn on_closed(&self, reason: &str) {
        self.write(format!("closed {reason}"));
    }

    fn on_garbage(&self, what: &str) {
        self.write(format!("garbage {what}"));
    }

    fn late(&self) {
        self.write("late".to_owned());
    }
}

/// The server's end of a pipe.
pub(crate) struct Peer {
    reader: Reader,
    writer: Writer,
}

pub(crate) struct Reader(BufReader<ReadHalf<DuplexStream>>);

pub(crate) struct Writer(WriteHalf<DuplexStream>);

impl Reader {
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = timeout(Duration::from_secs(60), self.0.read_line(&mut line)).await;
        let count = read.expect("the client says nothing").unwrap();
        (count > 0).then(|| serde_json::from_str(&line).unwrap())
    }
}

impl Writer {
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: &Value) {
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        self.send_bytes(format!("{answer}\n").as_bytes()).await;
    }
}

impl Peer {
    pub(crate) fn split(self) -> (Reader, Writer) {
        (self.reader, self.writer)
    }

    /// The next message, which must have this method.
    pub(crate) async fn expect(&mut self, method: &str) -> Value {
        let message = self.next().await.expect("the client hung up");
        assert_eq!(message["method"], method, "{message}");
        message
    }

    pub(crate) async fn next(&mut self) -> Option<Value> {
        self.reader.next().await
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.writer.send_bytes(bytes).await;
    }

    pub(crate) async fn answer(&mut self, request: &Value, result: &Value) {
        self.writer.answer(request, result).await;
    }

    pub(crate) async fn refuse(&mut self, request: &Value, code: i64, data: &Value) {
        let error = json!({"code": code, "message": "no", "data": data});
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error})).await;
    }

    /// Plays the modern handshake.
    pub(crate) async fn discover(&mut self) {
        let request = self.expect("server/discover").await;
        self.answer(&request, &discovered()).await;
    }

    /// Plays the legacy handshake, probe included.
    pub(crate) async fn initialize(&mut self) {
        let probe = self.expect("server/discover").await;
        self.refuse(&probe, -32601, &Value::Null).await;
        let request = self.expect("initialize").await;
        self.answer(&request, &initialized("2025-11-25")).await;
        self.expect("notifications/initialized").await;
    }
}

pub(crate) fn discovered() -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {
            "tools": {"listChanged": true},
            "resources": {"subscribe": true},
        },
        "instructions": "be kind",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "1"}},
    })
}

pub(crate) fn initialized(revision: &str) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}},
        "serverInfo": {"name": "fake", "version": "1"},
        "instructions": "be kind",
    })
}

pub(crate) struct Connecting {
    pub(crate) peer: Peer,
    pub(crate) recorder: Arc<Recorder>,
    client: DuplexStream,
}

/// A pipe on which nobody has spoken yet.
pub(crate) fn pipe() -> Connecting {
    let (client, server) = duplex(64 << 10);
    let (read, write) = split(server);
    Connecting {
        peer: Peer { reader: Reader(BufReader::new(read)), writer: Writer(write) },
        recorder: Arc::default(),
        client,
    }
}

impl Connecting {
    /// Connects while `script` plays the server.
    pub(crate) async fn play<F>(
        self,
        options: &ConnectOptions,
        script: impl FnOnce(Peer) -> F,
    ) -> (Result<Arc<PipeConnection>, ConnectError>, F::Output, Arc<Recorder>)
    where
        F: Future,
    {
        let (read, write) = split(self.client);
        let listener = Arc::clone(&self.recorder) as Arc<dyn ServerListener>;
        let connecting = connect_pipe(read, write, listener, options);
        let (connected, played) = tokio::join!(connecting, script(self.peer));
        (connected, played, self.recorder)
    }
}

pub(crate) struct Connected {
    pub(crate) client: Arc<PipeConnection>,
    pub(crate) peer: Peer,
    pub(crate) recorder: Arc<Recorder>,
}

pub(crate) async fn modern() -> Connected {
    let script = |mut peer: Peer| async move {
        peer.discover().await;
        peer
    };
    let (client, peer, recorder) = pipe().play(&ConnectOptions::default(), script).await;
    Connected { client: client.unwrap(), peer, recorder }
}

pub(crate) async fn legacy() -> Connected {
    legacy_with(&ConnectOptions::default()).await
}

pub(crate) async fn legacy_with(options: &ConnectOptions) -> Connected {
    let script = |mut peer: Peer| async move {
        peer.initialize().await;
        peer
    };
    let (client, peer, recorder) = pipe().play(options, script).await;
    Connected { client: client.unwrap(), peer, recorder }
}

/// Calls the tool `echo` with this text.
pub(crate) async fn echo(
    connection: &dyn McpConnection,
    text: &str,
    events: Option<ServerEventSender>,
) -> Result<Answer, RequestError> {
    let params = json!({"name": "echo", "arguments": {"text": text}}).to_string();
    let client = ClientFacts { log_level: Some("info".to_owned()), ..ClientFacts::default() };
    let request = OutgoingRequest {
        method: "tools/call",
        params: Object::parse(&params).unwrap(),
        client: &client,
        mirrored: vec![("Text".to_owned(), text.to_owned())],
        events,
        progress: ProgressReporting::Requested,
        trace: None,
    };
    connection.request(request).await
}

/// The answer, or the error, as text.
pub(crate) fn shown(outcome: &Result<Answer, RequestError>) -> String {
    match outcome {
        Ok(answer) => format!("{:?} {}", answer.kind, answer.result),
        Err(error) => format!("{error}"),
    }
}
