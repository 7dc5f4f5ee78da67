//! Common parts of the routes that change the configuration: authorization and error mapping.

use http::StatusCode;
use http::request::Parts;
use serde_json::{Map, Value, json};
use tollgate_core::date;
use tollgate_core::id::ServerId;

use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::config_service::{
    ApplyMode, ConfigChangeSummary, ConfigService, ConfigServiceError, ReloadAttempt, ReloadEffect,
    ReloadOutcome,
};
use crate::ops::{for_admins, for_observers};

const NO_OPERATOR: ApiError = ApiError::new(
    StatusCode::NOT_IMPLEMENTED,
    "no_config",
    "this gateway was started without a config file",
);

/// Requires the right `admin`: a config names commands that run on this host.
pub(super) fn operator<'a>(
    front: &'a AppState,
    sent: &Parts,
) -> Result<&'a dyn ConfigService, ApiError> {
    for_admins(front, sent)?;
    front.operator.get().map(|operator| &**operator).ok_or(NO_OPERATOR)
}

/// The same for observers: for routes that show nothing of the config and change nothing.
pub(super) fn onlooker<'a>(
    front: &'a AppState,
    sent: &Parts,
) -> Result<&'a dyn ConfigService, ApiError> {
    for_observers(front, sent)?;
    front.operator.get().map(|operator| &**operator).ok_or(NO_OPERATOR)
}

/// The principal of the request.
pub(super) fn asker(front: &AppState, sent: &Parts) -> Result<String, ApiError> {
    Ok(front.keys.visitor(sent)?.principal.as_str().to_owned())
}

pub(super) fn map_config_error(why: &ConfigServiceError) -> ApiError {
    let (status, code) = match why {
        ConfigServiceError::Mistakes(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad_config"),
        ConfigServiceError::OtherVersion => (StatusCode::PRECONDITION_FAILED, "other_version"),
        ConfigServiceError::Conflict(_) => (StatusCode::CONFLICT, "conflict"),
        ConfigServiceError::ServerExists(_) => (StatusCode::CONFLICT, "server_exists"),
        ConfigServiceError::UnknownAgent(_) => (StatusCode::NOT_FOUND, "unknown_agent"),
        ConfigServiceError::UnknownServer(_) => (StatusCode::NOT_FOUND, "unknown_server"),
        ConfigServiceError::Unreadable(_) => (StatusCode::UNPROCESSABLE_ENTITY, "unreadable_text"),
        ConfigServiceError::Elsewhere(_) => (StatusCode::BAD_GATEWAY, "registry_failed"),
        ConfigServiceError::Unwritable { .. } => (StatusCode::CONFLICT, "unwritable_config"),
        ConfigServiceError::NoLogin(_) => (StatusCode::CONFLICT, "no_login"),
        ConfigServiceError::NotLoggedIn(_) => (StatusCode::BAD_GATEWAY, "login_failed"),
        ConfigServiceError::Failed(_) => (StatusCode::INTERNAL_SERVER_ERROR, "config_failed"),
    };
    let problem = ApiError::with_detail(status, code, detail(why));
    match why {
        ConfigServiceError::Mistakes(report) => {
            let found = report.get("diagnostics").cloned().unwrap_or(Value::Null);
            problem.with(Map::from_iter([("errors".to_owned(), found)]))
        }
        ConfigServiceError::Unwritable { yaml: Some(yaml), .. } => {
            problem.with(Map::from_iter([("yaml".to_owned(), json!(yaml))]))
        }
        _ => problem,
    }
}

/// The first mistake and its position: many clients show nothing else.
fn detail(why: &ConfigServiceError) -> String {
    let ConfigServiceError::Mistakes(report) = why else { return why.to_string() };
    let errors = report["diagnostics"].as_array().into_iter().flatten();
    let mut errors = errors.filter(|found| found["severity"] == "error");
    let first = errors.next();
    let more = errors.count();
    let Some(first) = first else { return why.to_string() };
    let message = first["message"].as_str().unwrap_or_default();
    let place = match (first["line"].as_u64(), first["column"].as_u64()) {
        (Some(line), Some(column)) => format!("line {line}, column {column}: "),
        _ => String::new(),
    };
    let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    format!("{place}{message}{more}")
}

pub(super) fn changed_json(changed: &ConfigChangeSummary, mode: ApplyMode) -> Value {
    json!({
        "applied": mode == ApplyMode::Apply,
        "version": changed.version,
        "diff": changed.diff,
        "servers": effect_json(&changed.effect),
        "needs_restart": changed.effect.needs_restart,
        "report": changed.report,
    })
}

pub(super) fn attempt_json(attempt: &ReloadAttempt) -> Value {
    let (outcome, why, effect) = match &attempt.result {
        ReloadOutcome::Applied(effect) => ("applied", None, Some(effect)),
        ReloadOutcome::Unchanged => ("unchanged", None, None),
        ReloadOutcome::Refused(why) => ("refused", Some(why), None),
    };
    let mut body = json!({
        "at": date::format_rfc3339(attempt.at),
        "by": attempt.by,
        "outcome": outcome,
        "report": attempt.report,
    });
    if let Some(why) = why {
        body["error"] = json!(why);
    }
    if let Some(effect) = effect {
        body["servers"] = effect_json(effect);
        body["needs_restart"] = json!(effect.needs_restart);
    }
    body
}

fn effect_json(effect: &ReloadEffect) -> Value {
    let ids = |ids: &[ServerId]| -> Vec<String> { ids.iter().map(ToString::to_string).collect() };
    json!({
        "added": ids(&effect.added),
        "removed": ids(&effect.removed),
        "restarted": ids(&effect.restarted),
        "kept": ids(&effect.unchanged),
    })
}
