//! OpenAPI: the event stream.

use serde_json::Value;

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{
    any, extend, flag, object, one_of, or_null, schema_ref, text, tier, time, whole,
};
use super::servers::state;

pub(super) fn area() -> OpenApiSection {
    let events = [calls(), tools(), sessions()].concat();
    OpenApiSection {
        tag: "events",
        about: "Events of the gateway.",
        operations: vec![
            Operation::new(("get", "/api/events"), "events", "Streams all events from now on")
                .needs("observe")
                .query("calls", flag(), "also the start and end of calls")
                .streams("an endless stream", &events),
        ],
        schemas: Vec::new(),
    }
}

/// Schema of the data for each kind of event.
type EventSchemas = Vec<(&'static str, Value)>;

fn calls() -> EventSchemas {
    let call = object(
        &[
            ("principal", text()),
            ("agent", text()),
            ("name", text()),
            ("server", text()),
            ("tool", text()),
        ],
        &[],
    );
    let with = |more: &[(&str, Value)]| extend(&call, object(more, &[]));
    vec![
        ("call_started", schema_ref("Call")),
        ("call_done", schema_ref("Call")),
        ("slow", with(&[("message", text())])),
        ("late", with(&[("handle", text()), ("status", text())])),
        ("approval_requested", with(&[("id", text()), ("why", text()), ("until", time())])),
        ("approval_decided", with(&[("id", text()), ("outcome", text()), ("by", or_null(text()))])),
    ]
}

fn tools() -> EventSchemas {
    let tool = object(&[("server", text()), ("tool", text())], &[]);
    let with = |more: &[(&str, Value)]| extend(&tool, object(more, &[]));
    vec![
        ("moved", with(&[("from", tier()), ("to", tier()), ("reason", text())])),
        ("doubted", with(&[("name", text()), ("verdict", text()), ("reason", text())])),
        ("judged", with(&[("hash", text()), ("decision", text()), ("by", text())])),
        ("reloaded", object(&[("by", text()), ("ok", flag())], &[("error", text())])),
        (
            "music",
            object(
                &[("action", one_of(&["play", "stop"])), ("namespace", text()), ("by", text())],
                &[("mood", text()), ("track", any())],
            ),
        ),
        (
            "server_changed",
            object(
                &[("id", text()), ("state", state()), ("reason", text()), ("since", time())],
                &[],
            ),
        ),
        ("missed", object(&[("count", whole())], &[])),
        ("stopping", object(&[], &[])),
        ("revoked", object(&[("code", text()), ("reason", text())], &[])),
    ]
}

fn sessions() -> EventSchemas {
    let session = object(
        &[
            ("session", text()),
            ("principal", text()),
            ("agent", text()),
            ("dialect", text()),
            ("model", text()),
        ],
        &[],
    );
    let with = |more: &[(&str, Value)]| extend(&session, object(more, &[]));
    let figures = [
        "took_ms",
        "tools_ms",
        "calls",
        "budget_misses",
        "announcements",
        "cancellations",
        "late_results",
    ];
    let mut turn: Vec<(&str, Value)> = figures.iter().map(|name| (*name, whole())).collect();
    turn.push(("interrupted", flag()));
    vec![
        ("session_opened", session.clone()),
        ("session_tier", with(&[("tier", or_null(tier())), ("reason", text())])),
        ("session_turn", with(&turn)),
        ("session_closed", with(&[("code", whole()), ("reason", text())])),
    ]
}
