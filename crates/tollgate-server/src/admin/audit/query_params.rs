//! Query parameters of the audit routes.

use std::time::SystemTime;

use axum::extract;
use http::{StatusCode, Uri};
use tollgate_core::date;
use tollgate_core::glob::Glob;
use tollgate_engine::audit::{AuditDirection, AuditQuery};
use tollgate_engine::clock::{Clock as _, SystemClock};

use crate::api_error::ApiError;
use crate::fields::check_query;

const KEYS: &[&str] = &[
    "since",
    "until",
    "kind",
    "principal",
    "agent",
    "server",
    "tool",
    "name",
    "outcome",
    "call",
    "after",
    "limit",
    "order",
    "format",
];
/// Default page size.
const DEFAULT_PAGE_ROWS: usize = 100;
/// Limit on a filter, in characters.
const MAX_FILTER_CHARS: usize = 256;

#[derive(Debug)]
pub(super) struct AuditQueryParams {
    pub(super) query: AuditQuery,
    pub(super) format: AuditExportFormat,
    /// Rows that an export may still return. `None`: no limit.
    pub(super) left: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuditExportFormat {
    Json,
    Lines,
    Csv,
}

impl AuditQueryParams {
    pub(super) fn read(uri: &Uri) -> Result<Self, ApiError> {
        check_query(uri, KEYS)?;
        let extract::Query(pairs) = extract::Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|_| bad("the query is malformed".to_owned()))?;
        let sent = AuditQueryReader { pairs: &pairs, now: SystemClock.wall() };
        let format = match sent.text("format")?.as_deref() {
            None | Some("json") => AuditExportFormat::Json,
            Some("jsonl") => AuditExportFormat::Lines,
            Some("csv") => AuditExportFormat::Csv,
            Some(_) => return Err(bad("`format` is json, jsonl or csv".to_owned())),
        };
        let direction = match (sent.text("order")?.as_deref(), format) {
            (Some("oldest"), _) | (None, AuditExportFormat::Lines | AuditExportFormat::Csv) => {
                AuditDirection::OldestFirst
            }
            (Some("newest"), _) | (None, AuditExportFormat::Json) => AuditDirection::NewestFirst,
            (Some(_), _) => return Err(bad("`order` is newest or oldest".to_owned())),
        };
        let limit = sent.number("limit")?;
        let limit = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        match (format, limit) {
            (_, Some(0)) => return Err(bad("`limit` must be at least 1".to_owned())),
            (AuditExportFormat::Json, Some(limit)) if limit > AuditQuery::MAX_PAGE_ROWS => {
                let most = AuditQuery::MAX_PAGE_ROWS;
                return Err(bad(format!("`limit` is at most {most}; for more, `format=jsonl`")));
            }
            _ => {}
        }
        let query = AuditQuery {
            since: sent.time("since")?,
            until: sent.time("until")?,
            kind: sent.text("kind")?,
            principal: sent.text("principal")?,
            agent: sent.text("agent")?,
            server: sent.text("server")?,
            tool: sent.text("tool")?,
            name: sent.text("name")?.map(Glob::new),
            outcome: sent.text("outcome")?,
            call: sent.text("call")?,
            after: sent.number("after")?,
            direction,
            limit: limit.unwrap_or(DEFAULT_PAGE_ROWS),
        };
        Ok(Self { query, format, left: limit })
    }
}

struct AuditQueryReader<'s> {
    pairs: &'s [(String, String)],
    now: SystemTime,
}

impl AuditQueryReader<'_> {
    /// An empty value counts as absent.
    fn text(&self, key: &str) -> Result<Option<String>, ApiError> {
        let mut values = self.pairs.iter().filter(|(name, _)| name == key).map(|(_, value)| value);
        let value = values.next().filter(|value| !value.is_empty());
        if values.next().is_some() {
            return Err(bad(format!("`{key}` appears twice")));
        }
        match value {
            Some(value) if value.chars().count() > MAX_FILTER_CHARS => {
                Err(bad(format!("`{key}` is longer than {MAX_FILTER_CHARS} characters")))
            }
            value => Ok(value.cloned()),
        }
    }

    fn number(&self, key: &str) -> Result<Option<u64>, ApiError> {
        let number =
            |text: String| text.parse().map_err(|_| bad(format!("`{key}` must be a number")));
        self.text(key)?.map(number).transpose()
    }

    fn time(&self, key: &str) -> Result<Option<SystemTime>, ApiError> {
        let wrong = || bad(format!("`{key}` is a time (`2026-11-15T10:00:00Z`) or a span (`1h`)"));
        self.text(key)?.map(|text| moment(&text, self.now).ok_or_else(wrong)).transpose()
    }
}

/// A date, or a duration before now.
fn moment(text: &str, now: SystemTime) -> Option<SystemTime> {
    match date::span(text) {
        Some(span) => Some(now.checked_sub(span).unwrap_or(SystemTime::UNIX_EPOCH)),
        None => date::parse(text),
    }
}

fn bad(detail: String) -> ApiError {
    ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_query", detail)
}
