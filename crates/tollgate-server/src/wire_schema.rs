//! Schemas of fields that are texts in Rust and less than that in JSON: times, and words of a fixed
//! list.
//!
//! A response type names them by `#[schemars(with = "…")]`. The OpenAPI document is made of these
//! types; the route tests validate every response against it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// RFC 3339.
pub(crate) enum Time {}

impl JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

macro_rules! words {
    ($($name:ident = [$($word:literal),+ $(,)?];)+) => {$(
        pub(crate) enum $name {}

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "enum": [$($word),+]})
            }
        }
    )+};
}

words! {
    TierWord = ["fast", "standard", "deep"];
    RouteWord = ["order", "weight", "latency", "cost"];
    BreakerWord = ["closed", "open", "half_open"];
    HealthWord = ["healthy", "failing", "overrunning"];
    BadgeWord = ["lightning", "fast", "standard", "slow"];
    EffectWord = ["read_only", "mutating", "destructive"];
    VerdictWord = ["served", "flagged", "withheld", "away"];
    TrustedByWord = ["first_use", "person"];
    CalibrationWord = ["probed", "skipped", "failed"];
    StatusWord = [
        "ok", "no_results", "error", "timeout", "pending", "denied", "invalid_arguments",
        "rate_limited", "offline",
    ];
    PageKindWord = ["whole", "items", "fields", "text", "source"];
    PendingWord = ["pending"];
    ReadyWord = ["ready"];
    ServerStateWord = ["starting", "ready", "degraded", "offline", "failed", "disabled"];
    TransportWord = ["stdio", "streamable-http", "sse", "in-process"];
    ReadinessWord = ["ready", "starting", "stopping", "short_of_memory", "audit_failing"];
    AuditReadinessWord = ["failing"];
    MemoryReadinessWord = ["ready", "slow", "away", "failed"];
    AttentionWord = ["server", "tool", "approval", "config", "audit", "pressure"];
    LossWord = ["tail", "replaced", "head", "anchor", "database"];
    DecisionWord = ["approve", "deny"];
    KeyOriginWord = ["config", "made"];
    RoleWord = ["admin", "operator", "caller"];
    RightWord = ["execute", "override_tier", "approve", "observe", "any_model", "admin"];
    AgentEngineWord = ["cascaded", "sentence_cascade", "s2s"];
    ToolSearchWord = ["off", "auto", "always"];
    MixedResponseWord = ["native", "inline"];
    RecordWord = ["off", "own", "shared"];
    MusicWord = ["play", "stop"];
}
