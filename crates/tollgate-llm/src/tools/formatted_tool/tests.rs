use std::sync::Arc;

use serde_json::{Value, json};
use tollgate_core::catalog::{Catalog, CatalogInputs, ServerListing, ServerOffer, ServerRules};
use tollgate_core::id::{ServerId, ToolName};
use tollgate_core::json;
use tollgate_core::names::{NameOwners, NamePattern, ServerOrigin};
use tollgate_core::tool::{Tool, ToolOverride};
use tollgate_core::trust::ToolPins;

use super::format_for_dialect;
use crate::dialect::Dialect;

fn tool(definition: &Value, said: ToolOverride) -> Arc<Tool> {
    let mut rules = ServerRules::new(ServerId::parse("s").unwrap(), ServerOrigin::Upstream);
    rules.tools.insert(ToolName::new(definition["name"].as_str().unwrap()), said);
    let listing =
        ServerListing { tools: vec![json::raw_value(definition)], ..ServerListing::default() };
    let offer = ServerOffer { rules: Arc::new(rules), listing: Arc::new(listing), present: true };
    let inputs = CatalogInputs {
        version: 1,
        offers: &[offer],
        pattern: &NamePattern::PassThrough,
        previous: None,
        pins: &ToolPins::default(),
    };
    let catalog = Catalog::build(&inputs, &mut NameOwners::default());
    assert_eq!(catalog.tools.len(), 1, "{:?}", catalog.problems);
    Arc::clone(&catalog.tools[0])
}

fn files() -> Value {
    json!({
        "name": "files/read",
        "title": "Read a file",
        "inputSchema": {"type": "object", "properties": {"$path": {"type": "string"}}},
    })
}

#[test]
fn a_tool_is_offered_in_the_words_of_the_dialect_and_called_in_its_own() {
    let tool = tool(&files(), ToolOverride::default());
    for dialect in Dialect::ALL {
        let offered = format_for_dialect(&tool, dialect);
        let name = &offered.function.name;
        assert!(name.starts_with("files_read_"), "{dialect}: {name}");
        assert_eq!(offered.function.description.as_deref(), Some("Read a file"));
        let parameters = offered.function.parameters.as_ref().unwrap();
        let key = parameters["properties"].as_object().unwrap().keys().next().unwrap();
        let renamed = matches!(dialect, Dialect::Anthropic | Dialect::Gemini);
        assert_eq!(key != "$path", renamed, "{dialect}");
        let sent = json!({key: "/etc"}).as_object().unwrap().clone();
        assert_eq!(Value::Object(offered.arguments(sent)), json!({"$path": "/etc"}));
        assert_eq!(offered.lost.len(), 1 + usize::from(renamed));
    }
}

#[test]
fn it_is_made_once_until_it_changes() {
    let plain = tool(&files(), ToolOverride::default());
    let first = format_for_dialect(&plain, Dialect::OpenAiChat);
    assert!(Arc::ptr_eq(&first, &format_for_dialect(&plain, Dialect::OpenAiChat)));
    assert!(!Arc::ptr_eq(&first, &format_for_dialect(&plain, Dialect::Anthropic)));
    let described =
        ToolOverride { description: Some("Reads.".to_owned()), ..ToolOverride::default() };
    let other = format_for_dialect(&tool(&files(), described), Dialect::OpenAiChat);
    assert_eq!(other.function.description.as_deref(), Some("Reads."));
}
