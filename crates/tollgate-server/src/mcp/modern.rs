//! Requests of modern clients: everything they need is in the request, nothing is kept.

use http::{HeaderMap, StatusCode};
use serde_json::json;
use serde_json::value::RawValue;
use tollgate_core::call::{Kind, Request, Status};
use tollgate_core::json::{self, Object};
use tollgate_core::turn::Turn;
use tollgate_core::view::Form;
use tollgate_engine::caller::{Caller, Dialogue, Reply, Retry};
use tollgate_engine::gate::TaskRequest;
use tollgate_mcp::client::Progress;
use tollgate_mcp::code::{self, ErrorObject};
use tollgate_mcp::envelope::Id;
use tollgate_mcp::meta::{self, RequestMeta, TASKS_EXTENSION};
use tollgate_mcp::{Era, Revision};

use super::dress::{self, PageOf, Shape, Text};
use super::exchange::{Answer, Line};
use super::method::{self, Method};
use super::served::{About, Served};
use super::voice::{Hearer, Level, Voice};
use super::{Front, headers, listen, passed_on, put_meta};
use crate::refusal::{Refused, Told, call_error};
use crate::who::Who;

/// A request whose params were read.
pub(super) struct Ask<'a> {
    pub(super) id: Id,
    pub(super) method: &'a str,
    pub(super) params: Object<'a>,
}

/// Where a request came from, and where answers go before the answer.
pub(super) struct From<'a> {
    pub(super) who: Who,
    /// Of an HTTP request: they must agree with the body.
    pub(super) headers: Option<&'a HeaderMap>,
    pub(super) line: &'a Line,
}

pub(super) async fn answer(front: &Front, from: From<'_>, ask: Ask<'_>) -> Answer {
    let id = ask.id.clone();
    Answer::from_result(&id, respond(front, from, ask).await)
}

async fn respond(front: &Front, from: From<'_>, mut ask: Ask<'_>) -> Result<Text, Refused> {
    let From { who, headers, line } = from;
    let (meta, who) = read_meta(&mut ask.params, who)?;
    if let Some(headers) = headers {
        headers::check_version(headers, &meta.revision)?;
    }
    check_supported(&meta.revision)?;
    if let Some(headers) = headers {
        headers::check_standard(headers, ask.method, &ask.params)?;
    }
    let method = Method::parse(Era::Modern, ask.method);
    let known = method.as_ref().ok().copied();
    let about = About { method: ask.method, known, revision: &meta.revision, line };
    let mut served = Served::begin(front.gate.tracer(), &who, &about);
    let asked = Asked { who: served.within(who), headers, line, meta };
    let answered = match method {
        Ok(method) => asked.answered(front, (method, ask), &mut served).await,
        Err(refused) => Err(refused),
    };
    served.end(Some(&answered));
    answered
}

/// A request that can be answered.
struct Asked<'a> {
    who: Who,
    headers: Option<&'a HeaderMap>,
    line: &'a Line,
    meta: RequestMeta,
}

impl Asked<'_> {
    async fn answered(
        self,
        front: &Front,
        (method, ask): (Method, Ask<'_>),
        served: &mut Served,
    ) -> Result<Text, Refused> {
        let Self { who, headers, line, meta } = self;
        if method == Method::Discover {
            return Ok(Text::Whole(dress::discover(&ask.id)));
        }
        let turn = who.turn::<Refused>(&front.gate)?;
        match method {
            Method::List(list) => {
                let cursor = method::optional_string(&ask.params, "cursor")?;
                let page = PageOf { form: Form::Modern, cursor: cursor.as_deref() };
                Ok(dress::list(&ask.id, &turn.view, list, page)?)
            }
            Method::Listen => {
                listen::listen(front, (who, &turn), (&ask.id, &ask.params), line).await
            }
            Method::Call(kind) => {
                who.may(kind)?;
                check_mirrored(headers, &turn, kind, &ask.params)?;
                served.about(&turn, kind, &ask.params);
                let call = Call { kind, meta, turn, line };
                call.run(front, ask, served).await.map(Text::Whole)
            }
            Method::Discover
            | Method::Initialize
            | Method::Ping
            | Method::SetLevel
            | Method::Subscribe
            | Method::Unsubscribe => Err(Refused::unknown_method(Era::Modern, ask.method)),
        }
    }
}

/// Reads what `_meta` must have, and leaves only what is to go on to a server.
fn read_meta(params: &mut Object<'_>, who: Who) -> Result<(RequestMeta, Who), Refused> {
    let refused = |error| Refused { status: StatusCode::BAD_REQUEST, error };
    let Some(mut raw) = params.object("_meta") else {
        let message = format!("`_meta` must be an object with `{}`", meta::PROTOCOL_VERSION);
        return Err(refused(ErrorObject::new(code::INVALID_PARAMS, message)));
    };
    let meta = RequestMeta::read(&raw).map_err(refused)?;
    let who = who.with_wishes(&raw)?.part_of(meta::take_trace(&mut raw));
    let rest = passed_on(&mut raw);
    put_meta(params, rest);
    Ok((meta, who))
}

fn check_supported(requested: &str) -> Result<(), Refused> {
    if Revision::parse(requested).is_some_and(|revision| revision.era() == Era::Modern) {
        return Ok(());
    }
    let supported: Vec<&str> = dress::modern_versions().collect();
    let data = json!({"supported": supported, "requested": requested});
    let message = "this protocol revision is not spoken here without `initialize`";
    let error = ErrorObject::new(code::UNSUPPORTED_VERSION, message);
    Err(Refused::in_era(Era::Modern, error.with_data(json::raw_value(&data))))
}

fn check_mirrored(
    headers: Option<&HeaderMap>,
    turn: &Turn,
    kind: Kind,
    params: &Object<'_>,
) -> Result<(), Refused> {
    let (Some(headers), Kind::CallTool) = (headers, kind) else { return Ok(()) };
    let Some(name) = params.string("name") else { return Ok(()) };
    match turn.view.tool(&name) {
        Some(tool) => headers::check_mirrored(headers, tool, params),
        None => Ok(()),
    }
}

/// A request that goes through the gate.
struct Call<'a> {
    kind: Kind,
    meta: RequestMeta,
    turn: Turn,
    line: &'a Line,
}

impl Call<'_> {
    async fn run(
        self,
        front: &Front,
        ask: Ask<'_>,
        served: &mut Served,
    ) -> Result<String, Refused> {
        let Ask { id, mut params, .. } = ask;
        let retry = take_retry(&mut params)?;
        let is_retry = retry.state.is_some() || retry.responses.is_some();
        let dialogue = match self.kind {
            Kind::CallTool | Kind::ReadResource | Kind::GetPrompt => Dialogue::Rounds(retry),
            Kind::Complete | Kind::Task(_) => Dialogue::Nobody,
        };
        let progress = match &self.meta.progress_token {
            Some(_) => Progress::Wanted,
            None => Progress::Unwanted,
        };
        let client = &self.meta.client;
        let (events, rest) = (self.events(), front.rest);
        let caller = Caller { events, progress, dialogue, rest, ..Caller::silent(client) };
        if let Kind::Task(verb) = self.kind {
            self.check_tasks()?;
            let request = TaskRequest { verb, params };
            let result = front.gate.task(&self.turn, request, caller).await;
            let result = result.map_err(|error| self.refused(error))?;
            return Ok(dress::modern_result(&id, &result, None, Shape::Complete));
        }
        let request = Request { kind: self.kind, params };
        let shape = match self.kind {
            Kind::ReadResource if is_retry => Shape::Stale,
            Kind::ReadResource => Shape::Cacheable,
            _ => Shape::Complete,
        };
        let mut origin = None;
        let (result, shape) = match front.gate.call(&self.turn, request, caller).await {
            Ok(Reply::Tool(outcome)) => {
                served.ran(outcome.status);
                origin = outcome.origin;
                (outcome.result, shape)
            }
            Ok(Reply::Result(result)) => (result, shape),
            Ok(Reply::InputRequired(result) | Reply::Task(result)) => (result, Shape::AsIs),
            Err(error) => match call_error(Era::Modern, self.kind, error) {
                Told::Failure(message) => {
                    served.ran(Status::Error);
                    (dress::failure(&message), shape)
                }
                Told::Error(refused) => return Err(refused),
            },
        };
        Ok(dress::modern_result(&id, &result, origin.as_ref(), shape))
    }

    /// Only a client that asked for progress or logs needs more than the answer.
    fn events(&self) -> Option<tollgate_mcp::client::Events> {
        let RequestMeta { client, progress_token, .. } = &self.meta;
        let level = client.log_level.as_deref().and_then(Level::parse);
        if progress_token.is_none() && level.is_none() {
            return None;
        }
        let hearer = Hearer::Modern(level);
        self.line.events(Voice { token: progress_token.clone(), hearer })
    }

    fn check_tasks(&self) -> Result<(), Refused> {
        if self.meta.client.has_extension(TASKS_EXTENSION) {
            return Ok(());
        }
        let message = format!("tasks are for clients that declare `{TASKS_EXTENSION}`");
        let data = json!({"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}});
        let error = ErrorObject::new(code::MISSING_CLIENT_CAPABILITY, message);
        Err(Refused::in_era(Era::Modern, error.with_data(json::raw_value(&data))))
    }

    fn refused(&self, error: tollgate_engine::caller::CallError) -> Refused {
        match call_error(Era::Modern, self.kind, error) {
            Told::Error(refused) => refused,
            Told::Failure(message) => Refused::new(StatusCode::OK, code::INTERNAL_ERROR, message),
        }
    }
}

/// What the client brings back from an earlier round. It is for the gate, not for the server.
fn take_retry(params: &mut Object<'_>) -> Result<Retry, Refused> {
    let state = method::optional_string(params, "requestState")?;
    let responses = params.get("inputResponses").map(ToOwned::to_owned);
    if responses.as_deref().is_some_and(|raw: &RawValue| Object::parse(raw.get()).is_err()) {
        return Err(Refused::bad_params("`inputResponses` must be an object"));
    }
    params.remove("requestState");
    params.remove("inputResponses");
    Ok(Retry { state, responses })
}
