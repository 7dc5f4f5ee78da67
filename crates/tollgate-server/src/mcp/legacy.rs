//! Requests of legacy clients, in a session that `initialize` opened.

use std::sync::Arc;

use futures_util::future::{Abortable, join_all};
use http::StatusCode;
use serde_json::value::RawValue;
use tollgate_core::budget::Tier;
use tollgate_core::call::{CallStatus, GateRequest, RequestKind};
use tollgate_core::filter::RequestFilter;
use tollgate_core::json::Object;
use tollgate_core::view::ListEra;
use tollgate_engine::caller::{Caller, Dialogue, Reply};
use tollgate_mcp::client::ProgressReporting;
use tollgate_mcp::envelope::{JsonRpcId, JsonRpcMessage};
use tollgate_mcp::error_code;
use tollgate_mcp::meta::{self, ClientFacts};
use tollgate_mcp::offload::offload_if_large;
use tollgate_mcp::{Era, Revision};

use super::encode::{self, EncodedMessage, ListPageRequest};
use super::exchange::{ExchangeAnswer, ExchangeChannel, ExchangeTransport};
use super::method::{self, McpMethod};
use super::notifications::{NotificationTarget, NotificationWriter};
use super::parsed_request::ParsedMcpRequest;
use super::request_span::{McpRequestSpan, McpSpanInfo};
use super::{META_AGENT, by_meta, passed_on, put_meta, wrong};
use crate::app_state::AppState;
use crate::error_mapping::{McpErrorReply, McpRequestError, call_error};
use crate::mcp_session::{
    ListDigests, McpLogLevel, McpSession, McpSessionParams, SessionLimitError,
};
use crate::request_context::RequestContext;

/// A client of a session.
#[derive(Clone, Copy)]
pub(super) struct SessionClient<'s> {
    pub(super) session: &'s Arc<McpSession>,
    /// Context of the current request, with its own rights and settings. The agent is the
    /// session's.
    pub(super) who: &'s RequestContext,
}

impl SessionClient<'_> {
    /// Context of a request, with its tier and filters from headers and `_meta`. The session's tier
    /// applies if the request has none. The session's filters always apply.
    fn who(
        &self,
        front: &AppState,
        params: &Object<'_>,
    ) -> Result<RequestContext, McpRequestError> {
        let who = self.beside_meta(self.who.tier);
        let who = match params.object("_meta") {
            Some(mut meta) => {
                self.same_agent(front, &meta)?;
                who.with_limits(&meta)?.part_of(meta::take_trace(&mut meta))
            }
            None => who,
        };
        Ok(RequestContext { tier: who.tier.or(self.session.who.tier), ..who })
    }

    fn begin_span(
        &self,
        front: &AppState,
        known: Option<McpMethod>,
        ask: &ParsedMcpRequest<'_>,
        line: &ExchangeChannel,
    ) -> McpRequestSpan {
        let tracer = front.gate.tracer();
        if !tracer.is_on() {
            return McpRequestSpan::without_recording();
        }
        let inner = ask.params.object("_meta").and_then(|mut meta| meta::take_trace(&mut meta));
        let who = self.who.clone().part_of(inner);
        let revision = self.session.revision.as_str();
        McpRequestSpan::begin(
            tracer,
            &who,
            &McpSpanInfo { method: ask.method, known, revision, line },
        )
    }

    /// Context of the session's notification stream.
    pub(super) fn listening(&self) -> RequestContext {
        self.beside_meta(self.who.tier.or(self.session.who.tier))
    }

    fn beside_meta(&self, tier: Option<Tier>) -> RequestContext {
        let agent = self.session.who.agent.clone();
        // All requests of a session belong to one turn.
        let link = self.who.link.clone().inside(&format!("session {}", self.session.id));
        let who = RequestContext { agent, tier, link, ..self.who.clone() };
        who.with_narrow(self.session.filters.clone())
    }

    /// The agent is fixed when the session opens: another agent would see other tools.
    fn same_agent(&self, front: &AppState, meta: &Object<'_>) -> Result<(), McpRequestError> {
        if !meta.contains(META_AGENT) {
            return Ok(());
        }
        let named = meta.string(META_AGENT).ok_or_else(|| wrong(META_AGENT, "a string"))?;
        let turn = self.session.who.turn::<McpRequestError>(&front.gate)?;
        if turn.view.agent.as_str() == named {
            return Ok(());
        }
        Err(wrong(META_AGENT, "the agent of this session; `initialize` names it"))
    }
}

/// Parses `initialize`: the client's info and the protocol revision to use.
pub(super) fn opening(
    front: &AppState,
    who: RequestContext,
    params: &Object<'_>,
) -> Result<McpSessionParams, McpRequestError> {
    let requested = method::required_string(params, "protocolVersion")?;
    let known = Revision::parse(&requested).filter(|revision| revision.era() == Era::Legacy);
    let route = who.agent.clone();
    let (who, filters) = match params.object("_meta") {
        Some(meta) => (who.with_wishes(&meta)?, by_meta(&meta)?),
        None => (who, RequestFilter::default()),
    };
    let capabilities = params.get("capabilities").filter(|raw| raw.get().starts_with('{'));
    let client = ClientFacts {
        capabilities: capabilities.map(ToOwned::to_owned),
        info: params.get("clientInfo").map(ToOwned::to_owned),
        log_level: None,
    };
    let digests = ListDigests::of(&who.turn::<McpRequestError>(&front.gate)?.view);
    let lease = front.gate.lease(&who.lease.of_holder(), who.agent.as_deref())?;
    let revision = known.unwrap_or(Revision::NEWEST_LEGACY);
    Ok(McpSessionParams { route, who, lease, filters, revision, client, digests })
}

/// `initialize` over HTTP: opens a session that later requests find by its id.
pub(super) fn initialize(
    front: &AppState,
    who: RequestContext,
    ask: &ParsedMcpRequest<'_>,
) -> ExchangeAnswer {
    let opened = opening(front, who, &ask.params).and_then(|opening| {
        front.sessions.open(opening).map_err(|full| {
            let status = match full {
                SessionLimitError::Total => StatusCode::SERVICE_UNAVAILABLE,
                SessionLimitError::PerKey(_) | SessionLimitError::PerAddress(_) => {
                    StatusCode::TOO_MANY_REQUESTS
                }
            };
            McpRequestError::new(status, error_code::INTERNAL_ERROR, full.to_string())
        })
    });
    match opened {
        Ok(session) => {
            let text = encode::initialize(&ask.id, session.revision);
            let id = Some(Arc::clone(&session.id));
            ExchangeAnswer { session: id, ..ExchangeAnswer::from_text(EncodedMessage::Whole(text)) }
        }
        Err(refused) => ExchangeAnswer::from_error(Some(&ask.id), &refused),
    }
}

/// Handles one message of a session.
pub(super) async fn take(
    front: &AppState,
    speaker: SessionClient<'_>,
    message: JsonRpcMessage<'_>,
    line: &ExchangeChannel,
) -> ExchangeAnswer {
    match message {
        JsonRpcMessage::Request(request) => {
            let id = request.id.clone();
            match method::params(request.params) {
                Ok(params) => {
                    let ask = ParsedMcpRequest { id: request.id, method: &request.method, params };
                    answer(front, speaker, ask, line).await
                }
                Err(refused) => ExchangeAnswer::from_error(Some(&id), &refused),
            }
        }
        JsonRpcMessage::Notification { method, params } => {
            handle_notification(speaker.session, &method, params);
            ExchangeAnswer::nothing()
        }
        JsonRpcMessage::Response { id, outcome } => {
            if let Some(id) = id {
                speaker.session.deliver_answer(&id, outcome);
            }
            ExchangeAnswer::nothing()
        }
    }
}

pub(super) async fn answer(
    front: &AppState,
    speaker: SessionClient<'_>,
    ask: ParsedMcpRequest<'_>,
    line: &ExchangeChannel,
) -> ExchangeAnswer {
    let id = ask.id.clone();
    let method = McpMethod::parse(Era::Legacy, ask.method);
    let mut served = speaker.begin_span(front, method.as_ref().ok().copied(), &ask, line);
    let answered = match method {
        Ok(McpMethod::Call(kind)) => {
            return call(front, speaker, kind, ask, line, &mut served).await;
        }
        Ok(method) => local(front, speaker, method, &ask),
        Err(refused) => Err(refused),
    };
    served.end(Some(&answered));
    ExchangeAnswer::from_result(&id, answered)
}

/// Methods answered locally, without an upstream server.
fn local(
    front: &AppState,
    speaker: SessionClient<'_>,
    method: McpMethod,
    ask: &ParsedMcpRequest<'_>,
) -> Result<EncodedMessage, McpRequestError> {
    let session = speaker.session;
    let done = || Ok(EncodedMessage::Whole(encode::empty(&ask.id)));
    match method {
        McpMethod::List(list) => {
            let turn = speaker.who(front, &ask.params)?.turn::<McpRequestError>(&front.gate)?;
            let cursor = method::optional_string(&ask.params, "cursor")?;
            let page = ListPageRequest { form: ListEra::Legacy, cursor: cursor.as_deref() };
            Ok(encode::list(&ask.id, &turn.view, list, page)?)
        }
        McpMethod::Ping => done(),
        McpMethod::SetLevel => {
            let name = method::required_string(&ask.params, "level")?;
            let level = McpLogLevel::parse(&name);
            let level =
                level.ok_or_else(|| McpRequestError::bad_params("there is no such `level`"))?;
            session.set_log_level(&name, level);
            done()
        }
        McpMethod::Subscribe => {
            let uri = method::required_string(&ask.params, "uri")?;
            let who = speaker.who(front, &ask.params)?;
            subscribe(front, session, &who, uri)?;
            done()
        }
        McpMethod::Unsubscribe => {
            session.unwatch(&method::required_string(&ask.params, "uri")?);
            done()
        }
        McpMethod::Initialize => {
            Err(McpRequestError::invalid("this session is already initialized"))
        }
        McpMethod::Call(_) | McpMethod::Discover | McpMethod::Listen => {
            Err(McpRequestError::unknown_method(Era::Legacy, ask.method))
        }
    }
}

fn subscribe(
    front: &AppState,
    session: &McpSession,
    who: &RequestContext,
    uri: String,
) -> Result<(), McpRequestError> {
    if session.watches(&uri) {
        return Ok(());
    }
    if session.watched_count() >= front.limits.watched_resources {
        let limit = front.limits.watched_resources;
        return Err(McpRequestError::bad_params(format!(
            "at most {limit} resources can be subscribed to"
        )));
    }
    let turn = who.turn::<McpRequestError>(&front.gate)?;
    match front.gate.watch_resource(&turn, &uri) {
        Ok(watch) => {
            session.watch(uri, watch);
            Ok(())
        }
        Err(error) => match call_error(Era::Legacy, RequestKind::ReadResource, error) {
            McpErrorReply::Error(refused) => Err(refused),
            McpErrorReply::Failure(message) => Err(McpRequestError::bad_params(message)),
        },
    }
}

/// A request to the gate, until it is answered or cancelled.
async fn call(
    front: &AppState,
    speaker: SessionClient<'_>,
    kind: RequestKind,
    ask: ParsedMcpRequest<'_>,
    line: &ExchangeChannel,
    served: &mut McpRequestSpan,
) -> ExchangeAnswer {
    let (_running, registration) = speaker.session.begin(&ask.id);
    line.outlive(&front.survivors);
    let id = ask.id.clone();
    let running = run(front, speaker, kind, ask, line, served);
    let answered = Abortable::new(running, registration).await;
    served.end(answered.as_ref().ok());
    match answered {
        Ok(result) => ExchangeAnswer::from_result(&id, result.map(EncodedMessage::Whole)),
        // The client cancelled it and expects no answer.
        Err(futures_util::future::Aborted) => ExchangeAnswer::nothing(),
    }
}

async fn run(
    front: &AppState,
    speaker: SessionClient<'_>,
    kind: RequestKind,
    ask: ParsedMcpRequest<'_>,
    line: &ExchangeChannel,
    served: &mut McpRequestSpan,
) -> Result<String, McpRequestError> {
    let session = speaker.session;
    let ParsedMcpRequest { id, mut params, .. } = ask;
    let who = served.within(speaker.who(front, &params)?);
    let token = take_meta(&mut params)?;
    who.may(kind)?;
    let turn = who.turn::<McpRequestError>(&front.gate)?;
    served.about(&turn, kind, &params);
    let client = session.client();
    let progress =
        if token.is_some() { ProgressReporting::Requested } else { ProgressReporting::Unwanted };
    let events = line.events(NotificationWriter {
        token,
        target: NotificationTarget::Legacy(Arc::clone(session)),
    });
    let dialogue = if events.is_some() { Dialogue::Live } else { Dialogue::Nobody };
    let rest = front.rest;
    let caller = Caller { events, progress, dialogue, rest, ..Caller::silent(&client) };
    let mut origin = None;
    let result = match front.gate.call(&turn, GateRequest { kind, params }, caller).await {
        Ok(Reply::Tool(outcome)) => {
            served.record_status(outcome.status);
            origin = outcome.origin;
            outcome.result
        }
        Ok(Reply::Result(result)) => result,
        Ok(Reply::InputRequired(_) | Reply::Task(_)) => {
            let message = "the server's response is not supported by this client";
            return Err(McpRequestError::new(StatusCode::OK, error_code::INTERNAL_ERROR, message));
        }
        Err(error) => match call_error(Era::Legacy, kind, error) {
            McpErrorReply::Failure(message) => {
                served.record_status(CallStatus::Error);
                encode::failure(&message)
            }
            McpErrorReply::Error(refused) => return Err(refused),
        },
    };
    let size = result.get().len();
    Ok(offload_if_large(size, move || encode::legacy_result(&id, &result, origin.as_ref())).await)
}

/// Keeps the progress token. The rest of `_meta`, without keys of this hop, is forwarded.
fn take_meta(params: &mut Object<'_>) -> Result<Option<Box<RawValue>>, McpRequestError> {
    let Some(mut raw) = params.object("_meta") else { return Ok(None) };
    let token = meta::progress_token(&raw)
        .map_err(|error| McpRequestError { status: StatusCode::OK, error })?;
    let rest = passed_on(&mut raw);
    put_meta(params, rest);
    Ok(token)
}

fn handle_notification(session: &McpSession, method: &str, params: Option<&RawValue>) {
    if method == "notifications/cancelled"
        && let Some(id) = cancelled_id(params)
    {
        session.cancel(&id);
    }
}

/// The id of the request that `notifications/cancelled` names.
pub(super) fn cancelled_id(params: Option<&RawValue>) -> Option<JsonRpcId> {
    let params = Object::parse(params?.get()).ok()?;
    JsonRpcId::parse(params.get("requestId")?).ok()
}

/// A JSON-RPC batch, supported only by 2025-03-26. Its requests run concurrently. Notifications of
/// servers are not forwarded meanwhile.
pub(super) async fn batch(
    front: &AppState,
    speaker: SessionClient<'_>,
    text: &str,
    line: &ExchangeChannel,
) -> ExchangeAnswer {
    let items: Vec<&RawValue> = match serde_json::from_str::<Vec<&RawValue>>(text) {
        Ok(items) if items.is_empty() => return invalid_request("the batch is empty"),
        Ok(items) if items.len() > front.limits.batch => {
            let limit = front.limits.batch;
            return invalid_request(format!("a batch is limited to {limit} messages"));
        }
        Ok(items) => items,
        Err(error) => {
            let error = McpRequestError::new(
                StatusCode::BAD_REQUEST,
                error_code::PARSE_ERROR,
                format!("not a JSON-RPC batch: {error}"),
            );
            return ExchangeAnswer::from_error(None, &error);
        }
    };
    line.outlive(&front.survivors);
    let answers = join_all(items.into_iter().map(|item| one_of_batch(front, speaker, item))).await;
    let texts: Vec<String> = answers
        .into_iter()
        .filter_map(|answer| answer.text.map(EncodedMessage::into_string))
        .collect();
    if texts.is_empty() {
        return ExchangeAnswer::nothing();
    }
    ExchangeAnswer::from_text(EncodedMessage::Whole(format!("[{}]", texts.join(","))))
}

async fn one_of_batch(
    front: &AppState,
    speaker: SessionClient<'_>,
    item: &RawValue,
) -> ExchangeAnswer {
    match JsonRpcMessage::parse(item.get()) {
        Ok(message) => {
            take(front, speaker, message, &ExchangeChannel::new(ExchangeTransport::AnswerOnly))
                .await
        }
        Err(invalid) => {
            let refused = McpRequestError { status: StatusCode::BAD_REQUEST, error: invalid.error };
            ExchangeAnswer::from_error(invalid.id.as_ref(), &refused)
        }
    }
}

pub(super) fn invalid_request(message: impl Into<String>) -> ExchangeAnswer {
    ExchangeAnswer::from_error(None, &McpRequestError::invalid(message))
}
