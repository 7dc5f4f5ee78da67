//! OpenAPI: tool calls over REST.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::operation::Operation;
use super::response_schemas::ResponseSchemas;
use super::schema::{
    any, body, flag, free, list, map, object, one_of, or_null, schema_ref, text, tier, whole,
    with_description,
};
use crate::rest::explain::ExplanationJson;
use crate::rest::leaderboard::LeaderboardJson;
use crate::rest::rest_json::ViewJson;
use crate::rest::results::{PendingResultJson, ResultPageJson};

const CONSUMERS: &[&str] = &["mcp", "chat", "speech", "openai-realtime", "gemini-live", "deepgram"];

pub(super) fn area(responses: &mut ResponseSchemas) -> OpenApiSection {
    OpenApiSection {
        tag: "calling",
        about: "The tools of an agent, and calls.",
        operations: vec![
            view(responses),
            execute(),
            tool_calls(),
            results(responses),
            file(),
            code(),
            code_files(),
        ],
        schemas: schemas(),
    }
}

/// Adds the headers by which every `/v1` request can name its agent and its tier.
pub(super) fn with_context_headers(operation: Operation) -> Operation {
    operation.header("x-tollgate-agent", text(), "the agent, if the request names none").header(
        "x-tollgate-tier",
        tier(),
        "the tier, if the request names none",
    )
}

fn view(responses: &mut ResponseSchemas) -> Operation {
    let formats = [
        "mcp",
        "openai",
        "openai-responses",
        "anthropic",
        "gemini",
        "openai-realtime",
        "gemini-live",
    ];
    let converted = object(&[("tools", list(any()))], &[]);
    let shapes = json!({"anyOf": [
        responses.of::<ViewJson<'_>>(),
        responses.of::<LeaderboardJson>(),
        responses.of::<ExplanationJson<'_>>(),
        converted,
    ]});
    with_context_headers(
        Operation::new("get", "/v1/tools", "viewTools", "The tools of an agent")
            .needs("execute")
            .query("agent", text(), "default: the agent of the key, or the default agent")
            .query("tier", tier(), "the latency budget of the turn")
            .query("format", one_of(&formats), "the tool format of an API")
            .query("leaderboard", flag(), "the measured tools by category, fastest first")
            .query("explain", flag(), "every tool and the reason why it is hidden; for admins"),
    )
    .gives(200, "in the requested format", shapes)
    .refuses(&[(404, "`unknown_agent`")])
}

fn execute() -> Operation {
    let request = body(
        &[("name", text())],
        &[
            ("arguments", free()),
            ("agent", text()),
            ("tier", tier()),
            ("consumer", one_of(CONSUMERS)),
            ("also", list(one_of(CONSUMERS))),
            ("late", flag()),
        ],
    );
    with_context_headers(Operation::new("post", "/v1/tools/execute", "executeTool", "Calls a tool"))
        .header("x-tollgate-no-cache", text(), "bypasses the cache")
        .needs("execute")
        .takes(request)
        .gives(200, "the outcome, success or failure", schema_ref("Outcome"))
        .streams(
            "with `accept: text/event-stream` only",
            &[
                ("progress", free()),
                ("log", free()),
                ("announcement", object(&[("message", text())], &[])),
                ("outcome", schema_ref("Outcome")),
                ("error", schema_ref("Error")),
            ],
        )
        .refuses(&[(404, "`unknown_tool` or `unknown_agent`")])
        .gives(
            429,
            "a rate or concurrency limit is reached",
            json!({"anyOf": [schema_ref("Outcome"), schema_ref("Error")]}),
        )
        .gives(
            503,
            "the server is overloaded, its circuit breaker is open, or the gateway is overloaded",
            json!({"anyOf": [schema_ref("Outcome"), schema_ref("Error")]}),
        )
}

fn tool_calls() -> Operation {
    let formats = ["chat", "responses", "anthropic", "gemini", "openai", "openai-responses"];
    with_context_headers(
        Operation::new(
            "post",
            "/v1/mcp/tool/execute",
            "executeToolCalls",
            "Runs tool calls in a provider's format",
        )
        .needs("execute")
        .query("format", one_of(&formats), "the provider's format; default `chat`"),
    )
    .takes(json!({"type": ["object", "array"], "description": "a call, a list of calls, or the \
                                                               message with the calls"}))
    .gives(200, "messages to append to the conversation", json!({"type": ["object", "array"]}))
    .gives(400, "no call, in the provider's format", free())
}

fn results(responses: &mut ResponseSchemas) -> Operation {
    let ready = responses.of::<ResultPageJson<'_>>();
    let pending = responses.of::<PendingResultJson<'_>>();
    Operation::new("get", "/v1/results/{handle}", "readResult", "The rest of a cut or late result")
        .needs("execute")
        .query("page", json!({"type": "integer", "minimum": 1}), "from 1 on")
        .query("form", one_of(&["clean", "raw"]), "as sent to models, or as the server sent it")
        .gives(200, "a page, or the state `pending`", json!({"anyOf": [ready, pending]}))
        .refuses(&[(404, "`unknown_result` or `unknown_page`")])
}

fn file() -> Operation {
    let picture = || json!({"type": "string", "format": "binary"});
    Operation::new("get", "/v1/files/{id}", "readFile", "A picture, by the `url` of a result")
        .open()
        .gives_media(200, "image/gif", "the picture", picture())
        .gives_media(200, "image/jpeg", "the picture", picture())
        .gives_media(200, "image/png", "the picture", picture())
        .gives_media(200, "image/webp", "the picture", picture())
        .refuses(&[
            (404, "`unknown_file`: no such link, expired, or revoked"),
            (503, "`file_pending`: still being made, or `no_room_for_answer`"),
        ])
}

fn code() -> Operation {
    let place = || or_null(whole());
    let failed = object(
        &[("kind", text()), ("message", text())],
        &[
            ("line", place()),
            ("column", place()),
            ("text", or_null(text())),
            ("hint", or_null(text())),
        ],
    );
    let call_schema = object(
        &[
            ("status", one_of(&["ok", "error"])),
            ("prints", text()),
            ("calls", whole()),
            ("duration_ms", whole()),
        ],
        &[("result", any()), ("error", failed)],
    );
    with_context_headers(Operation::new(
        "post",
        "/v1/code",
        "runProgram",
        "Runs a program that calls tools",
    ))
    .needs("execute")
    .takes(body(&[("code", text())], &[("agent", text()), ("tier", tier())]))
    .gives(200, "the outcome, success or failure", call_schema)
    .refuses(&[(404, "`unknown_agent`"), (503, "it could not be run")])
}

fn code_files() -> Operation {
    with_context_headers(
        Operation::new(
            "get",
            "/v1/code",
            "readProgramFiles",
            "The tool files for programs, as a model reads them",
        )
        .needs("execute")
        .query("agent", text(), "default: the agent of the key, or the default agent")
        .query("tier", tier(), "the latency budget of the turn")
        .query("read", text(), "the name of a file")
        .query("docs", text(), "the documentation of `SERVER.TOOL`")
        .query("search", text(), "the tools that match these words"),
    )
    .gives(200, "text for the model", object(&[("agent", text()), ("text", text())], &[]))
    .refuses(&[(404, "there is no such file, tool or agent")])
}

pub(super) fn status() -> Value {
    one_of(&[
        "ok",
        "no_results",
        "error",
        "timeout",
        "pending",
        "denied",
        "invalid_arguments",
        "rate_limited",
        "offline",
    ])
}

fn origin() -> Value {
    object(
        &[("server", text()), ("trusted", flag())],
        &[
            ("cleaned", with_description(map(whole()), "number of removed characters by kind")),
            ("raw", with_description(text(), "the handle of the result as the server sent it")),
        ],
    )
}

fn schemas() -> Vec<(&'static str, Value)> {
    let outcome = object(
        &[
            ("status", status()),
            ("message", text()),
            ("data", any()),
            ("retryable", flag()),
            ("duration_ms", whole()),
            ("cached", flag()),
        ],
        &[
            ("content", with_description(list(free()), "as in MCP, if it has more than text")),
            (
                "pictures",
                with_description(
                    list(picture()),
                    "links to those that this consumer does not get otherwise",
                ),
            ),
            ("warning", text()),
            ("retry_hint", text()),
            ("truncated", flag()),
            ("handle", text()),
            (
                "also",
                with_description(
                    map(schema_ref("Outcome")),
                    "the versions for the other audiences",
                ),
            ),
            (
                "origin",
                with_description(
                    origin(),
                    "the server it is from; absent for messages of the gateway",
                ),
            ),
        ],
    );
    vec![("Outcome", outcome)]
}

fn picture() -> Value {
    object(
        &[("url", text()), ("mime_type", text()), ("bytes", whole()), ("url_seconds", whole())],
        &[],
    )
}
