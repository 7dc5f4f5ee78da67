//! Each level stops what it should, the first one that does is named, and none lets in more.

use super::{
    AllowDenyLists, FilterLevel, FilterReason, FilterSubject, GlobalRules, RequestFilter,
    ToolFilter, ToolSwitch,
};
use crate::agent::Agent;
use crate::budget::Tier;
use crate::glob::Glob;
use crate::id::{ExposedName, ServerId, ToolName};
use crate::tool::ToolReach;

fn globs(names: &[&str]) -> Vec<Glob> {
    names.iter().map(|name| Glob::new(*name)).collect()
}

fn lists(allow: &[&str], deny: &[&str]) -> AllowDenyLists {
    AllowDenyLists { allow: globs(allow), deny: globs(deny) }
}

/// Where `world_find` of the server `world`, a tool for standard turns, is stopped.
fn stopped(global: &GlobalRules, principal: Option<&[&str]>, agent: &[&str], tier: Tier) -> String {
    judged(global, principal, agent, None, tier)
}

fn judged(
    global: &GlobalRules,
    principal: Option<&[&str]>,
    agent: &[&str],
    request: Option<&RequestFilter>,
    tier: Tier,
) -> String {
    let principal = principal.map(globs);
    let agent = Agent { tools: globs(agent), ..Agent::implicit() };
    let sieve =
        ToolFilter { global, principal: principal.as_deref(), agent: &agent, request, tier };
    let server = ServerId::parse("world").unwrap();
    let own = ToolName::new("find");
    let exposed = ExposedName::parse("world_find").unwrap();
    let needs = Some(Tier::Standard);
    let own = Some(&own);
    let exposed = &exposed;
    let reach = ToolReach::Direct;
    let subject = FilterSubject { server: &server, own, exposed, needs, reach };
    match sieve.judge(subject) {
        Ok(()) => "in".to_owned(),
        Err((level, stop)) => format!("{}: {stop}", level.as_str()),
    }
}

#[test]
fn the_first_level_that_stops_a_tool_is_named() {
    let open = GlobalRules::default();
    let off = GlobalRules { switch: ToolSwitch::Off, ..GlobalRules::default() };
    let denied = GlobalRules { everywhere: lists(&["*"], &["world_*"]), ..GlobalRules::default() };
    let elsewhere = GlobalRules { environment: lists(&["dice_*"], &[]), ..GlobalRules::default() };
    for (global, principal, agent, tier, expected) in [
        (&open, None, &["world_*"][..], Tier::Standard, "in"),
        (&off, None, &[], Tier::Fast, "switch: all tools are disabled"),
        (&denied, Some(&[][..]), &[], Tier::Fast, "house: denied by `world_*`"),
        (&elsewhere, Some(&[]), &[], Tier::Fast, "environment: not in the allowlist"),
        (&open, Some(&["dice_*"]), &[], Tier::Fast, "principal: not in the allowlist"),
        (&open, Some(&["world_*"]), &["roll"], Tier::Fast, "agent: not in the allowlist"),
        (
            &open,
            None,
            &["*"],
            Tier::Fast,
            "tier: requires tier `standard`; the turn has tier `fast`",
        ),
        (&open, None, &["*"], Tier::Deep, "in"),
    ] {
        assert_eq!(stopped(global, principal, agent, tier), expected, "{agent:?} {tier}");
    }
}

#[test]
fn a_request_takes_away_by_any_spelling_of_a_name_and_never_adds() {
    let only = |servers: Option<&[&str]>, tools: Option<&[&str]>| RequestFilter {
        include_servers: servers.map(globs).into_iter().collect(),
        include_tools: tools.map(globs).into_iter().collect(),
        ..RequestFilter::default()
    };
    let not = |servers: &[&str], tools: &[&str]| RequestFilter {
        exclude_servers: globs(servers),
        exclude_tools: globs(tools),
        ..RequestFilter::default()
    };
    let out = "request: the request does not include it";
    for (narrow, expected) in [
        (RequestFilter::default(), "in"),
        (only(Some(&["world"]), None), "in"),
        (only(Some(&["wor*"]), Some(&["world_find"])), "in"),
        (only(None, Some(&["world/find"])), "in"),
        (only(None, Some(&["world-*"])), "in"),
        (only(None, Some(&["find"])), out),
        (only(Some(&["dice"]), Some(&["*"])), out),
        (only(Some(&[]), None), out),
        (only(None, Some(&[])), out),
        (not(&["world"], &[]), "request: the request excludes `world`"),
        (not(&[], &["*find"]), "request: the request excludes `*find`"),
        (not(&[], &["world/f*"]), "request: the request excludes `world/f*`"),
        (not(&["dice"], &["roll"]), "in"),
        (only(Some(&["*"]), None).and(only(Some(&["w*"]), None)), "in"),
        (only(Some(&["*"]), None).and(only(Some(&[]), None)), out),
        (only(None, Some(&["world_find"])).and(only(None, Some(&["dice_*"]))), out),
        (only(None, Some(&["*"])).and(not(&[], &["*d"])), "request: the request excludes `*d`"),
    ] {
        let found = judged(&GlobalRules::default(), None, &["*"], Some(&narrow), Tier::Deep);
        assert_eq!(found, expected, "{narrow:?}");
    }
    let all = only(Some(&["*"]), Some(&["*"]));
    let hidden = judged(&GlobalRules::default(), None, &["roll"], Some(&all), Tier::Deep);
    assert_eq!(hidden, "agent: not in the allowlist");
}

#[test]
fn levels_stand_in_the_order_in_which_they_are_passed() {
    let order = [
        FilterLevel::Server,
        FilterLevel::Catalog,
        FilterLevel::Away,
        FilterLevel::Switch,
        FilterLevel::Global,
        FilterLevel::Environment,
        FilterLevel::Principal,
        FilterLevel::Agent,
        FilterLevel::Request,
        FilterLevel::Tier,
    ];
    assert!(order.is_sorted());
    assert_eq!(FilterReason::Off.to_string(), "all tools are disabled");
}
