//! `POST /v1/mcp/tool/execute`: runs tool calls in the format of a model's API, and returns
//! messages that the client appends to its conversation.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use serde_json::Value;
use tollgate_core::call::{self, CallStatus, Outcome, RequestKind};
use tollgate_core::json::{self, Object};
use tollgate_core::nearest::nearest;
use tollgate_core::shaping::{self, ResultCaps};
use tollgate_core::text::truncate_chars;
use tollgate_core::turn::Turn;
use tollgate_engine::caller::{CacheFreshness, Caller};
use tollgate_llm::agent::CompletionTimes;
use tollgate_llm::conversation::{CallResult, FunctionCall};
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::LlmError;
use tollgate_llm::tools::{self, DocumentExtent, arguments, calls, results};
use tollgate_mcp::meta::ClientFacts;

use super::execute::{freshness, into_outcome};
use crate::api_error::{ApiError, MAX_ECHOED_CHARS};
use crate::app_state::AppState;
use crate::auth::Right;
use crate::body;
use crate::chat::{ChatApiError, TurnResponseHeaders};
use crate::fields::{check_query, parameter};
use crate::request_context::{RequestContext, RequestOverrides};

/// As many as a turn of the gateway's own agent loop makes.
const MAX_CALLS: usize = 32;

/// By the names of the API contract, and by those of the tool formats.
const FORMATS: &[(&str, Dialect)] = &[
    ("chat", Dialect::OpenAiChat),
    ("responses", Dialect::OpenAiResponses),
    ("anthropic", Dialect::Anthropic),
    ("gemini", Dialect::Gemini),
    ("openai", Dialect::OpenAiChat),
    ("openai-responses", Dialect::OpenAiResponses),
];

pub(crate) async fn tool_calls(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let dialect = match dialect(&sent) {
        Ok(dialect) => dialect,
        Err(problem) => return ChatApiError::from(problem).response(Dialect::OpenAiChat),
    };
    let mut headers = TurnResponseHeaders::new(front.clock.now(), &front);
    let run = async {
        let body = body::json(&sent, body, &front.limits).await?;
        let order = ToolCallsRequest::read(&front, &sent, &body, dialect)?;
        headers.turn(&order.turn, order.reason);
        order.run(&front).await
    };
    match run.await {
        Ok(ended) => {
            headers.times(CompletionTimes { models: Duration::ZERO, tools: ended.took });
            let json = [(CONTENT_TYPE, "application/json")];
            let mut response = (json, ended.messages.to_string()).into_response();
            headers.write_into(response.headers_mut());
            response
        }
        Err(refused) => refused.response(dialect),
    }
}

fn dialect(sent: &Parts) -> Result<Dialect, ApiError> {
    check_query(&sent.uri, &["format"])?;
    let Some(named) = parameter(&sent.uri, "format") else { return Ok(Dialect::OpenAiChat) };
    let known = || FORMATS.iter().map(|(name, _)| *name);
    let found = FORMATS.iter().find(|(name, _)| *name == named).map(|(_, dialect)| *dialect);
    found.ok_or_else(|| {
        let text = truncate_chars(&named, MAX_ECHOED_CHARS);
        let hint = match nearest(&named, known()).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the known ones are `{}`", known().collect::<Vec<_>>().join("`, `")),
        };
        let detail = format!("unknown format `{text}`; {hint}");
        ApiError::with_detail(StatusCode::BAD_REQUEST, "unknown_format", detail)
    })
}

/// Authorized tool calls.
struct ToolCallsRequest {
    turn: Turn,
    reason: &'static str,
    dialect: Dialect,
    calls: Vec<FunctionCall>,
    extent: DocumentExtent,
    freshness: CacheFreshness,
}

/// Results of all calls.
struct ToolCallsOutcome {
    messages: Value,
    took: Duration,
}

impl ToolCallsRequest {
    fn read(
        front: &AppState,
        sent: &Parts,
        body: &[u8],
        dialect: Dialect,
    ) -> Result<Self, ChatApiError> {
        let text = std::str::from_utf8(body).map_err(|error| not_json(&error.to_string()))?;
        let document = json::value_within(text, usize::MAX)
            .map_err(|malformed| not_json(&malformed.to_string()))?;
        let mut who = RequestContext::read(&front.keys, sent, RequestOverrides::default())?;
        who.link.is_announced = true;
        let turn = who.turn::<ChatApiError>(&front.gate)?;
        who.rights.need(Right::Execute)?;
        let calls::CallDocument { calls, extent } = calls::read(document, dialect)?;
        if calls.len() > MAX_CALLS {
            let message = format!("{} calls at once; the limit is {MAX_CALLS}", calls.len());
            return Err(LlmError::invalid("", message).into());
        }
        let reason =
            if who.tier.is_some() { "named by the request" } else { "the agent's ceiling" };
        Ok(Self { turn, reason, dialect, calls, extent, freshness: freshness(sent) })
    }

    /// Runs the calls concurrently. The messages are in the order of the calls.
    async fn run(self, front: &AppState) -> Result<ToolCallsOutcome, ChatApiError> {
        let ready: Vec<Result<call::GateRequest<'_>, Box<Outcome>>> =
            self.calls.iter().map(|call| self.request(call)).collect();
        let mut requests = Vec::new();
        let mut unread = Vec::new();
        for one in ready {
            match one {
                Ok(request) => {
                    requests.push(request);
                    unread.push(None);
                }
                Err(outcome) => unread.push(Some(*outcome)),
            }
        }
        let client = ClientFacts::default();
        let caller = Caller {
            caps: ResultCaps::chat(),
            freshness: self.freshness,
            ..Caller::silent(&client)
        };
        let mut replies = front.gate.call_all(&self.turn, requests, caller).await.into_iter();
        let mut took = Duration::ZERO;
        let mut done: Vec<CallResult> = Vec::new();
        for (call, outcome) in self.calls.iter().zip(unread) {
            let outcome = match outcome
                .map_or_else(|| replies.next().map(into_outcome), |it| Some(Ok(it)))
            {
                Some(Ok(outcome)) => outcome,
                Some(Err(problem)) => {
                    shaping::failure(CallStatus::InvalidArguments, &problem.detail, Duration::ZERO)
                }
                None => shaping::failure(CallStatus::Error, "it was not run", Duration::ZERO),
            };
            took = took.max(outcome.duration);
            let mut result = results::neutral(call, &outcome);
            let links = front.gate.link_left_out_pictures(&self.turn, &call.name, &outcome).await;
            results::add_picture_links(&mut result, &links);
            done.push(result);
        }
        let single = match (self.extent, &done[..]) {
            (DocumentExtent::One, [result]) => results::message(result, self.dialect),
            _ => None,
        };
        let messages = single.unwrap_or_else(|| results::messages(&done, self.dialect).into());
        Ok(ToolCallsOutcome { messages, took })
    }

    /// The request to the gate, or an outcome if the call is not sent to it.
    fn request(&self, call: &FunctionCall) -> Result<call::GateRequest<'static>, Box<Outcome>> {
        let sent = arguments::parse(&call.arguments).map_err(|unreadable| {
            let message = unreadable.to_string();
            Box::new(shaping::failure(CallStatus::InvalidArguments, &message, Duration::ZERO))
        })?;
        let form = self.dialect.into();
        let (name, arguments) = match tools::find_by_model_name(&self.turn.view, &call.name, form) {
            Some(tool) => (tool.exposed.as_str(), tools::format_tool(tool, form).arguments(sent)),
            None => (call.name.as_str(), sent),
        };
        let mut params = Object::new();
        params.set_string("name", name);
        params.set("arguments", json::raw_value(&Value::Object(arguments)));
        Ok(call::GateRequest { kind: RequestKind::CallTool, params })
    }
}

fn not_json(why: &str) -> LlmError {
    LlmError::invalid("", format!("not JSON: {why}"))
}
