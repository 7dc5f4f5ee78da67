//! From how a call came out of its backend to what the gate replies. A tool that failed, hung or
//! is away becomes an outcome with a text that helps the model; nothing here is an exception.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tollgate_core::call::{
    CallStatus, ORIGIN_META, Outcome, RequestKind, ResultHandle, ResultOrigin, ResultSource,
    Retryability,
};
use tollgate_core::call_policy::{CallPolicy, ResultForm};
use tollgate_core::json::{self, Object};
use tollgate_core::lease::RevokedError;
use tollgate_core::mask::SecretMasker;
use tollgate_core::plan::Planned;
use tollgate_core::policy::Permitted;
use tollgate_core::rate::whole_seconds;
use tollgate_core::sanitize::{self, SanitizedText};
use tollgate_core::secret_values;
use tollgate_core::shaping::{self, ResultConsumer, ShapedResult};
use tollgate_core::tool::Tool;
use tollgate_core::tool::hidden_text::RemovedCounts;
use tollgate_core::turn::{Actor, Turn};
use tollgate_mcp::answer_budget;
use tollgate_mcp::client::{Answer, AnswerKind};
use tollgate_mcp::error_code::{self, JsonRpcError};
use tollgate_mcp::meta::TASKS_EXTENSION;
use tollgate_mcp::offload::{LARGE, offload_if_large};

use crate::audit::AuditWriteError;
use crate::backend::BackendError;
use crate::caller::{CallError, Caller, Dialogue, OverflowPolicy, Reply};
use crate::dialogue;
use crate::dialogue::rounds::{self, InputQuestion};
use crate::executor::BackendOutcome;
use crate::limits::LimitExceededError;
use crate::results::{ResultStore, StoredResult};
use crate::reuse::CacheUse;
use crate::tickets::TaskTickets;

/// Of an error that a server reports.
const MESSAGE_BYTES: usize = 16 << 10;
const DATA_BYTES: usize = 64 << 10;
/// Where a result says whether it is from before.
const CACHE_META: &str = "dev.tollgate/cache";

/// Everything that is known about a call when it is over.
pub(crate) struct ReplyBuilder<'f> {
    pub(crate) planned: &'f Planned<'f>,
    pub(crate) caller: &'f Caller<'f>,
    pub(crate) took: Duration,
    pub(crate) reused: CacheUse,
    pub(crate) actor: &'f Actor,
    pub(crate) results: &'f ResultStore,
    pub(crate) tickets: TaskTickets<'f>,
    /// Of the turn that made the call.
    pub(crate) policy: &'f CallPolicy,
}

/// A tool call that ended before anything was sent.
pub(crate) fn failure_reply(status: CallStatus, message: &str) -> Reply {
    Reply::Tool(shaping::failure(status, message, Duration::ZERO))
}

/// A call whose arguments must not reach a server.
pub(crate) fn secret_arguments_reply() -> Reply {
    let message = "this was not run because its arguments contain a secret; remove the secret and \
                   refer to it by name";
    Reply::Tool(shaping::failure(CallStatus::Denied, message, Duration::ZERO))
}

/// A call that was stopped. Whoever lost only the tool can go on without it.
pub(crate) fn revocation_reply(
    turn: &Turn,
    why: RevokedError,
    took: Duration,
) -> Result<Reply, CallError> {
    if turn.lease.revocation().is_some() {
        return Err(CallError::Revoked(why));
    }
    let message = format!("this call was cancelled: {why}");
    Ok(Reply::Tool(shaping::failure(CallStatus::Denied, &message, took)))
}

/// A call that may change something and was not run, since nobody could know of it later.
pub(crate) fn refuse_unaudited(
    request: &Permitted<'_>,
    why: &AuditWriteError,
) -> Result<Reply, CallError> {
    let Some(tool) = request.tool() else {
        return Err(CallError::Unanswered { message: format!("this was not done: {why}") });
    };
    Ok(Reply::Tool(not_run_outcome(tool, why)))
}

pub(crate) fn not_run_outcome(tool: &Tool, why: &AuditWriteError) -> Outcome {
    let message = format!("`{}` was not run: {why}", tool.exposed);
    let hint = Some("try again when the operator has fixed it".to_owned());
    let outcome = shaping::failure(CallStatus::Error, &message, Duration::ZERO);
    Outcome { retry: Retryability::Sensible { hint, after: None }, ..outcome }
}

/// A call that was agreed to when its tool was no longer what it had been.
pub(crate) fn tool_changed_outcome(tool: &Tool) -> Outcome {
    let message = format!(
        "`{}` was not run: it was changed, withheld or removed while the call was awaiting \
         approval",
        tool.exposed
    );
    let hint = Some("list the tools again, and repeat the call if the tool is there".to_owned());
    let outcome = shaping::failure(CallStatus::Denied, &message, Duration::ZERO);
    Outcome { retry: Retryability::Sensible { hint, after: None }, ..outcome }
}

/// A call that ran, and whose row is not on the disk. Its answer does not leave.
pub(crate) fn withhold_unrecorded(
    reply: Result<Reply, CallError>,
    why: &AuditWriteError,
) -> Result<Reply, CallError> {
    match reply? {
        Reply::Tool(outcome) => Ok(Reply::Tool(withhold_outcome(&outcome, why))),
        Reply::Result(_) | Reply::InputRequired(_) | Reply::Task(_) => {
            Err(CallError::Unanswered { message: effect_warning(why) })
        }
    }
}

/// The same of a tool call.
pub(crate) fn withhold_outcome(outcome: &Outcome, why: &AuditWriteError) -> Outcome {
    let instead = shaping::failure(CallStatus::Error, &effect_warning(why), outcome.duration);
    Outcome { retry: Retryability::Pointless, ..instead }
}

fn effect_warning(why: &AuditWriteError) -> String {
    let message = "the call took effect, do not repeat it; its result is withheld";
    format!("{message}, because {why}")
}

/// For a call that nobody decided on in time.
pub(crate) fn approval_expired_outcome(tool: &Tool) -> Outcome {
    let message = format!(
        "nobody approved this call of `{}` in time, so it was not made. It can be requested again \
         when somebody is available to approve it",
        tool.exposed
    );
    let outcome = shaping::failure(CallStatus::Denied, &message, Duration::ZERO);
    let hint = Some("try again when somebody is available to approve it".to_owned());
    Outcome { retry: Retryability::Sensible { hint, after: None }, ..outcome }
}

/// A tool call that some limit forbids for now.
pub(crate) fn limit_exceeded_outcome(exceeded: &LimitExceededError) -> Outcome {
    let outcome = shaping::failure(CallStatus::RateLimited, &exceeded.to_string(), Duration::ZERO);
    Outcome { retry: retry_later(exceeded.retry_after()), ..outcome }
}

fn retry_later(after: Duration) -> Retryability {
    let hint = Some(format!("try again in {} s", whole_seconds(after)));
    Retryability::Sensible { hint, after: Some(after) }
}

impl ReplyBuilder<'_> {
    fn form(&self) -> ResultForm {
        self.policy.results.of(self.planned.permitted_request().server()).form
    }

    fn origin(&self) -> ResultOrigin {
        self.policy.results.origin(self.planned.permitted_request().server())
    }

    pub(crate) async fn reply(&self, ran: BackendOutcome) -> Result<Reply, CallError> {
        match ran {
            BackendOutcome::Answered(Ok(answer)) => self.reply_to_answer(answer).await,
            BackendOutcome::Answered(Err(failure)) => self.reply_to_failure(failure),
            BackendOutcome::InputRequired(result) => Ok(Reply::InputRequired(result)),
            BackendOutcome::TimedOut => self.timeout_reply(),
        }
    }

    fn timeout_reply(&self) -> Result<Reply, CallError> {
        let limit = self.planned.span().as_millis();
        let what = format!("`{}` did not answer within {limit} ms", self.name());
        self.reply_without_answer(CallStatus::Timeout, what, None)
    }

    async fn reply_to_answer(&self, answer: Answer) -> Result<Reply, CallError> {
        let request = self.planned.permitted_request();
        match (answer.kind, request.tool()) {
            (AnswerKind::Complete, Some(tool)) => {
                // Reading a large answer takes its time too; the turn does not wait for that.
                let wall = self.planned.wall().filter(|_| answer.result.get().len() > LARGE);
                let shaping = self.shape_result(tool, answer.result);
                match wall {
                    None => Ok(Reply::Tool(shaping.await)),
                    Some(wall) => {
                        match tokio::time::timeout_at(wall.instant().into(), shaping).await {
                            Ok(outcome) => Ok(Reply::Tool(outcome)),
                            Err(_) => self.timeout_reply(),
                        }
                    }
                }
            }
            (AnswerKind::Complete, None) => match Object::parse(answer.result.get()) {
                Err(_) => self.reply_to_bad_answer("an invalid result"),
                Ok(_) if json::is_deeper_than(self.caller.caps.depth, answer.result.get()) => {
                    self.reply_to_bad_answer("a result nested too deeply")
                }
                Ok(_) => Ok(Reply::Result(self.attribute_result(answer.result).await)),
            },
            (AnswerKind::Task, _) if matches!(request.kind(), RequestKind::Task(_)) => {
                Ok(Reply::Result(self.attribute_result(answer.result).await))
            }
            (AnswerKind::Task, Some(tool)) if self.caller.client.has_extension(TASKS_EXTENSION) => {
                match self.tickets.close(tool, &answer.result) {
                    Some(task) => Ok(Reply::Task(self.attribute_result(task).await)),
                    None => self.reply_to_bad_answer("a task without an id"),
                }
            }
            (AnswerKind::Task, _) => self.reply_to_bad_answer("a task that was not requested"),
            (AnswerKind::InputRequired, _) => {
                self.reply_to_bad_answer("a question that this client cannot answer")
            }
        }
    }

    /// Any other answer than a tool's, clean, with whose it is in its `_meta`.
    async fn attribute_result(&self, result: Box<RawValue>) -> Box<RawValue> {
        let size = result.get().len();
        let form = self.form();
        let masker = self.policy.result_masker();
        let clean = move || clean_result(form, masker.as_deref(), result);
        let CleanedResult { result, raw, removed } = offload_if_large(size, clean).await;
        self.results.count_removed(&removed);
        let raw = raw.zip(self.spare(size));
        let handle = raw.as_ref().map(|(_, handle)| *handle);
        let origin = ResultOrigin { removed, raw: handle, ..self.origin() };
        let attributed = with_origin(&result, &origin);
        if let Some((raw, handle)) = raw {
            let whole = Outcome { result, handle: Some(handle), ..shaping::gateway_answer("") };
            let outcome = Outcome { origin: Some(origin), ..whole };
            let tool = self.name();
            let page_bytes = self.caller.caps.page_bytes;
            self.results
                .keep(self.actor, StoredResult { tool, outcome, page_bytes, raw: Some(raw) });
        }
        attributed
    }

    /// A handle for a result of this size, where its caller can come back for it.
    fn spare(&self, size: usize) -> Option<ResultHandle> {
        match self.caller.rest {
            OverflowPolicy::Readable => self.results.spare(size),
            OverflowPolicy::Lost => None,
        }
    }

    /// What is too much for the caller stays here, behind a handle, if it can be read there.
    async fn shape_result(&self, tool: &Arc<Tool>, result: Box<RawValue>) -> Outcome {
        let size = result.get().len();
        let caps = self.caller.caps;
        let took = self.took;
        let spare = self.spare(size);
        let called = Arc::clone(tool);
        let masker = self.policy.result_masker();
        let form = self.form();
        let shape = move || {
            let CleanedResult { result, raw, removed } =
                clean_result(form, masker.as_deref(), result);
            let consumer = ResultConsumer { caps: &caps, spare };
            (shaping::shape(&called, result, took, consumer), raw, removed)
        };
        let (ShapedResult { outcome, rest }, raw, removed) = offload_if_large(size, shape).await;
        self.results.count_removed(&removed);
        let raw_handle = raw.as_ref().and(spare);
        let origin = ResultOrigin { removed, raw: raw_handle, ..self.origin() };
        let outcome = self.add_cache_meta(Outcome { origin: Some(origin.clone()), ..outcome });
        let whole = match rest {
            Some(rest) => Some(self.add_cache_meta(Outcome { origin: Some(origin), ..rest })),
            None => raw_handle.map(|handle| Outcome { handle: Some(handle), ..outcome.clone() }),
        };
        if let Some(whole) = whole {
            let tool = tool.exposed.to_string();
            let page_bytes = caps.page_bytes;
            self.results.keep(self.actor, StoredResult { tool, outcome: whole, page_bytes, raw });
        }
        outcome
    }

    /// Says whether the answer is from before, and of both kinds for how long such a one is good.
    fn add_cache_meta(&self, outcome: Outcome) -> Outcome {
        let (source, mark) = match self.reused {
            CacheUse::Not => return outcome,
            CacheUse::From { age, good_for } => {
                let age = age.as_millis();
                let good_for = good_for.as_millis();
                let mark = format!("{{\"hit\":true,\"ageMs\":{age},\"ttlMs\":{good_for}}}");
                (ResultSource::Cached, mark)
            }
            CacheUse::Stored { good_for } => (
                ResultSource::Fresh,
                format!("{{\"hit\":false,\"ttlMs\":{}}}", good_for.as_millis()),
            ),
        };
        let mut result = Object::parse(outcome.result.get()).unwrap_or_default();
        let mut meta = result.object("_meta").unwrap_or_default().into_owned();
        meta.set(CACHE_META, json::raw(mark));
        result.set("_meta", meta.to_raw());
        let result = result.to_raw();
        Outcome { source, result, ..outcome }
    }

    fn reply_to_bad_answer(&self, what: &str) -> Result<Reply, CallError> {
        let message = format!("`{}` answered with {what}", self.name());
        self.reply_without_answer(CallStatus::Error, message, None)
    }

    fn reply_to_failure(&self, failure: BackendError) -> Result<Reply, CallError> {
        let server = self.planned.permitted_request().server();
        let (status, message, retry): (CallStatus, String, Option<Retryability>) = match failure {
            BackendError::Refused(error) => return self.upstream_error(error),
            BackendError::Offline { state, reason } => {
                (CallStatus::Offline, format!("server `{server}` is {state}: {reason}"), None)
            }
            BackendError::Resting { reason, retry_after } => {
                let message = format!("server `{server}` takes no calls now: {reason}");
                (CallStatus::Offline, message, Some(retry_later(retry_after)))
            }
            BackendError::Lost(why) | BackendError::Unusable(why) => {
                let what = format!(
                    "server `{server}` disconnected before it answered ({why}); the call may or \
                     may not have taken effect"
                );
                (CallStatus::Error, what, None)
            }
            BackendError::Unauthorized(why) => (
                CallStatus::Error,
                format!("server `{server}` rejected the gateway's credentials: {why}"),
                None,
            ),
            BackendError::NoRoom => {
                let what = format!(
                    "the answer of `{}` was not read, because other large answers use the \
                     available memory; the call took effect",
                    self.name()
                );
                let tool = self.planned.permitted_request().tool();
                let again = if tool.is_none_or(|tool| tool.terms.idempotent) {
                    retry_later(answer_budget::RETRY_AFTER)
                } else {
                    Retryability::Pointless
                };
                (CallStatus::Offline, what, Some(again))
            }
            BackendError::TooLarge { limit } => {
                let what = format!("the answer of `{}` is larger than {limit} bytes", self.name());
                let hint = Some("ask for less".to_owned());
                (CallStatus::Error, what, Some(Retryability::Sensible { hint, after: None }))
            }
        };
        // How it ended may be told in words of its own.
        self.reply_without_answer(status, sanitize_text(message), retry)
    }

    /// The server's own error goes on as it is, but a URL that must be visited first becomes a
    /// question where the caller can be asked one.
    fn upstream_error(&self, error: JsonRpcError) -> Result<Reply, CallError> {
        let asks = error.code == error_code::URL_ELICITATION_REQUIRED
            && matches!(self.caller.dialogue, Dialogue::Rounds(_))
            && dialogue::takes_urls(self.caller.client);
        match asks.then(|| url_questions(error.data.as_deref())).flatten() {
            Some(questions) => Ok(Reply::InputRequired(rounds::input_required(&questions, None))),
            None => Err(CallError::Upstream(self.sanitize_error(error))),
        }
    }

    /// An error is read by people and models: what is too much for them is left out.
    fn sanitize_error(&self, mut error: JsonRpcError) -> JsonRpcError {
        if error.message.len() > MESSAGE_BYTES {
            error.message.truncate(error.message.floor_char_boundary(MESSAGE_BYTES));
            error.message.push_str(" [cut]");
        }
        let fits = |data: &str| {
            data.len() <= DATA_BYTES && !json::is_deeper_than(self.caller.caps.depth, data)
        };
        error.data = error.data.filter(|data| fits(data.get()));
        if self.form() == ResultForm::Clean {
            error.message = sanitize_text(error.message);
        }
        let masker = self.policy.result_masker();
        let masker = masker.as_deref();
        error.message = masker.and_then(|it| it.text(&error.message)).unwrap_or(error.message);
        error.data = error.data.map(|data| clean_result(self.form(), masker, data).result);
        error
    }

    fn reply_without_answer(
        &self,
        status: CallStatus,
        message: String,
        retry: Option<Retryability>,
    ) -> Result<Reply, CallError> {
        // A reason may hold what the system says of an address or of a command.
        let message = secret_values::mask_owned(message);
        let Some(tool) = self.planned.permitted_request().tool() else {
            return Err(CallError::Unanswered { message });
        };
        let outcome = shaping::failure(status, &message, self.took);
        let retry = match retry {
            Some(retry) => retry,
            // It may have had its effect all the same.
            None if status == CallStatus::Timeout && !tool.terms.idempotent => {
                Retryability::Pointless
            }
            None => outcome.retry,
        };
        Ok(Reply::Tool(Outcome { retry, ..outcome }))
    }

    fn name(&self) -> String {
        let request = self.planned.permitted_request();
        match request.tool() {
            Some(tool) => tool.exposed.to_string(),
            None => request.server().to_string(),
        }
    }
}

/// An answer as models get it.
struct CleanedResult {
    result: Box<RawValue>,
    /// As the server sent it, if that is something else.
    raw: Option<Box<RawValue>>,
    removed: RemovedCounts,
}

/// Hidden text goes first: secrets that are broken up by it would not be known again.
fn clean_result(
    form: ResultForm,
    masker: Option<&SecretMasker>,
    result: Box<RawValue>,
) -> CleanedResult {
    let sanitized = match form {
        ResultForm::Clean => sanitize::json(result.get()),
        ResultForm::Raw => None,
    };
    match sanitized {
        None => CleanedResult {
            result: mask_result(masker, result),
            raw: None,
            removed: RemovedCounts::default(),
        },
        Some(SanitizedText { text, removed }) => {
            let raw = Some(mask_result(masker, result));
            CleanedResult { result: mask_result(masker, json::raw(text)), raw, removed }
        }
    }
}

fn sanitize_text(text: String) -> String {
    sanitize::text(&text).map_or(text, |sanitized| sanitized.text)
}

/// The result with whose it is in its `_meta`, whatever the server itself put there.
fn with_origin(result: &RawValue, origin: &ResultOrigin) -> Box<RawValue> {
    let Ok(mut result) = Object::parse(result.get()) else { return result.to_owned() };
    let mut meta = result.object("_meta").unwrap_or_default().into_owned();
    meta.set(ORIGIN_META, json::raw(origin.to_text()));
    result.set("_meta", meta.to_raw());
    result.to_raw()
}

fn mask_result(masker: Option<&SecretMasker>, result: Box<RawValue>) -> Box<RawValue> {
    match masker.and_then(|masker| masker.json(result.get())) {
        Some(masked) => json::raw(masked),
        None => result,
    }
}

fn url_questions(data: Option<&RawValue>) -> Option<Vec<InputQuestion>> {
    let data = Object::parse(data?.get()).ok()?;
    let items: Vec<&RawValue> = serde_json::from_str(data.get("elicitations")?.get()).ok()?;
    let asking = |(at, item): (usize, &RawValue)| {
        let item = Object::parse(item.get()).ok()?;
        let mut params = Object::new();
        params.set_string("mode", "url");
        params.set_string("url", &item.string("url")?);
        params.set_string("message", &item.string("message").unwrap_or_default());
        Some(InputQuestion {
            key: format!("u{}", at + 1),
            method: "elicitation/create".to_owned(),
            params: Some(json::raw(params.to_text())),
        })
    };
    let questions: Vec<InputQuestion> =
        items.into_iter().enumerate().map(asking).collect::<Option<_>>()?;
    (!questions.is_empty()).then_some(questions)
}
