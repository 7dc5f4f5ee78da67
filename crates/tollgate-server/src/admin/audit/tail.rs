//! `GET /api/audit/tail`: audit rows as server-sent events, as they are written. A client that was
//! disconnected resumes after the last row that it saw.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::stream;
use http::HeaderMap;
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior};
use tollgate_engine::audit::{AuditDirection, AuditPageReader, AuditQuery};

use super::query_params::AuditQueryParams;
use super::row::AuditRowJson;
use super::unreadable;
use crate::admin::enter_operator_stream;
use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::body::holding;
use crate::events::{self, ServerSentEvent};
use crate::fields::bad;
use crate::ops::for_admins;

/// Rows written by other processes cause no notification, so poll for them.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum interval between reads, however often rows are written.
const PACE: Duration = Duration::from_millis(100);

pub(crate) async fn tail(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let start = async {
        for_admins(&front, &sent)?;
        let mut query = AuditQueryParams::read(&sent.uri)?.query;
        front.pressure.take_stream()?;
        let permit = enter_operator_stream(&front, &sent)?;
        let mut pages = front.gate.ledger().pages();
        query.after = match last_seen(&sent.headers)?.or(query.after) {
            Some(after) => Some(after),
            None => {
                let newest =
                    AuditQuery { limit: 1, ..AuditQuery::all(AuditDirection::NewestFirst) };
                let page = pages.page(newest).await;
                Some(page.map_err(|error| unreadable(&error))?.last)
            }
        };
        query.direction = AuditDirection::OldestFirst;
        query.limit = AuditQuery::MAX_PAGE_ROWS;
        Ok::<_, ApiError>((query, pages, permit))
    };
    let (query, pages, permit) = match start.await {
        Ok(started) => started,
        Err(problem) => return problem.response(ApiErrorFormat::ProblemDetails),
    };
    let keep_alive = front.limits.keep_alive;
    let commits = front.gate.ledger().commits();
    let mut pace = tokio::time::interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let ready = VecDeque::new();
    let tail = AuditTail { front, query, pages, commits, ready, pace, has_all: false };
    let rows = stream::unfold(tail, |mut tail| async move { Some((tail.next().await?, tail)) });
    events::listening(rows, keep_alive).map(|body| holding(body, permit))
}

/// `Last-Event-ID`, sent by a client that reconnects.
fn last_seen(headers: &HeaderMap) -> Result<Option<u64>, ApiError> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| bad("`last-event-id` is a number".to_owned()))
}

struct AuditTail {
    front: Arc<AppState>,
    query: AuditQuery,
    pages: AuditPageReader,
    commits: Option<watch::Receiver<u64>>,
    ready: VecDeque<ServerSentEvent>,
    pace: Interval,
    /// The last read reached the end of the ledger.
    has_all: bool,
}

impl AuditTail {
    async fn next(&mut self) -> Option<ServerSentEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if std::mem::take(&mut self.has_all) {
                self.wait().await;
            }
            if self.front.stop.is_cancelled() {
                return None;
            }
            if let Some(commits) = &mut self.commits {
                commits.mark_unchanged();
            }
            match self.pages.page(self.query.clone()).await {
                Ok(page) => {
                    let event = |row| {
                        let row = AuditRowJson::from(row);
                        ServerSentEvent {
                            id: Some(row.sequence),
                            ..ServerSentEvent::new("row", &row)
                        }
                    };
                    self.ready.extend(page.rows.iter().map(event));
                    self.query.after = page.next.or(self.query.after.max(Some(page.last)));
                    self.has_all = page.next.is_none();
                }
                // The error may be temporary: try again at the next poll.
                Err(_) => self.has_all = true,
            }
        }
    }

    async fn wait(&mut self) {
        let committed = async {
            match &mut self.commits {
                Some(commits) => drop(commits.changed().await),
                None => std::future::pending().await,
            }
        };
        let something = async {
            tokio::select! {
                () = committed => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            self.pace.tick().await;
        };
        tokio::select! {
            () = something => {}
            () = self.front.stop.cancelled() => {}
        }
    }
}
