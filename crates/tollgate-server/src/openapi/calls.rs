//! OpenAPI: running and recent calls.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{
    flag, list, number, object, or_null, schema_ref, text, tier, time, whole, with_description,
};

pub(super) fn area() -> OpenApiSection {
    let page = object(
        &[
            ("running", with_description(list(schema_ref("Call")), "oldest first")),
            ("calls", with_description(list(schema_ref("Call")), "newest first")),
            ("next", with_description(or_null(whole()), "the `after` of the next page")),
        ],
        &[],
    );
    let word = || json!({"type": "string", "maxLength": 256});
    let limit = json!({"type": "integer", "minimum": 1, "maximum": 500});
    OpenApiSection {
        tag: "calls",
        about: "Running and recent calls, from memory. Older ones are in the audit trail.",
        operations: vec![
            Operation::new(("get", "/api/calls"), "listCalls", "Running and recent calls")
                .needs("observe")
                .query("turn", word(), "by turn")
                .query("agent", word(), "by agent")
                .query("server", word(), "by server")
                .query("tool", word(), "the server's name of the tool")
                .query("name", word(), "a glob of exposed names")
                .query("principal", word(), "who asked")
                .query("outcome", word(), "by outcome")
                .query("probes", flag(), "`false` omits the gateway's own probes")
                .query("after", whole(), "the `next` of the previous page")
                .query("limit", limit, "calls per page; default 100")
                .gives(200, "a page", page),
        ],
        schemas: vec![("Call", call())],
    }
}

fn call() -> Value {
    let step =
        object(&[("step", text()), ("from_ms", number()), ("to_ms", or_null(number()))], &[]);
    object(
        &[
            ("id", text()),
            ("turn", text()),
            ("within", with_description(or_null(text()), "the call whose program made it")),
            ("at", time()),
            ("principal", text()),
            ("agent", text()),
            ("probe", with_description(flag(), "a probe of the gateway")),
            ("method", text()),
            ("name", text()),
            ("server", or_null(text())),
            ("tool", or_null(text())),
            ("tier", tier()),
            ("outcome", with_description(or_null(text()), "`null` while it runs")),
            ("detail", or_null(text())),
            ("cached", flag()),
            ("duration_ms", number()),
            ("result_bytes", whole()),
            ("turn_began", time()),
            (
                "deadline_ms",
                with_description(or_null(number()), "of the turn, measured from `turn_began`"),
            ),
            ("steps", with_description(list(step), "measured from the start of the call")),
        ],
        &[],
    )
}
