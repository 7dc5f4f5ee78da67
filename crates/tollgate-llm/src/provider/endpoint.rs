//! One model at one provider: writes requests in the provider's dialect, sends them, and reads what
//! comes back.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response as HttpResponse, Uri, header};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout;
use tollgate_core::json::{JsonBounds, Object};
use tollgate_core::trace::Trace;
use tollgate_engine::clock::Clock;
use tollgate_mcp::large::aside;
use tollgate_mcp::web::body::EventStream;

use super::address;
use super::answering::{Answering, Streaming};
use super::ask_error::AskError;
use super::forwarded;
use super::label::Label;
use super::model::Answered;
use super::opened::{self, Expected};
use super::pass::{self, Passed, PassedBody};
use super::pause::{Tried, pause};
use super::remote::{Remote, trace_headers};
use super::verdict;
use crate::conversation::{Delivery, Request, Response};
use crate::dialect::Dialect;
use crate::format::{self, Format, Malformed};
use crate::settings::{self, Api, ProviderKind};

/// Larger answers are not read.
const ANSWER_LIMIT: usize = 32 << 20;
const EVENT_LIMIT: usize = 16 << 20;
/// Of one that streams: there every word is wrapped.
const STREAM_LIMIT: usize = 2 * ANSWER_LIMIT;

pub(super) const ACCEPT_JSON: HeaderValue = HeaderValue::from_static("application/json");
const ACCEPT_EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

pub(super) struct Endpoint {
    remote: Arc<Remote>,
    format: &'static dyn Format,
    /// What the provider calls the model.
    id: String,
    whole: Uri,
    streamed: Uri,
    label: Arc<Label>,
}

/// A request on its way.
struct Sent {
    delivery: Delivery,
    headers: HeaderMap,
    body: Bytes,
}

/// What came instead of an answer to hand back.
struct Declined {
    error: AskError,
    /// The provider's own, unless they are about the gateway's key, or no words at all.
    words: Option<Box<HttpResponse<PassedBody>>>,
}

impl From<AskError> for Declined {
    fn from(error: AskError) -> Self {
        Self { error, words: None }
    }
}

impl Endpoint {
    pub(super) fn new(model: &settings::Model, remote: Arc<Remote>) -> Result<Self, String> {
        let dialect = match (remote.settings.kind, model.api) {
            (ProviderKind::Anthropic, _) => Dialect::Anthropic,
            (ProviderKind::Gemini, _) => Dialect::Gemini,
            (_, Api::Responses) => Dialect::OpenAiResponses,
            (_, Api::Chat | Api::Realtime) => Dialect::OpenAiChat,
        };
        let said = |why: String| format!("model `{}`: {why}", model.name);
        let format = format::of(dialect);
        let url = |delivery| address::endpoint(&remote.base, dialect, (&model.id, delivery));
        let (whole, streamed) = (url(Delivery::Whole), url(Delivery::Streamed));
        let label = Arc::new(Label::new(&remote.settings, &model.id));
        let (whole, streamed) = (whole.map_err(said)?, streamed.map_err(said)?);
        Ok(Self { remote, format, id: model.id.clone(), whole, streamed, label })
    }

    pub(super) fn remote(&self) -> &Remote {
        &self.remote
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.format.dialect()
    }

    pub(super) fn retries(&self) -> u32 {
        self.remote.settings.retries
    }

    pub(super) async fn ask(
        &self,
        request: &Request,
        (trace, wall): (Option<&Trace>, SystemTime),
    ) -> Result<Answered<Response>, AskError> {
        let (mut sent, lost) = self.written(request, Delivery::Whole)?;
        trace_headers(&mut sent.headers, trace);
        let _slot = self.remote.slot().await.map_err(AskError::other_model)?;
        let answer = async {
            let response = self.send(sent).await?;
            let response = self.opened(response, (Expected::Json, wall)).await?;
            self.read(response).await
        };
        let limit = self.remote.settings.patience.answer;
        let answer = timeout(limit, answer).await;
        let answer = answer.unwrap_or_else(|_| Err(verdict::silent(&self.label, limit)))?;
        Ok(Answered { answer, lost })
    }

    pub(super) async fn stream(
        &self,
        request: &Request,
        (trace, wall): (Option<&Trace>, SystemTime),
    ) -> Result<Answered<Answering>, AskError> {
        let (mut sent, lost) = self.written(request, Delivery::Streamed)?;
        trace_headers(&mut sent.headers, trace);
        let slot = self.remote.slot().await.map_err(AskError::other_model)?;
        let begun = async {
            let response = self.send(sent).await?;
            let response = self.opened(response, (Expected::Events, wall)).await?;
            let mut answering = Answering::streaming(Streaming {
                events: EventStream::new(response, EVENT_LIMIT).at_most(STREAM_LIMIT),
                reader: self.format.stream_reader(),
                label: Arc::clone(&self.label),
                remote: Arc::clone(&self.remote),
                _slot: slot,
            });
            answering.begin().await?;
            Ok(answering)
        };
        let limit = self.remote.settings.patience.answer;
        let begun = timeout(limit, Box::pin(begun)).await;
        let answer = begun.unwrap_or_else(|_| Err(verdict::silent(&self.label, limit)))?;
        Ok(Answered { answer, lost })
    }

    /// Tries again, as often as the provider's settings say, while nothing was handed back.
    pub(super) async fn pass(
        &self,
        passed: Passed,
        clock: &dyn Clock,
    ) -> Result<HttpResponse<PassedBody>, AskError> {
        let headers = forwarded::of(self.dialect(), &passed.headers);
        let (delivery, trace) = (passed.delivery, passed.follow.trace.clone());
        let body = match self.dialect() {
            // There the model is in the URL.
            Dialect::Gemini => passed.into_body(),
            Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Anthropic => {
                passed.for_model(&self.id)
            }
        };
        let mut failed = 0;
        loop {
            let mut sent = Sent { delivery, headers: headers.clone(), body: body.clone() };
            trace_headers(&mut sent.headers, trace.as_deref());
            let declined = match self.pass_once(sent, clock.wall()).await {
                Ok(answer) => return Ok(answer),
                Err(declined) => declined,
            };
            failed += 1;
            let tried = Tried { failed, retries: self.retries(), left: None };
            match pause(declined.error.again, tried, rand::random()) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return declined.words.map(|words| *words).ok_or(declined.error),
            }
        }
    }

    async fn pass_once(
        &self,
        sent: Sent,
        wall: SystemTime,
    ) -> Result<HttpResponse<PassedBody>, Declined> {
        let slot = self.remote.slot().await.map_err(AskError::other_model)?;
        let patience = self.remote.settings.patience;
        let answer = async {
            let response = self.send(sent).await?;
            let status = response.status();
            if status.is_client_error() || status.is_server_error() {
                return Err(self.declined(response, wall).await);
            }
            let response = self.opened(response, (Expected::Any, wall)).await?;
            Ok(pass::through(response, (slot, patience.silence)))
        };
        let answered = timeout(patience.answer, answer).await;
        answered.unwrap_or_else(|_| Err(verdict::silent(&self.label, patience.answer).into()))
    }

    async fn declined(&self, response: HttpResponse<Incoming>, wall: SystemTime) -> Declined {
        let (parts, body) = response.into_parts();
        let refused = opened::refused((&parts, body), self.format, wall).await;
        let error = refused.judged(&self.label);
        let passes = refused.may_be_passed(&self.label);
        let words = passes.then(|| Box::new(pass::whole(&parts, refused.body)));
        Declined { error, words }
    }

    async fn send(&self, sent: Sent) -> Result<HttpResponse<Incoming>, AskError> {
        let Sent { delivery, mut headers, body } = sent;
        let (url, accept) = match delivery {
            Delivery::Whole => (&self.whole, ACCEPT_JSON),
            Delivery::Streamed => (&self.streamed, ACCEPT_EVENTS),
        };
        headers.insert(header::ACCEPT, accept);
        let sent = self.remote.post(url, headers, body).await;
        sent.map_err(|failed| verdict::unsent(&self.label, &failed))
    }

    /// The response, if it is an answer.
    async fn opened(
        &self,
        response: HttpResponse<Incoming>,
        expected: (Expected, SystemTime),
    ) -> Result<HttpResponse<Incoming>, AskError> {
        opened::opened(response, (self.format, &self.label), expected).await
    }

    async fn read(&self, response: HttpResponse<Incoming>) -> Result<Response, AskError> {
        let bytes = opened::whole(response, ANSWER_LIMIT, &self.label).await?;
        let answer = bytes.clone();
        let value = aside(bytes.len(), move || parse_answer(&answer)).await;
        let response = value.and_then(|value| self.format.read_response(value));
        response.map_err(|malformed| match says_error(&bytes) {
            true => opened::said_instead(&bytes, self.format, &self.label),
            false => verdict::malformed(&self.label, &malformed),
        })
    }

    /// The request as the provider takes it, and what had to be left out.
    fn written(
        &self,
        request: &Request,
        delivery: Delivery,
    ) -> Result<(Sent, Vec<String>), AskError> {
        let written = match request.delivery == delivery {
            true => self.format.write_request(request),
            false => self.format.write_request(&Request { delivery, ..request.clone() }),
        };
        let mut written = written.map_err(AskError::never)?;
        if let Some(model) = written.body.get_mut("model") {
            *model = self.id.as_str().into();
        }
        let headers = forwarded::taken_from(&mut written.body, self.dialect());
        let body = Bytes::from(written.body.to_string());
        Ok((Sent { delivery, headers, body }, written.lost))
    }
}

fn parse_answer(body: &[u8]) -> Result<Value, Malformed> {
    JsonBounds::default()
        .check(body)
        .map_err(|error| Malformed(format!("it cannot be read: {error}")))?;
    serde_json::from_slice(body).map_err(|error| Malformed(format!("it is no JSON: {error}")))
}

fn says_error(body: &[u8]) -> bool {
    Object::parse_bytes(body).is_ok_and(|object| object.object("error").is_some())
}
