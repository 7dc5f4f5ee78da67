//! Who may be probed at all, and with whose arguments.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::{ProbeOrigin, of};
use crate::catalog::{self, Catalog, CatalogInputs, ServerListing, ServerOffer, ServerRules};
use crate::id::{ServerId, ToolName};
use crate::json::raw_value;
use crate::names::{NameOwners, NamePattern};
use crate::tool::{ApprovalMode, ToolOverride};
use crate::trust::ToolPins;

/// What a probe of the tool would send, or why there is none.
fn check(said_by_server: &Value, trusted: Trust, overrides: ToolOverride) -> String {
    let tool = json!({
        "name": "t",
        "annotations": said_by_server,
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    });
    let rules = ServerRules {
        trusted: trusted == Trust::Trusted,
        tools: BTreeMap::from([(ToolName::new("t"), overrides)]),
        ..ServerRules::new(ServerId::parse("s").unwrap(), catalog::ServerOrigin::Upstream)
    };
    let listing = ServerListing { tools: vec![raw_value(&tool)], ..ServerListing::default() };
    let offer = ServerOffer { rules: Arc::new(rules), listing: Arc::new(listing), present: true };
    let pattern = NamePattern::default();
    let inputs = CatalogInputs {
        version: 1,
        offers: &[offer],
        pattern: &pattern,
        previous: None,
        pins: &ToolPins::default(),
    };
    let catalog = Catalog::build(&inputs, &mut NameOwners::default());
    match of(&catalog.tools[0]) {
        Ok(probe) if probe.origin == ProbeOrigin::Operator => format!("given {}", probe.arguments),
        Ok(probe) => format!("made up {}", probe.arguments),
        Err(why) => why.to_string(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    Trusted,
    Untrusted,
}

fn given(arguments: Value) -> ToolOverride {
    ToolOverride { probe: Some(arguments), ..ToolOverride::default() }
}

const EFFECTS: &str = "not probed: it may have side effects; set `probe:` arguments";

#[test]
fn only_what_is_believed_to_read_is_probed_with_made_up_arguments() {
    let reads = json!({"readOnlyHint": true});
    let made = r#"made up {"q":"test"}"#;
    assert_eq!(check(&reads, Trust::Trusted, ToolOverride::default()), made);
    let text = check(&reads, Trust::Untrusted, ToolOverride::default());
    assert_eq!(text, format!("{EFFECTS} or mark the server trusted"));
    for hints in [
        json!({}),
        json!({"readOnlyHint": false}),
        json!({"readOnlyHint": true, "destructiveHint": true}),
        json!({"destructiveHint": false}),
        json!({"idempotentHint": true}),
        json!({"destructiveHint": false, "idempotentHint": true, "openWorldHint": false}),
    ] {
        assert_eq!(check(&hints, Trust::Trusted, ToolOverride::default()), EFFECTS, "{hints}");
        assert_eq!(check(&hints, Trust::Untrusted, ToolOverride::default()), EFFECTS, "{hints}");
    }
}

#[test]
fn that_a_call_may_be_repeated_or_kept_is_no_leave_to_probe() {
    let overrides = ToolOverride {
        idempotent: Some(true),
        cacheable: Some(Duration::from_secs(60)),
        ..ToolOverride::default()
    };
    assert_eq!(check(&json!({}), Trust::Untrusted, overrides), EFFECTS);
}

#[test]
fn the_operators_arguments_are_the_operators_word_but_have_to_fit() {
    let arguments = json!({"q": "Rome"});
    let expected = r#"given {"q":"Rome"}"#;
    for hints in [json!({}), json!({"readOnlyHint": true}), json!({"destructiveHint": true})] {
        assert_eq!(check(&hints, Trust::Untrusted, given(arguments.clone())), expected);
        assert_eq!(check(&hints, Trust::Trusted, given(arguments.clone())), expected);
    }
    let text = check(&json!({}), Trust::Trusted, given(json!({"q": 7})));
    let expected = "not probed: its `probe:` arguments do not fit its schema: \
                    `q`: expected string, found number 7";
    assert_eq!(text, expected);
}

#[test]
fn what_a_person_has_to_agree_to_is_not_probed_behind_their_back() {
    let asks = ToolOverride { approval: Some(ApprovalMode::Always), ..ToolOverride::default() };
    let text = check(&json!({"readOnlyHint": true}), Trust::Trusted, asks);
    assert_eq!(text, "not probed: its calls require approval; set `probe:` arguments");
}
