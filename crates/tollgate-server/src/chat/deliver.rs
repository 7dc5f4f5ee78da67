//! Gives an answer to its client: whole, as events, or as a list that grows.

use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use tollgate_llm::agent::{Answer, Prepared, Said, Voice};
use tollgate_llm::conversation::Request;
use tollgate_llm::failure::Failure;
use tollgate_llm::format::{Frame, StreamWriter};

use super::headers::Headers;
use super::kept::Keeping;
use super::refused::Refused;
use super::{Opened, StreamForm};
use crate::events;
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
    pub(super) prepared: Prepared,
}

pub(super) async fn whole(order: Order) -> Result<Response, Refused> {
    let Order { opened, seen, mut headers, keeping, prepared } = order;
    let answer = prepared.run(None).await?;
    if let Some(keeping) = keeping {
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
    let Order { opened, seen, mut headers, keeping, prepared } = order;
    headers.overhead(Duration::ZERO);
    let notes = Notes::wanted(&opened.sent.headers);
    let mut writer = opened.format().stream_writer(&seen);
    let (voice, said) = Voice::new(QUEUE);
    let ended = async move {
        let ended = prepared.run(Some(voice)).await;
        if let (Some(keeping), Ok(answer)) = (keeping, &ended) {
            keeping.keep(answer);
        }
        Step::Ended(ended.map(Box::new))
    };
    let mut steps = Box::pin(events::before(ended, said, |said| Some(Step::Said(said))));
    let first = steps.next().await;
    if let Some(Step::Ended(Err(failure))) = first {
        return Err(failure.into());
    }
    let steps = stream::iter(first).chain(steps);
    let written = steps.map(move |step| written(step, &mut *writer, notes));
    let mut response = match opened.asked.streams_as {
        StreamForm::Events => events::written(written.map(into_events), front.limits.keep_alive),
        StreamForm::List => listed(written),
    };
    headers.write_into(response.headers_mut());
    Ok(response)
}

enum Step {
    Said(Said),
    Ended(Result<Box<Answer>, Failure>),
}

/// Events, or what is beside them.
enum Written {
    Frames(Vec<Frame>),
    Note(Bytes),
}

/// How a client hears what is no part of the answer.
#[derive(Clone, Copy)]
enum Notes {
    Comments,
    Events,
}

impl Notes {
    fn wanted(headers: &HeaderMap) -> Self {
        match headers.get(EVENTS).is_some_and(|value| value == "true") {
            true => Self::Events,
            false => Self::Comments,
        }
    }
}

fn written(step: Step, writer: &mut dyn StreamWriter, notes: Notes) -> Written {
    match (step, notes) {
        (Step::Said(Said::Delta(delta)), _) => Written::Frames(writer.write(&delta)),
        (Step::Said(Said::Note(note)), Notes::Comments) => {
            Written::Note(events::comment(format!("tollgate {}", note.json())))
        }
        (Step::Said(Said::Note(note)), Notes::Events) => {
            Written::Note(events::event(Some("tollgate"), note.json().to_string()))
        }
        (Step::Ended(Ok(answer)), _) => Written::Frames(writer.end(answer.told.as_ref())),
        (Step::Ended(Err(failure)), _) => Written::Frames(writer.fail(&failure)),
    }
}

fn into_events(written: Written) -> Bytes {
    match written {
        Written::Note(bytes) => bytes,
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
