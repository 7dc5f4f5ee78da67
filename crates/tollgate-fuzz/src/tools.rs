//! What servers say of their tools.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;
use tollgate_core::id::{ExposedName, ServerId, ToolId, ToolName};
use tollgate_core::json;
use tollgate_core::names::{self, NameKind, NameOwners, NamePattern, ServerOrigin};
use tollgate_core::schema::Schema;
use tollgate_core::tool::ToolDefinition;

/// Up to the first NUL a tool or a schema, behind it arguments. Whatever is taken in can be checked against.
pub(crate) fn tool_schema(data: &[u8]) {
    let Some(text) = crate::text(data) else { return };
    let (schema, arguments) = text.split_once('\0').unwrap_or((text, "{}"));
    let arguments = json::value(arguments).unwrap_or_default();
    let Ok(raw) = serde_json::from_str::<Box<RawValue>>(schema) else { return };
    if let Ok(tool) = ToolDefinition::intake(&raw) {
        let message: Box<RawValue> = json::raw(tool.source_text().into_owned());
        let again = ToolDefinition::intake(&message).expect("what was taken in is taken in again");
        assert_eq!(again.hash, tool.hash, "the same words have the same hash");
        assert!(
            tool.description.as_ref().is_none_or(|it| it.len() <= ToolDefinition::MAX_DESCRIPTION)
        );
        check(&tool.input_schema, &arguments);
    }
    if let Ok(schema) = json::value(schema) {
        check(&schema, &arguments);
    }
}

fn check(schema: &Value, arguments: &Value) {
    let Ok(compiled) = Schema::compile(schema) else { return };
    if let Err(violations) = compiled.check(arguments) {
        assert!((1..=5).contains(&violations.len()), "{} violations", violations.len());
        for violation in violations {
            assert!(violation.to_string().len() < 4 << 10, "{violation}");
        }
    } else {
        assert!(compiled.fields_at_fault(arguments).is_empty(), "sound arguments have no faults");
    }
}

/// Lines of `server tool`, the first one a pattern. No two tools get one name, and every name is sound.
pub(crate) fn tool_names(data: &[u8]) {
    let Some((pattern, lines)) = crate::text(data).and_then(|text| text.split_once('\n')) else {
        return;
    };
    let Ok(pattern) = NamePattern::parse(pattern) else { return };
    let mut owners = NameOwners::default();
    let mut given: BTreeMap<String, ToolId> = BTreeMap::new();
    for line in lines.lines().take(64) {
        let Some((server, tool)) = line.split_once(' ') else { continue };
        let Ok(server) = ServerId::parse(server) else { continue };
        let tool = ToolId { server, tool: ToolName::new(tool) };
        let exposed = names::expose(&pattern, ServerOrigin::Upstream, &tool.server, &tool.tool);
        assert!(exposed.as_str().len() <= 128, "{exposed}");
        assert_eq!(
            exposed,
            names::expose(&pattern, ServerOrigin::Upstream, &tool.server, &tool.tool)
        );
        if !matches!(pattern, NamePattern::PassThrough) {
            assert!(ExposedName::parse(exposed.as_str()).is_ok(), "{exposed}");
        }
        if owners.claim(NameKind::Tool, &exposed, &tool).is_ok() {
            let former = given.insert(exposed.as_str().to_ascii_lowercase(), tool.clone());
            assert!(former.is_none_or(|former| former == tool), "{exposed} has two owners");
        }
    }
    assert_eq!(owners.iter().count(), given.len());
}
