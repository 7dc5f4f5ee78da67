//! Ends a request whose caller's credential is revoked while it runs, with an error in the format
//! of its API. The calls that it made have been cancelled already.

use std::future::Future;
use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use serde_json::json;
use tollgate_core::lease::RevokedError;
use tollgate_engine::audit::{AuditAction, Decision};

use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::auth::AuthenticatedCaller;
use crate::events;

/// A request in progress.
pub(crate) struct RevocableRequest<'r> {
    pub(crate) front: &'r Arc<AppState>,
    pub(crate) visitor: &'r AuthenticatedCaller,
    pub(crate) style: ApiErrorFormat,
    pub(crate) path: &'r str,
}

impl RevocableRequest<'_> {
    /// The response, or a revocation error. Handlers that detect the revocation themselves get a
    /// short grace to send a better error.
    pub(crate) async fn answer_unless_revoked(
        &self,
        answer: impl Future<Output = Response>,
    ) -> Response {
        let mut answer = std::pin::pin!(answer);
        let why = tokio::select! {
            biased;
            response = &mut answer => return response,
            why = self.visitor.lease.terms().wait() => why,
        };
        match tokio::time::timeout(events::REVOCATION_GRACE, answer).await {
            Ok(response) => response,
            Err(_) => {
                self.note("request", &why);
                ApiError::from_revocation(&why).response(self.style)
            }
        }
    }

    /// Ends a stream when the caller's lease ends.
    pub(crate) fn end_stream_on_revocation(&self, response: Response) -> Response {
        let is_events = tollgate_mcp::web::body::is_event_stream(response.headers());
        let ended = self.visitor.lease.clone().wait_for_end(self.front.clock.wall());
        let style = self.style;
        let row = self.row("stream");
        let front = Arc::clone(self.front);
        events::until_revoked(response, ended, move |why| {
            front.gate.ledger().note_later(row.because(why.as_str()));
            if is_events { last_event(style, why) } else { Bytes::new() }
        })
    }

    fn note(&self, what: &str, why: &RevokedError) {
        self.front.gate.ledger().note_later(self.row(what).because(why.as_str()));
    }

    fn row(&self, what: &str) -> Decision {
        let row = Decision::new(AuditAction::Revocation, &self.visitor.principal, "revoked");
        row.about(&format!("{what} {}", self.path))
    }
}

/// In a form that clients of each API treat as an error, or ignore.
fn last_event(style: ApiErrorFormat, why: &RevokedError) -> Bytes {
    let problem = ApiError::from_revocation(why);
    let event = match style {
        ApiErrorFormat::OpenAi => events::event(Some("error"), problem.open_ai()),
        ApiErrorFormat::Anthropic => events::event(Some("error"), problem.in_style(style)),
        ApiErrorFormat::Gemini => events::event(None, problem.in_style(style)),
        ApiErrorFormat::JsonRpc | ApiErrorFormat::ProblemDetails => {
            let data = json!({"code": problem.code, "reason": why.as_str()});
            events::event(Some("revoked"), data.to_string())
        }
    };
    // First terminate an event that was cut off.
    [b"\n\n", &event[..]].concat().into()
}
