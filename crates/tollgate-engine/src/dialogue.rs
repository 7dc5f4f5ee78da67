//! Questions (elicitation, sampling) that a server asks during a call, and how they reach the
//! caller.
//!
//! Legacy servers ask while they work; modern ones return `input_required` and are called again.
//! Legacy clients are asked live; modern ones retry with answers. All four pairs are handled here.

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

/// Events of one call that may be queued for a slow reader.
pub(crate) const EVENT_QUEUE: usize = 64;
/// How long a person may take to answer, regardless of the tool's own limits.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

/// A pending answer of a backend.
pub(crate) type AnswerFuture<'r> =
    Pin<&'r mut (dyn Future<Output = Result<Answer, BackendError>> + Send)>;

/// The next event of a call.
pub(crate) enum DialogueStep {
    Ended(Result<Answer, BackendError>),
    Question(Question),
    TimedOut,
}

/// Waits for the next event, and forwards progress and logs meanwhile.
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
                    return DialogueStep::Question(question);
                }
            }
            ended = &mut *running => {
                // Events sent before the answer are delivered before it.
                while let Ok(event) = events.try_recv() {
                    pass_on(event, listener);
                }
                return DialogueStep::Ended(ended);
            }
            () = tokio::time::sleep_until(until.into()) => return DialogueStep::TimedOut,
        }
    }
}

/// A slow reader loses progress events, not the call.
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

/// The timer of a call. It is paused while a person is asked; the turn's wall is not.
pub(crate) struct CallTimer<'c> {
    pub(crate) clock: &'c dyn Clock,
    pub(crate) deadline: Instant,
    pub(crate) wall: Option<Instant>,
    /// Whether it was ever paused.
    pub(crate) stood_still: bool,
}

impl CallTimer<'_> {
    pub(crate) fn until(&self) -> Instant {
        self.wall.map_or(self.deadline, |wall| wall.min(self.deadline))
    }

    /// Runs `asking` with the timer paused.
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

/// How a call with questions ended.
pub(crate) enum DialogueEnd {
    Answered(Result<Answer, BackendError>),
    TimedOut,
}

/// A caller that receives events and can be asked live, as far as its capabilities allow.
pub(crate) struct LiveCaller<'h> {
    pub(crate) client: &'h ClientFacts,
    pub(crate) events: &'h ServerEventSender,
    /// Signals while an answer is awaited.
    pub(crate) waits: watch::Sender<WaitsFor>,
}

impl LiveCaller<'_> {
    /// The question, if this caller can be asked; otherwise it gets the default answer.
    fn accept_question(&self, question: Question) -> Option<Question> {
        let Question { method, params, .. } = &question;
        if missing_capability(self.client, method, params.as_deref()).is_none() {
            return Some(question);
        }
        // The server may no longer wait for it.
        let _ = question.reply.send(default_answer(&question.method));
        None
    }
}

/// The answer to a question if nobody can be asked.
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

/// Runs a call of a legacy server for a caller that can be asked live.
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
                DialogueStep::Question(question) => match caller.accept_question(question) {
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
                        DialogueStep::Question(another) => waiting.extend(caller.accept_question(another)),
                        // The server no longer waits for the answer.
                        DialogueStep::Ended(ended) => return Some(DialogueEnd::Answered(ended)),
                        DialogueStep::TimedOut => return Some(DialogueEnd::TimedOut),
                    },
                }
            }
        };
        caller.waits.send_replace(WaitsFor::Person);
        let answer = timer.run_paused(ask).await;
        caller.waits.send_replace(WaitsFor::Server);
        match answer {
            None => return DialogueEnd::TimedOut,
            Some(Some(ended)) => return ended,
            Some(None) => {}
        }
    }
}

/// Asks a live caller one question.
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

/// Whether the client supports URL elicitation.
pub(crate) fn takes_urls(client: &ClientFacts) -> bool {
    let url = json::raw("{\"mode\":\"url\"}".to_owned());
    missing_capability(client, "elicitation/create", Some(&url)).is_none()
}

/// The capability that the client lacks to be asked this, in the form of `clientCapabilities`;
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
            // A client that names no mode supports forms.
            modes.contains(part) || part == "form" && !modes.contains("url")
        }),
    };
    let inner = match part {
        Some(part) if part == "url" || declared.is_some() => format!("{{\"{part}\":{{}}}}"),
        _ => "{}".to_owned(),
    };
    (!has).then(|| (capability, json::raw(format!("{{\"{capability}\":{inner}}}"))))
}
