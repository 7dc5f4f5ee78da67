//! Settings of telemetry: what trace spans contain.

use std::sync::Arc;

use tollgate_core::call_policy::ContentCapture;
use tollgate_core::trace::Trace;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineTelemetrySettings {
    pub baggage: BaggagePolicy,
    pub capture: ContentCapture,
}

/// What happens to the `baggage` of a client's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BaggagePolicy {
    /// A client could tell servers anything with it, and nobody verifies it.
    #[default]
    Dropped,
    /// Forwarded to servers, but not to model providers.
    Passed,
}

impl EngineTelemetrySettings {
    /// The part of a request's trace context that is forwarded.
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
