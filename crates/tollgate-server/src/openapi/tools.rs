//! OpenAPI: tools for the operator: inventory, latency and trust.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::operation::Operation;
use super::response_schemas::ResponseSchemas;
use super::schema::{
    body, list, object, one_of, or_null, schema_ref, text, whole, with_description,
};
use crate::admin::calibrate::{CalibrationDoneJson, CalibrationStepJson};
use crate::admin::tools::tool_json::{ToolExaminationJson, ToolListJson, ToolRowJson};

pub(super) fn area(responses: &mut ResponseSchemas) -> OpenApiSection {
    let unknown = [(404, "`unknown_tool` or `unknown_server`")];
    let hash = json!({"type": "string", "pattern": "^[0-9a-fA-F]{64}$"});
    let tool = responses.of::<ToolRowJson<'_>>();
    let decided = |method, path, id, summary| {
        Operation::new(method, path, id, summary)
            .takes(body(
                &[("hash", with_description(hash.clone(), "hash of the reviewed definition"))],
                &[],
            ))
            .gives(200, "the tool after the decision", tool.clone())
            .refuses(&unknown)
            .refuses(&[(409, "`own_tool`, or `other_definition` with the offered hash")])
    };
    let steps = [
        ("step", responses.of::<CalibrationStepJson<'_>>()),
        ("done", responses.of::<CalibrationDoneJson>()),
    ];
    OpenApiSection {
        tag: "tools",
        about: "Tools of the servers: trust, latency and visibility.",
        operations: vec![
            Operation::new("get", "/api/tools", "listTools", "All tools").gives(
                200,
                "by exposed name",
                responses.of::<ToolListJson<'_>>(),
            ),
            Operation::new("get", "/api/tools/{server}/{tool}", "showTool", "All about one tool")
                .gives(200, "the tool", responses.of::<ToolExaminationJson<'_>>())
                .refuses(&unknown),
            decided(
                "post",
                "/api/tools/{server}/{tool}/accept",
                "acceptTool",
                "Accepts its definition",
            ),
            decided(
                "post",
                "/api/tools/{server}/{tool}/reject",
                "rejectTool",
                "Rejects its definition",
            ),
            Operation::new(
                "post",
                "/api/calibrate",
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
                "get",
                "/api/telemetry",
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
        schemas: vec![("Telemetry", telemetry())],
    }
}

fn telemetry() -> Value {
    let tool = object(
        &[
            ("category", or_null(text())),
            ("tool", text()),
            ("calls", whole()),
            ("errors", whole()),
            ("badge", or_null(one_of(&["lightning", "fast", "standard", "slow"]))),
            (
                "histogram",
                with_description(list(list(whole())), "microseconds, and number of calls"),
            ),
        ],
        &[],
    );
    object(&[("format", text()), ("tools", list(tool))], &[("environment", text())])
}
