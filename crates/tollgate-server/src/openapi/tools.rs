//! OpenAPI: tools for the operator: inventory, latency and trust.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{
    any, body, extend, flag, list, number, object, one_of, or_null, schema_ref, text, texts, tier,
    whole, with_description,
};

pub(super) fn area() -> OpenApiSection {
    let unknown = [(404, "`unknown_tool` or `unknown_server`")];
    let hash = json!({"type": "string", "pattern": "^[0-9a-fA-F]{64}$"});
    let decided = |what, id, summary| {
        Operation::new(what, id, summary)
            .takes(body(
                &[("hash", with_description(hash.clone(), "hash of the reviewed definition"))],
                &[],
            ))
            .gives(200, "the tool after the decision", schema_ref("Tool"))
            .refuses(&unknown)
            .refuses(&[(409, "`own_tool`, or `other_definition` with the offered hash")])
    };
    let steps = [
        ("step", calibration_step()),
        ("done", object(&[("tools", list(schema_ref("Standing")))], &[])),
    ];
    OpenApiSection {
        tag: "tools",
        about: "Tools of the servers: trust, latency and visibility.",
        operations: vec![
            Operation::new(("get", "/api/tools"), "listTools", "All tools").gives(
                200,
                "by exposed name",
                object(&[("tools", list(schema_ref("Tool")))], &[]),
            ),
            Operation::new(("get", "/api/tools/{server}/{tool}"), "showTool", "All about one tool")
                .gives(200, "the tool", schema_ref("ToolDetails"))
                .refuses(&unknown),
            decided(
                ("post", "/api/tools/{server}/{tool}/accept"),
                "acceptTool",
                "Accepts its definition",
            ),
            decided(
                ("post", "/api/tools/{server}/{tool}/reject"),
                "rejectTool",
                "Rejects its definition",
            ),
            Operation::new(
                ("post", "/api/calibrate"),
                "calibrate",
                "Measures the latency of tools that may be probed",
            )
            .takes(body(
                &[],
                &[
                    ("server", text()),
                    ("tool", text()),
                    ("times", json!({"type": "integer", "minimum": 1, "maximum": 100})),
                ],
            ))
            .streams("each probe when it is done, then `done`", &steps)
            .refuses(&unknown),
            Operation::new(
                ("get", "/api/telemetry"),
                "telemetry",
                "Latency statistics of all tools, mergeable with those of other gateways",
            )
            .needs("observe")
            .gives(
                200,
                "statistics without arguments or results",
                schema_ref("Telemetry"),
            ),
        ],
        schemas: schemas(),
    }
}

fn calibration_step() -> Value {
    object(
        &[
            ("tool", text()),
            ("server", text()),
            ("outcome", one_of(&["probed", "skipped", "failed"])),
            ("done", whole()),
            ("total", whole()),
        ],
        &[("took_ms", number()), ("why", text())],
    )
}

pub(super) fn latency_figures() -> Value {
    let figure = || or_null(number());
    or_null(object(
        &[
            ("p50_ms", figure()),
            ("p95_ms", figure()),
            ("p99_ms", figure()),
            ("calls", whole()),
            ("error_rate", with_description(number(), "from 0 to 1")),
        ],
        &[],
    ))
}

pub(super) fn health() -> Value {
    one_of(&["healthy", "failing", "overrunning"])
}

pub(super) fn badge() -> Value {
    or_null(one_of(&["lightning", "fast", "standard", "slow"]))
}

fn schemas() -> Vec<(&'static str, Value)> {
    let pin = object(
        &[
            ("hash", or_null(text())),
            ("by", or_null(one_of(&["first_use", "person"]))),
            ("rejected", texts()),
        ],
        &[],
    );
    let finding = object(
        &[("kind", text()), ("at", text()), ("excerpt", or_null(text())), ("text", text())],
        &[],
    );
    let tool = object(
        &[
            ("name", with_description(text(), "the exposed name")),
            ("server", text()),
            ("tool", with_description(text(), "the server's name of the tool")),
            ("verdict", one_of(&["served", "flagged", "withheld", "away"])),
            ("reason", or_null(text())),
            ("why", with_description(or_null(text()), "the reason as text")),
            ("hash", with_description(or_null(text()), "hash of the offered definition")),
            ("pin", or_null(pin)),
            ("findings", list(finding)),
            ("title", or_null(text())),
            ("description", with_description(or_null(text()), "its first 200 characters")),
            ("read_only", or_null(flag())),
            ("destructive", or_null(flag())),
            ("category", or_null(text())),
            ("online", with_description(flag(), "whether its server is online")),
            ("tier", tier()),
            ("tier_reason", text()),
            ("health", health()),
            ("bimodal", flag()),
            ("badge", badge()),
            ("measured", latency_figures()),
            (
                "recent",
                with_description(list(number()), "the last 24 calls in milliseconds, oldest first"),
            ),
        ],
        &[],
    );
    let standing = object(
        &[
            ("name", text()),
            ("server", text()),
            ("tier", tier()),
            ("reason", text()),
            ("health", health()),
            ("bimodal", flag()),
            ("badge", badge()),
            ("compatibility", text()),
            ("measured", latency_figures()),
        ],
        &[],
    );
    vec![
        ("ToolDetails", extend(&tool, details())),
        ("Tool", tool),
        ("Standing", standing),
        ("Telemetry", telemetry()),
    ]
}

fn details() -> Value {
    let change =
        object(&[("at", text()), ("before", or_null(text())), ("after", or_null(text()))], &[]);
    let kept = object(
        &[
            ("hash", text()),
            ("state", text()),
            ("first_seen", with_description(whole(), "milliseconds since 1970")),
            ("decided_at", or_null(whole())),
            ("decided_by", or_null(text())),
        ],
        &[],
    );
    let declared = object(
        &[
            ("estimated_duration_ms", or_null(whole())),
            ("max_duration_ms", or_null(whole())),
            ("idempotent", flag()),
            ("cacheable_seconds", whole()),
        ],
        &[],
    );
    let seen = || {
        with_description(
            json!({"type": ["boolean", "string"]}),
            "`true`, or the reason why it is hidden",
        )
    };
    let sight = object(
        &[
            ("agent", text()),
            ("tiers", object(&[("fast", seen()), ("standard", seen()), ("deep", seen())], &[])),
        ],
        &[],
    );
    object(
        &[
            ("offered", with_description(any(), "the definition that its server offers now")),
            ("trusted", with_description(any(), "the definition that was accepted")),
            ("changes", or_null(list(change))),
            ("history", list(kept)),
            (
                "ceilings",
                object(
                    &[("fast_ms", whole()), ("standard_ms", whole()), ("deep_ms", whole())],
                    &[],
                ),
            ),
            (
                "samples",
                with_description(
                    list(object(&[("took_ms", number()), ("ok", flag())], &[])),
                    "at most 100, oldest first",
                ),
            ),
            ("declared", or_null(declared)),
            ("agents", with_description(list(sight), "visibility by agent and tier")),
        ],
        &[],
    )
}

fn telemetry() -> Value {
    let tool = object(
        &[
            ("category", or_null(text())),
            ("tool", text()),
            ("calls", whole()),
            ("errors", whole()),
            ("badge", badge()),
            (
                "histogram",
                with_description(list(list(whole())), "microseconds, and number of calls"),
            ),
        ],
        &[],
    );
    object(&[("format", text()), ("tools", list(tool))], &[("environment", text())])
}
