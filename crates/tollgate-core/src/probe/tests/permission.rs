//! Who may be probed at all, and with whose arguments.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::{Origin, of};
use crate::catalog::{self, Catalog, Inputs, Listing, Offer, Rules};
use crate::id::{ServerId, ToolName};
use crate::json::raw_value;
use crate::names::{NamePattern, Owners};
use crate::tool::{Approval, Override};
use crate::trust::Pins;

/// What a probe of the tool would send, or why there is none.
fn check(said_by_server: &Value, trusted: Trust, said: Override) -> String {
    let tool = json!({
        "name": "t",
        "annotations": said_by_server,
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    });
    let rules = Rules {
        trusted: trusted == Trust::Trusted,
        tools: BTreeMap::from([(ToolName::new("t"), said)]),
        ..Rules::new(ServerId::parse("s").unwrap(), catalog::Origin::Upstream)
    };
    let listing = Listing { tools: vec![raw_value(&tool)], ..Listing::default() };
    let offer = Offer { rules: Arc::new(rules), listing: Arc::new(listing), present: true };
    let pattern = NamePattern::default();
    let inputs = Inputs {
        version: 1,
        offers: &[offer],
        pattern: &pattern,
        previous: None,
        pins: &Pins::default(),
    };
    let catalog = Catalog::build(&inputs, &mut Owners::default());
    match of(&catalog.tools[0]) {
        Ok(probe) if probe.origin == Origin::Operator => format!("given {}", probe.arguments),
        Ok(probe) => format!("made up {}", probe.arguments),
        Err(why) => why.to_string(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    Trusted,
    Untrusted,
}

fn given(arguments: Value) -> Override {
    Override { probe: Some(arguments), ..Override::default() }
}

const EFFECTS: &str = "not probed: it may have side effects; give `probe:` arguments";

#[test]
fn only_what_is_believed_to_read_is_probed_with_made_up_arguments() {
    let reads = json!({"readOnlyHint": true});
    let made = r#"made up {"q":"test"}"#;
    assert_eq!(check(&reads, Trust::Trusted, Override::default()), made);
    let said = check(&reads, Trust::Untrusted, Override::default());
    assert_eq!(said, format!("{EFFECTS} or mark the server trusted"));
    for hints in [
        json!({}),
        json!({"readOnlyHint": false}),
        json!({"readOnlyHint": true, "destructiveHint": true}),
        json!({"destructiveHint": false}),
        json!({"idempotentHint": true}),
        json!({"destructiveHint": false, "idempotentHint": true, "openWorldHint": false}),
    ] {
        assert_eq!(check(&hints, Trust::Trusted, Override::default()), EFFECTS, "{hints}");
        assert_eq!(check(&hints, Trust::Untrusted, Override::default()), EFFECTS, "{hints}");
    }
}

#[test]
fn that_a_call_may_be_repeated_or_kept_is_no_leave_to_probe() {
    let said = Override {
        idempotent: Some(true),
        cacheable: Some(Duration::from_secs(60)),
        ..Override::default()
    };
    assert_eq!(check(&json!({}), Trust::Untrusted, said), EFFECTS);
}

#[test]
fn the_operators_arguments_are_the_operators_word_but_have_to_fit() {
    let arguments = json!({"q": "Rome"});
    let expected = r#"given {"q":"Rome"}"#;
    for hints in [json!({}), json!({"readOnlyHint": true}), json!({"destructiveHint": true})] {
        assert_eq!(check(&hints, Trust::Untrusted, given(arguments.clone())), expected);
        assert_eq!(check(&hints, Trust::Trusted, given(arguments.clone())), expected);
    }
    let said = check(&json!({}), Trust::Trusted, given(json!({"q": 7})));
    let expected = "not probed: its `probe:` arguments do not fit its schema: \
                    `q`: expected string, found number 7";
    assert_eq!(said, expected);
}

#[test]
fn what_a_person_has_to_agree_to_is_not_probed_behind_their_back() {
    let asks = Override { approval: Some(Approval::Always), ..Override::default() };
    let said = check(&json!({"readOnlyHint": true}), Trust::Trusted, asks);
    assert_eq!(said, "not probed: a person has to agree to its calls; give `probe:` arguments");
}
