//! Metrics of upstream servers and of pending approvals.

use tollgate_engine::gate::Gate;
use tollgate_engine::upstream::UpstreamState;

use super::table::{
    APPROVALS, APPROVALS_WAITING, MetricFamily, SERVER_IN_FLIGHT, SERVER_LATE, SERVER_QUEUE,
    SERVER_RESTARTS, SERVER_STATE, SERVER_UP,
};
use super::text::{MetricLabels, PrometheusText};

pub(super) fn write(text: &mut PrometheusText, gate: &Gate) {
    let servers = gate.servers();
    let mut each =
        |family: &MetricFamily,
         figure: &dyn Fn(&tollgate_engine::upstream::UpstreamStatus) -> u64| {
            text.family(family);
            for server in &servers {
                let labels = MetricLabels::of(family, &[server.id.as_str()]);
                text.sample(family, &labels, figure(&server.status));
            }
        };
    each(&SERVER_UP, &|status| {
        u64::from(matches!(status.state, UpstreamState::Ready | UpstreamState::Degraded))
    });
    each(&SERVER_RESTARTS, &|status| u64::from(status.restarts));
    each(&SERVER_LATE, &|status| status.late_answers);
    text.family(&SERVER_STATE);
    for server in &servers {
        for state in UpstreamState::ALL {
            let labels = MetricLabels::of(&SERVER_STATE, &[server.id.as_str(), state.as_str()]);
            text.sample(&SERVER_STATE, &labels, u8::from(server.status.state == state));
        }
    }
    let upstreams = servers.iter().filter_map(|server| gate.upstream(server.id.as_str()));
    let upstreams: Vec<_> = upstreams.collect();
    text.family(&SERVER_IN_FLIGHT);
    for upstream in &upstreams {
        let labels = MetricLabels::of(&SERVER_IN_FLIGHT, &[upstream.id().as_str()]);
        text.sample(&SERVER_IN_FLIGHT, &labels, upstream.busy().running);
    }
    text.family(&SERVER_QUEUE);
    for upstream in &upstreams {
        let labels = MetricLabels::of(&SERVER_QUEUE, &[upstream.id().as_str()]);
        text.sample(&SERVER_QUEUE, &labels, upstream.busy().waiting);
    }
    approvals(text, gate);
}

fn approvals(text: &mut PrometheusText, gate: &Gate) {
    text.single(&APPROVALS_WAITING, gate.approvals().waiting().len());
    text.family(&APPROVALS);
    for (ending, count) in gate.approvals().ending_counts() {
        text.sample(&APPROVALS, &MetricLabels::of(&APPROVALS, &[ending.as_str()]), count);
    }
}
