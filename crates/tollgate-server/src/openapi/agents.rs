//! OpenAPI: agents of the config.

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{
    body, flag, list, map, object, one_of, or_null, schema_ref, text, texts, tier, whole,
    with_description,
};

pub(super) fn area() -> OpenApiSection {
    let unknown = [(404, "`unknown_agent`")];
    let rendered = object(
        &[("agent", text()), ("prompt", or_null(text())), ("greeting", or_null(text()))],
        &[],
    );
    let memory = object(
        &[("namespace", text()), ("record", one_of(&["off", "own", "shared"])), ("recall", flag())],
        &[],
    );
    let agent = object(
        &[
            ("name", text()),
            ("description", text()),
            ("default", with_description(flag(), "whether it is the default agent")),
            ("prompt", or_null(text())),
            ("greeting", or_null(text())),
            ("models", texts()),
            ("engine", one_of(&["cascaded", "sentence_cascade", "s2s"])),
            ("opener_model", or_null(text())),
            ("tools", with_description(texts(), "names and globs")),
            ("auto_execute", texts()),
            ("budget_tier", or_null(tier())),
            ("concurrent", or_null(whole())),
            ("max_depth", whole()),
            ("max_calls", whole()),
            ("max_tools", whole()),
            ("pinned_tools", texts()),
            ("tool_search", one_of(&["off", "auto", "always"])),
            ("mixed_response", one_of(&["native", "inline"])),
            ("code_mode", flag()),
            ("memory", memory),
            ("variables", map(text())),
        ],
        &[],
    );
    OpenApiSection {
        tag: "agents",
        about: "The agents of the config.",
        operations: vec![
            Operation::new(("get", "/api/agents"), "listAgents", "All agents").gives(
                200,
                "in config order",
                object(&[("agents", list(schema_ref("Agent")))], &[]),
            ),
            Operation::new(("get", "/api/agents/{name}"), "showAgent", "One agent")
                .gives(200, "the agent", schema_ref("Agent"))
                .refuses(&unknown),
            Operation::new(
                ("post", "/api/agents/{name}/render"),
                "renderAgent",
                "Renders its prompt and greeting",
            )
            .takes(body(&[], &[("variables", map(text()))]))
            .gives(200, "as sent to a model", rendered)
            .refuses(&unknown),
        ],
        schemas: vec![("Agent", agent)],
    }
}
