//! What is told of calls to those who follow them.

use std::sync::Arc;

use tollgate_core::call_policy::ContentCapture;
use tollgate_core::trace::Trace;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineTelemetrySettings {
    pub baggage: BaggagePolicy,
    pub capture: ContentCapture,
}

/// What becomes of the `baggage` that a client sends with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BaggagePolicy {
    /// A client could tell servers anything by it, and nobody checks what it means.
    #[default]
    Dropped,
    /// Servers get it. Models' providers do not.
    Passed,
}

impl EngineTelemetrySettings {
    /// What of a request's trace goes on.
    pub(crate) fn filter_trace(self, trace: Option<Arc<Trace>>) -> Option<Arc<Trace>> {
        let trace = trace?;
        match self.baggage {
            BaggagePolicy::Dropped if trace.baggage.is_some() => {
                let context = trace.context.clone()?;
                Some(Arc::new(Trace { context: Some(context), baggage: None }))
            }
            BaggagePolicy::Dropped | BaggagePolicy::Passed => Some(trace),
        }
    }
}
