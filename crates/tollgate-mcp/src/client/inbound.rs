//! Messages initiated by a server: notifications and, in legacy revisions, questions. Routes them,
//! and answers those that need no person. Never blocks the reader.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tollgate_core::json::{self, Object};
use tollgate_core::sanitize;
use tollgate_core::trace::Trace;

use super::in_flight_table::{InFlightTable, MessageAddressee};
use super::{Event, Question, RequestError, ServerEventSender, ServerListener};
use crate::answer_budget;
use crate::envelope::{JsonRpcId, JsonRpcRequest, write};
use crate::error_code::{self, JsonRpcError};
use crate::tasks::TaskGroup;
use crate::{Era, Revision, meta};

/// Maximum open questions per connection.
const OPEN_QUESTIONS: usize = 64;
/// Messages before the answer are queued: they must be small, and not nested too deeply for their
/// readers.
const REMARK_BYTES: usize = 64 << 10;
const REMARK_DEPTH: usize = 64;

/// Sends messages to the server.
#[async_trait]
pub(super) trait Outbox: Send + Sync {
    /// Waits until the message is sent, for a bounded time.
    async fn send(&self, message: String) -> Result<(), RequestError>;

    /// Does not wait; the message may be lost. For use in `Drop`.
    fn send_later(&self, message: String);
}

pub(super) struct Inbound {
    pub table: InFlightTable,
    pub listener: Arc<dyn ServerListener>,
    revision: OnceLock<Revision>,
    questions: TaskGroup,
}

/// The request whose stream a message arrived on.
#[derive(Clone, Copy)]
pub(super) struct StreamOwner<'a> {
    pub id: u64,
    pub events: Option<&'a ServerEventSender>,
    pub wants_logs: bool,
    pub trace: Option<&'a Trace>,
}

impl Inbound {
    pub(super) fn new(listener: Arc<dyn ServerListener>) -> Self {
        Self {
            table: InFlightTable::new(),
            listener,
            revision: OnceLock::new(),
            questions: TaskGroup::new("question", OPEN_QUESTIONS),
        }
    }

    pub(super) fn set_revision(&self, revision: Revision) {
        let _ = self.revision.set(revision);
    }

    pub(super) fn is_agreed(&self) -> bool {
        self.revision.get().is_some()
    }

    /// The newest legacy revision until one is negotiated.
    pub(super) fn revision(&self) -> Revision {
        self.revision.get().copied().unwrap_or(Revision::NEWEST_LEGACY)
    }

    /// Aborts the tasks that wait for answers of people.
    pub(super) fn abandon_questions(&self) {
        self.questions.abort_all();
    }

    pub(super) fn notification(
        &self,
        method: &str,
        params: Option<&RawValue>,
        owner: Option<StreamOwner<'_>>,
    ) {
        match method {
            "notifications/progress" | "notifications/message" if is_too_much(params) => {
                self.listener.on_garbage("a notification that is too large or nested too deeply");
            }
            "notifications/progress" => self.progress(params, owner),
            "notifications/message" => self.log(params, owner),
            "notifications/subscriptions/acknowledged" => {
                if let Some(id) = subscription_id(params) {
                    self.table.acknowledge(id);
                }
            }
            "notifications/cancelled" => self.on_cancelled(params),
            _ => self.listener.on_notification(method, params),
        }
    }

    fn progress(&self, params: Option<&RawValue>, owner: Option<StreamOwner<'_>>) {
        let Some(mut object) = params.and_then(|raw| Object::parse(raw.get()).ok()) else {
            return self.listener.on_garbage("a progress notification with invalid params");
        };
        let token = object.remove(meta::PROGRESS_TOKEN);
        let Some(token) = token.and_then(|raw| raw.get().parse::<u64>().ok()) else { return };
        let events = match owner {
            Some(owner) if owner.id == token => owner.events.cloned(),
            _ => self.table.events_of(token),
        };
        if let Some(events) = events {
            // A full queue drops progress: the next report supersedes it.
            let mut remark = object.into_owned();
            sanitize::object(&mut remark);
            let _ = events.try_send(Event::Progress(remark));
        }
    }

    fn log(&self, params: Option<&RawValue>, owner: Option<StreamOwner<'_>>) {
        let events = match owner {
            Some(owner) => owner.events.filter(|_| owner.wants_logs).cloned(),
            None => match self.table.addressee() {
                MessageAddressee::One { events, wants_logs: true } => events,
                MessageAddressee::Nobody
                | MessageAddressee::One { .. }
                | MessageAddressee::Several => None,
            },
        };
        match (events, params) {
            (Some(events), Some(params)) => {
                let _ = events.try_send(Event::Log(clean(params)));
            }
            _ => self.listener.on_notification("notifications/message", params),
        }
    }

    /// A server may cancel a subscription this way; other requests are not affected.
    fn on_cancelled(&self, params: Option<&RawValue>) {
        let object = params.and_then(|raw| Object::parse(raw.get()).ok());
        let id = object.as_ref().and_then(|object| object.get("requestId")?.get().parse().ok());
        if let Some(id) = id
            && self.table.is_subscription(id)
        {
            let reason = "the server ended the subscription".to_owned();
            self.table.settle(id, Err(RequestError::Lost(reason)));
        }
    }

    /// A request by the server. The answer is sent through `outbox`, immediately or later.
    pub(super) fn request(
        &self,
        request: &JsonRpcRequest<'_>,
        owner: Option<StreamOwner<'_>>,
        outbox: &Arc<dyn Outbox>,
    ) {
        if self.revision().era() == Era::Modern {
            self.listener.on_garbage("a request, which this protocol revision does not allow");
            return outbox.send_later(write::error(Some(&request.id), &unknown(&request.method)));
        }
        let answer = match owner {
            _ if !is_question(&request.method) => MessageAddressee::Nobody,
            Some(owner) => {
                MessageAddressee::One { events: owner.events.cloned(), wants_logs: false }
            }
            None => self.table.addressee(),
        };
        match answer {
            MessageAddressee::One { events: Some(events), .. } => self.ask(request, events, outbox),
            MessageAddressee::One { events: None, .. } | MessageAddressee::Nobody => {
                outbox.send_later(answer_without_client(&request.id, &request.method));
            }
            MessageAddressee::Several => {
                tracing::debug!(method = %request.method, "the question cannot be attributed to \
                                                           one call");
                let message = "several requests are in flight: the question cannot be attributed";
                let error = JsonRpcError::new(error_code::INVALID_REQUEST, message);
                outbox.send_later(write::error(Some(&request.id), &error));
            }
        }
    }

    fn ask(
        &self,
        request: &JsonRpcRequest<'_>,
        events: ServerEventSender,
        outbox: &Arc<dyn Outbox>,
    ) {
        let size = request.params.map_or(0, |params| params.get().len());
        let Ok(permit) = answer_budget::try_reserve(size) else {
            self.listener.on_garbage("a question for which there is no memory");
            return outbox.send_later(answer_without_client(&request.id, &request.method));
        };
        let (reply, answer) = oneshot::channel();
        let id = request.id.clone();
        let method = request.method.clone().into_owned();
        let params = request.params.map(clean);
        let sender = Arc::clone(outbox);
        let waiting = self.questions.spawn(async move {
            let question = Question { method: method.clone(), params, reply };
            // Without a receiver the question is dropped, and with it the reply.
            let _ = events.send(Event::Question(question)).await;
            drop(events);
            let answer = answer.await;
            drop(permit);
            let message = match answer {
                Ok(Ok(result)) => write::result(&id, result.get()),
                Ok(Err(error)) => write::error(Some(&id), &error),
                Err(_) => answer_without_client(&id, &method),
            };
            if let Err(error) = sender.send(message).await {
                tracing::debug!(%error, "a response did not reach the server");
            }
        });
        if waiting.is_err() {
            self.listener.on_garbage("too many open questions");
            outbox.send_later(answer_without_client(&request.id, &request.method));
        }
    }
}

/// Sanitized for people and models: no hidden text, no escape sequences.
fn clean(params: &RawValue) -> Box<RawValue> {
    match sanitize::json(params.get()) {
        Some(sanitized) => json::raw(sanitized.text),
        None => params.to_owned(),
    }
}

fn is_too_much(params: Option<&RawValue>) -> bool {
    params.is_some_and(|raw| {
        raw.get().len() > REMARK_BYTES || json::is_deeper_than(REMARK_DEPTH, raw.get())
    })
}

fn is_question(method: &str) -> bool {
    matches!(method, "elicitation/create" | "sampling/createMessage" | "roots/list")
}

/// The answer if there is no one to ask.
fn answer_without_client(id: &JsonRpcId, method: &str) -> String {
    match method {
        "ping" => write::result(id, "{}"),
        "roots/list" => write::result(id, "{\"roots\":[]}"),
        "elicitation/create" => write::result(id, "{\"action\":\"cancel\"}"),
        _ => write::error(Some(id), &unknown(method)),
    }
}

fn unknown(method: &str) -> JsonRpcError {
    JsonRpcError::new(error_code::METHOD_NOT_FOUND, format!("`{method}` is not served here"))
}

/// The id of the `subscriptions/listen` that a notification belongs to.
pub(super) fn subscription_id(params: Option<&RawValue>) -> Option<u64> {
    let params = Object::parse(params?.get()).ok()?;
    let meta = params.object("_meta")?;
    let id = meta.get(meta::SUBSCRIPTION_ID)?;
    json::string(id).map_or_else(|| id.get().parse().ok(), |text| text.parse().ok())
}
