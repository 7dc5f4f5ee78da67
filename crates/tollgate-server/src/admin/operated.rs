//! What the routes that change the configuration have in common: who may, and how it is told.

use http::StatusCode;
use http::request::Parts;
use serde_json::{Map, Value, json};
use tollgate_core::date;
use tollgate_core::id::ServerId;

use crate::mcp::Front;
use crate::operator::{Attempt, Changed, Effect, Mode, Operator, Outcome, Refused};
use crate::ops::{for_admins, for_observers};
use crate::problem::Problem;

const NO_OPERATOR: Problem = Problem::new(
    StatusCode::NOT_IMPLEMENTED,
    "no_config",
    "this gateway was started without a way to its config",
);

/// For those with the right `admin` only: a config names commands that run here.
pub(super) fn operator<'a>(front: &'a Front, sent: &Parts) -> Result<&'a dyn Operator, Problem> {
    for_admins(front, sent)?;
    front.operator.get().map(|operator| &**operator).ok_or(NO_OPERATOR)
}

/// The same for those who may look: nothing is told of the config and nothing changes.
pub(super) fn onlooker<'a>(front: &'a Front, sent: &Parts) -> Result<&'a dyn Operator, Problem> {
    for_observers(front, sent)?;
    front.operator.get().map(|operator| &**operator).ok_or(NO_OPERATOR)
}

/// Whose wish it is.
pub(super) fn asker(front: &Front, sent: &Parts) -> Result<String, Problem> {
    Ok(front.keys.visitor(sent)?.principal.as_str().to_owned())
}

pub(super) fn refused(why: &Refused) -> Problem {
    let (status, code) = match why {
        Refused::Mistakes(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad_config"),
        Refused::OtherVersion => (StatusCode::PRECONDITION_FAILED, "other_version"),
        Refused::Conflict(_) => (StatusCode::CONFLICT, "conflict"),
        Refused::ServerExists(_) => (StatusCode::CONFLICT, "server_exists"),
        Refused::UnknownAgent(_) => (StatusCode::NOT_FOUND, "unknown_agent"),
        Refused::UnknownServer(_) => (StatusCode::NOT_FOUND, "unknown_server"),
        Refused::Unreadable(_) => (StatusCode::UNPROCESSABLE_ENTITY, "unreadable_text"),
        Refused::Elsewhere(_) => (StatusCode::BAD_GATEWAY, "registry_failed"),
        Refused::Unwritable { .. } => (StatusCode::CONFLICT, "unwritable_config"),
        Refused::NoLogin(_) => (StatusCode::CONFLICT, "no_login"),
        Refused::NotLoggedIn(_) => (StatusCode::BAD_GATEWAY, "login_failed"),
        Refused::Failed(_) => (StatusCode::INTERNAL_SERVER_ERROR, "config_failed"),
    };
    let problem = Problem::told(status, code, detail(why));
    match why {
        Refused::Mistakes(report) => {
            let found = report.get("diagnostics").cloned().unwrap_or(Value::Null);
            problem.with(Map::from_iter([("errors".to_owned(), found)]))
        }
        Refused::Unwritable { yaml: Some(yaml), .. } => {
            problem.with(Map::from_iter([("yaml".to_owned(), json!(yaml))]))
        }
        _ => problem,
    }
}

/// With the first mistake and its place: not everybody reads further.
fn detail(why: &Refused) -> String {
    let Refused::Mistakes(report) = why else { return why.to_string() };
    let errors = report["diagnostics"].as_array().into_iter().flatten();
    let mut errors = errors.filter(|found| found["severity"] == "error");
    let (first, more) = (errors.next(), errors.count());
    let Some(first) = first else { return why.to_string() };
    let message = first["message"].as_str().unwrap_or_default();
    let place = match (first["line"].as_u64(), first["column"].as_u64()) {
        (Some(line), Some(column)) => format!("line {line}, column {column}: "),
        _ => String::new(),
    };
    let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    format!("{place}{message}{more}")
}

pub(super) fn changed_json(changed: &Changed, mode: Mode) -> Value {
    json!({
        "applied": mode == Mode::Apply,
        "version": changed.version,
        "diff": changed.diff,
        "servers": effect_json(&changed.effect),
        "needs_restart": changed.effect.needs_restart,
        "report": changed.report,
    })
}

pub(super) fn attempt_json(attempt: &Attempt) -> Value {
    let (outcome, why, effect) = match &attempt.result {
        Outcome::Applied(effect) => ("applied", None, Some(effect)),
        Outcome::Unchanged => ("unchanged", None, None),
        Outcome::Refused(why) => ("refused", Some(why), None),
    };
    let mut told = json!({
        "at": date::written(attempt.at),
        "by": attempt.by,
        "outcome": outcome,
        "report": attempt.report,
    });
    if let Some(why) = why {
        told["error"] = json!(why);
    }
    if let Some(effect) = effect {
        told["servers"] = effect_json(effect);
        told["needs_restart"] = json!(effect.needs_restart);
    }
    told
}

fn effect_json(effect: &Effect) -> Value {
    let ids = |ids: &[ServerId]| -> Vec<String> { ids.iter().map(ToString::to_string).collect() };
    json!({
        "added": ids(&effect.added),
        "removed": ids(&effect.removed),
        "restarted": ids(&effect.restarted),
        "kept": ids(&effect.kept),
    })
}
