//! MCP over stdio: one message per line, both eras, concurrent requests. The pipe is the client:
//! when it ends, everything that runs for it ends, too.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::{self, AbortHandle, JoinSet};
use tollgate_core::filter::RequestFilter;
use tollgate_core::secret_values;
use tollgate_engine::caller::OverflowPolicy;
use tollgate_engine::clock::SystemClock;
use tollgate_engine::gate::Gate;
use tollgate_mcp::answer_budget::AnswerAccount;
use tollgate_mcp::envelope::{JsonRpcId, JsonRpcMessage, JsonRpcRequest, write};
use tollgate_mcp::error_code;
use tollgate_mcp::line::{self, LineReader};
use tollgate_mcp::{Revision, meta};

use super::encode::{self, EncodedMessage};
use super::exchange::{Exchange, ExchangeAnswer, ExchangeChannel, ExchangeStep, ExchangeTransport};
use super::legacy::SessionClient;
use super::method::{self, McpMethod};
use super::modern;
use super::parsed_request::ParsedMcpRequest;
use super::{legacy, listen};
use crate::app_state::AppState;
use crate::error_mapping::McpRequestError;
use crate::limits::Limits;
use crate::mcp_session::McpSession;
use crate::request_context::RequestContext;

/// Length of the output queue.
const QUEUE: usize = 64;
/// How long requests may still run after the client closed its input.
const GRACE: Duration = Duration::from_millis(500);
/// How long the client may then take to read the rest.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
#[error("the pipe failed: {0}")]
pub struct StdioError(#[from] io::Error);

/// The client of a pipe.
#[derive(Debug, Clone)]
pub struct StdioClient<'a> {
    /// `None`: the default agent.
    pub agent: Option<&'a str>,
    /// Restricts the client's view.
    pub narrow: RequestFilter,
}

/// Serves one client until its pipe ends.
pub async fn serve_stdio<R, W>(
    gate: Arc<Gate>,
    client: StdioClient<'_>,
    reader: R,
    writer: W,
) -> Result<(), StdioError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let limits = Limits::default();
    let mut lines = LineReader::new(reader, limits.body_bytes);
    let front = AppState::new(gate, Arc::new(SystemClock), limits);
    // Clients of a pipe have no REST route to fetch the rest of a result.
    let front = Arc::new(AppState { rest: OverflowPolicy::Lost, ..front });
    let (out, outgoing) = mpsc::channel(QUEUE);
    let who = RequestContext::local(client.agent, client.narrow);
    let mut pipe = StdioServer {
        front,
        who,
        session: None,
        running: HashMap::new(),
        batches: HashMap::new(),
        tasks: JoinSet::new(),
        out,
    };
    let mut writing = std::pin::pin!(write_all(writer, outgoing));
    loop {
        tokio::select! {
            written = &mut writing => return Ok(written?),
            line = lines.next() => match line? {
                Some(line) => {
                    // Keep writing answers while this line waits for a permit.
                    let taken = pipe.take(line);
                    tokio::select! {
                        written = &mut writing => return Ok(written?),
                        () = taken => {}
                    }
                }
                None => break,
            },
        }
    }
    let end = async { tokio::join!(writing, pipe.end()).0 };
    let unread = || io::Error::new(io::ErrorKind::TimedOut, "the client does not read");
    Ok(tokio::time::timeout(GRACE + FLUSH_TIMEOUT, end).await.unwrap_or_else(|_| Err(unread()))?)
}

/// Writes everything that is queued at once, and flushes when the queue is empty.
async fn write_all<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut outgoing: mpsc::Receiver<String>,
) -> io::Result<()> {
    while let Some(text) = outgoing.recv().await {
        let mut lines = line::on_one_line(secret_values::mask_owned(text));
        lines.push('\n');
        while let Ok(more) = outgoing.try_recv() {
            lines.push_str(&line::on_one_line(secret_values::mask_owned(more)));
            lines.push('\n');
        }
        writer.write_all(lines.as_bytes()).await?;
        writer.flush().await?;
    }
    Ok(())
}

struct StdioServer {
    front: Arc<AppState>,
    /// Context of the only client of this pipe.
    who: RequestContext,
    session: Option<Arc<McpSession>>,
    running: HashMap<JsonRpcId, AbortHandle>,
    /// Number of requests in each running batch.
    batches: HashMap<task::Id, usize>,
    /// A task for one request returns its id.
    tasks: JoinSet<Option<JsonRpcId>>,
    out: mpsc::Sender<String>,
}

impl StdioServer {
    async fn take(&mut self, line: line::LineRead) {
        self.forget_ended();
        match line {
            line::LineRead::Text(text) => self.take_text(text).await,
            line::LineRead::TooLong { limit, .. } => {
                self.refuse(
                    None,
                    &McpRequestError::invalid(format!("a line is over {limit} bytes")),
                )
                .await;
            }
            line::LineRead::NoRoom { .. } => {
                let refused = McpRequestError::invalid("there is no memory for a large line");
                self.refuse(None, &refused).await;
            }
            line::LineRead::Skipped { .. } => {}
        }
    }

    async fn take_text(&mut self, text: Bytes) {
        if let Err(error) = self.front.limits.json.check(&text) {
            return self.refuse(None, &McpRequestError::invalid(error.to_string())).await;
        }
        if text.first() == Some(&b'[') {
            return self.take_batch(text).await;
        }
        match JsonRpcMessage::parse_bytes(&text) {
            Ok(JsonRpcMessage::Request(request)) => self.start(request).await,
            Ok(JsonRpcMessage::Notification { method, params }) => {
                if method == "notifications/cancelled"
                    && let Some(id) = legacy::cancelled_id(params)
                    && let Some(running) = self.running.remove(&id)
                {
                    running.abort();
                }
            }
            Ok(JsonRpcMessage::Response { id, outcome }) => {
                if let (Some(id), Some(session)) = (id, &self.session) {
                    session.deliver_answer(&id, outcome);
                }
            }
            Err(invalid) => {
                let text = write::error_to_client(invalid.id.as_ref(), &invalid.error);
                let _ = self.out.send(text).await;
            }
        }
    }

    async fn start(&mut self, request: JsonRpcRequest<'_>) {
        let id = request.id.clone();
        if self.running.contains_key(&id) {
            let refused = McpRequestError::invalid("a request with this `id` is still running");
            return self.refuse(Some(&id), &refused).await;
        }
        if !self.has_room(1) {
            return self.refuse(Some(&id), &too_many()).await;
        }
        if request.method == "initialize" && meta::version_of(request.params).is_none() {
            return self.initialize(&request).await;
        }
        let front = Arc::clone(&self.front);
        let who = self.who.clone();
        let session = self.session.clone();
        let stdio_request = StdioRequest::from(request);
        let exchange =
            Exchange::new(ExchangeChannel::new(ExchangeTransport::Pipe), |line| async move {
                answer(&front, who, session.as_ref(), &stdio_request, &line).await
            });
        self.run(id, exchange);
    }

    /// Whether `more` requests may start.
    fn has_room(&self, more: usize) -> bool {
        let in_batches: usize = self.batches.values().sum();
        self.running.len() + in_batches + more <= self.front.limits.in_flight
    }

    fn run(&mut self, id: JsonRpcId, exchange: Exchange) {
        let out = self.out.clone();
        let key = id.clone();
        let account = AnswerAccount::new(None);
        let handle = self.tasks.spawn(async move {
            account.scope(carry(exchange, out)).await;
            Some(id)
        });
        self.running.insert(key, handle);
    }

    async fn initialize(&mut self, request: &JsonRpcRequest<'_>) {
        let opened = method::params(request.params).and_then(|params| match self.session {
            Some(_) => Err(McpRequestError::invalid("this session is already initialized")),
            None => legacy::opening(&self.front, self.who.clone(), &params),
        });
        let opening = match opened {
            Ok(opening) => opening,
            Err(refused) => return self.refuse(Some(&request.id), &refused).await,
        };
        let session = Arc::new(McpSession::new(opening));
        let _ = self.out.send(encode::initialize(&request.id, session.revision)).await;
        let front = Arc::clone(&self.front);
        let out = self.out.clone();
        let notified_session = Arc::clone(&session);
        let who = self.who.clone();
        self.tasks.spawn(async move {
            listen::tell(&front, SessionClient { session: &notified_session, who: &who }, out)
                .await;
            None
        });
        self.session = Some(session);
    }

    async fn take_batch(&mut self, text: Bytes) {
        let session = self.session.clone();
        let Some(session) = session.filter(|it| it.revision == Revision::V2025_03_26) else {
            let refused = McpRequestError::invalid("this protocol revision does not allow batches");
            return self.refuse(None, &refused).await;
        };
        // A batch that is not a list is refused without running anything.
        let count = serde_json::from_slice::<Vec<IgnoredAny>>(&text).map_or(0, |it| it.len());
        if count <= self.front.limits.batch && !self.has_room(count) {
            return self.refuse(None, &too_many()).await;
        }
        let front = Arc::clone(&self.front);
        let who = self.who.clone();
        let exchange =
            Exchange::new(ExchangeChannel::new(ExchangeTransport::Pipe), |line| async move {
                let text = String::from_utf8_lossy(&text);
                let speaker = SessionClient { session: &session, who: &who };
                legacy::batch(&front, speaker, &text, &line).await
            });
        let out = self.out.clone();
        let handle = self.tasks.spawn(async move {
            carry(exchange, out).await;
            None
        });
        self.batches.insert(handle.id(), count);
    }

    /// Short scripts that pipe in a few lines and close still get quick answers.
    async fn end(mut self) {
        self.front.stop.cancel();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(GRACE, all).await;
    }

    async fn refuse(&self, id: Option<&JsonRpcId>, refused: &McpRequestError) {
        let _ = self.out.send(write::error_to_client(id, &refused.error)).await;
    }

    /// The id of a finished request may be reused.
    fn forget_ended(&mut self) {
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            match ended {
                // After a cancellation the id may belong to another request.
                Ok((task, Some(id))) => {
                    if self.running.get(&id).is_some_and(|handle| handle.id() == task) {
                        self.running.remove(&id);
                    }
                }
                Ok((task, None)) => {
                    self.batches.remove(&task);
                }
                // Cancelled or panicked.
                Err(error) => {
                    self.batches.remove(&error.id());
                    self.running.retain(|_, handle| handle.id() != error.id());
                }
            }
        }
    }
}

fn too_many() -> McpRequestError {
    McpRequestError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        error_code::INTERNAL_ERROR,
        "too many requests are running",
    )
}

/// A parsed request that owns its data.
struct StdioRequest {
    id: JsonRpcId,
    method: String,
    params: Option<Box<RawValue>>,
}

impl From<JsonRpcRequest<'_>> for StdioRequest {
    fn from(request: JsonRpcRequest<'_>) -> Self {
        let JsonRpcRequest { id, method, params } = request;
        Self { id, method: method.into_owned(), params: params.map(ToOwned::to_owned) }
    }
}

async fn carry(mut exchange: Exchange, out: mpsc::Sender<String>) {
    loop {
        let (text, is_last) = match exchange.next().await {
            ExchangeStep::Say(text) => (Some(text), false),
            ExchangeStep::Done(answer) => (answer.text.map(EncodedMessage::into_string), true),
        };
        if let Some(text) = text
            && out.send(text).await.is_err()
        {
            return;
        }
        if is_last {
            return;
        }
    }
}

/// Answers one request of either era.
async fn answer(
    front: &AppState,
    who: RequestContext,
    session: Option<&Arc<McpSession>>,
    request: &StdioRequest,
    line: &ExchangeChannel,
) -> ExchangeAnswer {
    let params = match method::params(request.params.as_deref()) {
        Ok(params) => params,
        Err(refused) => return ExchangeAnswer::from_error(Some(&request.id), &refused),
    };
    let has_version =
        params.object("_meta").is_some_and(|meta| meta.contains(meta::PROTOCOL_VERSION));
    let ask = ParsedMcpRequest { id: request.id.clone(), method: &request.method, params };
    if has_version || McpMethod::is_modern_only(ask.method) {
        let from = modern::ModernRequestSource { who, headers: None, line };
        return modern::answer(front, from, ask).await;
    }
    match session {
        Some(session) => {
            let speaker = SessionClient { session, who: &who };
            legacy::answer(front, speaker, ask, line).await
        }
        None => ExchangeAnswer::from_error(
            Some(&ask.id),
            &McpRequestError::invalid("send `initialize` first"),
        ),
    }
}
