//! Metrics of the gateway and its process.

use std::sync::atomic::Ordering;
use std::time::SystemTime;

use tollgate_engine::panics;
use tollgate_mcp::answer_budget;

use super::process;
use super::table::{
    ACCESS_REFUSED, ANSWER_MEMORY_LIMIT, ANSWER_MEMORY_RESERVED, ANSWERS_REFUSED, AUDIT_WRITABLE,
    BUILD_INFO, CONFIG_GOOD, CONFIG_RELOADS, CONNECTIONS_RESET, EVENTS_MISSED, MEMORY_PRESSURE,
    PANICS, PROCESS_CPU, PROCESS_FILES, PROCESS_MAX_FILES, PROCESS_MEMORY, PROCESS_START,
    REQUESTS_IN_FLIGHT, WRONG_KEYS_THROTTLED,
};
use super::text::{MetricLabels, PrometheusText};
use crate::access::RefusalReason;
use crate::app_state::AppState;

pub(super) fn write(text: &mut PrometheusText, front: &AppState) {
    text.family(&BUILD_INFO);
    text.sample(&BUILD_INFO, &MetricLabels::of(&BUILD_INFO, &[env!("CARGO_PKG_VERSION")]), 1);
    text.single(&REQUESTS_IN_FLIGHT, front.in_flight.inside());
    text.single(&PANICS, panics::count());
    if let Some(operator) = front.operator.get() {
        let (last, tally) = operator.last();
        text.family(&CONFIG_RELOADS);
        for (outcome, count) in [("applied", tally.applied), ("refused", tally.refused)] {
            text.sample(&CONFIG_RELOADS, &MetricLabels::of(&CONFIG_RELOADS, &[outcome]), count);
        }
        let is_good = last.is_none_or(|last| !last.is_refused());
        text.single(&CONFIG_GOOD, u8::from(is_good));
    }
    text.single(&AUDIT_WRITABLE, u8::from(front.gate.ledger().trouble().is_none()));
    text.family(&ACCESS_REFUSED);
    for reason in RefusalReason::ALL {
        let labels = MetricLabels::of(&ACCESS_REFUSED, &[reason.as_str()]);
        text.sample(&ACCESS_REFUSED, &labels, front.refused.count(reason));
    }
    text.single(&WRONG_KEYS_THROTTLED, front.refused.throttled_count());
    text.single(&MEMORY_PRESSURE, front.pressure.level() as u8);
    text.single(&CONNECTIONS_RESET, front.pressure.resets());
    let answers = answer_budget::usage();
    text.single(&ANSWER_MEMORY_RESERVED, answers.reserved_bytes);
    text.single(&ANSWER_MEMORY_LIMIT, answers.limit_bytes);
    text.single(&ANSWERS_REFUSED, answers.refused);
    text.single(&EVENTS_MISSED, front.missed_events.load(Ordering::Relaxed));
    process(text, front);
}

fn process(text: &mut PrometheusText, front: &AppState) {
    let began = front.began_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    text.single(&PROCESS_START, format_args!("{:.3}", began.as_secs_f64()));
    let Some(process) = process::look() else { return };
    text.single(&PROCESS_CPU, format_args!("{:.2}", process.cpu.as_secs_f64()));
    text.single(&PROCESS_MEMORY, process.resident_bytes);
    text.single(&PROCESS_FILES, process.open_files);
    if let Some(most) = process.most_files {
        text.single(&PROCESS_MAX_FILES, most);
    }
}
