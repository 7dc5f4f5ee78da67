//! Maps provider failures to errors: the message, and whether to retry. Pure.

use http::StatusCode;
use tollgate_core::text::HumanDuration;
use tollgate_mcp::{answer_budget, web};

use super::ask_error::{AskError, RetryTarget};
use super::label::ModelLabel;
use super::pass_through::PassThroughError;
use super::remote::ProviderSendError;
use super::retry_hint::{RetryAdvice, RetryHint};
use crate::error::{LlmError, LlmErrorKind};
use crate::format::{
    BrokenStreamError, MalformedResponseError, ProviderErrorReport, ProviderFault,
};

/// An error that the provider reported. Without a status it came in the middle of a stream.
pub(super) fn provider_error(
    label: &ModelLabel,
    reported: &ProviderErrorReport,
    status: Option<StatusCode>,
    hint: RetryHint,
) -> AskError {
    let code = status.map_or(0, |status| status.as_u16());
    let after = hint.after.or(reported.retry_after);
    let failure = in_words(label, reported, code);
    let error = match reported.fault {
        ProviderFault::Request => AskError::never(failure),
        ProviderFault::TooLong
        | ProviderFault::Model
        | ProviderFault::Key
        | ProviderFault::Credit => AskError::other_model(failure),
        ProviderFault::TooOften | ProviderFault::Provider => {
            AskError::same_model(failure.after(after))
        }
    };
    let again = match (hint.advice, error.again) {
        (Some(RetryAdvice::Retry), _) => RetryTarget::SameModel { after },
        (Some(RetryAdvice::GiveUp), RetryTarget::SameModel { .. }) => RetryTarget::OtherModel,
        (_, again) => again,
    };
    AskError { again, ..error }
}

fn in_words(label: &ModelLabel, reported: &ProviderErrorReport, code: u16) -> LlmError {
    let words = match label.quote(&reported.message) {
        words if words.is_empty() => format!("HTTP {code}"),
        words => words,
    };
    let (kind, message) = match reported.fault {
        ProviderFault::Request => {
            (LlmErrorKind::Invalid, label.of_model(&format!("rejected the request: {words}")))
        }
        ProviderFault::TooLong => {
            let what = format!("rejected the request as too long: {words}");
            (LlmErrorKind::TooLong, label.of_model(&what))
        }
        ProviderFault::Model => {
            let what = format!("does not know model `{}`: {words}", label.model);
            (LlmErrorKind::UnknownModel, label.of_provider(&what))
        }
        ProviderFault::Key => {
            (LlmErrorKind::Provider, label.of_provider(&refused_key(label, reported, code)))
        }
        ProviderFault::Credit => {
            let what = format!("reports that its account has no credit or quota left: {words}");
            (LlmErrorKind::Provider, label.of_provider(&what))
        }
        ProviderFault::TooOften => {
            let what = format!("is rate limiting: {words}");
            (LlmErrorKind::RateLimited, label.of_model(&what))
        }
        ProviderFault::Provider => {
            let overloaded = matches!(code, 503 | 529)
                || reported.code.as_deref().is_some_and(|code| code.contains("overloaded"));
            let kind = match code {
                408 | 504 | 524 => LlmErrorKind::Timeout,
                _ if overloaded => LlmErrorKind::Overloaded,
                _ => LlmErrorKind::Provider,
            };
            (kind, label.of_model(&format!("failed: {words}")))
        }
    };
    LlmError::new(kind, message)
}

/// The provider's message is omitted: it often quotes the key, or a part of it.
fn refused_key(label: &ModelLabel, reported: &ProviderErrorReport, code: u16) -> String {
    let mut facts = Vec::new();
    if code != 0 {
        facts.push(format!("HTTP {code}"));
    }
    facts.extend(reported.code.as_deref().map(|code| label.quote(code)));
    format!("rejected the gateway's key ({}): check `{}`", facts.join(", "), label.key_path)
}

/// The provider returned success, but not a valid answer.
pub(super) fn invalid_response_error(label: &ModelLabel, what: &str) -> AskError {
    let message = label.of_provider(&label.quote(what));
    AskError::other_model(LlmError::new(LlmErrorKind::Provider, message))
}

pub(super) fn malformed_error(label: &ModelLabel, malformed: &MalformedResponseError) -> AskError {
    let what = format!("sent an invalid response: {}", label.quote(&malformed.0));
    AskError::other_model(LlmError::new(LlmErrorKind::Provider, label.of_model(&what)))
}

/// The connection broke in the middle of the answer.
pub(super) fn disconnect_error(label: &ModelLabel, why: &str) -> AskError {
    let what = match why {
        "" => "interrupted its response".to_owned(),
        why => format!("interrupted its response: {}", label.quote(why)),
    };
    AskError::same_model(LlmError::new(LlmErrorKind::Provider, label.of_model(&what)))
}

/// The gateway has no memory for the response. Another model would not help.
pub(super) fn no_room_error(label: &ModelLabel) -> AskError {
    let message = format!(
        "{}: other large answers use the available memory (`limits.memory_mb`); try again in a \
         moment",
        label.of_model("sent a response that was not read")
    );
    let failure = LlmError::new(LlmErrorKind::Overloaded, message);
    AskError::never(failure.after(Some(answer_budget::RETRY_AFTER)))
}

/// No response came at all.
pub(super) fn send_error(label: &ModelLabel, failed: &ProviderSendError) -> AskError {
    let failed = match failed {
        ProviderSendError::Request(failed) => failed,
        ProviderSendError::Token(failed) => {
            return access_error(label, &failed.to_string(), failed.is_transient());
        }
        ProviderSendError::Role(failed) => {
            return access_error(label, &failed.to_string(), failed.is_transient());
        }
        ProviderSendError::Signing(failed) => {
            let failure =
                LlmError::new(LlmErrorKind::Internal, label.of_provider(&failed.to_string()));
            return AskError::other_model(failure);
        }
    };
    let what = match failed {
        web::HttpRequestError::Unreachable(why) => {
            format!("cannot be reached: {}", label.quote(why))
        }
        web::HttpRequestError::Broken(why) => {
            format!("closed the connection: {}", label.quote(why))
        }
    };
    AskError::same_model(LlmError::new(LlmErrorKind::Provider, label.of_provider(&what)))
}

/// There is no access token, or there are no credentials, for the request.
fn access_error(label: &ModelLabel, why: &str, is_transient: bool) -> AskError {
    let what = format!("gives no access: {}; check `{}`", label.quote(why), label.key_path);
    let failure = LlmError::new(LlmErrorKind::Provider, label.of_provider(&what));
    if is_transient { AskError::same_model(failure) } else { AskError::other_model(failure) }
}

/// A passed-through stream that did not begin.
pub(super) fn unbegun_error(label: &ModelLabel, failed: &PassThroughError) -> AskError {
    let failure =
        LlmError::new(LlmErrorKind::Provider, label.of_model(&format!("failed: {failed}")));
    AskError::same_model(failure)
}

/// A passed-through stream that broke off. `None`: it ended without its last event.
pub(super) fn interruption_error(
    label: &ModelLabel,
    broken: Option<&PassThroughError>,
) -> AskError {
    match broken {
        Some(PassThroughError::Silent(limit)) => stall_error(label, *limit),
        Some(broken) => disconnect_error(label, &broken.to_string()),
        None => disconnect_error(label, ""),
    }
}

/// The model is too slow to be asked again.
pub(super) fn timeout_error(label: &ModelLabel, limit: std::time::Duration) -> AskError {
    let what = format!("did not answer within {}", HumanDuration(limit));
    AskError::other_model(LlmError::new(LlmErrorKind::Timeout, label.of_model(&what)))
}

/// The stream started and then stalled.
pub(super) fn stall_error(label: &ModelLabel, limit: std::time::Duration) -> AskError {
    let what = format!("sent nothing for {}", HumanDuration(limit));
    AskError::other_model(LlmError::new(LlmErrorKind::Timeout, label.of_model(&what)))
}

/// A stream that ended early.
pub(super) fn broken_stream_error(
    label: &ModelLabel,
    broken: &BrokenStreamError,
    why: Option<&str>,
) -> AskError {
    match broken {
        BrokenStreamError::Malformed(it) => malformed_error(label, it),
        BrokenStreamError::Short => disconnect_error(label, why.unwrap_or_default()),
        BrokenStreamError::Reported(it) => provider_error(label, it, None, RetryHint::default()),
    }
}
