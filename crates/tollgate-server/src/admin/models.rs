//! `/api/models`: the models of the config, where each is served, and how well.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_llm::provider::{ModelHandle, TargetCounts, TargetReport};

use super::api_response;
use crate::app_state::AppState;
use crate::fields::check_query;
use crate::ops::for_admins;
use crate::wire_schema::{BreakerWord, RouteWord};

/// Prices are kept in millionths.
const PRICE_UNIT: f64 = 1e6;

pub(crate) async fn list(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let access = for_admins(&front, &sent).and_then(|()| check_query(&sent.uri, &[]));
    api_response(access.map(|()| {
        let models = front.chat.models();
        let models = models.list().iter().map(|model| ModelStatusJson::new(model)).collect();
        Json(ModelStatusListJson { models }).into_response()
    }))
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct ModelStatusListJson {
    models: Vec<ModelStatusJson>,
}

#[derive(JsonSchema, Serialize)]
struct ModelStatusJson {
    name: String,
    #[schemars(with = "RouteWord")]
    route: &'static str,
    hedge_after_ms: Option<u64>,
    /// empty: in process, or for live sessions only
    targets: Vec<ModelTargetJson>,
}

/// A model at one endpoint of a provider.
#[derive(JsonSchema, Serialize)]
struct ModelTargetJson {
    provider: String,
    /// `null`: the provider has only one
    endpoint: Option<String>,
    /// the provider's name of the model
    id: Option<String>,
    weight: u32,
    /// of a million tokens
    price: Option<f64>,
    #[schemars(with = "BreakerWord")]
    breaker: &'static str,
    /// until the provider may be asked again
    rate_limited_ms: Option<u64>,
    in_flight: u32,
    /// of the last minutes
    first_token_ms: Option<u64>,
    tokens_per_second: Option<f64>,
    counts: TargetCountsJson,
}

#[derive(JsonSchema, Serialize)]
struct TargetCountsJson {
    answered: u64,
    rejected: u64,
    rate_limited: u64,
    failed: u64,
    cancelled: u64,
    interrupted: u64,
    hedges: u64,
    hedges_won: u64,
}

impl ModelStatusJson {
    fn new(model: &ModelHandle) -> Self {
        let settings = &model.settings;
        Self {
            name: settings.name.clone(),
            route: settings.route().as_str(),
            hedge_after_ms: settings.pool.hedge_after.map(millis),
            targets: model.targets().into_iter().map(ModelTargetJson::new).collect(),
        }
    }
}

impl ModelTargetJson {
    fn new(target: TargetReport) -> Self {
        let TargetReport { provider, endpoint, id, weight, price, status } = target;
        #[expect(clippy::cast_precision_loss, reason = "prices are small")]
        let price = price.map(|price| price as f64 / PRICE_UNIT);
        Self {
            provider,
            endpoint,
            id,
            weight,
            price,
            breaker: status.breaker.as_str(),
            rate_limited_ms: status.rate_limited_for.map(millis),
            in_flight: status.running,
            first_token_ms: status.first_token.map(millis),
            tokens_per_second: status.tokens_per_second,
            counts: TargetCountsJson::new(status.counts),
        }
    }
}

impl TargetCountsJson {
    fn new(counts: TargetCounts) -> Self {
        Self {
            answered: counts.answered,
            rejected: counts.rejected,
            rate_limited: counts.rate_limited,
            failed: counts.failed,
            cancelled: counts.cancelled,
            interrupted: counts.interrupted,
            hedges: counts.hedges,
            hedges_won: counts.hedges_won,
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
