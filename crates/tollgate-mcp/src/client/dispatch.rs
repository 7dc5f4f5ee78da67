//! Multiplexes requests and responses over one connection: pipes, and HTTP+SSE. A late result is
//! dropped and reported.
//!
//! Request ids are our own and never reused. A dropped request is cancelled at the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tollgate_core::json::Object;
use tollgate_core::secret_values;
use tollgate_core::turn::Principal;

use super::in_flight_table::{InFlightEntry, InFlightRequestKind, RequestOutcome};
use super::inbound::{Inbound, Outbox};
use super::{Answer, OutgoingRequest, RequestError, ServerListener, outgoing};
use crate::Revision;
use crate::answer_budget::{AnswerAccount, AnswerPermit};
use crate::envelope::{InvalidMessageError, JsonRpcId, JsonRpcMessage, write};
use crate::error_code::JsonRpcError;
use crate::offload::offload_if_large;

/// Maximum messages of a batch (2025-03-26 only).
const BATCH: usize = 1024;
const PROBE: &str = "server/discover";
/// How many bytes at each end of a broken message are searched for its id.
const ENDS: usize = 80;
const VERSION: &str = r#""jsonrpc":"2.0""#;

pub(super) struct Dispatch {
    pub inbound: Inbound,
    outbox: Arc<dyn Outbox>,
    /// The id of the latest probe; zero, which is never an id of ours, before the first.
    probe: AtomicU64,
}

/// What happens at the server when the request is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnDrop {
    Cancel,
    /// A handshake must not be cancelled.
    Forget,
}

/// The kind of a message: an expected answer, or anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReceivedKind {
    Answer,
    Talk,
}

/// A request in flight. Dropping it abandons the request.
pub(super) struct InFlightRequest<'d> {
    dispatch: &'d Dispatch,
    id: u64,
    answer: oneshot::Receiver<RequestOutcome>,
    on_drop: OnDrop,
}

impl Dispatch {
    pub(super) fn new(listener: Arc<dyn ServerListener>, outbox: Arc<dyn Outbox>) -> Self {
        Self { inbound: Inbound::new(listener), outbox, probe: AtomicU64::new(0) }
    }

    pub(super) async fn request(
        &self,
        request: OutgoingRequest<'_>,
    ) -> Result<Answer, RequestError> {
        let revision = self.inbound.revision();
        let id = self.inbound.table.next_id();
        let hop = request.hop(id);
        let params = outgoing::params(request.params, revision, &hop);
        let entry = InFlightEntry {
            wants_logs: request.events.is_some() && request.client.log_level.is_some(),
            events: request.events,
            kind: InFlightRequestKind::of(request.method),
            ..InFlightEntry::default()
        };
        let message = write::request(&JsonRpcId::number(id), request.method, &params);
        let mut sent = self.register(id, entry, OnDrop::Cancel)?;
        self.outbox.send(message).await.inspect_err(|_| sent.forget())?;
        outgoing::answer(revision.era(), sent.answer().await?).await
    }

    /// Sends a request of the handshake, or a subscription, with params unchanged.
    pub(super) async fn send(
        &self,
        method: &str,
        params: &str,
        on_drop: OnDrop,
    ) -> Result<InFlightRequest<'_>, RequestError> {
        let entry =
            InFlightEntry { kind: InFlightRequestKind::of(method), ..InFlightEntry::default() };
        self.send_entry(method, params, entry, on_drop).await
    }

    pub(super) async fn send_entry(
        &self,
        method: &str,
        params: &str,
        entry: InFlightEntry,
        on_drop: OnDrop,
    ) -> Result<InFlightRequest<'_>, RequestError> {
        let id = self.inbound.table.next_id();
        let message = write::request(&JsonRpcId::number(id), method, params);
        let mut sent = self.register(id, entry, on_drop)?;
        self.outbox.send(message).await.inspect_err(|_| sent.forget())?;
        Ok(sent)
    }

    pub(super) async fn notify(
        &self,
        method: &str,
        params: Object<'_>,
    ) -> Result<(), RequestError> {
        self.outbox.send(write::notification(method, &params.to_text())).await
    }

    /// Sends the probe. Until it is answered, an error without a matching id counts as its answer,
    /// however early it arrives.
    pub(super) async fn send_probe(
        &self,
        params: &str,
    ) -> Result<InFlightRequest<'_>, RequestError> {
        let id = self.inbound.table.next_id();
        let message = write::request(&JsonRpcId::number(id), PROBE, params);
        let entry =
            InFlightEntry { kind: InFlightRequestKind::of(PROBE), ..InFlightEntry::default() };
        let mut sent = self.register(id, entry, OnDrop::Forget)?;
        self.probe.store(id, Ordering::Relaxed);
        self.outbox.send(message).await.inspect_err(|_| sent.forget())?;
        Ok(sent)
    }

    /// Handles one message of any size.
    pub(super) async fn receive_any(
        self: &Arc<Self>,
        bytes: Bytes,
        permit: AnswerPermit,
    ) -> ReceivedKind {
        let dispatch = Arc::clone(self);
        offload_if_large(bytes.len(), move || dispatch.receive(&bytes, permit)).await
    }

    /// Handles one message of any kind. Masks our own secrets in it. The permit goes to the request
    /// that it answers.
    pub(super) fn receive(&self, bytes: &[u8], mut permit: AnswerPermit) -> ReceivedKind {
        self.receive_masked(&secret_values::mask_bytes(bytes), &mut permit)
    }

    fn receive_masked(&self, bytes: &[u8], permit: &mut AnswerPermit) -> ReceivedKind {
        if bytes.first() == Some(&b'[') && self.inbound.revision() == Revision::V2025_03_26 {
            self.receive_batch(bytes, permit);
            return ReceivedKind::Talk;
        }
        match JsonRpcMessage::parse_unmeasured(bytes) {
            Ok(JsonRpcMessage::Response { id, outcome }) => {
                return self.respond(id.as_ref(), outcome, permit);
            }
            Ok(JsonRpcMessage::Notification { method, params }) => {
                self.inbound.notification(&method, params, None);
            }
            Ok(JsonRpcMessage::Request(request)) => {
                self.inbound.request(&request, None, &self.outbox)
            }
            Err(invalid) => self.reject(&invalid, bytes),
        }
        ReceivedKind::Talk
    }

    /// Fails the request whose answer is skipped because of its size. Its id may be visible at one
    /// of its ends; otherwise it can only be matched if there is a single request in flight.
    pub(super) fn fail_skipped(&self, head: &[u8], tail: &[u8], error: RequestError) {
        let table = &self.inbound.table;
        let id = if head.is_empty() { table.only() } else { id_of_answer(head, tail) };
        if let Some(id) = id {
            table.settle(id, Err(error));
        }
    }

    /// Who pays for an answer that begins like this, if that can be seen already.
    pub(super) fn payer_of(&self, head: &[u8]) -> Option<Principal> {
        let id = id_of_answer(&head[..head.len().min(ENDS)], &[])?;
        self.inbound.table.account_of(id)?.principal()
    }

    /// Fails everything in flight and notifies the listener, once. A failed handshake is reported
    /// only to the future that waits for it.
    pub(super) fn close(&self, reason: &str) {
        if self.inbound.table.close(reason) && self.inbound.is_agreed() {
            self.inbound.listener.on_closed(reason);
        }
    }

    /// Like [`Self::close`], but on our own initiative: the listener is not notified.
    pub(super) fn end(&self) {
        self.inbound.table.close("the connection was closed");
        self.inbound.abandon_questions();
    }

    fn register(
        &self,
        id: u64,
        mut entry: InFlightEntry,
        on_drop: OnDrop,
    ) -> Result<InFlightRequest<'_>, RequestError> {
        let (reply, answer) = oneshot::channel();
        entry.reply = Some(reply);
        entry.account = AnswerAccount::current();
        self.inbound.table.insert(id, entry)?;
        Ok(InFlightRequest { dispatch: self, id, answer, on_drop })
    }

    fn respond(
        &self,
        id: Option<&JsonRpcId>,
        outcome: Result<&RawValue, JsonRpcError>,
        permit: &mut AnswerPermit,
    ) -> ReceivedKind {
        let table = &self.inbound.table;
        let number = id.and_then(|id| id.as_json().parse::<u64>().ok());
        let issued = number.filter(|id| table.was_issued(*id));
        if let Some(id) = issued {
            let outcome = match table.charge(id, permit) {
                Ok(()) => outcome.map(ToOwned::to_owned).map_err(RequestError::Refused),
                Err(no_room) => Err(RequestError::NoRoom(no_room)),
            };
            // Answers to abandoned requests are ignored.
            if table.settle(id, outcome) {
                return ReceivedKind::Answer;
            }
            self.inbound.listener.late();
            return ReceivedKind::Talk;
        }
        let probe = self.probe.load(Ordering::Relaxed);
        if let Err(error) = &outcome
            && table.settle(probe, Err(RequestError::Refused(uncorrelated_error(error))))
        {
            return ReceivedKind::Answer;
        }
        self.inbound.listener.on_garbage("a response to an unknown request");
        ReceivedKind::Talk
    }

    fn reject(&self, invalid: &InvalidMessageError, bytes: &[u8]) {
        let broken = &invalid.error.message;
        self.inbound.listener.on_garbage(broken);
        let stated = invalid.id.as_ref().and_then(|id| id.as_json().parse().ok());
        if let Some(id) = stated.or_else(|| id_of_broken_answer(bytes)) {
            let reason = format!("the server violated the protocol: {broken}");
            self.inbound.table.settle(id, Err(RequestError::Unusable(reason)));
        }
    }

    fn receive_batch(&self, bytes: &[u8], permit: &mut AnswerPermit) {
        match serde_json::from_slice::<Vec<&RawValue>>(bytes) {
            Ok(batch) if batch.len() <= BATCH => {
                // The parser rejects a nested batch: it is not an object.
                for message in batch.iter().filter(|message| !message.get().starts_with('[')) {
                    self.receive_masked(message.get().as_bytes(), permit);
                }
            }
            Ok(_) => self.inbound.listener.on_garbage("a batch of too many messages"),
            Err(_) => self.inbound.listener.on_garbage("a batch that is not JSON"),
        }
    }
}

impl InFlightRequest<'_> {
    /// Waits for the outcome. Cancel-safe; may be called again until it has arrived.
    pub(super) async fn answer(&mut self) -> RequestOutcome {
        let lost = || Err(RequestError::Lost("the connection is closed".to_owned()));
        (&mut self.answer).await.unwrap_or_else(|_| lost())
    }

    /// The outcome, if it has already arrived.
    pub(super) fn answer_now(&mut self) -> Option<RequestOutcome> {
        self.answer.try_recv().ok()
    }

    /// The request never reached the server.
    fn forget(&mut self) {
        self.dispatch.inbound.table.remove(self.id);
    }
}

impl Drop for InFlightRequest<'_> {
    fn drop(&mut self) {
        let was_open = self.dispatch.inbound.table.remove(self.id).is_some();
        if was_open && self.on_drop == OnDrop::Cancel {
            self.dispatch.outbox.send_later(cancellation_message(self.id));
        }
    }
}

/// The message that cancels this request at the server.
pub(super) fn cancellation_message(id: u64) -> String {
    let params = format!("{{\"requestId\":{id},\"reason\":\"no longer needed\"}}");
    write::notification("notifications/cancelled", &params)
}

/// The code of such an error says nothing about the era: only legacy servers lose the id.
fn uncorrelated_error(error: &JsonRpcError) -> JsonRpcError {
    JsonRpcError::new(crate::error_code::INVALID_REQUEST, error.message.clone())
}

/// The id of an answer that is invalid JSON, for instance because of a Python `NaN`. Its caller
/// should fail at once. Other lines that are not messages are garbage.
fn id_of_broken_answer(bytes: &[u8]) -> Option<u64> {
    let head = &bytes[..bytes.len().min(ENDS)];
    let tail = &bytes[bytes.len().saturating_sub(ENDS)..];
    id_of_answer(head, tail)
}

/// The id of an answer of which only the ends are known. Our ids are plain numbers. Requests by the
/// server have ids too, so a result or an error must be visible.
fn id_of_answer(head: &[u8], tail: &[u8]) -> Option<u64> {
    let head = without_blanks(head);
    let tail = without_blanks(tail);
    let is_outcome = |text: &str| text.starts_with("\"result\":") || text.starts_with("\"error\":");
    let first = after_version(head.strip_prefix('{')?);
    if let Some(rest) = first.strip_prefix("\"id\":") {
        let (id, rest) = rest.split_once(',')?;
        return id.parse().ok().filter(|_| is_outcome(after_version(rest)));
    }
    let body = tail.strip_suffix('}').filter(|_| is_outcome(first))?;
    let body = body.strip_suffix(VERSION).and_then(|it| it.strip_suffix(',')).unwrap_or(body);
    body.rsplit_once("\"id\":")?.1.parse().ok()
}

fn after_version(text: &str) -> &str {
    text.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix(',')).unwrap_or(text)
}

fn without_blanks(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().filter(|c| !c.is_ascii_whitespace()).collect()
}

#[cfg(test)]
mod tests;
