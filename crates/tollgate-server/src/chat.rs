//! Chat APIs, each in its own dialect, complete or streamed. Agents answer with prompt, tools and
//! the agent loop, models directly. This module only decides who answers.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::HeaderMap;
use http::request::Parts;
use serde_json::Value;
use tollgate_core::json::{self, Object};
use tollgate_llm::conversation::{self, ResponseDelivery};
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::LlmError;
use tollgate_llm::format::{self, RequestUrlParams};
use tollgate_llm::provider::{ModelHandle, PassThroughRequest};

use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::auth::Right;
use crate::body;
use crate::fields::{check_query, parameter};
use crate::gemini_route::{GeminiVerb, VERBS};

mod account;
mod answer;
mod audio;
mod deliver;
mod embeddings;
mod error;
mod gemini_models;
mod headers;
mod models;
mod pass;
mod side;
mod stored;
mod target;
mod token_count;
mod transcript;
mod usage_meter;
mod visible_models;

pub(crate) use audio::{speech, transcriptions};
pub(crate) use embeddings::openai as embeddings;
pub(crate) use error::ChatApiError;
pub(crate) use gemini_models::{list as list_gemini, show as show_gemini};
pub(crate) use headers::TurnResponseHeaders;
pub(crate) use models::{list, show};
pub(crate) use stored::{
    delete as delete_response, items as response_items, show as stored_response,
};
pub(crate) use token_count::anthropic as count_tokens;

use pass::PassedBy;
use target::ChatRequestTarget;

pub(crate) async fn completions(State(front): State<Arc<AppState>>, request: Request) -> Response {
    respond(front, request, ChatRoute::plainly(Dialect::OpenAiChat)).await
}

pub(crate) async fn responses(State(front): State<Arc<AppState>>, request: Request) -> Response {
    respond(front, request, ChatRoute::plainly(Dialect::OpenAiResponses)).await
}

pub(crate) async fn messages(State(front): State<Arc<AppState>>, request: Request) -> Response {
    respond(front, request, ChatRoute::plainly(Dialect::Anthropic)).await
}

/// `…/models/{model}:{verb}`, below any version prefix.
pub(crate) async fn generate(
    State(front): State<Arc<AppState>>,
    Path(call): Path<String>,
    request: Request,
) -> Response {
    let GeminiCall { model, verb } = match GeminiCall::parse(&call) {
        Ok(call) => call,
        Err(refused) => return refused.response(Dialect::Gemini),
    };
    match verb {
        GeminiVerb::Generate(delivery) => {
            let route = ChatRoute::of_gemini(model, delivery, &request);
            respond(front, request, route).await
        }
        GeminiVerb::CountTokens => token_count::gemini(&front, request, model).await,
        GeminiVerb::Embed(endpoint) => embeddings::gemini(&front, request, model, endpoint).await,
    }
}

/// `{model}:{verb}` of a URL.
struct GeminiCall<'a> {
    model: &'a str,
    verb: GeminiVerb,
}

impl<'a> GeminiCall<'a> {
    fn parse(call: &'a str) -> Result<Self, ChatApiError> {
        let unknown = || {
            let known = VERBS.iter().map(|(verb, _)| *verb).collect::<Vec<_>>().join("`, `");
            let detail = format!("write `models/MODEL:VERB`; verbs are `{known}`");
            ApiError::with_detail(http::StatusCode::NOT_FOUND, "unknown_verb", detail)
        };
        let (model, verb) = call.rsplit_once(':').ok_or_else(unknown)?;
        let (_, verb) = VERBS.iter().find(|(known, _)| *known == verb).ok_or_else(unknown)?;
        Ok(Self { model, verb: *verb })
    }
}

/// In which form something is asked, and what the URL says of it.
struct ChatRoute {
    dialect: Dialect,
    model: Option<String>,
    delivery: Option<ResponseDelivery>,
    streams_as: StreamForm,
}

/// Format of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamForm {
    Events,
    /// One growing JSON array: the default of the Gemini API, unless SSE is requested.
    List,
}

impl ChatRoute {
    fn plainly(dialect: Dialect) -> Self {
        Self { dialect, model: None, delivery: None, streams_as: StreamForm::Events }
    }

    fn of_gemini(model: &str, delivery: ResponseDelivery, request: &Request) -> Self {
        let streams_as = match parameter(request.uri(), "alt").as_deref() {
            Some("sse") => StreamForm::Events,
            _ => StreamForm::List,
        };
        Self {
            dialect: Dialect::Gemini,
            model: Some(model.to_owned()),
            delivery: Some(delivery),
            streams_as,
        }
    }

    fn address(&self) -> RequestUrlParams<'_> {
        RequestUrlParams { model: self.model.as_deref(), delivery: self.delivery }
    }
}

/// A request that is parsed far enough to know who answers.
struct InboundChatRequest {
    route: ChatRoute,
    sent: Parts,
    passed: PassThroughRequest,
    began: Instant,
}

async fn respond(front: Arc<AppState>, request: Request, asked: ChatRoute) -> Response {
    let dialect = asked.dialect;
    let began = front.clock.now();
    let answered = async {
        let (sent, body) = request.into_parts();
        check_query(&sent.uri, &["alt", "beta"])?;
        let body = body::json(&sent, body, &front.limits).await?;
        let passed = PassThroughRequest::read(body, HeaderMap::new(), &asked.address())?;
        let opened = InboundChatRequest { route: asked, sent, passed, began };
        let target = ChatRequestTarget::find(&front, &opened.sent, opened.model()?)?;
        target.who.rights.need(Right::Execute)?;
        let is_kept_here = opened.continues_stored_response(&front, &target);
        let may_pass = |model: &Arc<ModelHandle>| !is_kept_here && opened.may_pass_to(model);
        match target.passes(dialect).filter(may_pass) {
            Some(model) => {
                let caller = target.caller();
                pass::pass(&front, opened, PassedBy { caller, trace: target.who.trace }, &model)
                    .await
            }
            None => {
                let body = opened.passed.body();
                body::reserve_conversation(&opened.sent, body, &front.limits).await?;
                Box::pin(answer::answer(front, opened, target)).await
            }
        }
    };
    answered.await.unwrap_or_else(|refused: ChatApiError| refused.response(dialect))
}

impl InboundChatRequest {
    /// The requested model, as the client names it.
    fn model(&self) -> Result<&str, ChatApiError> {
        let named = self.route.model.as_deref().or(self.passed.model());
        named.ok_or_else(|| LlmError::invalid("model", "`model` is missing").into())
    }

    /// Whether the request continues an answer of another model, which the gateway keeps.
    fn continues_stored_response(&self, front: &AppState, target: &ChatRequestTarget) -> bool {
        let id = self.passed.previous_response.as_deref();
        self.route.dialect == Dialect::OpenAiResponses
            && id.is_some_and(|id| front.threads.has(&target.who.principal, id, self.began))
    }

    /// A history of other models has to be rewritten.
    fn may_pass_to(&self, model: &ModelHandle) -> bool {
        self.streams_like_a_provider()
            && !self.passed.has_foreign_history(self.route.dialect, &model.settings)
    }

    /// Providers are always asked for SSE.
    fn streams_like_a_provider(&self) -> bool {
        self.passed.delivery == ResponseDelivery::Whole
            || self.route.streams_as == StreamForm::Events
    }

    /// Parses all of it. Its size was checked on arrival.
    fn request(&self) -> Result<conversation::ChatRequest, LlmError> {
        let body = parse_json(self.passed.body())?;
        self.format().read_request(body, &self.route.address())
    }

    /// The field `input` of the Responses API.
    fn input(&self) -> Value {
        let body = Object::parse_bytes(self.passed.body()).ok();
        let input = body.as_ref().and_then(|body| body.get("input"));
        input.and_then(|input| serde_json::from_str(input.get()).ok()).unwrap_or_default()
    }

    fn format(&self) -> &'static dyn format::DialectCodec {
        format::of(self.route.dialect)
    }
}

/// A body whose bounds were checked on arrival.
fn parse_json(body: &[u8]) -> Result<Value, LlmError> {
    let text = std::str::from_utf8(body);
    let text = text.map_err(|_| LlmError::invalid("", "the body is not UTF-8"))?;
    json::value_within(text, usize::MAX)
        .map_err(|error| LlmError::invalid("", format!("not JSON: {error}")))
}
