//! Requests of modern clients: stateless, everything needed is in the request.

use http::{HeaderMap, StatusCode};
use serde_json::json;
use serde_json::value::RawValue;
use tollgate_core::call::{CallStatus, GateRequest, RequestKind};
use tollgate_core::json::{self, Object};
use tollgate_core::turn::Turn;
use tollgate_core::view::ListEra;
use tollgate_engine::caller::{Caller, Dialogue, Reply, RoundAnswers};
use tollgate_engine::gate::TaskRequest;
use tollgate_mcp::client::ProgressReporting;
use tollgate_mcp::error_code::{self, JsonRpcError};
use tollgate_mcp::meta::{self, RequestMeta, TASKS_EXTENSION};
use tollgate_mcp::offload::offload_if_large;
use tollgate_mcp::{Era, Revision};

use super::encode::{self, EncodedMessage, ListPageRequest, ModernResultShape};
use super::exchange::{ExchangeAnswer, ExchangeChannel};
use super::method::{self, McpMethod};
use super::notifications::{NotificationTarget, NotificationWriter};
use super::parsed_request::ParsedMcpRequest;
use super::request_span::{McpRequestSpan, McpSpanInfo};
use super::{headers, listen, passed_on, put_meta};
use crate::app_state::AppState;
use crate::error_mapping::{McpErrorReply, McpRequestError, call_error};
use crate::mcp_session::McpLogLevel;
use crate::request_context::RequestContext;

/// Origin of a request, and the channel for messages before the answer.
pub(super) struct ModernRequestSource<'a> {
    pub(super) who: RequestContext,
    /// Headers of an HTTP request, which must agree with the body.
    pub(super) headers: Option<&'a HeaderMap>,
    pub(super) line: &'a ExchangeChannel,
}

pub(super) async fn answer(
    front: &AppState,
    from: ModernRequestSource<'_>,
    ask: ParsedMcpRequest<'_>,
) -> ExchangeAnswer {
    let id = ask.id.clone();
    ExchangeAnswer::from_result(&id, respond(front, from, ask).await)
}

async fn respond(
    front: &AppState,
    from: ModernRequestSource<'_>,
    mut ask: ParsedMcpRequest<'_>,
) -> Result<EncodedMessage, McpRequestError> {
    let ModernRequestSource { who, headers, line } = from;
    let (meta, who) = read_meta(&mut ask.params, who)?;
    if let Some(headers) = headers {
        headers::check_version(headers, &meta.revision)?;
    }
    check_supported(&meta.revision)?;
    if let Some(headers) = headers {
        headers::check_standard(headers, ask.method, &ask.params)?;
    }
    let method = McpMethod::parse(Era::Modern, ask.method);
    let known = method.as_ref().ok().copied();
    let about = McpSpanInfo { method: ask.method, known, revision: &meta.revision, line };
    let mut served = McpRequestSpan::begin(front.gate.tracer(), &who, &about);
    let request = ModernRequest { who: served.within(who), headers, line, meta };
    let answered = match method {
        Ok(method) => request.dispatch(front, method, ask, &mut served).await,
        Err(refused) => Err(refused),
    };
    served.end(Some(&answered));
    answered
}

/// A validated request.
struct ModernRequest<'a> {
    who: RequestContext,
    headers: Option<&'a HeaderMap>,
    line: &'a ExchangeChannel,
    meta: RequestMeta,
}

impl ModernRequest<'_> {
    async fn dispatch(
        self,
        front: &AppState,
        method: McpMethod,
        ask: ParsedMcpRequest<'_>,
        served: &mut McpRequestSpan,
    ) -> Result<EncodedMessage, McpRequestError> {
        let Self { who, headers, line, meta } = self;
        if method == McpMethod::Discover {
            return Ok(EncodedMessage::Whole(encode::discover(&ask.id)));
        }
        let turn = who.turn::<McpRequestError>(&front.gate)?;
        match method {
            McpMethod::List(list) => {
                let cursor = method::optional_string(&ask.params, "cursor")?;
                let page = ListPageRequest { form: ListEra::Modern, cursor: cursor.as_deref() };
                Ok(encode::list(&ask.id, &turn.view, list, page)?)
            }
            McpMethod::Listen => {
                listen::listen(front, who, &turn, &ask.id, &ask.params, line).await
            }
            McpMethod::Call(kind) => {
                who.may(kind)?;
                check_mirrored(headers, &turn, kind, &ask.params)?;
                served.about(&turn, kind, &ask.params);
                let call = ModernCall { kind, meta, turn, line };
                call.run(front, ask, served).await.map(EncodedMessage::Whole)
            }
            McpMethod::Discover
            | McpMethod::Initialize
            | McpMethod::Ping
            | McpMethod::SetLevel
            | McpMethod::Subscribe
            | McpMethod::Unsubscribe => {
                Err(McpRequestError::unknown_method(Era::Modern, ask.method))
            }
        }
    }
}

/// Reads the required keys of `_meta`, and leaves only those to forward to a server.
fn read_meta(
    params: &mut Object<'_>,
    who: RequestContext,
) -> Result<(RequestMeta, RequestContext), McpRequestError> {
    let refused = |error| McpRequestError { status: StatusCode::BAD_REQUEST, error };
    let Some(mut raw) = params.object("_meta") else {
        let message = format!("`_meta` must be an object with `{}`", meta::PROTOCOL_VERSION);
        return Err(refused(JsonRpcError::new(error_code::INVALID_PARAMS, message)));
    };
    let meta = RequestMeta::read(&raw).map_err(refused)?;
    let who = who.with_wishes(&raw)?.part_of(meta::take_trace(&mut raw));
    let rest = passed_on(&mut raw);
    put_meta(params, rest);
    Ok((meta, who))
}

fn check_supported(requested: &str) -> Result<(), McpRequestError> {
    if Revision::parse(requested).is_some_and(|revision| revision.era() == Era::Modern) {
        return Ok(());
    }
    let supported: Vec<&str> = encode::modern_versions().collect();
    let data = json!({"supported": supported, "requested": requested});
    let message = "this protocol revision requires `initialize`";
    let error = JsonRpcError::new(error_code::UNSUPPORTED_VERSION, message);
    Err(McpRequestError::in_era(Era::Modern, error.with_data(json::raw_value(&data))))
}

fn check_mirrored(
    headers: Option<&HeaderMap>,
    turn: &Turn,
    kind: RequestKind,
    params: &Object<'_>,
) -> Result<(), McpRequestError> {
    let (Some(headers), RequestKind::CallTool) = (headers, kind) else { return Ok(()) };
    let Some(name) = params.string("name") else { return Ok(()) };
    match turn.view.tool(&name) {
        Some(tool) => headers::check_mirrored(headers, tool, params),
        None => Ok(()),
    }
}

/// A request that goes through the gate.
struct ModernCall<'a> {
    kind: RequestKind,
    meta: RequestMeta,
    turn: Turn,
    line: &'a ExchangeChannel,
}

impl ModernCall<'_> {
    async fn run(
        self,
        front: &AppState,
        ask: ParsedMcpRequest<'_>,
        served: &mut McpRequestSpan,
    ) -> Result<String, McpRequestError> {
        let ParsedMcpRequest { id, mut params, .. } = ask;
        let retry = take_retry(&mut params)?;
        let is_retry = retry.state.is_some() || retry.responses.is_some();
        let dialogue = match self.kind {
            RequestKind::CallTool | RequestKind::ReadResource | RequestKind::GetPrompt => {
                Dialogue::Rounds(retry)
            }
            RequestKind::Complete | RequestKind::Task(_) => Dialogue::Nobody,
        };
        let progress = match &self.meta.progress_token {
            Some(_) => ProgressReporting::Requested,
            None => ProgressReporting::Unwanted,
        };
        let client = &self.meta.client;
        let events = self.events();
        let rest = front.rest;
        let caller = Caller { events, progress, dialogue, rest, ..Caller::silent(client) };
        if let RequestKind::Task(verb) = self.kind {
            self.check_tasks()?;
            let request = TaskRequest { verb, params };
            let result = front.gate.task(&self.turn, request, caller).await;
            let result = result.map_err(|error| self.map_error(error))?;
            return Ok(encode::modern_result(&id, &result, None, ModernResultShape::Complete));
        }
        let request = GateRequest { kind: self.kind, params };
        let shape = match self.kind {
            RequestKind::ReadResource if is_retry => ModernResultShape::Stale,
            RequestKind::ReadResource => ModernResultShape::Cacheable,
            _ => ModernResultShape::Complete,
        };
        let mut origin = None;
        let (result, shape) = match front.gate.call(&self.turn, request, caller).await {
            Ok(Reply::Tool(outcome)) => {
                served.record_status(outcome.status);
                origin = outcome.origin;
                (outcome.result, shape)
            }
            Ok(Reply::Result(result)) => (result, shape),
            Ok(Reply::InputRequired(result) | Reply::Task(result)) => {
                (result, ModernResultShape::AsIs)
            }
            Err(error) => match call_error(Era::Modern, self.kind, error) {
                McpErrorReply::Failure(message) => {
                    served.record_status(CallStatus::Error);
                    (encode::failure(&message), shape)
                }
                McpErrorReply::Error(refused) => return Err(refused),
            },
        };
        let size = result.get().len();
        let write = move || encode::modern_result(&id, &result, origin.as_ref(), shape);
        Ok(offload_if_large(size, write).await)
    }

    /// Needed only if the client requested progress or logs.
    fn events(&self) -> Option<tollgate_mcp::client::ServerEventSender> {
        let RequestMeta { client, progress_token, .. } = &self.meta;
        let level = client.log_level.as_deref().and_then(McpLogLevel::parse);
        if progress_token.is_none() && level.is_none() {
            return None;
        }
        let target = NotificationTarget::Modern(level);
        self.line.events(NotificationWriter { token: progress_token.clone(), target })
    }

    fn check_tasks(&self) -> Result<(), McpRequestError> {
        if self.meta.client.has_extension(TASKS_EXTENSION) {
            return Ok(());
        }
        let message = format!("tasks are for clients that declare `{TASKS_EXTENSION}`");
        let data = json!({"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}});
        let error = JsonRpcError::new(error_code::MISSING_CLIENT_CAPABILITY, message);
        Err(McpRequestError::in_era(Era::Modern, error.with_data(json::raw_value(&data))))
    }

    fn map_error(&self, error: tollgate_engine::caller::CallError) -> McpRequestError {
        match call_error(Era::Modern, self.kind, error) {
            McpErrorReply::Error(refused) => refused,
            McpErrorReply::Failure(message) => {
                McpRequestError::new(StatusCode::OK, error_code::INTERNAL_ERROR, message)
            }
        }
    }
}

/// The answers that a client returns from an earlier round. They are for the gate, not for the
/// server.
fn take_retry(params: &mut Object<'_>) -> Result<RoundAnswers, McpRequestError> {
    let state = method::optional_string(params, "requestState")?;
    let responses = params.get("inputResponses").map(ToOwned::to_owned);
    if responses.as_deref().is_some_and(|raw: &RawValue| Object::parse(raw.get()).is_err()) {
        return Err(McpRequestError::bad_params("`inputResponses` must be an object"));
    }
    params.remove("requestState");
    params.remove("inputResponses");
    Ok(RoundAnswers { state, responses })
}
