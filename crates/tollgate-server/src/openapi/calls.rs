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
            ("running", with_description(list(schema_ref("Call")), "the oldest first")),
            ("calls", with_description(list(schema_ref("Call")), "the newest first")),
            ("next", with_description(or_null(whole()), "the `after` of the next page")),
        ],
        &[],
    );
    let word = || json!({"type": "string", "maxLength": 256});
    let limit = json!({"type": "integer", "minimum": 1, "maximum": 500});
    OpenApiSection {
        tag: "calls",
        about: "What runs now and what ran lately, from memory. What is older stands in the audit trail.",
        operations: vec![
            Operation::new(("get", "/api/calls"), "listCalls", "What runs and ran lately")
                .needs("observe")
                .query("turn", word(), "of one turn")
                .query("agent", word(), "as which agent")
                .query("server", word(), "of which server")
                .query("tool", word(), "as its server calls it")
                .query("name", word(), "a glob over exposed names")
                .query("principal", word(), "who asked")
                .query("outcome", word(), "how it ended")
                .query("probes", flag(), "`false` leaves out those by which the gateway measures")
                .query("after", whole(), "the `next` of the page before")
                .query("limit", limit, "calls of a page; 100 without it")
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
            ("probe", with_description(flag(), "made by the gateway, to measure")),
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
            ("deadline_ms", with_description(or_null(number()), "of the turn, from `turn_began`")),
            ("steps", with_description(list(step), "from the beginning of the call")),
        ],
        &[],
    )
}
