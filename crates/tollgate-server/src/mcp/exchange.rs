//! One request on its way: the future that answers it, and what is said before the answer.
//! Dropping an exchange drops the future, and so cancels the call; unless the call is one that
//! outlives its client.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::StatusCode;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tollgate_mcp::client::{Event, ServerEventSender};
use tollgate_mcp::envelope::JsonRpcId;
use tollgate_mcp::tasks::TaskGroup;

use super::encode::{self, EncodedMessage};
use super::notifications::NotificationWriter;
use crate::error_mapping::McpRequestError;

/// How many messages may wait for a client that does not read.
const QUEUE: usize = 64;

/// What comes back at the end.
#[derive(Debug)]
pub(super) struct ExchangeAnswer {
    pub(super) status: StatusCode,
    /// The session that was opened.
    pub(super) session: Option<Arc<str>>,
    /// `None`: there is nothing to say.
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
        let text = EncodedMessage::Whole(encode::error(id, &refused.error));
        Self { status: refused.status, session: None, text: Some(text) }
    }

    pub(super) fn from_result(
        id: &JsonRpcId,
        result: Result<EncodedMessage, McpRequestError>,
    ) -> Self {
        result.map_or_else(|refused| Self::from_error(Some(id), &refused), Self::from_text)
    }
}

/// The next thing that the client hears.
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

    /// Whether it only says what happens elsewhere, and for how long nobody knows.
    pub(super) fn is_listening(&self) -> bool {
        matches!(self.talk, Some(NotificationSource::Messages(_)))
    }

    /// Cancel-safe. Not to be asked again after the end.
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
                // What was said before the answer is heard before it.
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
            let said = match self.talk.as_mut()? {
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
            if said.is_some() {
                return said;
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

/// Where the one who answers can say something before the answer.
pub(super) struct ExchangeChannel {
    carrier: ExchangeTransport,
    talk: Mutex<Option<NotificationSource>>,
    survivors: Mutex<Option<Arc<TaskGroup>>>,
}

/// What becomes of a request by way of its carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExchangeTransport {
    /// Can stream; the connection may go while the call goes on.
    Http,
    /// Can stream; the call goes with the pipe.
    Pipe,
    /// Only ever carries the answer.
    AnswerOnly,
}

impl ExchangeChannel {
    pub(super) fn new(carrier: ExchangeTransport) -> Self {
        Self { carrier, talk: Mutex::new(None), survivors: Mutex::new(None) }
    }

    pub(super) fn is_pipe(&self) -> bool {
        self.carrier == ExchangeTransport::Pipe
    }

    /// For what a server says during the call.
    pub(super) fn events(&self, voice: NotificationWriter) -> Option<ServerEventSender> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        self.open(NotificationSource::Events(receiver, voice)).then_some(sender)
    }

    /// For messages of our own.
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

    /// From here on the call is not cancelled by a connection that breaks.
    pub(super) fn outlive(&self, survivors: &Arc<TaskGroup>) {
        if self.carrier != ExchangeTransport::Pipe {
            *self.survivors.lock() = Some(Arc::clone(survivors));
        }
    }
}

#[cfg(test)]
mod tests;
