//! Delivers an answer to the client: complete, as server-sent events, or as a growing JSON array.

use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::json;
use tollgate_llm::agent::{CompletionEvent, CompletionOutcome, CompletionSink, PreparedCompletion};
use tollgate_llm::conversation::ChatRequest;
use tollgate_llm::delta::ResponseDelta;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::LlmError;
use tollgate_llm::format::{ChatSseEvent, StreamWriter};
use tollgate_llm::gateway_report::StreamNote;

use super::error::ChatApiError;
use super::headers::TurnResponseHeaders;
use super::transcript::ChatTranscript;
use super::{InboundChatRequest, StreamForm};
use crate::app_state::AppState;
use crate::events::{self, EndsOnRevocation, StreamingResponse};
use crate::response_store::PendingStoredResponse;

/// Queue length for a client that reads slowly.
const QUEUE: usize = 64;
const EVENTS: &str = "x-tollgate-events";

pub(super) struct ChatDelivery {
    pub(super) opened: InboundChatRequest,
    /// The client's request, parts of which are repeated in the answer.
    pub(super) seen: ChatRequest,
    pub(super) headers: TurnResponseHeaders,
    pub(super) keeping: Option<PendingStoredResponse>,
    pub(super) transcript: Option<ChatTranscript>,
    pub(super) prepared: PreparedCompletion,
}

pub(super) async fn send_whole(order: ChatDelivery) -> Result<Response, ChatApiError> {
    let ChatDelivery { opened, seen, mut headers, keeping, mut transcript, prepared } = order;
    let mut answer = prepared.run(None).await?;
    if let Some(transcript) = &mut transcript {
        transcript.record_answer(&answer);
    }
    if let Some(keeping) = &keeping {
        keeping.id().clone_into(&mut answer.response.id);
    }
    headers.times(answer.times);
    headers.set_lost(&answer.lost);
    let body = opened.format().write_response(&answer.response, &seen, answer.report.as_ref());
    let body = body.to_string();
    if let Some(keeping) = keeping {
        keeping.keep(&answer, &body);
    }
    let json = HeaderValue::from_static("application/json");
    let mut response = (StatusCode::OK, [(CONTENT_TYPE, json)], body).into_response();
    headers.write_into(response.headers_mut());
    Ok(response)
}

/// Waits for the first step, so that an early failure gets an HTTP status. Dropping the response
/// cancels the work.
pub(super) async fn stream_answer(
    front: &AppState,
    order: ChatDelivery,
) -> Result<Response, ChatApiError> {
    let ChatDelivery { opened, seen, mut headers, keeping, mut transcript, prepared } = order;
    headers.overhead(Duration::ZERO);
    let dialect = opened.route.dialect;
    let mut scribe = ChatStreamEncoder {
        id: keeping.as_ref().map(|keeping| keeping.id().to_owned()),
        writer: opened.format().stream_writer(&seen),
        notes: NoteFormat::from_headers(&opened.sent.headers, dialect),
        early: Some(Vec::new()),
    };
    let format = opened.format();
    let (voice, events) = CompletionSink::new(QUEUE);
    let ended = async move {
        let mut ended = prepared.run(Some(voice)).await;
        if let (Some(transcript), Ok(answer)) = (&mut transcript, &ended) {
            transcript.record_answer(answer);
        }
        if let (Some(keeping), Ok(answer)) = (keeping, &mut ended) {
            keeping.id().clone_into(&mut answer.response.id);
            let body = format.write_response(&answer.response, &seen, answer.report.as_ref());
            keeping.keep(answer, &body.to_string());
        }
        ChatStreamStep::Ended(ended.map(Box::new))
    };
    let mut steps =
        Box::pin(events::before(ended, events, |event| Some(ChatStreamStep::Event(*event))));
    let mut first = Vec::new();
    while let Some(step) = steps.next().await {
        match step {
            ChatStreamStep::Ended(Err(failure)) => return Err(failure.into()),
            ChatStreamStep::Event(CompletionEvent::Note(_)) => first.push(step),
            ChatStreamStep::Event(CompletionEvent::Delta(_)) | ChatStreamStep::Ended(Ok(_)) => {
                first.push(step);
                break;
            }
        }
    }
    let steps = stream::iter(first).chain(steps);
    let written = steps.flat_map(move |step| stream::iter(scribe.write(step)));
    let keep_alive = match dialect {
        // A comment would break Gemini clients.
        Dialect::Gemini => None,
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Anthropic => {
            Some(front.limits.keep_alive)
        }
    };
    let mut response = match opened.route.streams_as {
        StreamForm::Events => events::encoded_response(written.map(into_events), keep_alive),
        StreamForm::List => json_array_response(written),
    };
    response.extensions_mut().insert(StreamingResponse);
    response.extensions_mut().insert(EndsOnRevocation);
    headers.write_into(response.headers_mut());
    Ok(response)
}

enum ChatStreamStep {
    Event(CompletionEvent),
    Ended(Result<Box<CompletionOutcome>, LlmError>),
}

/// Encodes steps as events of the client's dialect.
struct ChatStreamEncoder {
    /// Id of the answer in this gateway. `None`: the id that the model gave it.
    id: Option<String>,
    writer: Box<dyn StreamWriter>,
    notes: NoteFormat,
    /// Notes that came before the answer began. They are held back because some clients expect the
    /// first event of the answer first.
    early: Option<Vec<StreamNote>>,
}

/// Events of the answer, or notes beside them.
enum EncodedChunk {
    Frames(Vec<ChatSseEvent>),
    Notes(Bytes),
}

/// How notes beside the answer are sent to a client.
#[derive(Clone, Copy)]
enum NoteFormat {
    /// Google's clients accept only data events.
    Unwanted,
    Comments,
    Events(Dialect),
}

impl NoteFormat {
    fn from_headers(headers: &HeaderMap, dialect: Dialect) -> Self {
        match (headers.get(EVENTS).is_some_and(|value| value == "true"), dialect) {
            (true, dialect) => Self::Events(dialect),
            (false, Dialect::Gemini) => Self::Unwanted,
            (false, _) => Self::Comments,
        }
    }

    fn write(self, note: &StreamNote) -> Bytes {
        let mut note = note.json();
        match self {
            Self::Unwanted => Bytes::new(),
            Self::Comments => events::comment(format!("tollgate {note}")),
            Self::Events(Dialect::Gemini) => {
                events::event(None, json!({ "tollgate": note }).to_string())
            }
            // Its clients treat every event as a chunk.
            Self::Events(Dialect::OpenAiChat) => {
                note["choices"] = json!([]);
                events::event(Some("tollgate"), note.to_string())
            }
            Self::Events(Dialect::OpenAiResponses | Dialect::Anthropic) => {
                events::event(Some("tollgate"), note.to_string())
            }
        }
    }
}

impl ChatStreamEncoder {
    fn write(&mut self, step: ChatStreamStep) -> Vec<EncodedChunk> {
        match step {
            ChatStreamStep::Event(CompletionEvent::Delta(mut delta)) => {
                if let (ResponseDelta::Start { id, .. }, Some(own)) = (&mut delta, &self.id) {
                    id.clone_from(own);
                }
                let mut written = vec![EncodedChunk::Frames(self.writer.write(&delta))];
                for note in self.early.take().into_iter().flatten() {
                    written.push(EncodedChunk::Notes(self.notes.write(&note)));
                }
                written
            }
            ChatStreamStep::Event(CompletionEvent::Note(note)) => match &mut self.early {
                Some(early) => {
                    early.push(note);
                    Vec::new()
                }
                None => vec![EncodedChunk::Notes(self.notes.write(&note))],
            },
            ChatStreamStep::Ended(Ok(answer)) => {
                vec![EncodedChunk::Frames(self.writer.end(answer.report.as_ref()))]
            }
            ChatStreamStep::Ended(Err(failure)) => {
                vec![EncodedChunk::Frames(self.writer.fail(&failure))]
            }
        }
    }
}

fn into_events(written: EncodedChunk) -> Bytes {
    match written {
        EncodedChunk::Notes(bytes) => bytes,
        EncodedChunk::Frames(frames) => {
            let events = frames.into_iter().map(|frame| events::event(frame.name, frame.data));
            events.collect::<Vec<_>>().concat().into()
        }
    }
}

/// A JSON array has no room for notes.
fn json_array_response(written: impl Stream<Item = EncodedChunk> + Send + 'static) -> Response {
    let mut before = "[";
    let items = written.filter_map(move |written| {
        let mut out = String::new();
        if let EncodedChunk::Frames(frames) = written {
            for frame in frames {
                out.push_str(before);
                out.push_str(&frame.data);
                before = ",\r\n";
            }
        }
        std::future::ready((!out.is_empty()).then(|| Bytes::from(out)))
    });
    let end = stream::once(async { Bytes::from_static(b"]") });
    let body = Body::from_stream(items.chain(end).map(Ok::<_, std::convert::Infallible>));
    let json = HeaderValue::from_static("application/json");
    (StatusCode::OK, [(CONTENT_TYPE, json)], body).into_response()
}
