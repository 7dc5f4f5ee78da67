//! One request in progress: the future that answers it, and the messages sent before the answer.
//! Dropping an exchange drops the future and so cancels the call, unless the call may outlive its
//! client.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::StatusCode;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tollgate_mcp::client::{Event, ServerEventSender};
use tollgate_mcp::envelope::{JsonRpcId, write};
use tollgate_mcp::tasks::TaskGroup;

use super::encode::EncodedMessage;
use super::notifications::NotificationWriter;
use crate::error_mapping::McpRequestError;

/// Queue length for a client that reads slowly.
const QUEUE: usize = 64;

/// The final answer.
#[derive(Debug)]
pub(super) struct ExchangeAnswer {
    pub(super) status: StatusCode,
    /// Id of the session that was opened.
    pub(super) session: Option<Arc<str>>,
    /// `None`: no body.
    pub(super) text: Option<EncodedMessage>,
}

impl ExchangeAnswer {
    pub(super) fn nothing() -> Self {
        Self { status: StatusCode::ACCEPTED, session: None, text: None }
    }

    pub(super) fn from_text(text: EncodedMessage) -> Self {
        Self { status: StatusCode::OK, session: None, text: Some(text) }
    }

    pub(super) fn from_error(id: Option<&JsonRpcId>, refused: &McpRequestError) -> Self {
        let text = EncodedMessage::Whole(write::error_to_client(id, &refused.error));
        Self { status: refused.status, session: None, text: Some(text) }
    }

    pub(super) fn from_result(
        id: &JsonRpcId,
        result: Result<EncodedMessage, McpRequestError>,
    ) -> Self {
        result.map_or_else(|refused| Self::from_error(Some(id), &refused), Self::from_text)
    }
}

/// The next output to the client.
#[derive(Debug)]
pub(super) enum ExchangeStep {
    /// A message before the answer.
    Say(String),
    Done(ExchangeAnswer),
}

pub(super) struct Exchange {
    answer: Option<Pin<Box<dyn Future<Output = ExchangeAnswer> + Send>>>,
    line: Arc<ExchangeChannel>,
    talk: Option<NotificationSource>,
    ended: Option<ExchangeAnswer>,
}

impl Exchange {
    pub(super) fn new<F>(
        line: ExchangeChannel,
        answer: impl FnOnce(Arc<ExchangeChannel>) -> F,
    ) -> Self
    where
        F: Future<Output = ExchangeAnswer> + Send + 'static,
    {
        let line = Arc::new(line);
        let answer = Box::pin(answer(Arc::clone(&line)));
        Self { answer: Some(answer), line, talk: None, ended: None }
    }

    /// Whether it is a subscription stream of unbounded duration.
    pub(super) fn is_listening(&self) -> bool {
        matches!(self.talk, Some(NotificationSource::Messages(_)))
    }

    /// Cancel-safe. Must not be called after the end.
    pub(super) async fn next(&mut self) -> ExchangeStep {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<ExchangeStep> {
        loop {
            if let Some(text) = self.poll_talk(context) {
                return Poll::Ready(ExchangeStep::Say(text));
            }
            if let Some(answer) = self.ended.take() {
                return Poll::Ready(ExchangeStep::Done(answer));
            }
            let Some(answer) = &mut self.answer else { return Poll::Pending };
            match answer.as_mut().poll(context) {
                // Messages sent before the answer are delivered before it.
                Poll::Ready(answer) => {
                    self.answer = None;
                    self.ended = Some(answer);
                }
                Poll::Pending if self.talk.is_some() => return Poll::Pending,
                Poll::Pending => {}
            }
            if self.talk.is_none() {
                self.talk = self.line.talk.lock().take();
            }
            if self.talk.is_none() && self.ended.is_none() {
                return Poll::Pending;
            }
        }
    }

    fn poll_talk(&mut self, context: &mut Context<'_>) -> Option<String> {
        loop {
            let message = match self.talk.as_mut()? {
                NotificationSource::Events(events, voice) => match events.poll_recv(context) {
                    Poll::Ready(Some(event)) => voice.say(event),
                    Poll::Ready(None) => break,
                    Poll::Pending => return None,
                },
                NotificationSource::Messages(messages) => match messages.poll_recv(context) {
                    Poll::Ready(Some(text)) => Some(text),
                    Poll::Ready(None) => break,
                    Poll::Pending => return None,
                },
            };
            if message.is_some() {
                return message;
            }
        }
        self.talk = None;
        None
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let Some(answer) = self.answer.take() else { return };
        let Some(survivors) = self.line.survivors.lock().take() else { return };
        let rest = async move {
            answer.await;
        };
        if survivors.spawn(rest).is_err() {
            tracing::warn!("too many calls continue without their clients; one was cancelled");
        }
    }
}

enum NotificationSource {
    Events(mpsc::Receiver<Event>, NotificationWriter),
    Messages(mpsc::Receiver<String>),
}

/// Channel by which a handler can send messages before its answer.
pub(super) struct ExchangeChannel {
    carrier: ExchangeTransport,
    talk: Mutex<Option<NotificationSource>>,
    survivors: Mutex<Option<Arc<TaskGroup>>>,
}

/// Transport of a request, which decides about streaming and cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExchangeTransport {
    /// Can stream. The call may outlive the connection.
    Http,
    /// Can stream. The call ends with the pipe.
    Pipe,
    /// Can send only the answer.
    AnswerOnly,
}

impl ExchangeChannel {
    pub(super) fn new(carrier: ExchangeTransport) -> Self {
        Self { carrier, talk: Mutex::new(None), survivors: Mutex::new(None) }
    }

    pub(super) fn is_pipe(&self) -> bool {
        self.carrier == ExchangeTransport::Pipe
    }

    /// Sends server notifications during the call.
    pub(super) fn events(&self, voice: NotificationWriter) -> Option<ServerEventSender> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        self.open(NotificationSource::Events(receiver, voice)).then_some(sender)
    }

    /// Sends messages of our own.
    pub(super) fn messages(&self) -> Option<mpsc::Sender<String>> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        self.open(NotificationSource::Messages(receiver)).then_some(sender)
    }

    fn open(&self, talk: NotificationSource) -> bool {
        if self.carrier == ExchangeTransport::AnswerOnly {
            return false;
        }
        *self.talk.lock() = Some(talk);
        true
    }

    /// From here on, a lost connection does not cancel the call.
    pub(super) fn outlive(&self, survivors: &Arc<TaskGroup>) {
        if self.carrier != ExchangeTransport::Pipe {
            *self.survivors.lock() = Some(Arc::clone(survivors));
        }
    }
}

#[cfg(test)]
mod tests;
