//! All client methods, and the eras that support them.

use serde_json::value::RawValue;
use tollgate_core::call::{RequestKind, TaskVerb};
use tollgate_core::json::Object;
use tollgate_core::view::ListKind;
use tollgate_mcp::Era;

use crate::error_mapping::McpRequestError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum McpMethod {
    /// Goes through the gate to a server.
    Call(RequestKind),
    List(ListKind),
    Discover,
    Listen,
    Initialize,
    Ping,
    SetLevel,
    Subscribe,
    Unsubscribe,
}

const BOTH: &[(&str, McpMethod)] = &[
    ("tools/call", McpMethod::Call(RequestKind::CallTool)),
    ("tools/list", McpMethod::List(ListKind::Tools)),
    ("resources/read", McpMethod::Call(RequestKind::ReadResource)),
    ("resources/list", McpMethod::List(ListKind::Resources)),
    ("resources/templates/list", McpMethod::List(ListKind::Templates)),
    ("prompts/get", McpMethod::Call(RequestKind::GetPrompt)),
    ("prompts/list", McpMethod::List(ListKind::Prompts)),
    ("completion/complete", McpMethod::Call(RequestKind::Complete)),
];
const MODERN: &[(&str, McpMethod)] = &[
    ("server/discover", McpMethod::Discover),
    ("subscriptions/listen", McpMethod::Listen),
    ("tasks/get", McpMethod::Call(RequestKind::Task(TaskVerb::Get))),
    ("tasks/update", McpMethod::Call(RequestKind::Task(TaskVerb::Update))),
    ("tasks/cancel", McpMethod::Call(RequestKind::Task(TaskVerb::Cancel))),
];
const LEGACY: &[(&str, McpMethod)] = &[
    ("initialize", McpMethod::Initialize),
    ("ping", McpMethod::Ping),
    ("logging/setLevel", McpMethod::SetLevel),
    ("resources/subscribe", McpMethod::Subscribe),
    ("resources/unsubscribe", McpMethod::Unsubscribe),
];

impl McpMethod {
    pub(super) fn parse(era: Era, name: &str) -> Result<Self, McpRequestError> {
        let own = match era {
            Era::Modern => MODERN,
            Era::Legacy => LEGACY,
        };
        let mut all = BOTH.iter().chain(own);
        let found = all.find(|(known, _)| *known == name);
        found.map(|(_, method)| *method).ok_or_else(|| McpRequestError::unknown_method(era, name))
    }

    /// Sent by modern clients only, even if the request lacks a version.
    pub(super) fn is_modern_only(name: &str) -> bool {
        MODERN.iter().any(|(known, _)| *known == name)
    }
}

/// Keys of `params` that route a request. Similar spellings are refused.
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

/// Parses `params` once for all later steps.
pub(super) fn params(raw: Option<&RawValue>) -> Result<Object<'_>, McpRequestError> {
    let Some(raw) = raw else { return Ok(Object::new()) };
    let params = Object::parse(raw.get())
        .map_err(|error| McpRequestError::invalid(format!("`params` cannot be read: {error}")))?;
    match params.twin_of(PARAM_KEYS) {
        Some(key) => Err(McpRequestError::invalid(format!(
            "a key of `params` imitates `{key}` with look-alike characters"
        ))),
        None => Ok(params),
    }
}

/// The field as a string. It may be absent, but must not have another type.
pub(super) fn optional_string(
    params: &Object<'_>,
    key: &str,
) -> Result<Option<String>, McpRequestError> {
    match (params.contains(key), params.string(key)) {
        (false, _) => Ok(None),
        (true, Some(text)) => Ok(Some(text.into_owned())),
        (true, None) => Err(McpRequestError::bad_params(format!("`{key}` must be a string"))),
    }
}

pub(super) fn required_string(params: &Object<'_>, key: &str) -> Result<String, McpRequestError> {
    optional_string(params, key)?
        .ok_or_else(|| McpRequestError::bad_params(format!("`{key}` must be a string")))
}
