//! What to make of a provider that did not answer: the failure in words, and whether to ask again.
//! Pure.

use http::StatusCode;
use tollgate_core::text::Span;
use tollgate_mcp::web;

use super::ask_error::{Again, AskError};
use super::hint::{Advice, Hint};
use super::label::Label;
use crate::failure::{Failure, Kind};
use crate::format::{Broken, Fault, Malformed, Reported};

/// An error in the provider's own words. Without a status it came in the middle of a stream.
pub(super) fn reported(
    label: &Label,
    reported: &Reported,
    (status, hint): (Option<StatusCode>, Hint),
) -> AskError {
    let code = status.map_or(0, |status| status.as_u16());
    let after = hint.after.or(reported.retry_after);
    let failure = in_words(label, reported, code);
    let error = match reported.fault {
        Fault::Request => AskError::never(failure),
        Fault::TooLong | Fault::Model | Fault::Key => AskError::other_model(failure),
        Fault::TooOften | Fault::Provider => AskError::same_model(failure.after(after)),
    };
    let again = match (hint.advice, error.again) {
        (Some(Advice::Retry), _) => Again::SameModel { after },
        (Some(Advice::GiveUp), Again::SameModel { .. }) => Again::OtherModel,
        (_, again) => again,
    };
    AskError { again, ..error }
}

fn in_words(label: &Label, reported: &Reported, code: u16) -> Failure {
    let words = match label.quoted(&reported.message) {
        words if words.is_empty() => format!("HTTP {code}"),
        words => words,
    };
    let (kind, message) = match reported.fault {
        Fault::Request => (Kind::Invalid, label.of_model(&format!("refuses the request: {words}"))),
        Fault::TooLong => {
            let what = format!("cannot take so much at once: {words}");
            (Kind::TooLong, label.of_model(&what))
        }
        Fault::Model => {
            let what = format!("does not know model `{}`: {words}", label.model);
            (Kind::UnknownModel, label.of_provider(&what))
        }
        Fault::Key => (Kind::Provider, label.of_provider(&refused_key(label, reported, code))),
        Fault::TooOften => {
            let what = format!("takes no more requests for now: {words}");
            (Kind::RateLimited, label.of_model(&what))
        }
        Fault::Provider => {
            let overloaded = matches!(code, 503 | 529)
                || reported.code.as_deref().is_some_and(|code| code.contains("overloaded"));
            let kind = match code {
                408 | 504 | 524 => Kind::Timeout,
                _ if overloaded => Kind::Overloaded,
                _ => Kind::Provider,
            };
            (kind, label.of_model(&format!("failed: {words}")))
        }
    };
    Failure::new(kind, message)
}

/// The provider's words are left out: they like to repeat the key, or a part of it.
fn refused_key(label: &Label, reported: &Reported, code: u16) -> String {
    let mut facts = Vec::new();
    if code != 0 {
        facts.push(format!("HTTP {code}"));
    }
    facts.extend(reported.code.as_deref().map(|code| label.quoted(code)));
    let key = format!("`providers.{}.api_key`", label.provider);
    format!("refuses the gateway's key ({}): check {key}", facts.join(", "))
}

/// The provider answered well, but not with an answer.
pub(super) fn nonsense(label: &Label, what: &str) -> AskError {
    let message = label.of_provider(&label.quoted(what));
    AskError::other_model(Failure::new(Kind::Provider, message))
}

pub(super) fn malformed(label: &Label, malformed: &Malformed) -> AskError {
    let what = format!("answers nonsense: {}", label.quoted(&malformed.0));
    AskError::other_model(Failure::new(Kind::Provider, label.of_model(&what)))
}

/// The connection broke in the middle of the answer.
pub(super) fn broke_off(label: &Label, why: &str) -> AskError {
    let what = match why {
        "" => "broke its answer off".to_owned(),
        why => format!("broke its answer off: {}", label.quoted(why)),
    };
    AskError::same_model(Failure::new(Kind::Provider, label.of_model(&what)))
}

/// No response came at all.
pub(super) fn unsent(label: &Label, failed: &web::Failed) -> AskError {
    let what = match failed {
        web::Failed::Unreachable(why) => format!("cannot be reached: {}", label.quoted(why)),
        web::Failed::Broken(why) => format!("closed the connection: {}", label.quoted(why)),
    };
    AskError::same_model(Failure::new(Kind::Provider, label.of_provider(&what)))
}

/// Too slow to be asked the same again.
pub(super) fn silent(label: &Label, limit: std::time::Duration) -> AskError {
    let what = format!("did not answer within {}", Span(limit));
    AskError::other_model(Failure::new(Kind::Timeout, label.of_model(&what)))
}

/// It began to answer and then fell silent.
pub(super) fn stalled(label: &Label, limit: std::time::Duration) -> AskError {
    let what = format!("said nothing more for {}", Span(limit));
    AskError::other_model(Failure::new(Kind::Timeout, label.of_model(&what)))
}

/// A stream that ends before its time.
pub(super) fn broken(label: &Label, broken: &Broken, why: Option<&str>) -> AskError {
    match broken {
        Broken::Malformed(it) => malformed(label, it),
        Broken::Short => broke_off(label, why.unwrap_or_default()),
        Broken::Reported(it) => reported(label, it, (None, Hint::default())),
    }
}
