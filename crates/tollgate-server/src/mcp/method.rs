//! Every method that a client may send, and which era knows it.

use serde_json::value::RawValue;
use tollgate_core::call::{Kind, TaskVerb};
use tollgate_core::json::Object;
use tollgate_core::view::List;
use tollgate_mcp::Era;

use crate::refusal::Refused;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// Goes through the gate to a server.
    Call(Kind),
    List(List),
    Discover,
    Listen,
    Initialize,
    Ping,
    SetLevel,
    Subscribe,
    Unsubscribe,
}

const BOTH: &[(&str, Method)] = &[
    ("tools/call", Method::Call(Kind::CallTool)),
    ("tools/list", Method::List(List::Tools)),
    ("resources/read", Method::Call(Kind::ReadResource)),
    ("resources/list", Method::List(List::Resources)),
    ("resources/templates/list", Method::List(List::Templates)),
    ("prompts/get", Method::Call(Kind::GetPrompt)),
    ("prompts/list", Method::List(List::Prompts)),
    ("completion/complete", Method::Call(Kind::Complete)),
];
const MODERN: &[(&str, Method)] = &[
    ("server/discover", Method::Discover),
    ("subscriptions/listen", Method::Listen),
    ("tasks/get", Method::Call(Kind::Task(TaskVerb::Get))),
    ("tasks/update", Method::Call(Kind::Task(TaskVerb::Update))),
    ("tasks/cancel", Method::Call(Kind::Task(TaskVerb::Cancel))),
];
const LEGACY: &[(&str, Method)] = &[
    ("initialize", Method::Initialize),
    ("ping", Method::Ping),
    ("logging/setLevel", Method::SetLevel),
    ("resources/subscribe", Method::Subscribe),
    ("resources/unsubscribe", Method::Unsubscribe),
];

impl Method {
    pub(super) fn parse(era: Era, name: &str) -> Result<Self, Refused> {
        let own = match era {
            Era::Modern => MODERN,
            Era::Legacy => LEGACY,
        };
        let mut all = BOTH.iter().chain(own);
        let found = all.find(|(known, _)| *known == name);
        found.map(|(_, method)| *method).ok_or_else(|| Refused::unknown_method(era, name))
    }

    /// Only a modern client sends it, even one that forgot to say so.
    pub(super) fn is_modern_only(name: &str) -> bool {
        MODERN.iter().any(|(known, _)| *known == name)
    }
}

/// Keys of `params` that decide where a request goes; look-alikes are refused.
const PARAM_KEYS: &[&str] = &[
    "name",
    "arguments",
    "uri",
    "ref",
    "cursor",
    "taskId",
    "inputResponses",
    "requestState",
    "_meta",
];

/// Reads `params` once, for everyone after.
pub(super) fn params(raw: Option<&RawValue>) -> Result<Object<'_>, Refused> {
    let Some(raw) = raw else { return Ok(Object::new()) };
    let params = Object::parse(raw.get())
        .map_err(|error| Refused::invalid(format!("`params` cannot be read: {error}")))?;
    match params.twin_of(PARAM_KEYS) {
        Some(key) => {
            Err(Refused::invalid(format!("a key of `params` looks like `{key}` but is not")))
        }
        None => Ok(params),
    }
}

/// The field as a string; absent is fine, anything else is not.
pub(super) fn optional_string(params: &Object<'_>, key: &str) -> Result<Option<String>, Refused> {
    match (params.contains(key), params.string(key)) {
        (false, _) => Ok(None),
        (true, Some(text)) => Ok(Some(text.into_owned())),
        (true, None) => Err(Refused::bad_params(format!("`{key}` must be a string"))),
    }
}

pub(super) fn required_string(params: &Object<'_>, key: &str) -> Result<String, Refused> {
    optional_string(params, key)?
        .ok_or_else(|| Refused::bad_params(format!("`{key}` must be a string")))
}
