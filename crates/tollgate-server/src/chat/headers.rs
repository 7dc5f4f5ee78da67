//! Response headers that report the decisions made for an answer: tier, model, timings.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate_core::turn::Turn;
use tollgate_engine::clock::Clock;
use tollgate_llm::agent::{CompletionFacts, CompletionTimes};

use crate::app_state::AppState;

pub(crate) struct TurnResponseHeaders {
    map: HeaderMap,
    call_id: String,
    began: Instant,
    clock: Arc<dyn Clock>,
}

impl TurnResponseHeaders {
    pub(crate) fn new(began: Instant, front: &AppState) -> Self {
        let call_id = format!("{:032x}", rand::random::<u128>());
        let clock = Arc::clone(&front.clock);
        let mut headers = Self { map: HeaderMap::new(), call_id, began, clock };
        let call_id = headers.call_id.clone();
        headers.set("x-tollgate-call-id", &call_id);
        headers
    }

    pub(super) fn call_id(&self) -> &str {
        &self.call_id
    }

    pub(crate) fn turn(&mut self, turn: &Turn, reason: &str) {
        self.set("x-tollgate-tier", turn.view.tier.as_str());
        self.set("x-tollgate-tier-reason", reason);
        self.set("x-tollgate-agent", turn.view.agent.as_str());
        self.set("x-tollgate-turn", turn.id.as_str());
        if let Some(span) = turn.span() {
            self.set("x-tollgate-deadline-ms", &span.as_millis().to_string());
        }
    }

    pub(super) fn model(&mut self, name: &str) {
        self.set("x-tollgate-model", name);
    }

    pub(super) fn facts(&mut self, facts: &CompletionFacts) {
        self.model(&facts.model);
        self.set("x-tollgate-tools-visible", &facts.visible.to_string());
        self.set("x-tollgate-tools-pruned", &facts.pruned.len().to_string());
    }

    /// The tokens were counted by the gateway, not by the model's provider.
    pub(super) fn set_estimated_count(&mut self) {
        self.set("x-tollgate-token-count", "estimated");
    }

    pub(super) fn set_lost(&mut self, lost: &[String]) {
        if !lost.is_empty() {
            self.set("x-tollgate-lost", &lost.join("; "));
        }
    }

    /// Timings that are known only at the end.
    pub(crate) fn times(&mut self, times: CompletionTimes) {
        self.set("x-tollgate-tool-ms", &times.tools.as_millis().to_string());
        self.overhead(times.models + times.tools);
    }

    /// The gateway's own time: neither the model's nor the tools'.
    pub(super) fn overhead(&mut self, others: Duration) {
        let all = self.clock.now().saturating_duration_since(self.began);
        let own = all.saturating_sub(others).as_micros();
        self.set("x-tollgate-overhead-us", &own.to_string());
    }

    pub(crate) fn write_into(self, headers: &mut HeaderMap) {
        headers.extend(self.map);
    }

    /// Values that a header cannot hold are left out.
    fn set(&mut self, name: &'static str, value: &str) {
        const MAX_VALUE_CHARS: usize = 1_000;
        let plain = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
        let value: String = value.chars().take(MAX_VALUE_CHARS).map(plain).collect();
        if let Ok(value) = HeaderValue::from_str(&value) {
            self.map.insert(HeaderName::from_static(name), value);
        }
    }
}
