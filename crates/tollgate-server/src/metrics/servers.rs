//! Servers, and the people whose leave calls wait for.

use tollgate_engine::gate::Gate;
use tollgate_engine::upstream::State;

use super::table::{
    APPROVALS, APPROVALS_WAITING, Family, SERVER_IN_FLIGHT, SERVER_LATE, SERVER_QUEUE,
    SERVER_RESTARTS, SERVER_STATE, SERVER_UP,
};
use super::text::{Labels, Text};

pub(super) fn write(text: &mut Text, gate: &Gate) {
    let servers = gate.servers();
    let mut each = |family: &Family, figure: &dyn Fn(&tollgate_engine::upstream::Status) -> u64| {
        text.family(family);
        for server in &servers {
            let labels = Labels::of(family, &[server.id.as_str()]);
            text.sample(family, &labels, figure(&server.status));
        }
    };
    each(&SERVER_UP, &|status| u64::from(matches!(status.state, State::Ready | State::Degraded)));
    each(&SERVER_RESTARTS, &|status| u64::from(status.restarts));
    each(&SERVER_LATE, &|status| status.late_answers);
    text.family(&SERVER_STATE);
    for server in &servers {
        for state in State::ALL {
            let labels = Labels::of(&SERVER_STATE, &[server.id.as_str(), state.as_str()]);
            text.sample(&SERVER_STATE, &labels, u8::from(server.status.state == state));
        }
    }
    let upstreams = servers.iter().filter_map(|server| gate.upstream(server.id.as_str()));
    let upstreams: Vec<_> = upstreams.collect();
    text.family(&SERVER_IN_FLIGHT);
    for upstream in &upstreams {
        let labels = Labels::of(&SERVER_IN_FLIGHT, &[upstream.id().as_str()]);
        text.sample(&SERVER_IN_FLIGHT, &labels, upstream.busy().running);
    }
    text.family(&SERVER_QUEUE);
    for upstream in &upstreams {
        let labels = Labels::of(&SERVER_QUEUE, &[upstream.id().as_str()]);
        text.sample(&SERVER_QUEUE, &labels, upstream.busy().waiting);
    }
    approvals(text, gate);
}

fn approvals(text: &mut Text, gate: &Gate) {
    text.single(&APPROVALS_WAITING, gate.approvals().waiting().len());
    text.family(&APPROVALS);
    for (ending, count) in gate.approvals().ended() {
        text.sample(&APPROVALS, &Labels::of(&APPROVALS, &[ending.as_str()]), count);
    }
}
