//! Connection over a pair of byte streams, with back-pressure: the pipes of a child process, or an
//! in-process duplex.
//!
//! One task reads, one writes. A server that does not read delays only its own callers.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tollgate_core::json::Object;

use super::dispatch::{Dispatch, ReceivedKind};
use super::inbound::Outbox;
use super::watch::SubscriptionWatch;
use super::{
    Answer, ConnectError, ConnectOptions, McpConnection, OutgoingRequest, RequestError,
    ServerFacts, ServerListener, handshake,
};
use crate::Era;
use crate::flood_control::FloodControl;
use crate::line::{LineRead, LineReader, on_one_line};
use crate::memory_budget::NoRoomError;
use crate::tasks::{self, Task};

/// Maximum messages queued for a server.
const QUEUE: usize = 128;
/// How long a caller waits for room in that queue.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait for answers that the server wrote before it closed its input.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// Performs the handshake and returns the connection. Dropping it ends its tasks and closes both
/// streams.
pub async fn connect<R, W>(
    read: R,
    write: W,
    listener: Arc<dyn ServerListener>,
    options: &ConnectOptions,
) -> Result<Arc<PipeConnection>, ConnectError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (sender, queue) = mpsc::channel(QUEUE);
    let outbox: Arc<dyn Outbox> = Arc::new(PipeOutbox(sender.clone()));
    let dispatch = Arc::new(Dispatch::new(listener, outbox));
    let payers = Arc::clone(&dispatch);
    let lines =
        LineReader::new(read, options.message_limit).charging(move |head| payers.payer_of(head));
    let reader =
        tasks::spawn("pipe reader", read_all(lines, Arc::clone(&dispatch), options.message_limit));
    let writer = tasks::spawn("pipe writer", write_all(write, queue, Arc::clone(&dispatch)));
    let facts = handshake::on_dispatch(&dispatch, options).await?;
    Ok(Arc::new(PipeConnection {
        facts,
        queue: sender,
        watch: SubscriptionWatch::new(Arc::clone(&dispatch.inbound.listener)),
        dispatch,
        _reader: reader,
        writer: tokio::sync::Mutex::new(writer),
    }))
}

pub struct PipeConnection {
    facts: ServerFacts,
    dispatch: Arc<Dispatch>,
    queue: mpsc::Sender<PipeOutgoing>,
    watch: SubscriptionWatch,
    _reader: Task,
    writer: tokio::sync::Mutex<Task>,
}

enum PipeOutgoing {
    Message(String),
    /// Closes the server's input; must be the last.
    End,
}

#[async_trait]
impl McpConnection for PipeConnection {
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
        match self.facts.era() {
            Era::Modern => {
                let subscriber = Arc::clone(&self.dispatch);
                self.watch.listen(&self.facts, resources, subscriber).await
            }
            Era::Legacy => self.watch.subscribe(self, resources).await,
        }
    }

    async fn close(&self) {
        self.watch.stop();
        self.dispatch.end();
        let sent = timeout(WRITE_TIMEOUT, self.queue.send(PipeOutgoing::End)).await;
        if matches!(sent, Ok(Ok(()))) {
            let _ = timeout(WRITE_TIMEOUT, self.writer.lock().await.wait()).await;
        }
    }
}

impl Drop for PipeConnection {
    fn drop(&mut self) {
        self.dispatch.end();
    }
}

/// Sender of the writer's queue.
struct PipeOutbox(mpsc::Sender<PipeOutgoing>);

#[async_trait]
impl Outbox for PipeOutbox {
    async fn send(&self, message: String) -> Result<(), RequestError> {
        let message = PipeOutgoing::Message(message);
        let message = match self.0.try_send(message) {
            Ok(()) => return Ok(()),
            Err(mpsc::error::TrySendError::Full(message)) => message,
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(input_closed()),
        };
        match timeout(WRITE_TIMEOUT, self.0.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(input_closed()),
            Err(_) => Err(RequestError::Lost("the server does not read its input".to_owned())),
        }
    }

    fn send_later(&self, message: String) {
        if self.0.try_send(PipeOutgoing::Message(message)).is_err() {
            tracing::debug!("a message was dropped: the server does not read its input");
        }
    }
}

/// A line that is being skipped.
struct SkippedLine {
    head: Bytes,
    reason: SkipReason,
}

#[derive(Clone, Copy)]
enum SkipReason {
    TooLarge,
    NoRoom,
}

fn input_closed() -> RequestError {
    RequestError::Lost("the server closed its input".to_owned())
}

async fn read_all<R: AsyncRead + Unpin>(
    mut lines: LineReader<R>,
    dispatch: Arc<Dispatch>,
    limit: usize,
) {
    let mut skipped = SkippedLine { head: Bytes::new(), reason: SkipReason::TooLarge };
    let mut flood = FloodControl::default();
    let reason = loop {
        match lines.next().await {
            Ok(Some(LineRead::Text(text))) => {
                let size = text.len();
                match dispatch.receive_any(text, lines.take_permit()).await {
                    ReceivedKind::Answer => flood.reset(),
                    ReceivedKind::Talk => flood.record_message(size).await,
                }
            }
            Ok(Some(LineRead::TooLong { head, limit })) => {
                let what = format!("a line of more than {limit} bytes");
                dispatch.inbound.listener.on_garbage(&what);
                dispatch.fail_skipped(&head, &[], RequestError::TooLarge { limit });
                skipped = SkippedLine { head, reason: SkipReason::TooLarge };
            }
            Ok(Some(LineRead::NoRoom { head })) => {
                dispatch.fail_skipped(&head, &[], RequestError::NoRoom(NoRoomError));
                skipped = SkippedLine { head, reason: SkipReason::NoRoom };
            }
            Ok(Some(LineRead::Skipped { tail })) => {
                let error = match skipped.reason {
                    SkipReason::TooLarge => RequestError::TooLarge { limit },
                    SkipReason::NoRoom => RequestError::NoRoom(NoRoomError),
                };
                dispatch.fail_skipped(&skipped.head, &tail, error);
            }
            Ok(None) => break "the server closed its output".to_owned(),
            Err(error) => break format!("reading from the server failed: {error}"),
        }
    };
    dispatch.close(&reason);
}

async fn write_all<W: AsyncWrite + Unpin>(
    mut write: W,
    mut queue: mpsc::Receiver<PipeOutgoing>,
    dispatch: Arc<Dispatch>,
) {
    while let Some(PipeOutgoing::Message(message)) = queue.recv().await {
        // Payloads are raw: the client's whitespace, including line breaks, may be between tokens.
        let mut line = on_one_line(message);
        line.push('\n');
        let mut written = write.write_all(line.as_bytes()).await;
        if written.is_ok() && queue.is_empty() {
            written = write.flush().await;
        }
        if let Err(error) = written {
            drop(queue);
            sleep(LAST_WORDS).await;
            return dispatch.close(&format!("writing to the server failed: {error}"));
        }
    }
    let _ = write.shutdown().await;
}
