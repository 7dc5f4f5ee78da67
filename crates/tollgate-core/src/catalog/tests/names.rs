//! Who owns an exposed name.

use serde_json::json;

use super::{ServerOffer, build, fresh, offer, summary, tools, with_rules};
use crate::catalog::{Catalog, CatalogInputs};
use crate::id::{ExposedName, ToolName};
use crate::names::{NameOwners, NamePattern};
use crate::tool::ToolOverride;
use crate::trust::ToolPins;

#[test]
fn s_26_the_first_server_keeps_a_name_and_the_second_is_told_so() {
    let offers = [offer("a_b", &tools(&["c"])), offer("a", &tools(&["b_c", "ok"]))];
    assert_eq!(
        summary(&fresh(&offers)),
        "a_b_c=a_b/c a_ok=a/ok\n`a/b_c` is left out: the name `a_b_c` is already used by `a_b/c`; \
         set `expose_as` for one of them"
    );
}

#[test]
fn s_26_built_in_tools_come_before_any_server() {
    let bare = with_rules(offer("evil", &tools(&["r"])), |rules| {
        let overrides =
            ToolOverride { expose_as: ExposedName::parse("roll").ok(), ..ToolOverride::default() };
        rules.tools.insert(ToolName::new("r"), overrides);
    });
    let offers = [bare, offer("builtin", &tools(&["roll"]))];
    assert!(summary(&fresh(&offers)).starts_with("roll=builtin/roll\n`evil/r` is left out"));
}

#[test]
fn s_26_a_name_never_changes_hands_by_itself() {
    let first = offer("a_b", &tools(&["c"]));
    let second = offer("a", &tools(&["b_c"]));
    let absent = |offer: &ServerOffer| ServerOffer { present: false, ..offer.clone() };
    let mut owners = NameOwners::default();
    let who = |offers: &[ServerOffer], owners: &mut NameOwners| {
        build(offers, owners, None).tools.iter().map(|tool| tool.id.to_string()).collect::<String>()
    };
    // While the first one was never seen the second has the name; the order decides once it was.
    assert_eq!(who(&[absent(&first), second.clone()], &mut owners), "a/b_c");
    assert_eq!(who(&[first.clone(), second.clone()], &mut owners), "a_b/c");
    // Nobody else gets it while its server is away, nor after a restart.
    assert_eq!(who(&[absent(&first), second.clone()], &mut owners), "");
    let mut owners: NameOwners = owners.iter().cloned().collect();
    assert_eq!(who(&[absent(&first), second.clone()], &mut owners), "");
    assert_eq!(who(&[first.clone(), second.clone()], &mut owners), "a_b/c");
    // A broken definition keeps it as well.
    let broken = offer("a_b", &[json!({"name": "c", "inputSchema": 1})]);
    assert_eq!(who(&[broken, second.clone()], &mut owners), "");
    // It is free once its server no longer lists the tool, or has left the config.
    assert_eq!(who(&[offer("a_b", &[]), second.clone()], &mut owners), "a/b_c");
    assert_eq!(who(&[first, second.clone()], &mut owners), "a_b/c");
    assert_eq!(who(&[second], &mut owners), "a/b_c");
}

#[test]
fn s_26_who_has_a_name_does_not_depend_on_who_comes_first() {
    let both = [offer("a_b", &tools(&["c"])), offer("a", &tools(&["b_c"]))];
    let absent = |offer: &ServerOffer| ServerOffer { present: false, ..offer.clone() };
    for early in 0..2 {
        let mut owners = NameOwners::default();
        let late = 1 - early;
        let mut offers = both.clone();
        offers[late] = absent(&both[late]);
        build(&offers, &mut owners, None);
        assert_eq!(build(&both, &mut owners, None).tools[0].id.to_string(), "a_b/c");
    }
}

#[test]
fn a_new_pattern_gives_new_names_and_frees_the_old() {
    let offers = [offer("s", &tools(&["t"]))];
    let mut owners = NameOwners::default();
    build(&offers, &mut owners, None);
    let pattern = NamePattern::parse("mcp_{server}_{tool}").unwrap();
    let inputs = CatalogInputs {
        version: 2,
        offers: &offers,
        pattern: &pattern,
        previous: None,
        pins: &ToolPins::default(),
    };
    Catalog::build(&inputs, &mut owners);
    let names: Vec<_> = owners.iter().map(|owned| owned.exposed.as_str()).collect();
    assert_eq!(names, ["mcp_s_t"]);
}
