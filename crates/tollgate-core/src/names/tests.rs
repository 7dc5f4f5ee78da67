//! How names are made, and that no two tools ever share one.

use proptest::prelude::*;

use super::{NameKind, NameOwners, NamePattern, NamePatternError, OwnedName, ServerOrigin, expose};
use crate::id::{ExposedName, ServerId, ToolId, ToolName};

fn expose_name(pattern: &str, server: &str, tool: &str) -> String {
    let pattern = NamePattern::parse(pattern).unwrap();
    let server = ServerId::parse(server).unwrap();
    expose(&pattern, ServerOrigin::Upstream, &server, &ToolName::new(tool)).to_string()
}

fn id(server: &str, tool: &str) -> ToolId {
    ToolId { server: ServerId::parse(server).unwrap(), tool: ToolName::new(tool) }
}

fn name(text: &str) -> ExposedName {
    ExposedName::passed_through(text).unwrap()
}

#[test]
fn patterns_join_server_and_tool() {
    for (pattern, expected) in [
        ("{server}_{tool}", "web_search"),
        ("mcp_{server}_{tool}", "mcp_web_search"),
        ("{tool}_by_{server}", "search_by_web"),
        ("{tool}", "search"),
        ("x{tool}", "xsearch"),
    ] {
        assert_eq!(expose_name(pattern, "web", "search"), expected);
    }
    assert_eq!(NamePattern::default(), NamePattern::parse("{server}_{tool}").unwrap());
    assert_eq!(NamePattern::parse("{tool}"), Ok(NamePattern::PassThrough));
}

#[test]
fn patterns_that_cannot_work_are_refused_with_a_reason() {
    for (pattern, expected) in [
        ("", NamePatternError::NoTool),
        ("{server}", NamePatternError::NoTool),
        ("{server}_{name}", NamePatternError::Placeholder("{name}".to_owned())),
        ("{tool", NamePatternError::Placeholder("{tool".to_owned())),
        ("{server}-{tool}", NamePatternError::Character('-')),
        ("{tool}}", NamePatternError::Character('}')),
        ("_{tool}", NamePatternError::Start),
        ("1{tool}", NamePatternError::Start),
    ] {
        assert_eq!(NamePattern::parse(pattern), Err(expected), "{pattern}");
    }
    let said = NamePattern::parse("{server}").unwrap_err().to_string();
    assert_eq!(said, "the pattern needs `{tool}`, or all tools would have one name");
}

#[test]
fn b_sc_12_any_name_becomes_one_that_providers_take() {
    for (tool, expected) in [
        ("a.b", "s_a_b"),
        ("a/b-c", "s_a_b_c"),
        ("a\nb", "s_a_b"),
        ("ｓｅａｒｃｈ！", "s_search_"),
        ("раураl", "s_paypal"),
        ("Ѕеаrсh", "s_Search"),
        ("搜索", "s___"),
        ("🎲", "s__"),
    ] {
        assert_eq!(expose_name("{server}_{tool}", "s", tool), expected, "{tool}");
    }
    assert_eq!(expose_name("x_{tool}", "my-server", "t"), "x_t");
    assert_eq!(expose_name("{server}_{tool}", "my-server", "t"), "my_server_t");
    assert_eq!(expose_name("{tool}_{server}", "s", "9lives"), "t_9lives_s");
}

#[test]
fn long_names_keep_their_head_and_end_in_a_mark_of_their_own() {
    let one = expose_name("{server}_{tool}", "s", &"x".repeat(300));
    let two = expose_name("{server}_{tool}", "s", &("x".repeat(299) + "y"));
    assert_eq!(one.len(), 64);
    assert_eq!(one[..55], two[..55]);
    assert_ne!(one, two);
    assert_eq!(one, expose_name("{server}_{tool}", "s", &"x".repeat(300)));
    assert_eq!(expose_name("{server}_{tool}", "s", &"x".repeat(62)).len(), 64);
    assert!(expose_name("{server}_{tool}", "s", &"x".repeat(62)).ends_with("xx"));
}

#[test]
fn passed_through_names_stay_as_they_are_where_mcp_allows_them() {
    for tool in ["Get-Weather", "a.b/c", "9lives", &"x".repeat(128)] {
        assert_eq!(expose_name("{tool}", "s", tool), tool);
    }
    assert_eq!(expose_name("{tool}", "s", "a b"), "a_b");
    assert_eq!(expose_name("{tool}", "s", "é"), "t__");
    assert_eq!(expose_name("{tool}", "s", &"x".repeat(129)).len(), 64);
}

#[test]
fn built_in_tools_have_bare_names() {
    let pattern = NamePattern::default();
    let server = ServerId::parse("builtin").unwrap();
    let made = expose(&pattern, ServerOrigin::Builtin, &server, &ToolName::new("roll"));
    assert_eq!(made.as_str(), "roll");
}

#[test]
fn s_26_two_servers_cannot_make_one_name() {
    // The known attack: `a_b` + `c` and `a` + `b_c` join to the same text.
    assert_eq!(
        expose_name("{server}_{tool}", "a_b", "c"),
        expose_name("{server}_{tool}", "a", "b_c")
    );
    let mut owners = NameOwners::default();
    let first = id("a_b", "c");
    let second = id("a", "b_c");
    assert_eq!(owners.claim(NameKind::Tool, &name("a_b_c"), &first), Ok(()));
    assert_eq!(owners.claim(NameKind::Tool, &name("a_b_c"), &second), Err(first.clone()));
    assert_eq!(owners.claim(NameKind::Tool, &name("A_b_C"), &second), Err(first.clone()));
    assert_eq!(owners.claim(NameKind::Tool, &name("a_b_c"), &first), Ok(()));
    assert_eq!(owners.claim(NameKind::Prompt, &name("a_b_c"), &second), Ok(()));
}

#[test]
fn s_26_look_alikes_of_another_server_are_taken_too() {
    let mut owners = NameOwners::default();
    owners.claim(NameKind::Tool, &name("pay_online_1o"), &id("bank", "pay")).unwrap();
    for twin in ["pay_on1ine_1o", "pay_online_l0", "PAY_0NLINE_IO", "pay-online.1o"] {
        let taken = owners.claim(NameKind::Tool, &name(twin), &id("evil", "pay"));
        assert_eq!(taken, Err(id("bank", "pay")), "{twin}");
    }
    // One server may have `v1` and `vl`; they are its own to tell apart.
    assert_eq!(owners.claim(NameKind::Tool, &name("pay_online_lo"), &id("bank", "pay2")), Ok(()));
    owners.retain(|owned| owned.owner.tool.as_str() != "pay");
    let still = owners.claim(NameKind::Tool, &name("pay_online_1o"), &id("evil", "pay"));
    assert_eq!(still, Err(id("bank", "pay2")));
    owners.retain(|_| false);
    assert_eq!(owners.claim(NameKind::Tool, &name("pay_online_1o"), &id("evil", "pay")), Ok(()));
}

#[test]
fn what_was_written_down_is_read_back_the_same() {
    let mut owners = NameOwners::default();
    for (exposed, owner) in [("b", id("s", "b")), ("a", id("s", "a")), ("c", id("t", "c"))] {
        owners.claim(NameKind::Tool, &name(exposed), &owner).unwrap();
    }
    let written: Vec<OwnedName> = owners.iter().cloned().collect();
    let order: Vec<_> = written.iter().map(|owned| owned.exposed.as_str()).collect();
    assert_eq!(order, ["a", "b", "c"]);
    let mut twice = written.clone();
    twice.push(OwnedName { kind: NameKind::Tool, exposed: name("A"), owner: id("evil", "a") });
    assert_eq!(twice.into_iter().collect::<NameOwners>(), owners);
}

#[test]
fn s_26_twins_by_form_case_and_look_make_one_name() {
    let same = |one: &str, two: &str| {
        let [one, two] = [one, two].map(|it| expose_name("{server}_{tool}", "s", it));
        assert_eq!(one.to_ascii_lowercase(), two.to_ascii_lowercase());
    };
    same("search", "𝐬𝐞𝐚𝐫𝐜𝐡");
    same("search", "ⓢⓔⓐⓡⓒⓗ");
    same("search", "ѕеаrсһ");
    same("search", "SEARCH");
    same("file", "ﬁle");
    same("caf\u{e9}", "cafe\u{301}");
    same("x²", "x2");
    same("Kelvin", "\u{212a}elvin");
}

/// Pairs of a server and a tool that are as hard to tell apart as they can be.
fn hostile(seed: &mut u64) -> (String, String) {
    const LETTERS: &[&str] = &[
        "a", "A", "b", "_", "-", ".", "__", "0", "o", "O", "1", "l", "I", "а", "ａ", "é", "/", " ",
    ];
    let mut next = |below: usize| {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) as usize % below
    };
    let server = ["a", "a_", "a_a", "A", "a-a", "ab", "o", "O0"][next(8)].to_owned();
    let length = match next(4) {
        0 => 1 + next(300),
        _ => 1 + next(5),
    };
    (server, (0..length).map(|_| LETTERS[next(LETTERS.len())]).collect())
}

#[test]
fn s_26_among_a_million_pairs_no_two_tools_share_a_name() {
    let mut owners = NameOwners::default();
    let mut seed = 26;
    let mut served: Vec<(ExposedName, ToolId)> = Vec::new();
    for _ in 0..20_000 {
        let (server, tool) = hostile(&mut seed);
        let owner = id(&server, &tool);
        let made =
            expose(&NamePattern::default(), ServerOrigin::Upstream, &owner.server, &owner.tool);
        let is_known = served.iter().rev().take(50).any(|(_, it)| *it == owner);
        if owners.claim(NameKind::Tool, &made, &owner).is_ok() && !is_known {
            served.push((made, owner));
        }
    }
    let mut ids: Vec<ToolId> = served.iter().map(|(_, owner)| owner.clone()).collect();
    ids.sort();
    ids.dedup();
    assert!(ids.len() * (ids.len() - 1) / 2 > 1_000_000, "{} tools", ids.len());
    // One name has one owner, one owner one name; across servers they do not even look alike.
    let mut by_name = std::collections::HashMap::new();
    let mut by_shape = std::collections::HashMap::new();
    for (made, owner) in &served {
        let lower = made.as_str().to_ascii_lowercase();
        assert_eq!(by_name.entry(lower).or_insert(owner), &owner, "{made}");
        let server = &owner.server;
        assert_eq!(by_shape.entry(super::shape(made)).or_insert(server), &server, "{made}");
    }
    assert_eq!(by_name.len(), ids.len());
}

fn any_tool() -> impl Strategy<Value = String> {
    prop_oneof!["[a-cA-C_.-]{1,6}", "[a-z0-9_./-]{1,300}", "\\PC{1,80}", "[аеорсх０-９ａ-ｚ]{1,8}",]
}

proptest! {
    #[test]
    fn s_26_every_exposed_name_is_one_that_providers_take(
        server in "[a-zA-Z][a-zA-Z0-9_-]{0,63}",
        tool in any_tool(),
    ) {
        let server = ServerId::parse(&server).unwrap();
        let tool = ToolName::new(&tool);
        let pattern = NamePattern::default();
        let made = expose(&pattern, ServerOrigin::Upstream, &server, &tool);
        prop_assert!(ExposedName::parse(made.as_str()).is_ok());
        prop_assert_eq!(&made, &expose(&pattern, ServerOrigin::Upstream, &server, &tool));
    }

    #[test]
    fn s_26_no_two_owners_share_a_name_even_by_case(
        claims in prop::collection::vec(("[ab][ab_]{0,2}", any_tool()), 1..40),
    ) {
        let mut owners = NameOwners::default();
        let pattern = NamePattern::default();
        for (server, tool) in &claims {
            let owner = id(server, tool);
            let made = expose(&pattern, ServerOrigin::Upstream, &owner.server, &owner.tool);
            let _ = owners.claim(NameKind::Tool, &made, &owner);
        }
        let mut names: Vec<String> =
            owners.iter().map(|owned| owned.exposed.as_str().to_ascii_lowercase()).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        prop_assert_eq!(names.len(), count);
    }
}
