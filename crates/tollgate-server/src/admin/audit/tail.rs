//! `GET /api/audit/tail`: rows as they are written, as events. Who was cut off goes on behind the
//! last row that it saw.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::stream;
use http::HeaderMap;
use tokio::sync::watch;
use tollgate_engine::audit::{Direction, Query};

use super::asked::Asked;
use super::row::RowJson;
use super::unreadable;
use crate::events::{self, Event};
use crate::fields::bad;
use crate::mcp::Front;
use crate::ops::for_admins;
use crate::problem::{Problem, Style};

/// Rows of other processes tell nobody that they are there.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) async fn tail(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let start = async {
        for_admins(&front, &sent)?;
        let mut query = Asked::read(&sent.uri)?.query;
        query.after = match last_seen(&sent.headers)?.or(query.after) {
            Some(after) => Some(after),
            None => {
                let newest = Query { limit: 1, ..Query::all(Direction::NewestFirst) };
                let page = front.gate.ledger().page(newest).await;
                Some(page.map_err(|error| unreadable(&error))?.last)
            }
        };
        query.direction = Direction::OldestFirst;
        query.limit = Query::MOST;
        Ok::<_, Problem>(query)
    };
    let query = match start.await {
        Ok(query) => query,
        Err(problem) => return problem.response(Style::ProblemDetails),
    };
    let keep_alive = front.limits.keep_alive;
    let commits = front.gate.ledger().commits();
    let tail = Tail { front, query, commits, ready: VecDeque::new() };
    let rows = stream::unfold(tail, |mut tail| async move { Some((tail.next().await?, tail)) });
    events::response(rows, keep_alive)
}

/// What an event stream that broke off sends when it comes back.
fn last_seen(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| bad("`last-event-id` is a number".to_owned()))
}

struct Tail {
    front: Arc<Front>,
    query: Query,
    commits: Option<watch::Receiver<u64>>,
    ready: VecDeque<Event>,
}

impl Tail {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.front.stop.is_cancelled() {
                return None;
            }
            if let Some(commits) = &mut self.commits {
                commits.mark_unchanged();
            }
            match self.front.gate.ledger().page(self.query.clone()).await {
                Ok(page) => {
                    let event = |row| {
                        let row = RowJson::from(row);
                        Event { id: Some(row.sequence), ..Event::new("row", &row) }
                    };
                    self.ready.extend(page.rows.iter().map(event));
                    self.query.after = page.next.or(self.query.after.max(Some(page.last)));
                    if self.ready.is_empty() && page.next.is_none() {
                        self.wait().await;
                    }
                }
                // It may be readable again in a moment.
                Err(_) => self.wait().await,
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
        tokio::select! {
            () = committed => {}
            () = tokio::time::sleep(LOOK) => {}
            () = self.front.stop.cancelled() => {}
        }
    }
}
