//! Reads the response to a POSTed request, JSON or event stream, up to its answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use serde_json::value::RawValue;
use tollgate_core::secret_values;

use crate::Revision;
use crate::answer_budget::AnswerAccount;
use crate::client::RequestError;
use crate::client::inbound::{Inbound, Outbox, StreamOwner};
use crate::envelope::{JsonRpcId, JsonRpcMessage};
use crate::error_code::JsonRpcError;
use crate::flood_control::FloodControl;
use crate::memory_budget::NoRoomError;
use crate::offload::{LARGE, offload_if_large};
use crate::sse::SseError;
use crate::tasks::TaskGroup;
use crate::web::body::{self, EventStream};

/// Maximum size of an error body.
const REFUSAL_LIMIT: usize = 64 << 10;

/// The result of reading a response.
#[derive(Debug)]
pub(super) enum PostReply {
    Answer(Result<Box<RawValue>, JsonRpcError>),
    /// A status other than 200, with the JSON-RPC error in its body if there was one.
    Refused(StatusCode, Option<JsonRpcError>),
    /// The stream ended before the answer.
    Cut(ResumePoint),
    /// 200, but not an answer to this request.
    Nonsense(String),
}

/// Where a legacy stream can be resumed.
#[derive(Debug, Default)]
pub(super) struct ResumePoint {
    pub last_id: Option<String>,
    pub retry: Option<Duration>,
    /// Number of events before the end.
    pub events: usize,
}

/// A request that waits for its response, and the handler of other messages on its stream.
pub(super) struct PendingResponse<'a> {
    pub owner: StreamOwner<'a>,
    pub inbound: &'a Inbound,
    pub outbox: &'a Arc<dyn Outbox>,
    pub drains: &'a TaskGroup,
    pub limit: usize,
}

impl PendingResponse<'_> {
    pub(super) async fn read(
        &self,
        response: Response<Incoming>,
    ) -> Result<PostReply, RequestError> {
        let status = response.status();
        if status != StatusCode::OK {
            let body =
                body::read_whole(response.into_body(), REFUSAL_LIMIT).await.unwrap_or_default();
            return Ok(PostReply::Refused(status, error_in(&body)));
        }
        if body::is_event_stream(response.headers()) {
            return self.read_stream(EventStream::new(response, self.limit)).await;
        }
        let bytes = body::read_whole(response.into_body(), self.limit).await?;
        Ok(match self.take_any(bytes).await {
            StreamMessage::Answer(outcome) => PostReply::Answer(outcome),
            StreamMessage::Broken(reason) => PostReply::Nonsense(reason),
            StreamMessage::Other => {
                PostReply::Nonsense("the response does not answer the request".to_owned())
            }
        })
    }

    pub(super) async fn read_stream(
        &self,
        mut stream: EventStream,
    ) -> Result<PostReply, RequestError> {
        let mut events = 0;
        let mut flood = FloodControl::default();
        while let Some(event) = stream.next().await {
            events += 1;
            let data = match event {
                Ok(event) if event.data.is_empty() || !is_message(event.name.as_deref()) => {
                    flood.record_message(event.data.len()).await;
                    continue;
                }
                Ok(event) => event.data,
                Err(SseError::TooLarge { limit } | SseError::TooMuch { limit }) => {
                    return Err(RequestError::TooLarge { limit });
                }
                Err(SseError::NoRoom) => return Err(RequestError::NoRoom(NoRoomError)),
                Err(fault @ SseError::NotUtf8) => {
                    self.inbound.listener.on_garbage(&fault.to_string());
                    flood.record_message(0).await;
                    continue;
                }
            };
            let size = data.len();
            match self.take_any(data.into()).await {
                StreamMessage::Answer(outcome) => {
                    if let Some(account) = AnswerAccount::current() {
                        account.keep(stream.take_permit());
                    }
                    stream.finish(self.drains);
                    return Ok(PostReply::Answer(outcome));
                }
                StreamMessage::Broken(reason) => self.inbound.listener.on_garbage(&reason),
                StreamMessage::Other => {}
            }
            flood.record_message(size).await;
        }
        let last_id = stream.last_id().map(str::to_owned);
        Ok(PostReply::Cut(ResumePoint { last_id, retry: stream.retry(), events }))
    }

    /// One message. A large one is parsed on the offload threads.
    async fn take_any(&self, bytes: Bytes) -> StreamMessage {
        if bytes.len() > LARGE {
            let id = self.owner.id;
            let large = bytes.clone();
            if let Some(answer) = offload_if_large(bytes.len(), move || answer_in(&large, id)).await
            {
                return answer;
            }
        }
        self.take(&bytes)
    }

    /// One message: the answer, or another message before it. Masks our own secrets in it.
    fn take(&self, bytes: &[u8]) -> StreamMessage {
        self.take_masked(&secret_values::mask_bytes(bytes))
    }

    fn take_masked(&self, bytes: &[u8]) -> StreamMessage {
        if bytes.first() == Some(&b'[') && self.inbound.revision() == Revision::V2025_03_26 {
            return self.take_batch(bytes);
        }
        match JsonRpcMessage::parse_unmeasured(bytes) {
            Ok(JsonRpcMessage::Response { id, outcome }) => {
                answer(id.as_ref(), outcome, self.owner.id)
            }
            Ok(JsonRpcMessage::Notification { method, params }) => {
                self.inbound.notification(&method, params, Some(self.owner));
                StreamMessage::Other
            }
            Ok(JsonRpcMessage::Request(request)) => {
                self.inbound.request(&request, Some(self.owner), self.outbox);
                StreamMessage::Other
            }
            Err(invalid) => StreamMessage::Broken(invalid.error.message),
        }
    }

    fn take_batch(&self, bytes: &[u8]) -> StreamMessage {
        let batch: Vec<&RawValue> = match serde_json::from_slice(bytes) {
            Ok(batch) => batch,
            Err(error) => {
                return StreamMessage::Broken(format!("a batch that is not JSON: {error}"));
            }
        };
        let mut answer = StreamMessage::Other;
        for message in batch.iter().filter(|message| !message.get().starts_with('[')) {
            if let taken @ StreamMessage::Answer(_) = self.take_masked(message.get().as_bytes()) {
                answer = taken;
            }
        }
        answer
    }
}

/// Classifies an answer or an invalid message; `None` for other messages.
fn answer_in(bytes: &[u8], id: u64) -> Option<StreamMessage> {
    match JsonRpcMessage::parse_unmeasured(&secret_values::mask_bytes(bytes)) {
        Ok(JsonRpcMessage::Response { id: of, outcome }) => Some(answer(of.as_ref(), outcome, id)),
        // Possibly a batch.
        Err(_) if bytes.first() == Some(&b'[') => None,
        Err(invalid) => Some(StreamMessage::Broken(invalid.error.message)),
        Ok(JsonRpcMessage::Notification { .. } | JsonRpcMessage::Request(_)) => None,
    }
}

fn answer(
    of: Option<&JsonRpcId>,
    outcome: Result<&RawValue, JsonRpcError>,
    id: u64,
) -> StreamMessage {
    let ours = of.is_none_or(|of| of.as_json().parse() == Ok(id));
    match outcome {
        Ok(result) if ours => StreamMessage::Answer(Ok(result.to_owned())),
        Err(error) if ours => StreamMessage::Answer(Err(error)),
        Ok(_) | Err(_) => StreamMessage::Broken("a response to another request".to_owned()),
    }
}

enum StreamMessage {
    Answer(Result<Box<RawValue>, JsonRpcError>),
    Other,
    Broken(String),
}

impl PostReply {
    /// For a request that is not a probe: everything but an answer is an error.
    pub(super) fn into_outcome(self) -> Result<Box<RawValue>, RequestError> {
        match self {
            Self::Answer(outcome) => outcome.map_err(RequestError::Refused),
            Self::Refused(status, Some(error)) if status.is_client_error() => {
                Err(RequestError::Refused(error))
            }
            Self::Refused(status, error) => {
                Err(RequestError::Unusable(describe(status, error.as_ref())))
            }
            Self::Cut(_) => {
                Err(RequestError::Lost("the server's stream ended without an answer".to_owned()))
            }
            Self::Nonsense(reason) => Err(RequestError::Unusable(reason)),
        }
    }
}

/// Error text for a status without an answer.
pub(in crate::client) fn describe(status: StatusCode, error: Option<&JsonRpcError>) -> String {
    let code = status.as_u16();
    match error {
        _ if status.is_redirection() => {
            format!("the server answered HTTP {code}: redirects are not followed")
        }
        Some(error) => format!("the server answered HTTP {code}: {}", error.message),
        None => format!("the server answered HTTP {code}"),
    }
}

fn is_message(name: Option<&str>) -> bool {
    name.is_none_or(|name| name == "message")
}

fn error_in(body: &Bytes) -> Option<JsonRpcError> {
    match JsonRpcMessage::parse_bytes(&secret_values::mask_bytes(body)) {
        Ok(JsonRpcMessage::Response { outcome: Err(error), .. }) => Some(error),
        _ => None,
    }
}
