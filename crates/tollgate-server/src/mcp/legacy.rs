//! Requests of legacy clients, inside a session that `initialize` opened.

use std::sync::Arc;

use futures_util::future::{Abortable, join_all};
use http::StatusCode;
use serde_json::value::RawValue;
use tollgate_core::budget::Tier;
use tollgate_core::call::{Kind, Request, Status};
use tollgate_core::filter::Narrow;
use tollgate_core::json::Object;
use tollgate_core::view::Form;
use tollgate_engine::caller::{Caller, Dialogue, Reply};
use tollgate_mcp::client::Progress;
use tollgate_mcp::code;
use tollgate_mcp::envelope::{Id, Message};
use tollgate_mcp::meta::{self, ClientFacts};
use tollgate_mcp::{Era, Revision};

use super::dress::{self, PageOf, Text};
use super::exchange::{Answer, Carrier, Line};
use super::listen::Digests;
use super::method::{self, Method};
use super::modern::Ask;
use super::served::{About, Served};
use super::session::{Opening, Session, SessionLimitError};
use super::voice::{Hearer, Level, Voice};
use super::{Front, META_AGENT, by_meta, passed_on, put_meta, wrong};
use crate::refusal::{Refused, Told, call_error};
use crate::who::{Link, Who};

/// A client in its session.
#[derive(Clone, Copy)]
pub(super) struct Speaker<'s> {
    pub(super) session: &'s Arc<Session>,
    /// Whoever asks now, with what they may and ask for now; the agent is the session's.
    pub(super) who: &'s Who,
}

impl Speaker<'_> {
    /// Who asks, within the budget and by the filters of this request: by header, by `_meta`.
    /// The session's budget holds where the request has none, its filters always.
    fn who(&self, front: &Front, params: &Object<'_>) -> Result<Who, Refused> {
        let who = self.beside_meta(self.who.tier);
        let who = match params.object("_meta") {
            Some(mut meta) => {
                self.same_agent(front, &meta)?;
                who.with_limits(&meta)?.part_of(meta::take_trace(&mut meta))
            }
            None => who,
        };
        Ok(Who { tier: who.tier.or(self.session.who.tier), ..who })
    }

    /// The span of a request.
    fn served(
        &self,
        front: &Front,
        known: Option<Method>,
        (ask, line): (&Ask<'_>, &Line),
    ) -> Served {
        let tracer = front.gate.tracer();
        if !tracer.is_on() {
            return Served::nobody();
        }
        let inner = ask.params.object("_meta").and_then(|mut meta| meta::take_trace(&mut meta));
        let who = self.who.clone().part_of(inner);
        let revision = self.session.revision.as_str();
        Served::begin(tracer, &who, &About { method: ask.method, known, revision, line })
    }

    /// Who listens on the session's stream.
    pub(super) fn listening(&self) -> Who {
        self.beside_meta(self.who.tier.or(self.session.who.tier))
    }

    fn beside_meta(&self, tier: Option<Tier>) -> Who {
        let agent = self.session.who.agent.clone();
        let link = Some(self.session_link());
        let who = Who { agent, tier, link, ..self.who.clone() };
        who.narrowed(self.session.filters.clone())
    }

    /// What a session reads is read in one turn, until its client names another.
    fn session_link(&self) -> Link {
        let id = &self.session.id;
        match &self.who.link {
            Some(link) => Link::continued(&format!("session {id} {}", link.name)),
            None => Link::continued(&format!("session {id}")),
        }
    }

    /// A session has the agent that opened it: another one would see other tools.
    fn same_agent(&self, front: &Front, meta: &Object<'_>) -> Result<(), Refused> {
        if !meta.contains(META_AGENT) {
            return Ok(());
        }
        let named = meta.string(META_AGENT).ok_or_else(|| wrong(META_AGENT, "a string"))?;
        let turn = self.session.who.turn::<Refused>(&front.gate)?;
        if turn.view.agent.as_str() == named {
            return Ok(());
        }
        Err(wrong(META_AGENT, "the agent of this session; `initialize` names it"))
    }
}

/// Reads `initialize`: what the client is, and which revision both speak.
pub(super) fn opening(front: &Front, who: Who, params: &Object<'_>) -> Result<Opening, Refused> {
    let requested = method::required_string(params, "protocolVersion")?;
    let known = Revision::parse(&requested).filter(|revision| revision.era() == Era::Legacy);
    let route = who.agent.clone();
    let (who, filters) = match params.object("_meta") {
        Some(meta) => (who.with_wishes(&meta)?, by_meta(&meta)?),
        None => (who, Narrow::default()),
    };
    let capabilities = params.get("capabilities").filter(|raw| raw.get().starts_with('{'));
    let client = ClientFacts {
        capabilities: capabilities.map(ToOwned::to_owned),
        info: params.get("clientInfo").map(ToOwned::to_owned),
        log_level: None,
    };
    let told = Digests::of(&who.turn::<Refused>(&front.gate)?.view);
    let lease = front.gate.lease(&who.lease.of_holder(), who.agent.as_deref())?;
    let revision = known.unwrap_or(Revision::NEWEST_LEGACY);
    Ok(Opening { route, who, lease, filters, revision, client, told })
}

/// `initialize` over HTTP: opens a session that is found again by its id.
pub(super) fn initialize(front: &Front, who: Who, ask: &Ask<'_>) -> Answer {
    let opened = opening(front, who, &ask.params).and_then(|opening| {
        front.sessions.open(opening).map_err(|full| {
            let status = match full {
                SessionLimitError::Total => StatusCode::SERVICE_UNAVAILABLE,
                SessionLimitError::PerKey(_) | SessionLimitError::PerAddress(_) => {
                    StatusCode::TOO_MANY_REQUESTS
                }
            };
            Refused::new(status, code::INTERNAL_ERROR, full.to_string())
        })
    });
    match opened {
        Ok(session) => {
            let text = dress::initialize(&ask.id, session.revision);
            let id = Some(Arc::clone(&session.id));
            Answer { session: id, ..Answer::said(Text::Whole(text)) }
        }
        Err(refused) => Answer::refused(Some(&ask.id), &refused),
    }
}

/// One message of a session, whatever it is.
pub(super) async fn take(
    front: &Front,
    speaker: Speaker<'_>,
    message: Message<'_>,
    line: &Line,
) -> Answer {
    match message {
        Message::Request(request) => {
            let id = request.id.clone();
            match method::params(request.params) {
                Ok(params) => {
                    let ask = Ask { id: request.id, method: &request.method, params };
                    answer(front, speaker, ask, line).await
                }
                Err(refused) => Answer::refused(Some(&id), &refused),
            }
        }
        Message::Notification { method, params } => {
            notified(speaker.session, &method, params);
            Answer::nothing()
        }
        Message::Response { id, outcome } => {
            if let Some(id) = id {
                speaker.session.answered(&id, outcome);
            }
            Answer::nothing()
        }
    }
}

pub(super) async fn answer(
    front: &Front,
    speaker: Speaker<'_>,
    ask: Ask<'_>,
    line: &Line,
) -> Answer {
    let id = ask.id.clone();
    let method = Method::parse(Era::Legacy, ask.method);
    let mut served = speaker.served(front, method.as_ref().ok().copied(), (&ask, line));
    let answered = match method {
        Ok(Method::Call(kind)) => {
            return call(front, speaker, (kind, ask), (line, &mut served)).await;
        }
        Ok(method) => local(front, speaker, method, &ask),
        Err(refused) => Err(refused),
    };
    served.end(Some(&answered));
    Answer::from_result(&id, answered)
}

/// What is answered here, without any server.
fn local(
    front: &Front,
    speaker: Speaker<'_>,
    method: Method,
    ask: &Ask<'_>,
) -> Result<Text, Refused> {
    let session = speaker.session;
    let done = || Ok(Text::Whole(dress::empty(&ask.id)));
    match method {
        Method::List(list) => {
            let turn = speaker.who(front, &ask.params)?.turn::<Refused>(&front.gate)?;
            let cursor = method::optional_string(&ask.params, "cursor")?;
            let page = PageOf { form: Form::Legacy, cursor: cursor.as_deref() };
            Ok(dress::list(&ask.id, &turn.view, list, page)?)
        }
        Method::Ping => done(),
        Method::SetLevel => {
            let name = method::required_string(&ask.params, "level")?;
            let level = Level::parse(&name);
            let level = level.ok_or_else(|| Refused::bad_params("there is no such `level`"))?;
            session.set_log_level(&name, level);
            done()
        }
        Method::Subscribe => {
            let uri = method::required_string(&ask.params, "uri")?;
            let who = speaker.who(front, &ask.params)?;
            subscribe(front, (session, &who), uri)?;
            done()
        }
        Method::Unsubscribe => {
            session.unwatch(&method::required_string(&ask.params, "uri")?);
            done()
        }
        Method::Initialize => Err(Refused::invalid("this session is initialized already")),
        Method::Call(_) | Method::Discover | Method::Listen => {
            Err(Refused::unknown_method(Era::Legacy, ask.method))
        }
    }
}

fn subscribe(front: &Front, (session, who): (&Session, &Who), uri: String) -> Result<(), Refused> {
    if session.watches(&uri) {
        return Ok(());
    }
    if session.watched_count() >= front.limits.watched_resources {
        let limit = front.limits.watched_resources;
        return Err(Refused::bad_params(format!("no more than {limit} resources can be watched")));
    }
    let turn = who.turn::<Refused>(&front.gate)?;
    match front.gate.watch_resource(&turn, &uri) {
        Ok(watch) => {
            session.watch(uri, watch);
            Ok(())
        }
        Err(error) => match call_error(Era::Legacy, Kind::ReadResource, error) {
            Told::Error(refused) => Err(refused),
            Told::Failure(message) => Err(Refused::bad_params(message)),
        },
    }
}

/// A request that goes through the gate, until it is answered or cancelled.
async fn call(
    front: &Front,
    speaker: Speaker<'_>,
    (kind, ask): (Kind, Ask<'_>),
    (line, served): (&Line, &mut Served),
) -> Answer {
    let (_running, registration) = speaker.session.begin(&ask.id);
    line.outlive(&front.survivors);
    let id = ask.id.clone();
    let running = run(front, speaker, (kind, ask), (line, served));
    let answered = Abortable::new(running, registration).await;
    served.end(answered.as_ref().ok());
    match answered {
        Ok(result) => Answer::from_result(&id, result.map(Text::Whole)),
        // The client said that it wants no answer.
        Err(futures_util::future::Aborted) => Answer::nothing(),
    }
}

async fn run(
    front: &Front,
    speaker: Speaker<'_>,
    (kind, ask): (Kind, Ask<'_>),
    (line, served): (&Line, &mut Served),
) -> Result<String, Refused> {
    let session = speaker.session;
    let Ask { id, mut params, .. } = ask;
    let who = served.within(speaker.who(front, &params)?);
    let token = take_meta(&mut params)?;
    who.may(kind)?;
    let turn = who.turn::<Refused>(&front.gate)?;
    served.about(&turn, kind, &params);
    let client = session.client();
    let progress = if token.is_some() { Progress::Wanted } else { Progress::Unwanted };
    let events = line.events(Voice { token, hearer: Hearer::Legacy(Arc::clone(session)) });
    let dialogue = if events.is_some() { Dialogue::Live } else { Dialogue::Nobody };
    let rest = front.rest;
    let caller = Caller { events, progress, dialogue, rest, ..Caller::silent(&client) };
    let mut origin = None;
    let result = match front.gate.call(&turn, Request { kind, params }, caller).await {
        Ok(Reply::Tool(outcome)) => {
            served.ran(outcome.status);
            origin = outcome.origin;
            outcome.result
        }
        Ok(Reply::Result(result)) => result,
        Ok(Reply::InputRequired(_) | Reply::Task(_)) => {
            let message = "the server answered with what this client cannot take";
            return Err(Refused::new(StatusCode::OK, code::INTERNAL_ERROR, message));
        }
        Err(error) => match call_error(Era::Legacy, kind, error) {
            Told::Failure(message) => {
                served.ran(Status::Error);
                dress::failure(&message)
            }
            Told::Error(refused) => return Err(refused),
        },
    };
    Ok(dress::legacy_result(&id, &result, origin.as_ref()))
}

/// The progress token; what else is in `_meta` and not of this hop goes on.
fn take_meta(params: &mut Object<'_>) -> Result<Option<Box<RawValue>>, Refused> {
    let Some(mut raw) = params.object("_meta") else { return Ok(None) };
    let token =
        meta::progress_token(&raw).map_err(|error| Refused { status: StatusCode::OK, error })?;
    let rest = passed_on(&mut raw);
    put_meta(params, rest);
    Ok(token)
}

fn notified(session: &Session, method: &str, params: Option<&RawValue>) {
    if method == "notifications/cancelled"
        && let Some(id) = cancelled_id(params)
    {
        session.cancel(&id);
    }
}

/// The request that a `notifications/cancelled` is about.
pub(super) fn cancelled_id(params: Option<&RawValue>) -> Option<Id> {
    let params = Object::parse(params?.get()).ok()?;
    Id::parse(params.get("requestId")?).ok()
}

/// Several messages at once, which only 2025-03-26 knows. They run side by side; what servers
/// say meanwhile is not passed on.
pub(super) async fn batch(front: &Front, speaker: Speaker<'_>, text: &str, line: &Line) -> Answer {
    let items: Vec<&RawValue> = match serde_json::from_str::<Vec<&RawValue>>(text) {
        Ok(items) if items.is_empty() => return refused("an empty batch asks for nothing"),
        Ok(items) if items.len() > front.limits.batch => {
            let limit = front.limits.batch;
            return refused(format!("a batch has no more than {limit} messages"));
        }
        Ok(items) => items,
        Err(error) => {
            let error = Refused::new(
                StatusCode::BAD_REQUEST,
                code::PARSE_ERROR,
                format!("not a JSON-RPC batch: {error}"),
            );
            return Answer::refused(None, &error);
        }
    };
    line.outlive(&front.survivors);
    let answers = join_all(items.into_iter().map(|item| one_of_batch(front, speaker, item))).await;
    let texts: Vec<String> =
        answers.into_iter().filter_map(|answer| answer.text.map(Text::into_string)).collect();
    if texts.is_empty() {
        return Answer::nothing();
    }
    Answer::said(Text::Whole(format!("[{}]", texts.join(","))))
}

async fn one_of_batch(front: &Front, speaker: Speaker<'_>, item: &RawValue) -> Answer {
    match Message::parse(item.get()) {
        Ok(message) => take(front, speaker, message, &Line::new(Carrier::AnswerOnly)).await,
        Err(invalid) => {
            let refused = Refused { status: StatusCode::BAD_REQUEST, error: invalid.error };
            Answer::refused(invalid.id.as_ref(), &refused)
        }
    }
}

pub(super) fn refused(message: impl Into<String>) -> Answer {
    Answer::refused(None, &Refused::invalid(message))
}
