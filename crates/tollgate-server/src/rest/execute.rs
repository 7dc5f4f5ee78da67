//! `POST /v1/tools/execute`: one call and its outcome, which comes alone or, for whoever accepts
//! only events, after all that is said while the call runs.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use tokio::sync::mpsc;
use tollgate_core::call::{self, Kind, Outcome, Retry};
use tollgate_core::json::{self, Object};
use tollgate_core::shaping::{self, Caps};
use tollgate_core::turn::Turn;
use tollgate_engine::caller::{CallError, Caller, Freshness, Late, Reply};
use tollgate_engine::gate;
use tollgate_mcp::client::{self, Progress};
use tollgate_mcp::large::aside;
use tollgate_mcp::meta::ClientFacts;

use super::shown::OutcomeJson;
use crate::accept::Accepts;
use crate::auth::Right;
use crate::body;
use crate::events::{self, Event};
use crate::fields::{Fields, bad, check_query};
use crate::mcp::Front;
use crate::problem::{Problem, Style, retry_after};
use crate::refusal::{self, Plain};
use crate::who::{Who, Wishes};

/// How many events may wait for a client that does not read.
const QUEUE: usize = 64;

pub(crate) async fn execute(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let read = async {
        check_query(&sent.uri, &[])?;
        let body = body::json(&sent, body, &front.limits).await?;
        Order::read(&front, &sent, &body)
    };
    let order = match read.await {
        Ok(order) => order,
        Err(problem) => return problem.response(Style::OpenAi),
    };
    if Accepts::read(&sent.headers) == Accepts::OnlyEvents {
        return streamed(front, order);
    }
    match order.run(&front, None).await {
        Ok(ended) => ended.response(),
        Err(problem) => problem.response(Style::OpenAi),
    }
}

/// Dropping the answer cancels the call.
fn streamed(front: Arc<Front>, order: Order) -> Response {
    let keep_alive = front.limits.keep_alive;
    let (sender, said) = mpsc::channel(QUEUE);
    let ended = async move {
        match order.run(&front, Some(sender)).await {
            Ok(ended) => Event { name: "outcome", id: None, data: ended.outcome },
            Err(problem) => Event { name: "error", id: None, data: problem.open_ai() },
        }
    };
    events::response(events::before(ended, said, heard), keep_alive)
}

fn heard(event: client::Event) -> Option<Event> {
    match event {
        client::Event::Progress(params) => {
            Some(Event { name: "progress", id: None, data: params.to_text() })
        }
        client::Event::Log(params) => {
            Some(Event { name: "log", id: None, data: params.get().to_owned() })
        }
        client::Event::Announcement(message) => {
            Some(Event::new("announcement", &serde_json::json!({ "message": &*message })))
        }
        // Nobody is there to answer, and dropping it says so.
        client::Event::Question(_) => None,
    }
}

/// A call that is over.
struct Ended {
    /// As JSON.
    outcome: String,
    /// Of one that was not run for now.
    refusal: Option<CallRefusal>,
}

/// Why a call was not run, and when to come back.
struct CallRefusal {
    status: StatusCode,
    retry_after: Duration,
}

impl CallRefusal {
    /// Made too often; or its server has no room for it, or rests.
    fn of(outcome: &Outcome) -> Option<Self> {
        let status = match outcome.status {
            call::Status::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            call::Status::Offline => StatusCode::SERVICE_UNAVAILABLE,
            _ => return None,
        };
        match outcome.retry {
            Retry::Sensible { after: Some(retry_after), .. } => Some(Self { status, retry_after }),
            Retry::Sensible { after: None, .. } | Retry::Pointless => None,
        }
    }
}

impl Ended {
    fn response(self) -> Response {
        let mut response = ([(CONTENT_TYPE, "application/json")], self.outcome).into_response();
        if let Some(refusal) = self.refusal {
            *response.status_mut() = refusal.status;
            retry_after(response.headers_mut(), refusal.retry_after);
        }
        response
    }
}

const KEYS: &[&str] = &["name", "arguments", "agent", "tier", "late", "consumer", "also"];

/// A call that was asked for by someone who may.
struct Order {
    turn: Turn,
    name: String,
    params: Object<'static>,
    caps: Caps,
    /// Who else is to get the outcome of this one run.
    also: Vec<(&'static str, Caps)>,
    freshness: Freshness,
    late: Late,
}

impl Order {
    fn read(front: &Front, sent: &Parts, body: &[u8]) -> Result<Self, Problem> {
        let asked = Fields::read(body, KEYS)?;
        let name = asked.needed_text("name")?;
        let late = match asked.flag("late")? {
            Some(true) => Late::Delivered,
            Some(false) | None => Late::Dropped,
        };
        let caps = match asked.text("consumer")? {
            Some(name) => consumer("consumer", &name)?.1,
            None => Caps::mcp(),
        };
        let also = others(asked.texts("also")?.unwrap_or_default())?;
        let wishes = Wishes { agent: asked.text("agent")?, tier: asked.tier("tier")? };
        let who = Who::read(&front.keys, sent, wishes)?;
        let turn = who.turn::<Problem>(&front.gate)?;
        who.rights.need(Right::Execute)?;
        let mut params = Object::new();
        params.set_string("name", &name);
        if let Some(arguments) = asked.raw("arguments") {
            params.set("arguments", arguments.to_owned());
        }
        Ok(Self { turn, name, params, caps, also, freshness: freshness(sent), late })
    }

    async fn run(self, front: &Front, events: Option<client::Events>) -> Result<Ended, Problem> {
        let Self { turn, name, params, caps, also, freshness, late } = self;
        let (progress, log_level) = match events {
            Some(_) => (Progress::Wanted, Some("info".to_owned())),
            None => (Progress::Unwanted, None),
        };
        let client = ClientFacts { log_level, ..ClientFacts::default() };
        let taken = if also.is_empty() { caps } else { gate::whole(caps) };
        let silent = Caller::silent(&client);
        let caller = Caller { events, progress, caps: taken, freshness, late, ..silent };
        let request = call::Request { kind: Kind::CallTool, params };
        let outcome = settled(front.gate.call(&turn, request, caller).await)?;
        let refusal = CallRefusal::of(&outcome);
        let gate = Arc::clone(&front.gate);
        let outcome = aside(outcome.result.get().len(), move || {
            let written = |outcome: &Outcome, caps: Caps| {
                let spoken = gate::spoken(&turn, &name, outcome, caps.wording);
                OutcomeJson::new(outcome, &spoken, caps.wording).to_text()
            };
            if also.is_empty() {
                return written(&outcome, caps);
            }
            let consumers: Vec<Caps> =
                iter::once(caps).chain(also.iter().map(|(_, caps)| *caps)).collect();
            let shaped = gate.reshaped(&turn, (&name, &outcome), &consumers);
            let mut all = shaped.iter().zip(&consumers).map(|(it, caps)| written(it, *caps));
            let first = all.next().unwrap_or_default();
            together(&first, also.iter().map(|(name, _)| *name).zip(all))
        });
        Ok(Ended { outcome: outcome.await, refusal })
    }
}

/// Whether an answer that was kept will do.
pub(super) fn freshness(sent: &Parts) -> Freshness {
    match sent.headers.contains_key("x-tollgate-no-cache") {
        true => Freshness::Fresh,
        false => Freshness::Any,
    }
}

/// What became of one call, if it was one.
pub(super) fn settled(reply: Result<Reply, CallError>) -> Result<Outcome, Problem> {
    match reply {
        Ok(Reply::Tool(outcome)) => Ok(outcome),
        Ok(Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_)) => {
            let message = "the tool needs a conversation, and this is a single call";
            Ok(shaping::failure(call::Status::Error, message, Duration::ZERO))
        }
        Err(error) => match refusal::plain(&error) {
            Plain::Outcome { status, message } => {
                Ok(shaping::failure(status, &message, Duration::ZERO))
            }
            Plain::Problem(problem) => Err(problem),
        },
    }
}

/// Who will use the result, and so how much of it is of use.
fn consumer(key: &str, name: &str) -> Result<(&'static str, Caps), Problem> {
    let found = Caps::TABLE.iter().find(|(known, _)| *known == name);
    found.copied().ok_or_else(|| {
        let known: Vec<&str> = Caps::TABLE.iter().map(|(name, _)| *name).collect();
        bad(format!("`{key}` is one of {}", known.join(", ")))
    })
}

/// Each once, in the order in which they were named.
fn others(names: Vec<String>) -> Result<Vec<(&'static str, Caps)>, Problem> {
    let mut others: Vec<(&'static str, Caps)> = Vec::new();
    for name in names {
        let other = consumer("also", &name)?;
        if !others.iter().any(|(known, _)| *known == other.0) {
            others.push(other);
        }
    }
    Ok(others)
}

/// The outcome of the first with those of the others in it, by their names; all are JSON objects.
fn together(first: &str, others: impl Iterator<Item = (&'static str, String)>) -> String {
    let mut also = Object::new();
    for (name, outcome) in others {
        also.set(name, json::raw(outcome));
    }
    let mut object = Object::parse(first).unwrap_or_default().into_owned();
    object.set("also", also.to_raw());
    object.to_text()
}
