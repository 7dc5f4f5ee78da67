//! `GET /api/usage`: what models were used for, by key, agent or model and by day, as JSON or CSV.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, Uri, header};
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::model_usage::{SpeechTotals, UsageDay, UsageTotals};
use tollgate_store::model_usage::UsageRow;

use super::audit::csv;
use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::fields::{check_query, parameter};
use crate::ops::for_observers;

/// Days of a report without `from`.
const DEFAULT_DAYS: u32 = 30;
/// Usage is kept for no longer.
const MAX_DAYS: u32 = 400;

const COLUMNS: &[&str] = &[
    "day",
    "name",
    "requests",
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "cost_usd",
    "unpriced_requests",
    "audio_input_tokens",
    "audio_output_tokens",
    "cached_audio_input_tokens",
    "audio_input_seconds",
    "audio_output_seconds",
    "live_seconds",
];

/// What a report is summed up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum UsageGrouping {
    Key,
    Agent,
    Model,
}

impl UsageGrouping {
    /// Its name in the API and on the command line.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "key" => Self::Key,
            "agent" => Self::Agent,
            "model" => Self::Model,
            _ => return None,
        })
    }

    fn name(self, row: &UsageRow) -> String {
        match self {
            Self::Key => row.key.clone(),
            Self::Agent => row.agent.clone(),
            Self::Model => row.model.clone(),
        }
    }
}

/// Usage of some days. The cost has the prices of the time of each request.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Usage")]
pub(crate) struct UsageReport {
    by: UsageGrouping,
    /// the first day, `2027-01-31`
    from: String,
    /// the last day
    to: String,
    /// the oldest first
    days: Vec<DayUsageJson>,
    /// the sum of all days, the most expensive first
    totals: Vec<NamedUsageJson>,
}

#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "DayUsage")]
struct DayUsageJson {
    day: String,
    #[serde(flatten)]
    used: NamedUsageJson,
}

#[derive(Debug, Clone, JsonSchema, Serialize)]
#[schemars(rename = "NamedUsage")]
struct NamedUsageJson {
    /// of the key, agent or model; an empty agent: the model was asked directly
    name: String,
    requests: u64,
    /// with the cached ones
    input_tokens: u64,
    output_tokens: u64,
    cached_input_tokens: u64,
    cache_write_tokens: u64,
    cost_usd: f64,
    /// requests whose price is unknown; they are not in the cost
    unpriced_requests: u64,
    #[serde(flatten)]
    speech: SpeechUsageJson,
}

/// Of live sessions. Tokens of audio are a part of the other tokens.
#[derive(Debug, Clone, JsonSchema, Serialize)]
#[schemars(rename = "SpeechUsage")]
pub(crate) struct SpeechUsageJson {
    audio_input_tokens: u64,
    audio_output_tokens: u64,
    cached_audio_input_tokens: u64,
    /// audio that the models heard
    audio_input_seconds: f64,
    /// audio that they spoke
    audio_output_seconds: f64,
    /// connections, and files that are charged by the minute
    live_seconds: f64,
}

impl From<&SpeechTotals> for SpeechUsageJson {
    fn from(speech: &SpeechTotals) -> Self {
        let seconds = |ms: u64| Duration::from_millis(ms).as_secs_f64();
        Self {
            audio_input_tokens: speech.audio_input,
            audio_output_tokens: speech.audio_output,
            cached_audio_input_tokens: speech.audio_cached,
            audio_input_seconds: seconds(speech.heard_ms),
            audio_output_seconds: seconds(speech.spoken_ms),
            live_seconds: seconds(speech.live_ms),
        }
    }
}

impl UsageReport {
    pub(crate) fn new(by: UsageGrouping, from: UsageDay, to: UsageDay, rows: &[UsageRow]) -> Self {
        let mut days: BTreeMap<(UsageDay, String), UsageTotals> = BTreeMap::new();
        let mut totals: BTreeMap<String, UsageTotals> = BTreeMap::new();
        for row in rows {
            days.entry((row.day, by.name(row))).or_default().add(&row.totals);
            totals.entry(by.name(row)).or_default().add(&row.totals);
        }
        let day = |((day, name), used): ((UsageDay, String), UsageTotals)| DayUsageJson {
            day: day.to_string(),
            used: NamedUsageJson::new(name, &used),
        };
        let mut totals: Vec<(String, UsageTotals)> = totals.into_iter().collect();
        totals.sort_by_key(|(_, used)| std::cmp::Reverse((used.cost, used.input, used.requests)));
        Self {
            by,
            from: from.to_string(),
            to: to.to_string(),
            days: days.into_iter().map(day).collect(),
            totals: totals
                .into_iter()
                .map(|(name, used)| NamedUsageJson::new(name, &used))
                .collect(),
        }
    }

    /// The days, for spreadsheets.
    pub(crate) fn csv(&self) -> String {
        let rows = self.days.iter().map(|day| serde_json::to_value(day).unwrap_or_default());
        let lines = rows.map(|row| csv::line_of(COLUMNS, &row));
        std::iter::once(format!("{}\r\n", COLUMNS.join(","))).chain(lines).collect()
    }
}

impl NamedUsageJson {
    fn new(name: String, used: &UsageTotals) -> Self {
        Self {
            name,
            requests: used.requests,
            input_tokens: used.input,
            output_tokens: used.output,
            cached_input_tokens: used.cache_read,
            cache_write_tokens: used.cache_written,
            cost_usd: used.cost.as_usd(),
            unpriced_requests: used.unpriced,
            speech: SpeechUsageJson::from(&used.speech),
        }
    }
}

pub(crate) async fn usage(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let today = UsageDay::of(front.clock.wall());
    let asked =
        for_observers(&front, &sent).and_then(|()| UsageQueryParams::read(&sent.uri, today));
    let answer = match asked {
        Ok(asked) => report(&front, &asked).await,
        Err(problem) => Err(problem),
    };
    answer.unwrap_or_else(|problem| problem.response(ApiErrorFormat::ProblemDetails))
}

async fn report(front: &AppState, asked: &UsageQueryParams) -> Result<Response, ApiError> {
    let UsageQueryParams { by, from, to, format } = *asked;
    let meter = Arc::clone(front.gate.model_usage());
    let rows = tokio::task::spawn_blocking(move || meter.report(from, to)).await;
    let rows = rows.map_err(|_| unreadable("the gateway is stopping"))?;
    let rows = rows.map_err(|error| unreadable(&format!("{error}; {}", error.remedy())))?;
    let report = UsageReport::new(by, from, to, &rows);
    Ok(match format {
        UsageFormat::Json => Json(report).into_response(),
        UsageFormat::Csv => {
            let headers = [
                (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
                (header::CACHE_CONTROL, "no-store"),
                (header::CONTENT_DISPOSITION, "attachment; filename=\"usage.csv\""),
            ];
            (headers, report.csv()).into_response()
        }
    })
}

fn unreadable(why: &str) -> ApiError {
    let detail = format!("cannot read the usage of models: {why}");
    ApiError::with_detail(StatusCode::SERVICE_UNAVAILABLE, "usage_unreadable", detail)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UsageFormat {
    Json,
    Csv,
}

#[derive(Debug, Clone, Copy)]
struct UsageQueryParams {
    by: UsageGrouping,
    from: UsageDay,
    to: UsageDay,
    format: UsageFormat,
}

impl UsageQueryParams {
    fn read(uri: &Uri, today: UsageDay) -> Result<Self, ApiError> {
        check_query(uri, &["by", "from", "to", "format"])?;
        let by = match parameter(uri, "by") {
            None => UsageGrouping::Key,
            Some(text) => UsageGrouping::parse(&text)
                .ok_or_else(|| bad("`by` is `key`, `agent` or `model`".to_owned()))?,
        };
        let day = |key: &str| match parameter(uri, key).filter(|text| !text.is_empty()) {
            None => Ok(None),
            Some(text) => UsageDay::parse(&text)
                .map(Some)
                .ok_or_else(|| bad(format!("`{key}` is a day like `2027-01-31`"))),
        };
        let to = day("to")?.unwrap_or(today);
        let from = day("from")?.unwrap_or(to.days_before(DEFAULT_DAYS - 1));
        if from > to || to.days_before(MAX_DAYS) > from {
            return Err(bad(format!("`from` is up to {MAX_DAYS} days before `to`")));
        }
        let format = match parameter(uri, "format").as_deref() {
            None | Some("json") => UsageFormat::Json,
            Some("csv") => UsageFormat::Csv,
            Some(_) => return Err(bad("`format` is `json` or `csv`".to_owned())),
        };
        Ok(Self { by, from, to, format })
    }
}

fn bad(detail: String) -> ApiError {
    ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_query", detail)
}
