//! Questions that a server asks in the middle of a call, and how they reach whoever called.
//!
//! Legacy servers ask while they work; modern ones answer `input_required` and are asked again.
//! Legacy clients are asked live; modern ones come back with answers. All four pairs meet here.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};
use tollgate_core::json::{self, Object};
use tollgate_mcp::client::{Answer, Event, Question, ServerEventSender};
use tollgate_mcp::error_code::{self, JsonRpcError};
use tollgate_mcp::meta::ClientFacts;

use crate::backend::{BackendError, WaitsFor};
use crate::clock::Clock;

pub(crate) mod parking;
pub(crate) mod rounds;

/// How many events of one call may wait for their reader.
pub(crate) const EVENT_QUEUE: usize = 64;
/// How long a person may take to answer, whatever the tool's own limits.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

/// A backend's answer still to come.
pub(crate) type AnswerFuture<'r> =
    Pin<&'r mut (dyn Future<Output = Result<Answer, BackendError>> + Send)>;

/// What happens next in a call that is watched.
pub(crate) enum DialogueStep {
    Ended(Result<Answer, BackendError>),
    Asked(Question),
    TimedOut,
}

/// Waits for the next thing to happen, passing progress and logs on meanwhile.
pub(crate) async fn step(
    running: &mut AnswerFuture<'_>,
    events: &mut mpsc::Receiver<Event>,
    listener: Option<&ServerEventSender>,
    until: Instant,
) -> DialogueStep {
    loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => {
                if let Some(question) = pass_on(event, listener) {
                    return DialogueStep::Asked(question);
                }
            }
            ended = &mut *running => {
                // What was said before the answer is heard before it.
                while let Ok(event) = events.try_recv() {
                    pass_on(event, listener);
                }
                return DialogueStep::Ended(ended);
            }
            () = tokio::time::sleep_until(until.into()) => return DialogueStep::TimedOut,
        }
    }
}

/// A slow reader loses progress, not the call.
fn pass_on(event: Event, listener: Option<&ServerEventSender>) -> Option<Question> {
    match event {
        Event::Question(question) => Some(question),
        told => {
            if let Some(listener) = listener {
                let _ = listener.try_send(told);
            }
            None
        }
    }
}

/// The clock of a call. It stands still while a person is asked; the turn's wall does not.
pub(crate) struct CallTimer<'c> {
    pub(crate) clock: &'c dyn Clock,
    pub(crate) deadline: Instant,
    pub(crate) wall: Option<Instant>,
    /// Whether anybody was asked.
    pub(crate) stood_still: bool,
}

impl CallTimer<'_> {
    pub(crate) fn until(&self) -> Instant {
        self.wall.map_or(self.deadline, |wall| wall.min(self.deadline))
    }

    /// Runs `asking` off the clock of the call.
    pub(crate) async fn run_paused<T>(&mut self, asking: impl Future<Output = T>) -> Option<T> {
        self.stood_still = true;
        let began = self.clock.now();
        let patience = began + ANSWER_TIMEOUT;
        let limit = self.wall.map_or(patience, |wall| wall.min(patience));
        let answer = tokio::time::timeout_at(limit.into(), asking).await.ok();
        self.deadline += self.clock.now().saturating_duration_since(began);
        answer
    }
}

/// How a watched call ended.
pub(crate) enum DialogueEnd {
    Answered(Result<Answer, BackendError>),
    TimedOut,
}

/// A caller that listens, and can be asked live what it declared.
pub(crate) struct LiveCaller<'h> {
    pub(crate) client: &'h ClientFacts,
    pub(crate) events: &'h ServerEventSender,
    /// Told while an answer is waited for.
    pub(crate) waits: watch::Sender<WaitsFor>,
}

impl LiveCaller<'_> {
    /// The question, if this caller can be asked it; else it is answered as nobody would.
    fn accept_question(&self, question: Question) -> Option<Question> {
        let Question { method, params, .. } = &question;
        if missing_capability(self.client, method, params.as_deref()).is_none() {
            return Some(question);
        }
        // A server that stopped waiting does not need it.
        let _ = question.reply.send(default_answer(&question.method));
        None
    }
}

/// The answer to a question that nobody is there for.
pub(crate) fn default_answer(method: &str) -> Result<Box<RawValue>, JsonRpcError> {
    match method {
        "roots/list" => Ok(json::raw("{\"roots\":[]}".to_owned())),
        "elicitation/create" => Ok(json::raw("{\"action\":\"cancel\"}".to_owned())),
        other => {
            let message = format!("the client does not support `{other}`");
            Err(JsonRpcError::new(error_code::METHOD_NOT_FOUND, message))
        }
    }
}

/// Watches a call of a legacy server for a caller that listens.
pub(crate) async fn live(
    mut running: AnswerFuture<'_>,
    events: &mut mpsc::Receiver<Event>,
    caller: &LiveCaller<'_>,
    timer: &mut CallTimer<'_>,
) -> DialogueEnd {
    let mut waiting = VecDeque::new();
    loop {
        let question = match waiting.pop_front() {
            Some(question) => question,
            None => match step(&mut running, events, Some(caller.events), timer.until()).await {
                DialogueStep::Ended(answer) => return DialogueEnd::Answered(answer),
                DialogueStep::TimedOut => return DialogueEnd::TimedOut,
                DialogueStep::Asked(question) => match caller.accept_question(question) {
                    Some(question) => question,
                    None => continue,
                },
            },
        };
        let Question { method, params, reply } = question;
        let far = timer.clock.now() + ANSWER_TIMEOUT * 2;
        let ask = async {
            let answer = ask(caller.events, method, params);
            tokio::pin!(answer);
            loop {
                tokio::select! {
                    biased;
                    answer = &mut answer => { let _ = reply.send(answer); return None; }
                    next = step(&mut running, events, Some(caller.events), far) => match next {
                        DialogueStep::Asked(another) => waiting.extend(caller.accept_question(another)),
                        // The server no longer waits for the answer.
                        DialogueStep::Ended(ended) => return Some(DialogueEnd::Answered(ended)),
                        DialogueStep::TimedOut => return Some(DialogueEnd::TimedOut),
                    },
                }
            }
        };
        caller.waits.send_replace(WaitsFor::Person);
        let asked = timer.run_paused(ask).await;
        caller.waits.send_replace(WaitsFor::Server);
        match asked {
            None => return DialogueEnd::TimedOut,
            Some(Some(ended)) => return ended,
            Some(None) => {}
        }
    }
}

/// Puts one question to a caller that listens.
pub(crate) async fn ask(
    caller: &ServerEventSender,
    method: String,
    params: Option<Box<RawValue>>,
) -> Result<Box<RawValue>, JsonRpcError> {
    let nobody = || JsonRpcError::new(error_code::INTERNAL_ERROR, "the client did not answer");
    let (reply, answer) = oneshot::channel();
    let question = Event::Question(Question { method, params, reply });
    caller.send(question).await.map_err(|_| nobody())?;
    answer.await.unwrap_or_else(|_| Err(nobody()))
}

/// Whether the client can send a person to a URL.
pub(crate) fn takes_urls(client: &ClientFacts) -> bool {
    let url = json::raw("{\"mode\":\"url\"}".to_owned());
    missing_capability(client, "elicitation/create", Some(&url)).is_none()
}

/// The capability that a client needs to be asked this, as `clientCapabilities` would name it;
/// `None` if it has it.
pub(crate) fn missing_capability(
    client: &ClientFacts,
    method: &str,
    params: Option<&RawValue>,
) -> Option<(&'static str, Box<RawValue>)> {
    let (capability, part) = match method {
        "elicitation/create" => {
            let params = params.and_then(|params| Object::parse(params.get()).ok());
            let url = params.is_some_and(|it| it.string("mode").as_deref() == Some("url"));
            ("elicitation", Some(if url { "url" } else { "form" }))
        }
        "sampling/createMessage" => ("sampling", None),
        "roots/list" => ("roots", None),
        _ => return None,
    };
    let declared = client.capability(capability);
    let has = match (&declared, part) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(declared), Some(part)) => Object::parse(declared.get()).is_ok_and(|modes| {
            // Who names no mode can do forms.
            modes.contains(part) || part == "form" && !modes.contains("url")
        }),
    };
    let inner = match part {
        Some(part) if part == "url" || declared.is_some() => format!("{{\"{part}\":{{}}}}"),
        _ => "{}".to_owned(),
    };
    (!has).then(|| (capability, json::raw(format!("{{\"{capability}\":{inner}}}"))))
}
