use serde_json::{Value, json};
use tollgate_core::catalog::{
    Catalog, CatalogInputs, ServerListing, ServerOffer, ServerOrigin, ServerRules,
};
use tollgate_core::id::ServerId;
use tollgate_core::json::raw_value;
use tollgate_core::names::{NameOwners, NamePattern};
use tollgate_core::trust::ToolPins;

use super::*;

/// A tool of this name and description.
fn tool(name: &str, description: &str) -> Arc<Tool> {
    let listed =
        json!({"name": name, "description": description, "inputSchema": {"type": "object"}});
    let listing = ServerListing { tools: vec![raw_value(&listed)], ..ServerListing::default() };
    let rules = ServerRules::new(ServerId::parse("s").unwrap(), ServerOrigin::Upstream);
    let offers =
        [ServerOffer { rules: Arc::new(rules), listing: Arc::new(listing), present: true }];
    let pattern = NamePattern::default();
    let pins = ToolPins::default();
    let inputs = CatalogInputs {
        version: 1,
        offers: &offers,
        pattern: &pattern,
        previous: None,
        pins: &pins,
    };
    Catalog::build(&inputs, &mut NameOwners::default()).tools.remove(0)
}

fn render_learned(
    learned_types: &LearnedTypes,
    principal: &Principal,
    tool: &Tool,
) -> Option<String> {
    learned_types.shape(principal, &tool.id).map(|it| it.render("Thing"))
}

fn teach(learned_types: &LearnedTypes, tool: &Tool, results: impl IntoIterator<Item = Value>) {
    let principal = Principal::from_name("me");
    results.into_iter().for_each(|it| learned_types.take(&principal, tool, &raw_value(&it)));
}

#[test]
fn what_one_principal_learned_no_other_is_shown() {
    let learned_types = LearnedTypes::default();
    let tool = tool("t", "a");
    teach(&learned_types, &tool, [json!([1]), json!([2])]);
    assert_eq!(
        render_learned(&learned_types, &Principal::from_name("me"), &tool).as_deref(),
        Some("list[int]")
    );
    assert_eq!(render_learned(&learned_types, &Principal::from_name("you"), &tool), None);
}

#[test]
fn a_tool_that_changed_teaches_anew() {
    let learned_types = LearnedTypes::default();
    let me = Principal::from_name("me");
    let before = tool("t", "a");
    let after = tool("t", "b");
    teach(&learned_types, &before, (0..9).map(|it| json!([it])));
    teach(&learned_types, &after, [json!("one")]);
    assert_eq!(render_learned(&learned_types, &me, &after), None);
    teach(&learned_types, &after, [json!("two")]);
    assert_eq!(render_learned(&learned_types, &me, &after).as_deref(), Some("str"));
}

#[test]
fn once_it_is_settled_one_result_of_sixteen_is_looked_at() {
    let learned_types = LearnedTypes::default();
    let me = Principal::from_name("me");
    let tool = tool("t", "a");
    teach(&learned_types, &tool, (0..16).map(|it| json!([it])));
    let render = || render_learned(&learned_types, &me, &tool).unwrap();
    // The seventeenth is looked at, and fits.
    teach(&learned_types, &tool, [json!([16])]);
    for _ in 1..SAMPLE_INTERVAL {
        teach(&learned_types, &tool, [json!("text")]);
        assert_eq!(render(), "list[int]");
    }
    teach(&learned_types, &tool, [json!("text")]);
    assert_eq!(render(), "str | list[int]");
}

#[test]
fn a_tool_that_always_answers_the_same_is_not_looked_at_for_ever() {
    let learned_types = LearnedTypes::default();
    let me = Principal::from_name("me");
    let tool = tool("t", "a");
    teach(&learned_types, &tool, (0..=ALWAYS_SAMPLED).map(|_| json!({"ok": true})));
    for _ in 1..SAMPLE_INTERVAL {
        teach(&learned_types, &tool, [json!({"ok": false})]);
    }
    assert_eq!(render_learned(&learned_types, &me, &tool), None);
    teach(&learned_types, &tool, [json!({"ok": false})]);
    assert_eq!(render_learned(&learned_types, &me, &tool).as_deref(), Some("{\"ok\": bool}"));
}

#[test]
fn the_latest_lessons_are_kept_within_the_bound() {
    let learned_types = LearnedTypes::default();
    let tool = tool("t", "a");
    let large = |n: u32| -> Value {
        let key = |at: u32| char::from(b'a' + u8::try_from(at % 26).unwrap());
        let keys = (0..40).map(|at| (format!("{}{}", key(at), key(at / 26)), json!([{"n": n}])));
        keys.collect::<serde_json::Map<_, _>>().into()
    };
    let principals: Vec<Principal> =
        (0..5_000).map(|at| Principal::from_name(&format!("p{at}"))).collect();
    for principal in &principals {
        (0..2).for_each(|n| learned_types.take(principal, &tool, &raw_value(&large(n))));
    }
    assert!(
        learned_types.0.weight() <= MAX_LEARNED_PARTS
            && learned_types.0.weight() > MAX_LEARNED_PARTS / 2
    );
    assert!(learned_types.0.len() < 2_000, "{}", learned_types.0.len());
    let last = principals.last().unwrap();
    assert!(render_learned(&learned_types, last, &tool).is_some());
    let of_last = principals
        .iter()
        .rev()
        .take(10)
        .filter(|it| render_learned(&learned_types, it, &tool).is_some());
    assert!(of_last.count() >= 8);
}
