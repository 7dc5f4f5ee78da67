//! `GET /api/overview`: health summary of servers, slow tools, and items that need attention.

use std::cmp::Reverse;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::date;
use tollgate_core::trust::TrustVerdict;
use tollgate_engine::calls::{HourReport, MinuteStats, TierStats};
use tollgate_engine::gate::Gate;
use tollgate_engine::servers::ServerStatus;
use tollgate_engine::upstream;

use super::api_response;
use crate::app_state::AppState;
use crate::fields::check_query;
use crate::ops::for_observers;
use crate::tier_assignment::milliseconds;
use crate::wire_schema::{TierWord, Time};

mod attention;

use attention::AttentionItem;

/// Number of slow tools shown.
const SLOWEST: usize = 10;

/// `GET /api/overview`
pub(crate) async fn overview(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let allowed = for_observers(&front, &sent).and_then(|()| check_query(&sent.uri, &[]));
    match allowed {
        Ok(()) => api_response(Ok(Json(OverviewJson::of(&front).await).into_response())),
        Err(problem) => api_response(Err(problem)),
    }
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct OverviewJson {
    version: &'static str,
    uptime_s: u64,
    environment: String,
    listen: Option<String>,
    config: ConfigStatusJson,
    servers: ServerCountsJson,
    tools: ToolCountsJson,
    approvals: usize,
    sessions: usize,
    calls: CallsJson,
    slowest: Vec<SlowToolJson>,
    attention: Vec<AttentionItem>,
}

#[derive(JsonSchema, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "two facts of one file")]
struct ConfigStatusJson {
    file: Option<String>,
    /// whether the file can be changed
    writable: bool,
    /// whether the file, as last read, is in force
    good: bool,
}

/// Number of servers in each state.
#[derive(JsonSchema, Serialize, Default)]
struct ServerCountsJson {
    ready: usize,
    starting: usize,
    degraded: usize,
    offline: usize,
    failed: usize,
    disabled: usize,
}

#[derive(JsonSchema, Serialize)]
struct ToolCountsJson {
    served: usize,
    withheld: usize,
    flagged: usize,
    away: usize,
}

#[derive(JsonSchema, Serialize)]
struct CallsJson {
    minutes: Vec<MinuteJson>,
    tiers: Vec<TierCallsJson>,
}

#[derive(JsonSchema, Serialize)]
struct MinuteJson {
    #[schemars(with = "Time")]
    at: String,
    calls: u64,
    errors: u64,
    misses: u64,
}

#[derive(JsonSchema, Serialize)]
struct TierCallsJson {
    #[schemars(with = "TierWord")]
    tier: &'static str,
    calls: u64,
    errors: u64,
    misses: u64,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
}

#[derive(JsonSchema, Serialize)]
struct SlowToolJson {
    server: String,
    tool: String,
    name: String,
    #[schemars(with = "TierWord")]
    tier: &'static str,
    p99_ms: f64,
}

impl OverviewJson {
    async fn of(front: &AppState) -> Self {
        let gate = &front.gate;
        let servers = gate.servers();
        let catalog = gate.catalog();
        let is_flagged = |verdict: &TrustVerdict| matches!(verdict, TrustVerdict::Flagged(_));
        Self {
            version: env!("CARGO_PKG_VERSION"),
            uptime_s: front.clock.now().saturating_duration_since(front.began).as_secs(),
            environment: gate.environment().to_owned(),
            listen: front.address.get().map(ToString::to_string),
            config: ConfigStatusJson::of(front).await,
            tools: ToolCountsJson {
                served: catalog.tools.len(),
                withheld: catalog.withheld.len(),
                flagged: catalog.doubted.iter().filter(|it| is_flagged(&it.verdict)).count(),
                away: catalog.away.len(),
            },
            approvals: gate.approvals().waiting().len(),
            sessions: front.realtime_sessions.sessions().len(),
            calls: CallsJson::from(gate.calls().hour()),
            slowest: slowest(gate),
            attention: attention::all(front, &servers),
            servers: ServerCountsJson::of(&servers),
        }
    }
}

impl ConfigStatusJson {
    async fn of(front: &AppState) -> Self {
        let Some(operator) = front.operator.get() else {
            return Self { file: None, writable: false, good: true };
        };
        let (last, _) = operator.last();
        let good = last.is_none_or(|last| !last.is_refused());
        let operator = Arc::clone(operator);
        let file = tokio::task::spawn_blocking(move || operator.file()).await.unwrap_or_default();
        Self { file: file.path, writable: file.writable, good }
    }
}

impl ServerCountsJson {
    fn of(servers: &[ServerStatus]) -> Self {
        let mut counts = Self::default();
        for server in servers {
            let count = match server.status.state {
                upstream::UpstreamState::Ready => &mut counts.ready,
                upstream::UpstreamState::Starting => &mut counts.starting,
                upstream::UpstreamState::Degraded => &mut counts.degraded,
                upstream::UpstreamState::Offline => &mut counts.offline,
                upstream::UpstreamState::Failed => &mut counts.failed,
                upstream::UpstreamState::Disabled => &mut counts.disabled,
            };
            *count += 1;
        }
        counts
    }
}

impl From<HourReport> for CallsJson {
    fn from(hour: HourReport) -> Self {
        let minute = |MinuteStats { at, calls, errors, misses }| {
            let at = date::format_rfc3339(at);
            MinuteJson { at, calls, errors, misses }
        };
        let tier = |TierStats { tier, calls, errors, misses, spans }: TierStats| {
            let percentile = |percent| spans.percentile(percent).map(milliseconds);
            TierCallsJson {
                tier: tier.as_str(),
                calls,
                errors,
                misses,
                p50_ms: percentile(50),
                p95_ms: percentile(95),
                p99_ms: percentile(99),
            }
        };
        Self {
            minutes: hour.minutes.into_iter().map(minute).collect(),
            tiers: hour.tiers.into_iter().map(tier).collect(),
        }
    }
}

/// By p99 latency, slowest first.
fn slowest(gate: &Gate) -> Vec<SlowToolJson> {
    let catalog = gate.catalog();
    let measured = catalog.tools.iter().filter_map(|tool| {
        let assigned = gate.reading(&tool.id)?.assigned;
        Some((assigned.figures.p99()?, assigned.tier, tool))
    });
    let mut measured: Vec<_> = measured.collect();
    measured.sort_by_key(|(p99, _, tool)| (Reverse(*p99), tool.exposed.clone()));
    measured.truncate(SLOWEST);
    let shown = measured.into_iter().map(|(p99, tier, tool)| SlowToolJson {
        server: tool.id.server.to_string(),
        tool: tool.id.tool.to_string(),
        name: tool.exposed.to_string(),
        tier: tier.as_str(),
        p99_ms: milliseconds(p99),
    });
    shown.collect()
}
