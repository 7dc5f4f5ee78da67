//! OpenAPI: health and status of the gateway.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{
    flag, free, list, number, object, one_of, or_null, schema_ref, text, tier, time, whole,
    with_description,
};

pub(super) fn area() -> OpenApiSection {
    let ready = object(
        &[(
            "state",
            one_of(&["ready", "starting", "stopping", "short_of_memory", "audit_failing"]),
        )],
        &[
            ("audit", one_of(&["failing"])),
            ("memory", one_of(&["ready", "slow", "away", "failed"])),
        ],
    );
    let plain = json!({"type": "string"});
    OpenApiSection {
        tag: "gateway",
        about: "Health and status.",
        operations: vec![
            Operation::new(("get", "/healthz"), "health", "Liveness").open().gives(
                200,
                "alive",
                object(&[("tollgate", text())], &[]),
            ),
            Operation::new(("get", "/readyz"), "readiness", "Readiness")
                .open()
                .gives(200, "ready", ready.clone())
                .gives(503, "not ready", ready),
            Operation::new(("get", "/metrics"), "metrics", "Metrics for Prometheus")
                .needs("observe")
                .gives_media((200, "text/plain"), "in the Prometheus text format", plain),
            Operation::new(
                ("get", "/api/overview"),
                "overview",
                "Status of servers and tools, and items that need attention",
            )
            .needs("observe")
            .gives(200, "the overview", schema_ref("Overview")),
            Operation::new(("get", "/api/openapi.json"), "openapi", "This document")
                .needs("any")
                .gives(200, "OpenAPI 3.1", free()),
        ],
        schemas: vec![("Overview", overview())],
    }
}

fn overview() -> Value {
    let counts = |names: &[&'static str]| {
        let counts: Vec<(&str, Value)> = names.iter().map(|name| (*name, whole())).collect();
        object(&counts, &[])
    };
    let of_calls = [("calls", whole()), ("errors", whole()), ("misses", whole())];
    let with = |more: &[(&'static str, Value)]| object(&[more, &of_calls].concat(), &[]);
    let figure = || or_null(number());
    let minute = with(&[("at", time())]);
    let of_tier =
        with(&[("tier", tier()), ("p50_ms", figure()), ("p95_ms", figure()), ("p99_ms", figure())]);
    let slow = object(
        &[
            ("server", text()),
            ("tool", text()),
            ("name", text()),
            ("tier", tier()),
            ("p99_ms", number()),
        ],
        &[],
    );
    let kinds = ["server", "tool", "approval", "config", "audit", "pressure"];
    let attention = object(
        &[
            ("kind", one_of(&kinds)),
            ("text", text()),
            ("link", with_description(text(), "the page of the admin UI that deals with it")),
        ],
        &[],
    );
    let config = object(&[("file", or_null(text())), ("writable", flag()), ("good", flag())], &[]);
    object(
        &[
            ("version", text()),
            ("uptime_s", whole()),
            ("environment", text()),
            ("listen", or_null(text())),
            ("config", config),
            (
                "servers",
                counts(&["ready", "starting", "degraded", "offline", "failed", "disabled"]),
            ),
            ("tools", counts(&["served", "withheld", "flagged", "away"])),
            ("approvals", whole()),
            ("sessions", whole()),
            ("calls", object(&[("minutes", list(minute)), ("tiers", list(of_tier))], &[])),
            ("slowest", list(slow)),
            ("attention", list(attention)),
        ],
        &[],
    )
}
