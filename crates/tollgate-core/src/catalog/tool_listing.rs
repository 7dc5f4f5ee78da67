//! Renders the `tools/list` entry of a tool, for clients of both protocol eras.

use serde_json::Value;

use crate::id::ExposedName;
use crate::tool::{Listed, ToolDefinition};

/// Uses the exposed name and description; all other fields are kept, in their order.
pub(super) fn render_listing(
    definition: &ToolDefinition,
    exposed: &ExposedName,
    description: Option<&str>,
) -> Listed {
    let mut fields = definition.fields.clone();
    fields.set_string("name", exposed.as_str());
    if let Some(description) = description {
        fields.set_string("description", description);
    }
    // Tasks of 2025-11-25 are not offered by the gateway, and 2026-07-28 has no such field.
    fields.remove("execution");
    let modern = fields.to_text().into_boxed_str();
    let output = definition.output_schema.as_ref();
    let is_object = |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("object");
    if output.is_some_and(is_object) || !fields.contains("outputSchema") {
        return Listed { legacy: modern.clone(), modern };
    }
    fields.remove("outputSchema");
    Listed { modern, legacy: fields.to_text().into_boxed_str() }
}
