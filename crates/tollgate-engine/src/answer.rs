//! From how a call came out of its backend to what the gate replies. A tool that failed, hung or
//! is away becomes an outcome with a text that helps the model; nothing here is an exception.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tollgate_core::call::{Handle, Kind, ORIGIN_META, Origin, Outcome, Retry, Source, Status};
use tollgate_core::json::{self, Object};
use tollgate_core::lease::Revoked;
use tollgate_core::mask::Masker;
use tollgate_core::plan::Planned;
use tollgate_core::policy::Permitted;
use tollgate_core::rate::whole_seconds;
use tollgate_core::sanitize::{self, Sanitized};
use tollgate_core::secret_values;
use tollgate_core::shaping::{self, Consumer, Shaped};
use tollgate_core::tool::Tool;
use tollgate_core::tool::hidden::Removed;
use tollgate_core::turn::{Actor, Turn};
use tollgate_mcp::client::{Answer, AnswerKind};
use tollgate_mcp::code::{self, ErrorObject};
use tollgate_mcp::large::{LARGE, aside};
use tollgate_mcp::meta::TASKS_EXTENSION;

use crate::audit::Unwritten;
use crate::backend::Failure;
use crate::caller::{CallError, Caller, Dialogue, Reply, Rest};
use crate::dialogue;
use crate::dialogue::rounds::{self, Asking};
use crate::executor::Ran;
use crate::limits::Exceeded;
use crate::results::{Kept, Results};
use crate::reuse::Reused;
use crate::settings::ResultForm;
use crate::tickets::Tickets;

/// Of an error that a server reports.
const MESSAGE_BYTES: usize = 16 << 10;
const DATA_BYTES: usize = 64 << 10;
/// Where a result says whether it is from before.
const CACHE_META: &str = "dev.tollgate/cache";

/// Everything that is known about a call when it is over.
pub(crate) struct Finish<'f> {
    pub(crate) planned: &'f Planned<'f>,
    pub(crate) caller: &'f Caller<'f>,
    pub(crate) took: Duration,
    pub(crate) reused: Reused,
    pub(crate) actor: &'f Actor,
    pub(crate) results: &'f Results,
    pub(crate) tickets: Tickets<'f>,
    /// Takes secrets out of what the server said; `None`: it goes on as it is.
    pub(crate) masker: Option<Arc<Masker>>,
    /// Whose words an answer is.
    pub(crate) origin: &'f Origin,
    pub(crate) form: ResultForm,
}

/// A tool call that ended before anything was sent.
pub(crate) fn failed(status: Status, message: &str) -> Reply {
    Reply::Tool(shaping::failure(status, message, Duration::ZERO))
}

/// A call whose arguments must not reach a server.
pub(crate) fn secretive() -> Reply {
    let message = "this was not run: there is a secret in its arguments; take it out, and name it \
                   instead";
    Reply::Tool(shaping::failure(Status::Denied, message, Duration::ZERO))
}

/// A call that was stopped. Whoever lost only the tool can go on without it.
pub(crate) fn revoked(turn: &Turn, why: Revoked) -> Result<Reply, CallError> {
    match turn.lease.ended() {
        Some(_) => Err(CallError::Revoked(why)),
        None => Ok(failed(Status::Denied, &format!("this call was stopped: {why}"))),
    }
}

/// A call that may change something and was not run, since nobody could know of it later.
pub(crate) fn unwritten(request: &Permitted<'_>, why: &Unwritten) -> Result<Reply, CallError> {
    let Some(tool) = request.tool() else {
        return Err(CallError::Unanswered { message: format!("this was not done: {why}") });
    };
    Ok(Reply::Tool(not_run(tool, why)))
}

pub(crate) fn not_run(tool: &Tool, why: &Unwritten) -> Outcome {
    let message = format!("`{}` was not run: {why}", tool.exposed);
    let hint = Some("try again when the operator has mended it".to_owned());
    let outcome = shaping::failure(Status::Error, &message, Duration::ZERO);
    Outcome { retry: Retry::Sensible { hint, after: None }, ..outcome }
}

/// A call that was agreed to when its tool was no longer what it had been.
pub(crate) fn moved(tool: &Tool) -> Outcome {
    let message = format!(
        "`{}` was not run: it was changed, withheld or taken away while the call waited for leave",
        tool.exposed
    );
    let hint = Some("list the tools again, and ask again if it is there".to_owned());
    let outcome = shaping::failure(Status::Denied, &message, Duration::ZERO);
    Outcome { retry: Retry::Sensible { hint, after: None }, ..outcome }
}

/// A call that ran, and whose row is not on the disk. Its answer does not leave.
pub(crate) fn unrecorded(
    reply: Result<Reply, CallError>,
    why: &Unwritten,
) -> Result<Reply, CallError> {
    match reply? {
        Reply::Tool(outcome) => Ok(Reply::Tool(withheld(&outcome, why))),
        Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_) => {
            Err(CallError::Unanswered { message: had_its_effect(why) })
        }
    }
}

/// The same of a tool call.
pub(crate) fn withheld(outcome: &Outcome, why: &Unwritten) -> Outcome {
    let instead = shaping::failure(Status::Error, &had_its_effect(why), outcome.duration);
    Outcome { retry: Retry::Pointless, ..instead }
}

fn had_its_effect(why: &Unwritten) -> String {
    let message = "the call had its effect, do not repeat it; its answer is withheld";
    format!("{message}, because {why}")
}

/// A tool call that some limit forbids for now.
pub(crate) fn exceeded(exceeded: &Exceeded) -> Outcome {
    let after = exceeded.retry_after();
    let hint = Some(format!("try again in {} s", whole_seconds(after)));
    let outcome = shaping::failure(Status::RateLimited, &exceeded.to_string(), Duration::ZERO);
    Outcome { retry: Retry::Sensible { hint, after: Some(after) }, ..outcome }
}

impl Finish<'_> {
    pub(crate) async fn reply(&self, ran: Ran) -> Result<Reply, CallError> {
        match ran {
            Ran::Answered(Ok(answer)) => self.answered(answer).await,
            Ran::Answered(Err(failure)) => self.failed(failure),
            Ran::InputRequired(result) => Ok(Reply::InputRequired(result)),
            Ran::TimedOut => self.timed_out(),
        }
    }

    fn timed_out(&self) -> Result<Reply, CallError> {
        let limit = self.planned.span().as_millis();
        let what = format!("`{}` did not answer within {limit} ms", self.name());
        self.unanswered(Status::Timeout, what, None)
    }

    async fn answered(&self, answer: Answer) -> Result<Reply, CallError> {
        let request = self.planned.permitted();
        match (answer.kind, request.tool()) {
            (AnswerKind::Complete, Some(tool)) => {
                // Reading a large answer takes its time too; the turn does not wait for that.
                let wall = self.planned.wall().filter(|_| answer.result.get().len() > LARGE);
                let shaping = self.shaped(tool, answer.result);
                match wall {
                    None => Ok(Reply::Tool(shaping.await)),
                    Some(wall) => {
                        match tokio::time::timeout_at(wall.instant().into(), shaping).await {
                            Ok(outcome) => Ok(Reply::Tool(outcome)),
                            Err(_) => self.timed_out(),
                        }
                    }
                }
            }
            (AnswerKind::Complete, None) => match Object::parse(answer.result.get()) {
                Err(_) => self.refused_answer("a result that cannot be read"),
                Ok(_) if json::is_deeper_than(self.caller.caps.depth, answer.result.get()) => {
                    self.refused_answer("a result that is nested too deeply")
                }
                Ok(_) => Ok(Reply::Result(self.attributed(answer.result).await)),
            },
            (AnswerKind::Task, _) if matches!(request.kind(), Kind::Task(_)) => {
                Ok(Reply::Result(self.attributed(answer.result).await))
            }
            (AnswerKind::Task, Some(tool)) if self.caller.client.has_extension(TASKS_EXTENSION) => {
                match self.tickets.close(tool, &answer.result) {
                    Some(task) => Ok(Reply::Task(self.attributed(task).await)),
                    None => self.refused_answer("a task without an id"),
                }
            }
            (AnswerKind::Task, _) => self.refused_answer("a task, which nobody asked for"),
            (AnswerKind::InputRequired, _) => {
                self.refused_answer("a question, and nobody is there to answer it")
            }
        }
    }

    /// Any other answer than a tool's, clean, with whose it is in its `_meta`.
    async fn attributed(&self, result: Box<RawValue>) -> Box<RawValue> {
        let (size, form, masker) = (result.get().len(), self.form, self.masker.clone());
        let clean = move || cleaned(form, masker.as_deref(), result);
        let Cleaned { result, raw, removed } = aside(size, clean).await;
        self.results.count_removed(&removed);
        let raw = raw.zip(self.spare(size));
        let handle = raw.as_ref().map(|(_, handle)| *handle);
        let origin = Origin { removed, raw: handle, ..self.origin.clone() };
        let attributed = with_origin(&result, &origin);
        if let Some((raw, handle)) = raw {
            let whole = Outcome { result, handle: Some(handle), ..shaping::stated("") };
            let outcome = Outcome { origin: Some(origin), ..whole };
            let (tool, page_bytes) = (self.name(), self.caller.caps.page_bytes);
            self.results.keep(self.actor, Kept { tool, outcome, page_bytes, raw: Some(raw) });
        }
        attributed
    }

    /// A handle for a result of this size, where its caller can come back for it.
    fn spare(&self, size: usize) -> Option<Handle> {
        match self.caller.rest {
            Rest::Readable => self.results.spare(size),
            Rest::Lost => None,
        }
    }

    /// What is too much for the caller stays here, behind a handle, if it can be read there.
    async fn shaped(&self, tool: &Arc<Tool>, result: Box<RawValue>) -> Outcome {
        let (size, caps, took) = (result.get().len(), self.caller.caps, self.took);
        let spare = self.spare(size);
        let (called, masker, form) = (Arc::clone(tool), self.masker.clone(), self.form);
        let shape = move || {
            let Cleaned { result, raw, removed } = cleaned(form, masker.as_deref(), result);
            let consumer = Consumer { caps: &caps, spare };
            (shaping::shape(&called, result, took, consumer), raw, removed)
        };
        let (Shaped { outcome, rest }, raw, removed) = aside(size, shape).await;
        self.results.count_removed(&removed);
        let raw_handle = raw.as_ref().and(spare);
        let origin = Origin { removed, raw: raw_handle, ..self.origin.clone() };
        let outcome = self.marked(Outcome { origin: Some(origin.clone()), ..outcome });
        let whole = match rest {
            Some(rest) => Some(self.marked(Outcome { origin: Some(origin), ..rest })),
            None => raw_handle.map(|handle| Outcome { handle: Some(handle), ..outcome.clone() }),
        };
        if let Some(whole) = whole {
            let (tool, page_bytes) = (tool.exposed.to_string(), caps.page_bytes);
            self.results.keep(self.actor, Kept { tool, outcome: whole, page_bytes, raw });
        }
        outcome
    }

    /// Says whether the answer is from before, and of both kinds for how long such a one is good.
    fn marked(&self, outcome: Outcome) -> Outcome {
        let (source, mark) = match self.reused {
            Reused::Not => return outcome,
            Reused::From { age, good_for } => {
                let (age, good_for) = (age.as_millis(), good_for.as_millis());
                let mark = format!("{{\"hit\":true,\"ageMs\":{age},\"ttlMs\":{good_for}}}");
                (Source::Cached, mark)
            }
            Reused::Kept { good_for } => {
                (Source::Fresh, format!("{{\"hit\":false,\"ttlMs\":{}}}", good_for.as_millis()))
            }
        };
        let mut result = Object::parse(outcome.result.get()).unwrap_or_default();
        let mut meta = result.object("_meta").unwrap_or_default().into_owned();
        meta.set(CACHE_META, json::raw(mark));
        result.set("_meta", meta.to_raw());
        let result = result.to_raw();
        Outcome { source, result, ..outcome }
    }

    fn refused_answer(&self, what: &str) -> Result<Reply, CallError> {
        let message = format!("`{}` answered with {what}", self.name());
        self.unanswered(Status::Error, message, None)
    }

    fn failed(&self, failure: Failure) -> Result<Reply, CallError> {
        let server = self.planned.permitted().server();
        let (status, message, hint): (Status, String, Option<String>) = match failure {
            Failure::Refused(error) => return self.upstream_error(error),
            Failure::Offline { state, reason } => {
                (Status::Offline, format!("server `{server}` is {state}: {reason}"), None)
            }
            Failure::Resting { reason, retry_after } => {
                let hint = format!("try again in {} s", retry_after.as_secs().max(1));
                (Status::Offline, format!("server `{server}` is resting: {reason}"), Some(hint))
            }
            Failure::Lost(why) | Failure::Unusable(why) => {
                let what = format!(
                    "server `{server}` broke off before it answered ({why}); whether the call had \
                     its effect is not known"
                );
                (Status::Error, what, None)
            }
            Failure::Unauthorized(why) => {
                (Status::Error, format!("server `{server}` refused our credentials: {why}"), None)
            }
            Failure::TooLarge { limit } => {
                let what = format!("the answer of `{}` is larger than {limit} bytes", self.name());
                (Status::Error, what, Some("ask for less".to_owned()))
            }
        };
        // How it ended may be told in words of its own.
        self.unanswered(status, plain(message), hint)
    }

    /// The server's own error goes on as it is, but a URL that must be visited first becomes a
    /// question where the caller can be asked one.
    fn upstream_error(&self, error: ErrorObject) -> Result<Reply, CallError> {
        let asks = error.code == code::URL_ELICITATION_REQUIRED
            && matches!(self.caller.dialogue, Dialogue::Rounds(_))
            && dialogue::takes_urls(self.caller.client);
        match asks.then(|| url_questions(error.data.as_deref())).flatten() {
            Some(questions) => Ok(Reply::InputRequired(rounds::input_required(&questions, None))),
            None => Err(CallError::Upstream(self.bounded(error))),
        }
    }

    /// An error is read by people and models: what is too much for them is left out.
    fn bounded(&self, mut error: ErrorObject) -> ErrorObject {
        if error.message.len() > MESSAGE_BYTES {
            error.message.truncate(error.message.floor_char_boundary(MESSAGE_BYTES));
            error.message.push_str(" [cut]");
        }
        let fits = |data: &str| {
            data.len() <= DATA_BYTES && !json::is_deeper_than(self.caller.caps.depth, data)
        };
        error.data = error.data.filter(|data| fits(data.get()));
        if self.form == ResultForm::Clean {
            error.message = plain(error.message);
        }
        let masker = self.masker.as_deref();
        error.message = masker.and_then(|it| it.text(&error.message)).unwrap_or(error.message);
        error.data = error.data.map(|data| cleaned(self.form, masker, data).result);
        error
    }

    fn unanswered(
        &self,
        status: Status,
        message: String,
        hint: Option<String>,
    ) -> Result<Reply, CallError> {
        // A reason may hold what the system says of an address or of a command.
        let message = secret_values::masked(message);
        let Some(tool) = self.planned.permitted().tool() else {
            return Err(CallError::Unanswered { message });
        };
        let outcome = shaping::failure(status, &message, self.took);
        let retry = match hint {
            Some(_) => Retry::Sensible { hint, after: None },
            // It may have had its effect all the same.
            None if status == Status::Timeout && !tool.terms.idempotent => Retry::Pointless,
            None => outcome.retry,
        };
        Ok(Reply::Tool(Outcome { retry, ..outcome }))
    }

    fn name(&self) -> String {
        let request = self.planned.permitted();
        match request.tool() {
            Some(tool) => tool.exposed.to_string(),
            None => request.server().to_string(),
        }
    }
}

/// An answer as models get it.
struct Cleaned {
    result: Box<RawValue>,
    /// As the server sent it, if that is something else.
    raw: Option<Box<RawValue>>,
    removed: Removed,
}

/// Hidden text goes first: secrets that are broken up by it would not be known again.
fn cleaned(form: ResultForm, masker: Option<&Masker>, result: Box<RawValue>) -> Cleaned {
    let sanitized = match form {
        ResultForm::Clean => sanitize::json(result.get()),
        ResultForm::Raw => None,
    };
    match sanitized {
        None => Cleaned { result: masked(masker, result), raw: None, removed: Removed::default() },
        Some(Sanitized { text, removed }) => {
            let raw = Some(masked(masker, result));
            Cleaned { result: masked(masker, json::raw(text)), raw, removed }
        }
    }
}

fn plain(text: String) -> String {
    sanitize::text(&text).map_or(text, |sanitized| sanitized.text)
}

/// The result with whose it is in its `_meta`, whatever the server itself put there.
fn with_origin(result: &RawValue, origin: &Origin) -> Box<RawValue> {
    let Ok(mut result) = Object::parse(result.get()) else { return result.to_owned() };
    let mut meta = result.object("_meta").unwrap_or_default().into_owned();
    meta.set(ORIGIN_META, origin.to_object().to_raw());
    result.set("_meta", meta.to_raw());
    result.to_raw()
}

fn masked(masker: Option<&Masker>, result: Box<RawValue>) -> Box<RawValue> {
    match masker.and_then(|masker| masker.json(result.get())) {
        Some(masked) => json::raw(masked),
        None => result,
    }
}

fn url_questions(data: Option<&RawValue>) -> Option<Vec<Asking>> {
    let data = Object::parse(data?.get()).ok()?;
    let items: Vec<&RawValue> = serde_json::from_str(data.get("elicitations")?.get()).ok()?;
    let asking = |(at, item): (usize, &RawValue)| {
        let item = Object::parse(item.get()).ok()?;
        let mut params = Object::new();
        params.set_string("mode", "url");
        params.set_string("url", &item.string("url")?);
        params.set_string("message", &item.string("message").unwrap_or_default());
        Some(Asking {
            key: format!("u{}", at + 1),
            method: "elicitation/create".to_owned(),
            params: Some(json::raw(params.to_text())),
        })
    };
    let questions: Vec<Asking> =
        items.into_iter().enumerate().map(asking).collect::<Option<_>>()?;
    (!questions.is_empty()).then_some(questions)
}
