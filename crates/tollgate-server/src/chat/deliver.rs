//! Gives an answer to its client: whole, as events, or as a list that grows.

use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::json;
use tollgate_llm::agent::{Answer, Prepared, Said, Voice};
use tollgate_llm::conversation::Request;
use tollgate_llm::delta::Delta;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::failure::Failure;
use tollgate_llm::format::{Frame, StreamWriter};
use tollgate_llm::told::Note;

use super::headers::Headers;
use super::kept::Keeping;
use super::refused::Refused;
use super::transcript::Transcript;
use super::{Opened, StreamForm};
use crate::events::{self, EndsItself, Streaming};
use crate::mcp::Front;

/// Steps of an answer that may wait for a client that does not read.
const QUEUE: usize = 64;
const EVENTS: &str = "x-tollgate-events";

pub(super) struct Order {
    pub(super) opened: Opened,
    /// As the client sent it: some of it stands in the answer again.
    pub(super) seen: Request,
    pub(super) headers: Headers,
    pub(super) keeping: Option<Keeping>,
    pub(super) transcript: Option<Transcript>,
    pub(super) prepared: Prepared,
}

pub(super) async fn whole(order: Order) -> Result<Response, Refused> {
    let Order { opened, seen, mut headers, keeping, mut transcript, prepared } = order;
    let mut answer = prepared.run(None).await?;
    if let Some(transcript) = &mut transcript {
        transcript.answered(&answer);
    }
    if let Some(keeping) = keeping {
        keeping.id().clone_into(&mut answer.response.id);
        keeping.keep(&answer);
    }
    headers.times(answer.times);
    headers.lost(&answer.lost);
    let body = opened.format().write_response(&answer.response, &seen, answer.told.as_ref());
    let json = HeaderValue::from_static("application/json");
    let mut response = (StatusCode::OK, [(CONTENT_TYPE, json)], body.to_string()).into_response();
    headers.write_into(response.headers_mut());
    Ok(response)
}

/// Waits for the first step, so that what fails at once is told by a status. Dropping the answer
/// cancels what makes it.
pub(super) async fn streamed(front: &Front, order: Order) -> Result<Response, Refused> {
    let Order { opened, seen, mut headers, keeping, mut transcript, prepared } = order;
    headers.overhead(Duration::ZERO);
    let dialect = opened.asked.dialect;
    let mut scribe = Scribe {
        id: keeping.as_ref().map(|keeping| keeping.id().to_owned()),
        writer: opened.format().stream_writer(&seen),
        notes: Notes::wanted(&opened.sent.headers, dialect),
        early: Some(Vec::new()),
    };
    let (voice, said) = Voice::new(QUEUE);
    let ended = async move {
        let ended = prepared.run(Some(voice)).await;
        if let (Some(transcript), Ok(answer)) = (&mut transcript, &ended) {
            transcript.answered(answer);
        }
        if let (Some(keeping), Ok(answer)) = (keeping, &ended) {
            keeping.keep(answer);
        }
        Step::Ended(ended.map(Box::new))
    };
    let mut steps = Box::pin(events::before(ended, said, |said| Some(Step::Said(said))));
    let mut first = Vec::new();
    while let Some(step) = steps.next().await {
        match step {
            Step::Ended(Err(failure)) => return Err(failure.into()),
            Step::Said(Said::Note(_)) => first.push(step),
            Step::Said(Said::Delta(_)) | Step::Ended(Ok(_)) => {
                first.push(step);
                break;
            }
        }
    }
    let steps = stream::iter(first).chain(steps);
    let written = steps.flat_map(move |step| stream::iter(scribe.write(step)));
    let keep_alive = match dialect {
        // A comment would break its clients.
        Dialect::Gemini => None,
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Anthropic => {
            Some(front.limits.keep_alive)
        }
    };
    let mut response = match opened.asked.streams_as {
        StreamForm::Events => events::written(written.map(into_events), keep_alive),
        StreamForm::List => listed(written),
    };
    response.extensions_mut().insert(Streaming);
    response.extensions_mut().insert(EndsItself);
    headers.write_into(response.headers_mut());
    Ok(response)
}

enum Step {
    Said(Said),
    Ended(Result<Box<Answer>, Failure>),
}

/// Writes steps as events of the client's dialect.
struct Scribe {
    /// By which the answer is known here; `None`: as its model calls it.
    id: Option<String>,
    writer: Box<dyn StreamWriter>,
    notes: Notes,
    /// Notes that came before the answer began: some clients want its first event first.
    early: Option<Vec<Note>>,
}

/// Events, or what is beside them.
enum Written {
    Frames(Vec<Frame>),
    Notes(Bytes),
}

/// How a client hears what is no part of the answer.
#[derive(Clone, Copy)]
enum Notes {
    /// Google's clients know nothing but data.
    Unwanted,
    Comments,
    Events(Dialect),
}

impl Notes {
    fn wanted(headers: &HeaderMap, dialect: Dialect) -> Self {
        match (headers.get(EVENTS).is_some_and(|value| value == "true"), dialect) {
            (true, dialect) => Self::Events(dialect),
            (false, Dialect::Gemini) => Self::Unwanted,
            (false, _) => Self::Comments,
        }
    }

    fn write(self, note: &Note) -> Bytes {
        let mut note = note.json();
        match self {
            Self::Unwanted => Bytes::new(),
            Self::Comments => events::comment(format!("tollgate {note}")),
            Self::Events(Dialect::Gemini) => {
                events::event(None, json!({ "tollgate": note }).to_string())
            }
            // Its clients take every event for a chunk.
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

impl Scribe {
    fn write(&mut self, step: Step) -> Vec<Written> {
        match step {
            Step::Said(Said::Delta(mut delta)) => {
                if let (Delta::Start { id, .. }, Some(own)) = (&mut delta, &self.id) {
                    id.clone_from(own);
                }
                let mut written = vec![Written::Frames(self.writer.write(&delta))];
                for note in self.early.take().into_iter().flatten() {
                    written.push(Written::Notes(self.notes.write(&note)));
                }
                written
            }
            Step::Said(Said::Note(note)) => match &mut self.early {
                Some(early) => {
                    early.push(note);
                    Vec::new()
                }
                None => vec![Written::Notes(self.notes.write(&note))],
            },
            Step::Ended(Ok(answer)) => {
                vec![Written::Frames(self.writer.end(answer.told.as_ref()))]
            }
            Step::Ended(Err(failure)) => vec![Written::Frames(self.writer.fail(&failure))],
        }
    }
}

fn into_events(written: Written) -> Bytes {
    match written {
        Written::Notes(bytes) => bytes,
        Written::Frames(frames) => {
            let events = frames.into_iter().map(|frame| events::event(frame.name, frame.data));
            events.collect::<Vec<_>>().concat().into()
        }
    }
}

/// Notes have no place in a list.
fn listed(written: impl Stream<Item = Written> + Send + 'static) -> Response {
    let mut before = "[";
    let items = written.filter_map(move |written| {
        let mut out = String::new();
        if let Written::Frames(frames) = written {
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
