//! The span of an agent's turn. Begun by the run of a completion.

use tollgate_engine::spans::{SpanKind, TraceScope, TraceSpan};

use super::AgentTurn;

/// A model without an agent only has the span of its query.
pub(super) fn begin_agent_span(follow: &TraceScope, acting: Option<&AgentTurn>) -> TraceSpan {
    let Some(acting) = acting else { return TraceSpan::part_of(follow.trace.as_ref()) };
    let agent = acting.agent.id.as_str();
    let mut span = follow.begin(SpanKind::Internal, || format!("invoke_agent {agent}").into());
    span.tell(|attributes| {
        attributes.set("gen_ai.operation.name", "invoke_agent");
        attributes.set("gen_ai.agent.name", agent.to_owned());
        attributes.set("tollgate.tier", acting.turn.view.tier.as_str());
    });
    span
}
