//! OpenAPI: agents of the config.

use super::OpenApiSection;
use super::operation::Operation;
use super::response_schemas::ResponseSchemas;
use super::schema::{body, map, text};
use crate::admin::agents::{AgentJson, AgentsJson, RenderedPromptJson};
use crate::admin::models::ModelStatusListJson;

pub(super) fn area(responses: &mut ResponseSchemas) -> OpenApiSection {
    let unknown = [(404, "`unknown_agent`")];
    OpenApiSection {
        tag: "agents",
        about: "The agents and models of the config.",
        operations: vec![
            Operation::new("get", "/api/models", "listModels", "Models and their providers").gives(
                200,
                "in config order, with the health of each place",
                responses.of::<ModelStatusListJson>(),
            ),
            Operation::new("get", "/api/agents", "listAgents", "All agents").gives(
                200,
                "in config order",
                responses.of::<AgentsJson>(),
            ),
            Operation::new("get", "/api/agents/{name}", "showAgent", "One agent")
                .gives(200, "the agent", responses.of::<AgentJson>())
                .refuses(&unknown),
            Operation::new(
                "post",
                "/api/agents/{name}/render",
                "renderAgent",
                "Renders its prompt and greeting",
            )
            .takes(body(&[], &[("variables", map(text()))]))
            .gives(200, "as sent to a model", responses.of::<RenderedPromptJson<'_>>())
            .refuses(&unknown),
        ],
        schemas: Vec::new(),
    }
}
