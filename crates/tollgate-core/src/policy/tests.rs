//! What is let through, in which words, and what is said to the others.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use serde_json::{Value, json};

use super::permit;
use crate::agent::Agent;
use crate::budget::Tier;
use crate::call::{GateRequest, RequestKind};
use crate::catalog::{
    Catalog, CatalogInputs, ServerListing, ServerOffer, ServerOrigin, ServerRules,
};
use crate::filter::{GlobalRules, ToolFilter};
use crate::id::ServerId;
use crate::json::{Object, raw_value};
use crate::names::{NameOwners, NamePattern};
use crate::trust::ToolPins;
use crate::turn::{Actor, Principal, Turn, TurnId};
use crate::view::View;

#[expect(clippy::disallowed_methods, reason = "a beginning, no measurement")]
fn began() -> Instant {
    Instant::now()
}

fn turn() -> Turn {
    let properties = json!({
        "city": {"type": "string"},
        "unit": {"type": "string"},
        "until": {"type": ["string", "null"]},
        "days": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    });
    let schema = json!({"type": "object", "properties": properties, "required": ["city"]});
    let tools = [json!({"name": "report", "inputSchema": schema})];
    let prompts = ["alpha", "beta", "gamma", "storm_warning"].map(|name| json!({"name": name}));
    let rules = ServerRules::new(ServerId::parse("weather").unwrap(), ServerOrigin::Upstream);
    let listing = ServerListing {
        tools: tools.iter().map(raw_value).collect(),
        prompts: prompts.iter().map(raw_value).collect(),
        ..ServerListing::default()
    };
    let offers =
        [ServerOffer { rules: Arc::new(rules), listing: Arc::new(listing), present: true }];
    let pattern = NamePattern::default();
    let inputs = CatalogInputs {
        version: 1,
        offers: &offers,
        pattern: &pattern,
        previous: None,
        pins: &ToolPins::default(),
    };
    let catalog = Arc::new(Catalog::build(&inputs, &mut NameOwners::default()));
    let global = GlobalRules::default();
    let agent = Agent::implicit();
    let tier = Tier::Standard;
    let sieve = ToolFilter::of(&global, &agent, tier);
    let view = Arc::new(View::build(&catalog, &sieve));
    let id = TurnId::new(SystemTime::UNIX_EPOCH, 0);
    Turn::open(id, began(), Actor::endless(Principal::local()), view, Arc::default())
}

/// The params as they go on to the server, or why they do not.
fn permitted_params(kind: RequestKind, params: &Value) -> String {
    let params = params.to_string();
    let request = GateRequest { kind, params: Object::parse(&params).unwrap() };
    match permit(&turn(), request) {
        Ok(permitted) => permitted.params().to_text(),
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn only_nulls_that_break_the_schema_are_taken_for_not_given() {
    let check = |arguments: &str, expected: &str| {
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let shown = permitted_params(
            RequestKind::CallTool,
            &json!({"name": "weather_report", "arguments": arguments}),
        );
        assert!(shown.contains(expected), "{shown}");
    };
    check(r#"{"city":"Bonn","until":null}"#, r#"{"city":"Bonn","until":null}"#);
    check(r#"{"city":"Bonn","unit":null}"#, r#"{"city":"Bonn"}"#);
    check(r#"{"city":"Bonn","unit":null,"until":null}"#, r#"{"city":"Bonn","until":null}"#);
    check(r#"{"city":"Bonn","days":null,"x":null}"#, r#"{"city":"Bonn","x":null}"#);
    check(r#"{"city":null,"unit":null}"#, "`city`: expected string, found null");
    check(r#"{"city":"Bonn","unit":7,"until":null}"#, "`unit`: expected string, found number");
}

#[test]
fn however_many_nulls_break_the_schema_all_are_taken_out() {
    let names: Vec<String> = (0..20).map(|at| format!("p{at}")).collect();
    let properties: serde_json::Map<String, Value> =
        names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
    let schema = json!({"type": "object", "properties": properties});
    let schema = crate::schema::Schema::compile(&schema).unwrap();
    let nulls = names.iter().map(|name| (name.clone(), Value::Null)).collect();
    assert_eq!(schema.fields_at_fault(&Value::Object(nulls)).len(), 20);
}

#[test]
fn prompts_that_are_not_there_bring_up_near_ones_only() {
    let get = |name: &str| permitted_params(RequestKind::GetPrompt, &json!({"name": name}));
    assert_eq!(get("weather_alpha"), r#"{"name":"alpha"}"#);
    assert_eq!(
        get("storm_warning"),
        "there is no prompt `storm_warning`; did you mean `weather_storm_warning`?"
    );
    assert_eq!(get("send_email"), "there is no prompt `send_email`");
}
