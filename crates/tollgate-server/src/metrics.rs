//! `GET /metrics`: Prometheus metrics. The call path only increments a few counters. Everything
//! else is computed on request.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;

use crate::api_error::ApiErrorFormat;
use crate::app_state::AppState;
use crate::ops::for_observers;

mod calls;
mod gateway;
mod models;
mod process;
mod providers;
mod reference;
mod servers;
mod sessions;
mod table;
mod text;

pub use reference::reference;
use text::PrometheusText;

const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) async fn metrics(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    match for_observers(&front, &sent) {
        Ok(()) => ([(CONTENT_TYPE, FORMAT)], render(&front)).into_response(),
        Err(problem) => problem.response(ApiErrorFormat::ProblemDetails),
    }
}

fn render(front: &AppState) -> String {
    let mut text = PrometheusText::default();
    gateway::write(&mut text, front);
    calls::write(&mut text, &front.gate);
    servers::write(&mut text, &front.gate);
    models::write(&mut text, &front.chat);
    providers::write(&mut text, &front.chat.models().targets());
    models::write_usage(&mut text, front.gate.model_usage());
    sessions::write(&mut text, front);
    text.finish()
}

#[cfg(test)]
mod tests;
