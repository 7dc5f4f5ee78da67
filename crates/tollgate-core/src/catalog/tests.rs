//! How listings become one catalogue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    Catalog, CatalogInputs, CatalogProblemKind, ServerListing, ServerOffer, ServerOrigin,
    ServerRules,
};
use crate::budget::Estimate;
use crate::glob::Glob;
use crate::id::{ExposedName, ServerId, ToolName};
use crate::json::raw_value;
use crate::names::{NameOwners, NamePattern, OwnedName};
use crate::rate::RateLimit;
use crate::tool::{CacheScope, ToolEffect, ToolOverride};
use crate::trust::ToolPins;

mod names;
mod trust;

/// One server of a test: a name, and what it lists.
fn offer(server: &str, tools: &[Value]) -> ServerOffer {
    let rules = ServerRules::new(
        ServerId::parse(server).unwrap(),
        if server == "builtin" { ServerOrigin::Builtin } else { ServerOrigin::Upstream },
    );
    let listing =
        ServerListing { tools: tools.iter().map(raw_value).collect(), ..ServerListing::default() };
    ServerOffer { rules: Arc::new(rules), listing: Arc::new(listing), present: true }
}

fn with_rules(mut offer: ServerOffer, change: impl FnOnce(&mut ServerRules)) -> ServerOffer {
    change(Arc::make_mut(&mut offer.rules));
    offer
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("does {name}"), "inputSchema": {"type": "object"}})
}

fn tools(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| tool(name)).collect()
}

fn build(offers: &[ServerOffer], owners: &mut NameOwners, previous: Option<&Catalog>) -> Catalog {
    let pattern = NamePattern::default();
    Catalog::build(
        &CatalogInputs {
            version: 1,
            offers,
            pattern: &pattern,
            previous,
            pins: &ToolPins::default(),
        },
        owners,
    )
}

fn fresh(offers: &[ServerOffer]) -> Catalog {
    build(offers, &mut NameOwners::default(), None)
}

/// `exposed=server/tool …` and then each problem in words.
fn summary(catalog: &Catalog) -> String {
    let tools = catalog.tools.iter().map(|tool| format!("{}={}", tool.exposed, tool.id));
    let problems = catalog.problems.iter().map(ToString::to_string);
    tools.collect::<Vec<_>>().join(" ") + &problems.map(|it| format!("\n{it}")).collect::<String>()
}

#[test]
fn tools_of_all_servers_stand_in_one_order_by_exposed_name() {
    let offers = [
        offer("builtin", &tools(&["roll"])),
        offer("web", &tools(&["search", "fetch"])),
        offer("ab", &tools(&["z"])),
    ];
    let catalog = fresh(&offers);
    assert_eq!(
        summary(&catalog),
        "ab_z=ab/z roll=builtin/roll web_fetch=web/fetch web_search=web/search"
    );
    assert_eq!(catalog.tool("web_fetch").unwrap().id.to_string(), "web/fetch");
    assert!(catalog.tool("web_fetc").is_none());
}

#[test]
fn one_bad_tool_never_costs_another() {
    let offers = [offer(
        "s",
        &[
            tool("first"),
            json!({"name": "no_schema"}),
            json!({"description": "nameless"}),
            json!("not even an object"),
            json!({"name": "bad_ref", "inputSchema": {"type": "object", "$ref": "http://x/y"}}),
            json!({"name": "bad_out", "inputSchema": {"type": "object"}, "outputSchema": {"type": 7}}),
            json!({"name": "x".repeat(200), "inputSchema": {"type": "object"}}),
            tool("last"),
        ],
    )];
    let catalog = fresh(&offers);
    let names: Vec<_> = catalog.tools.iter().map(|tool| tool.exposed.as_str()).collect();
    assert_eq!(names, ["s_first", "s_last"]);
    assert_eq!(catalog.problems.len(), 6);
    assert_eq!(
        catalog.problems[0].to_string(),
        "`s/no_schema` is left out: it has no `inputSchema`"
    );
    assert_eq!(
        catalog.problems[1].to_string(),
        "`s/(item 3 of the list)` is left out: it has no `name`"
    );
    assert!(catalog.problems[3].to_string().contains("external references are not fetched"));
    assert!(catalog.problems[4].to_string().contains("`outputSchema`"));
}

#[test]
fn b_sc_13_of_a_tool_listed_twice_the_first_counts() {
    let mut second = tool("a");
    second["description"] = json!("evil twin");
    let catalog = fresh(&[offer("s", &[tool("a"), second])]);
    assert_eq!(catalog.tools[0].description.as_deref(), Some("does a"));
    assert_eq!(summary(&catalog), "s_a=s/a\n`s/a` is left out: `s` lists it already");
}

#[test]
fn allow_and_deny_go_by_the_servers_own_names() {
    let offer = with_rules(offer("s", &tools(&["read_a", "read_b", "write_a"])), |rules| {
        rules.allow = vec![Glob::new("read_*"), Glob::new("write_*")];
        rules.deny = vec![Glob::new("*_b")];
    });
    assert_eq!(summary(&fresh(&[offer])), "s_read_a=s/read_a s_write_a=s/write_a");
}

#[test]
fn an_empty_list_of_allowed_tools_allows_none() {
    let offer = with_rules(offer("s", &tools(&["a", "b"])), |rules| rules.allow.clear());
    assert_eq!(summary(&fresh(&[offer])), "");
}

#[test]
fn the_operator_names_describes_and_limits_a_tool() {
    let overrides = ToolOverride {
        expose_as: Some(ExposedName::parse("find").unwrap()),
        description: Some("Finds things.".to_owned()),
        max: Some(Duration::from_secs(2)),
        idempotent: Some(true),
        cacheable: Some(Duration::from_secs(60)),
        rate_limit: Some(RateLimit { calls: 5, per: Duration::from_secs(1) }),
        ..ToolOverride::default()
    };
    let offer = with_rules(offer("s", &tools(&["search"])), |rules| {
        rules.tools.insert(ToolName::new("search"), overrides);
        rules.tools.insert(ToolName::new("serach"), ToolOverride::default());
    });
    let catalog = fresh(&[offer]);
    let found = catalog.tool("find").unwrap();
    assert_eq!(found.terms.max, Some(Duration::from_secs(2)));
    assert_eq!(found.terms.cacheable, Duration::from_secs(60));
    assert!(found.terms.idempotent);
    assert_eq!(
        &*found.listed.modern,
        r#"{"name":"find","description":"Finds things.","inputSchema":{"type":"object"}}"#
    );
    assert_eq!(
        catalog.problems[0].to_string(),
        "the config names `s/serach`, but the server has no such tool"
    );
}

#[test]
fn s_28_what_an_untrusted_server_says_of_itself_can_only_tighten() {
    let mut claims = tool("t");
    claims["annotations"] = json!({"readOnlyHint": true, "idempotentHint": true});
    claims["_meta"] = json!({
        "dev.tollgate/latency": {"estimatedDurationMs": 5, "maxDurationMs": 2000},
        "dev.tollgate/cache": {"cacheableSeconds": 600, "scope": "public"}
    });
    let evil = fresh(&[offer("s", std::slice::from_ref(&claims))]);
    let terms = &evil.tools[0].terms;
    assert_eq!(terms.effect, ToolEffect::Destructive);
    assert!(!terms.idempotent);
    assert_eq!((terms.cacheable, terms.scope), (Duration::ZERO, CacheScope::Private));
    assert_eq!(terms.estimated, Some(Estimate::Claimed(Duration::from_millis(5))));
    assert_eq!(terms.max, Some(Duration::from_secs(2)));
    let trusted =
        fresh(&[with_rules(offer("s", std::slice::from_ref(&claims)), |it| it.trusted = true)]);
    let terms = &trusted.tools[0].terms;
    assert_eq!(terms.effect, ToolEffect::ReadOnly);
    assert!(terms.idempotent);
    assert_eq!((terms.cacheable, terms.scope), (Duration::from_secs(600), CacheScope::Public));
    assert_eq!(terms.estimated, Some(Estimate::Believed(Duration::from_millis(5))));
}

#[test]
fn the_operators_estimate_is_believed_whatever_the_server_claims() {
    let mut claims = tool("t");
    claims["_meta"] = json!({"dev.tollgate/latency": {"estimatedDurationMs": 5000}});
    let overrides =
        ToolOverride { estimated: Some(Duration::from_millis(200)), ..ToolOverride::default() };
    let catalog = fresh(&[with_rules(offer("s", &[claims]), |it| {
        it.tools.insert(ToolName::new("t"), overrides);
    })]);
    let believed = Estimate::Believed(Duration::from_millis(200));
    assert_eq!(catalog.tools[0].terms.estimated, Some(believed));
}

#[test]
fn effects_follow_the_defaults_of_mcp() {
    for (annotations, expected) in [
        (json!({}), ToolEffect::Destructive),
        (json!({"destructiveHint": true}), ToolEffect::Destructive),
        (json!({"destructiveHint": false}), ToolEffect::Mutating),
        (json!({"readOnlyHint": false}), ToolEffect::Destructive),
        (json!({"readOnlyHint": true, "destructiveHint": true}), ToolEffect::Destructive),
    ] {
        let mut definition = tool("t");
        definition["annotations"] = annotations.clone();
        let offered = offer("s", &[definition]);
        let evil = fresh(std::slice::from_ref(&offered));
        assert_eq!(evil.tools[0].terms.effect, ToolEffect::Destructive, "{annotations}");
        let trusted = fresh(&[with_rules(offered, |it| it.trusted = true)]);
        assert_eq!(trusted.tools[0].terms.effect, expected, "{annotations}");
    }
}

#[test]
fn a_trusted_tool_that_reads_and_destroys_is_not_believed_to_read() {
    for (annotations, effect, idempotent) in [
        (json!({"readOnlyHint": true}), ToolEffect::ReadOnly, true),
        (json!({"readOnlyHint": true, "destructiveHint": false}), ToolEffect::ReadOnly, true),
        (json!({"readOnlyHint": true, "destructiveHint": true}), ToolEffect::Destructive, false),
        (json!({"destructiveHint": true, "idempotentHint": true}), ToolEffect::Destructive, true),
    ] {
        let mut definition = tool("t");
        definition["annotations"] = annotations.clone();
        let catalog = fresh(&[with_rules(offer("s", &[definition]), |it| it.trusted = true)]);
        let terms = &catalog.tools[0].terms;
        assert_eq!((terms.effect, terms.idempotent), (effect, idempotent), "{annotations}");
    }
}

#[test]
fn listed_forms_keep_all_fields_but_those_that_an_era_does_not_know() {
    let definition = json!({
        "x": [1.0, 2], "name": "t", "execution": {"taskSupport": "required"},
        "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}, "icons": []
    });
    let catalog = fresh(&[offer("s", &[definition])]);
    let listed = &catalog.tools[0].listed;
    assert_eq!(
        &*listed.modern,
        r#"{"x":[1.0,2],"name":"s_t","inputSchema":{"type":"object"},"outputSchema":{"type":"array"},"icons":[]}"#
    );
    assert_eq!(
        &*listed.legacy,
        r#"{"x":[1.0,2],"name":"s_t","inputSchema":{"type":"object"},"icons":[]}"#
    );
    let object =
        json!({"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}});
    let catalog = fresh(&[offer("s", &[object])]);
    assert_eq!(catalog.tools[0].listed.modern, catalog.tools[0].listed.legacy);
}

#[test]
fn s_24_hidden_text_is_reported_and_the_tool_is_served_without_it() {
    let mut definition = tool("t");
    definition["description"] = json!("Adds\u{e0069}\u{e0067} numbers\u{200b}");
    let catalog = fresh(&[offer("s", &[definition])]);
    assert_eq!(catalog.tools[0].description.as_deref(), Some("Adds numbers"));
    assert_eq!(catalog.problems.len(), 2);
    assert!(matches!(catalog.problems[0].kind, CatalogProblemKind::Suspicious(_)));
}

#[test]
fn tools_of_a_server_that_is_away_are_known_to_be_away() {
    let here = offer("s", &tools(&["t"]));
    let mut owners = NameOwners::default();
    assert!(build(std::slice::from_ref(&here), &mut owners, None).away.is_empty());
    let gone = ServerOffer { present: false, ..here };
    let away = build(&[gone], &mut owners, None).away;
    assert_eq!(format!("{} {}", away[0].exposed, away[0].tool.server), "s_t s");
}

#[test]
fn prompts_and_resources_are_merged_likewise() {
    let raw = |items: &[Value]| items.iter().map(raw_value).collect::<Vec<_>>();
    let with = |server: &str| {
        let mut offer = offer(server, &[]);
        offer.listing = Arc::new(ServerListing {
            tools: Vec::new(),
            prompts: raw(&[json!({"title": "T", "name": "greet"}), json!({"name": 1})]),
            resources: raw(&[
                json!({"uri": "file:///b", "name": "b"}),
                json!({"uri": "file:///a", "description": "x\u{200b}"}),
                json!({"uri": "file:///\u{200b}"}),
                json!({"name": "no uri"}),
            ]),
            templates: raw(&[json!({"uriTemplate": "db://{table}", "name": "row"})]),
        });
        offer
    };
    let catalog = fresh(&[with("s"), with("t")]);
    let prompts: Vec<_> = catalog.prompts.iter().map(|it| &*it.listed).collect();
    assert_eq!(prompts, [r#"{"title":"T","name":"s_greet"}"#, r#"{"title":"T","name":"t_greet"}"#]);
    let resources: Vec<_> = catalog
        .resources
        .iter()
        .map(|it| format!("{} {} {}", it.server, it.uri, it.exposed))
        .collect();
    assert_eq!(resources, ["s file:///a s_file____a", "s file:///b s_b"]);
    assert_eq!(&*catalog.resources[0].listed, r#"{"uri":"file:///a","description":"x"}"#);
    let templates: Vec<_> = catalog.templates.iter().map(|it| it.exposed.as_str()).collect();
    assert_eq!(templates, ["s_row"]);
    let twice =
        |it: &&super::CatalogProblem| matches!(it.kind, CatalogProblemKind::ListedTwice { .. });
    assert_eq!(catalog.problems.iter().filter(twice).count(), 3);
    let rejected = |it: &&super::CatalogProblem| matches!(it.kind, CatalogProblemKind::Rejected(_));
    assert_eq!(catalog.problems.iter().filter(rejected).count(), 6);
}

#[test]
fn an_unchanged_tool_is_taken_over_and_a_changed_one_is_not() {
    let offers = [offer("s", &tools(&["a", "b"]))];
    let mut owners = NameOwners::default();
    let first = build(&offers, &mut owners, None);
    let mut changed = tools(&["a", "b"]);
    changed[1]["description"] = json!("new words");
    let second = build(&[offer("s", &changed)], &mut owners, Some(&first));
    assert!(Arc::ptr_eq(&first.tools[0], &second.tools[0]));
    assert!(!Arc::ptr_eq(&first.tools[1], &second.tools[1]));
    assert_ne!(first.tools[1].hash, second.tools[1].hash);
    let trusted = with_rules(offer("s", &changed), |rules| rules.timeout = Duration::from_secs(1));
    let third = build(&[trusted], &mut owners, Some(&second));
    assert!(!Arc::ptr_eq(&second.tools[0], &third.tools[0]));
    assert!(Arc::ptr_eq(&second.tools[0].definition, &third.tools[0].definition));
    assert_eq!(third.tools[0].terms.timeout, Duration::from_secs(1));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test is about real time")]
fn b_sc_13_ten_thousand_tools_are_no_trouble() {
    // Unoptimised code gets fewer: the limit below is for the real thing.
    let (count, limit) = if cfg!(debug_assertions) { (1_000, 10_000) } else { (10_000, 1_000) };
    let many: Vec<_> = (0..count)
        .map(|at| {
            json!({"name": format!("tool_{at}"), "description": "does one thing well",
                "inputSchema": {"type": "object", "properties": {
                    "query": {"type": "string", "description": "what to look for"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 100},
                    "tags": {"type": "array", "items": {"type": "string"}}},
                    "required": ["query"], "additionalProperties": false}})
        })
        .collect();
    let offers = [offer("s", &many)];
    let mut owners = NameOwners::default();
    let start = Instant::now();
    let first = build(&offers, &mut owners, None);
    let built = start.elapsed();
    assert!(built < Duration::from_millis(limit), "{built:?}");
    let second = build(&offers, &mut owners, Some(&first));
    assert_eq!((first.tools.len(), second.tools.len()), (count, count));
    let mut pairs = first.tools.iter().zip(&second.tools);
    assert!(pairs.all(|(one, other)| Arc::ptr_eq(one, other)), "nothing is built twice");
}

fn any_offers() -> impl Strategy<Value = Vec<(String, Vec<String>)>> {
    let tools = prop::collection::vec("[abAB_.0o]{1,4}", 0..6);
    prop::collection::btree_map("[ab][ab_]{0,2}", tools, 1..5)
        .prop_map(|offers| offers.into_iter().collect())
}

fn offers_of(listed: &[(String, Vec<String>)]) -> Vec<ServerOffer> {
    let of = |(server, names): &(String, Vec<String>)| {
        offer(server, &names.iter().map(|name| tool(name)).collect::<Vec<_>>())
    };
    listed.iter().map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn s_26_every_tool_has_a_name_of_its_own_or_is_reported(listed in any_offers()) {
        let catalog = fresh(&offers_of(&listed));
        let mut names: Vec<String> =
            catalog.tools.iter().map(|tool| tool.exposed.as_str().to_ascii_lowercase()).collect();
        names.sort();
        names.dedup();
        prop_assert_eq!(names.len(), catalog.tools.len());
        let all: usize = listed.iter().map(|(_, names)| names.len()).sum();
        prop_assert_eq!(catalog.tools.len() + catalog.problems.len(), all);
    }

    #[test]
    fn s_26_names_outlive_restarts_and_do_not_depend_on_order(
        listed in any_offers(),
        arrival in prop::collection::vec(any::<prop::sample::Index>(), 4),
    ) {
        let offers = offers_of(&listed);
        let mut owners = NameOwners::default();
        // Servers come up one after the other, in any order.
        let mut here = vec![false; offers.len()];
        for next in arrival {
            here[next.index(offers.len())] = true;
            let now: Vec<ServerOffer> = offers
                .iter()
                .zip(&here)
                .map(|(offer, here)| ServerOffer { present: *here, ..offer.clone() })
                .collect();
            build(&now, &mut owners, None);
        }
        let before = summary(&build(&offers, &mut owners, None));
        let mut restarted: NameOwners = owners.iter().cloned().collect::<Vec<OwnedName>>().into_iter().collect();
        prop_assert_eq!(&before, &summary(&build(&offers, &mut restarted, None)));
        // The order inside a list does not count either.
        let mut turned = listed;
        turned.iter_mut().for_each(|(_, names)| names.reverse());
        let turned = build(&offers_of(&turned), &mut restarted, None);
        let names = |catalog: &Catalog| {
            catalog.tools.iter().map(|it| format!("{}={}", it.exposed, it.id)).collect::<Vec<_>>()
        };
        prop_assert_eq!(names(&build(&offers, &mut owners, None)), names(&turned));
    }
}
