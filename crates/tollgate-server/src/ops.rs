//! For whoever runs the gateway: is it alive, is it ready, what do the servers do.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use serde::Serialize;
use tollgate_engine::servers::Readiness;
use tollgate_engine::servers::ServerStatus;
use tollgate_engine::upstream::{TestReport, Verdict};
use tollgate_mcp::Revision;

use crate::auth::Right;
use crate::mcp::Front;
use crate::problem::{Problem, Style};

#[derive(Serialize)]
struct Health {
    tollgate: &'static str,
}

pub(crate) async fn healthz() -> Response {
    Json(Health { tollgate: env!("CARGO_PKG_VERSION") }).into_response()
}

pub(crate) async fn readyz(State(front): State<Arc<Front>>) -> Response {
    let (status, ready) = match front.gate.is_ready() {
        _ if front.stop.is_cancelled() => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        Readiness::Ready => (StatusCode::OK, "ready"),
        Readiness::Starting => (StatusCode::SERVICE_UNAVAILABLE, "starting"),
    };
    (status, Json(serde_json::json!({ "state": ready }))).into_response()
}

#[derive(Serialize)]
struct StatusJson {
    servers: Vec<ServerJson>,
}

#[derive(Serialize)]
struct ServerJson {
    id: String,
    transport: &'static str,
    state: &'static str,
    reason: String,
    since: String,
    restarts: u32,
    late_answers: u64,
    protocol: Option<&'static str>,
    tools: usize,
    last_error: Option<String>,
}

impl From<ServerStatus> for ServerJson {
    fn from(server: ServerStatus) -> Self {
        let ServerStatus { id, transport, status } = server;
        Self {
            id: id.to_string(),
            transport,
            state: status.state.as_str(),
            reason: status.reason,
            since: timestamp(status.since),
            restarts: status.restarts,
            late_answers: status.late_answers,
            protocol: status.revision.map(Revision::as_str),
            tools: status.tools,
            last_error: status.last_error,
        }
    }
}

pub(crate) async fn status(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    if let Err(problem) = for_admins(&front, &sent) {
        return problem.response(Style::of(sent.uri.path()));
    }
    let servers = front.gate.servers().into_iter().map(ServerJson::from).collect();
    Json(StatusJson { servers }).into_response()
}

#[derive(Serialize)]
struct TestJson {
    ok: bool,
    message: String,
    protocol: Option<&'static str>,
    tools: usize,
    took_ms: u128,
}

impl From<TestReport> for TestJson {
    fn from(report: TestReport) -> Self {
        Self {
            ok: report.verdict == Verdict::Works,
            message: report.message,
            protocol: report.protocol.map(Revision::as_str),
            tools: report.tools,
            took_ms: report.took.as_millis(),
        }
    }
}

/// Tries a server that is in the config. Nothing in the request says what to start.
pub(crate) async fn test(
    State(front): State<Arc<Front>>,
    Path(server): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let style = Style::of(sent.uri.path());
    if let Err(problem) = for_admins(&front, &sent) {
        return problem.response(style);
    }
    match front.gate.test(&server).await {
        Some(report) => Json(TestJson::from(report)).into_response(),
        None => {
            let detail = "there is no such server in the configuration";
            Problem::new(StatusCode::NOT_FOUND, "unknown_server", detail).response(style)
        }
    }
}

pub(crate) fn for_admins(front: &Front, sent: &Parts) -> Result<(), Problem> {
    front.keys.visitor(sent)?.rights.need(Right::Admin)
}

/// RFC 3339, in UTC, to the second.
fn timestamp(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, clock) = (seconds / 86_400, seconds % 86_400);
    // Years of this count begin in March, so that the leap day is the last of its year.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (clock / 3_600, clock / 60 % 60, clock % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn times_are_written_as_people_and_programs_read_them() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_700_000_000, "2023-11-14T22:13:20Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(super::timestamp(time), expected);
        }
    }
}
