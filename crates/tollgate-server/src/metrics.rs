//! `GET /metrics`: how the gateway stands, as Prometheus reads it. Only what is known anyway is
//! written down when somebody asks; nothing is counted for it on the path of a call.

use std::fmt::{Display, Write as _};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use tollgate_engine::upstream;
use tollgate_llm::realtime::Sums;

use crate::mcp::Front;
use crate::ops::for_observers;
use crate::problem::Style;

const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) async fn metrics(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    match for_observers(&front, &sent) {
        Ok(()) => ([(CONTENT_TYPE, FORMAT)], written(&front)).into_response(),
        Err(problem) => problem.response(Style::ProblemDetails),
    }
}

fn written(front: &Front) -> String {
    let mut text = Text::default();
    if let Some(operator) = front.operator.get() {
        let (last, tally) = operator.last();
        text.family("tollgate_config_reloads_total", "counter", "Readings of the config.");
        text.sample("outcome=\"applied\"", tally.applied);
        text.sample("outcome=\"refused\"", tally.refused);
        let is_good = last.is_none_or(|last| !last.is_refused());
        text.family("tollgate_config_good", "gauge", "Whether the file, as last read, runs.");
        text.sample("", u64::from(is_good));
    }
    text.family("tollgate_audit_writable", "gauge", "Whether the audit trail can be written.");
    text.sample("", u64::from(front.gate.ledger().trouble().is_none()));
    text.family("tollgate_approvals_waiting", "gauge", "Calls that wait for a person's leave.");
    text.sample("", count(front.gate.approvals().waiting().len()));
    text.family("tollgate_requests_in_flight", "gauge", "Requests that are being answered.");
    text.sample("", count(front.crowd.inside()));
    live(&mut text, &front.hall.sums());
    let catalog = front.gate.catalog();
    text.family("tollgate_tools", "gauge", "Tools, by whether anybody can see them.");
    text.sample("state=\"served\"", count(catalog.tools.len()));
    text.sample("state=\"withheld\"", count(catalog.withheld.len()));
    text.sample("state=\"away\"", count(catalog.away.len()));
    let servers = front.gate.servers();
    let label = |id: &tollgate_core::id::ServerId| format!("server=\"{id}\"");
    text.family("tollgate_server_up", "gauge", "Whether the server is in service.");
    for server in &servers {
        let state = server.status.state;
        let is_up = matches!(state, upstream::State::Ready | upstream::State::Degraded);
        text.sample(&label(&server.id), u64::from(is_up));
    }
    text.family("tollgate_server_restarts_total", "counter", "How often it was started again.");
    for server in &servers {
        text.sample(&label(&server.id), u64::from(server.status.restarts));
    }
    text.out
}

/// Of sessions by their dialects. Tool seconds by turn seconds are the tools' share of the turns.
fn live(text: &mut Text, sums: &[(&'static str, Sums)]) {
    type Figure = fn(&Sums) -> f64;
    #[expect(clippy::cast_precision_loss, reason = "nobody counts so far")]
    const FIGURES: &[(&str, &str, &str, Figure)] = &[
        ("tollgate_live_sessions", "gauge", "Live sessions that are held.", |it| it.open as f64),
        ("tollgate_live_sessions_total", "counter", "Live sessions.", |it| it.sessions as f64),
        ("tollgate_live_turns_total", "counter", "Their turns.", |it| it.turns as f64),
        (
            "tollgate_live_interrupted_turns_total",
            "counter",
            "Turns that the caller broke off.",
            |it| it.interrupted as f64,
        ),
        ("tollgate_live_turn_seconds_total", "counter", "How long the turns took.", |it| {
            it.took.as_secs_f64()
        }),
        ("tollgate_live_tool_seconds_total", "counter", "Of that, with tools.", |it| {
            it.tools.as_secs_f64()
        }),
        ("tollgate_live_calls_total", "counter", "Tool calls in turns.", |it| it.calls as f64),
        (
            "tollgate_live_budget_misses_total",
            "counter",
            "Calls that were not done when the time of their turn was over.",
            |it| it.missed as f64,
        ),
        (
            "tollgate_live_announcements_total",
            "counter",
            "Words for slow calls that were said.",
            |it| it.announced as f64,
        ),
        (
            "tollgate_live_cancellations_total",
            "counter",
            "Calls that nobody waited for any more.",
            |it| it.cancelled as f64,
        ),
        (
            "tollgate_live_late_results_total",
            "counter",
            "Results that came after their turn.",
            |it| it.late as f64,
        ),
    ];
    for (name, kind, help, figure) in FIGURES {
        text.family(name, kind, help);
        for (dialect, sums) in sums {
            text.sample(&format!("dialect=\"{dialect}\""), figure(sums));
        }
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[derive(Default)]
struct Text {
    out: String,
    name: &'static str,
}

impl Text {
    fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        let _ = writeln!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// `labels` hold no text of strangers: ids of servers have no signs that need escaping.
    fn sample(&mut self, labels: &str, value: impl Display) {
        let name = self.name;
        let _ = match labels {
            "" => writeln!(self.out, "{name} {value}"),
            labels => writeln!(self.out, "{name}{{{labels}}} {value}"),
        };
    }
}
