//! What becomes of a request whose caller loses what let them in while it runs: it is given up, and
//! its caller is told why in the words of its API. Calls that it made have stopped by themselves.

use std::future::Future;
use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use serde_json::json;
use tollgate_core::lease::Revoked;
use tollgate_engine::audit::{Act, Decision};

use crate::auth::Visitor;
use crate::events;
use crate::mcp::Front;
use crate::problem::{Problem, Style};

/// A request under way.
pub(crate) struct Underway<'r> {
    pub(crate) front: &'r Arc<Front>,
    pub(crate) visitor: &'r Visitor,
    pub(crate) style: Style,
    pub(crate) path: &'r str,
}

impl Underway<'_> {
    /// The answer, or the end. What notices by itself that it has to stop has a moment to say so
    /// better.
    pub(crate) async fn answered(&self, answer: impl Future<Output = Response>) -> Response {
        let mut answer = std::pin::pin!(answer);
        let why = tokio::select! {
            biased;
            response = &mut answer => return response,
            why = self.visitor.lease.terms().wait() => why,
        };
        match tokio::time::timeout(events::LAST_WORDS, answer).await {
            Ok(response) => response,
            Err(_) => {
                self.note("request", &why);
                Problem::revoked(&why).response(self.style)
            }
        }
    }

    /// An answer that goes on for as long as there is something to say, but no longer than whoever
    /// asked may hear it.
    pub(crate) fn streamed(&self, response: Response) -> Response {
        let is_events = tollgate_mcp::web::body::is_event_stream(response.headers());
        let ended = self.visitor.lease.clone().ended(self.front.clock.wall());
        let (style, row) = (self.style, self.row("stream"));
        let front = Arc::clone(self.front);
        events::until_revoked(response, ended, move |why| {
            front.gate.ledger().note_later(row.because(why.as_str()));
            if is_events { last_event(style, why) } else { Bytes::new() }
        })
    }

    fn note(&self, what: &str, why: &Revoked) {
        self.front.gate.ledger().note_later(self.row(what).because(why.as_str()));
    }

    fn row(&self, what: &str) -> Decision {
        let row = Decision::new(Act::Revocation, &self.visitor.principal, "revoked");
        row.about(&format!("{what} {}", self.path))
    }
}

/// In a form that clients of each API take for an error, or skip.
fn last_event(style: Style, why: &Revoked) -> Bytes {
    let problem = Problem::revoked(why);
    let event = match style {
        Style::OpenAi => events::event(Some("error"), problem.open_ai()),
        Style::Anthropic => events::event(Some("error"), problem.in_style(style)),
        Style::Gemini => events::event(None, problem.in_style(style)),
        Style::JsonRpc | Style::ProblemDetails => {
            let data = json!({"code": problem.code, "reason": why.as_str()});
            events::event(Some("revoked"), data.to_string())
        }
    };
    // Whatever was being said when it was cut ends first.
    [b"\n\n", &event[..]].concat().into()
}
