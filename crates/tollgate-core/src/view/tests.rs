//! What an agent sees, and that it is exactly what it may call.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{InvalidCursorError, ListEra, ListKind, View, matches};
use crate::agent::{Agent, Engine};
use crate::budget::Tier;
use crate::catalog::{
    Catalog, CatalogInputs, ServerListing, ServerOffer, ServerOrigin, ServerRules,
};
use crate::filter::{AllowDenyLists, GlobalRules, ToolFilter};
use crate::glob::Glob;
use crate::id::ServerId;
use crate::json::raw_value;
use crate::names::{NameOwners, NamePattern};
use crate::tool::ToolReach;
use crate::trust::ToolPins;

fn offer(server: &str, listing: ServerListing) -> ServerOffer {
    let rules = ServerRules::new(ServerId::parse(server).unwrap(), ServerOrigin::Upstream);
    ServerOffer { rules: Arc::new(rules), listing: Arc::new(listing), present: true }
}

fn tools(names: impl IntoIterator<Item = String>) -> ServerListing {
    let tool = |name: String| raw_value(&json!({"name": name, "inputSchema": {"type": "object"}}));
    ServerListing { tools: names.into_iter().map(tool).collect(), ..ServerListing::default() }
}

fn catalog(offers: &[ServerOffer]) -> Arc<Catalog> {
    let pattern = NamePattern::default();
    let inputs = CatalogInputs {
        version: 7,
        offers,
        pattern: &pattern,
        previous: None,
        pins: &ToolPins::default(),
    };
    Arc::new(Catalog::build(&inputs, &mut NameOwners::default()))
}

fn view(offers: &[ServerOffer], globs: &[&str]) -> View {
    let tools = globs.iter().map(|glob| Glob::new(*glob)).collect();
    let agent = Agent { tools, ..Agent::implicit() };
    let global = GlobalRules::default();
    let tier = Tier::Standard;
    let sieve = ToolFilter::of(&global, &agent, tier);
    View::build(&catalog(offers), &sieve)
}

fn names(page: &str) -> Vec<String> {
    let items: Vec<Value> = serde_json::from_str(page).unwrap();
    items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn s_29_what_is_listed_is_what_can_be_called() {
    let listing = || tools(["read", "write", "wipe"].map(str::to_owned));
    let offers = [offer("files", listing()), offer("notes", listing())];
    let view = view(&offers, &["files_*", "notes_read"]);
    let listed = names(view.page(ListKind::Tools, ListEra::Modern, None).unwrap().items);
    assert_eq!(listed, ["files_read", "files_wipe", "files_write", "notes_read"]);
    for name in ["files_read", "files_wipe", "files_write", "notes_read"] {
        assert_eq!(view.tool(name).unwrap().exposed.as_str(), name);
    }
    for name in ["notes_wipe", "read", "files", "FILES_READ", "", "files_read "] {
        assert!(view.tool(name).is_none(), "{name}");
    }
    assert_eq!((view.version, view.tier), (7, Tier::Standard));
}

#[test]
fn nothing_allowed_is_nothing_seen() {
    let view = view(&[offer("s", tools(["a".to_owned()]))], &[]);
    assert!(view.tools().is_empty());
    let page = view.page(ListKind::Tools, ListEra::Legacy, None).unwrap();
    assert_eq!((page.items, page.next), ("[]", None));
}

#[test]
fn names_that_are_not_there_bring_up_near_ones_that_are_visible() {
    let offers = [offer("dice", tools(["roll", "roll_table", "secret_roll"].map(str::to_owned)))];
    let view = view(&offers, &["dice_roll*"]);
    assert_eq!(view.nearest("dice_rol"), ["dice_roll", "dice_roll_table"]);
    assert_eq!(view.nearest("roll"), ["dice_roll"]);
    assert!(view.nearest("secret_roll").iter().all(|name| !name.contains("secret")));
}

#[test]
fn long_lists_come_in_pages_whose_cursors_fit_nowhere_else() {
    let many = |extra: usize| tools((0..2_300 + extra).map(|at| format!("t{at:05}")));
    let view_of = |extra| view(&[offer("s", many(extra))], &["*"]);
    let view = view_of(0);
    let mut seen = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = view.page(ListKind::Tools, ListEra::Modern, cursor.as_deref()).unwrap();
        seen.push(names(page.items).len());
        match page.next {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, [1000, 1000, 300]);
    let cursor = cursor.unwrap();
    let cursor = cursor.as_str();
    for forged in
        ["", "0", "1000", "1000-0000000000000000", "3000-", &cursor.replace("2000", "2001")]
    {
        assert_eq!(
            view.page(ListKind::Tools, ListEra::Modern, Some(forged)),
            Err(InvalidCursorError),
            "{forged}"
        );
    }
    assert_eq!(
        view.page(ListKind::Prompts, ListEra::Modern, Some(cursor)),
        Err(InvalidCursorError)
    );
    assert_eq!(view.page(ListKind::Tools, ListEra::Legacy, Some(cursor)), Err(InvalidCursorError));
    assert_eq!(
        view_of(1).page(ListKind::Tools, ListEra::Modern, Some(cursor)),
        Err(InvalidCursorError)
    );
    // The same content again, as after a restart: the cursor still holds.
    assert!(view_of(0).page(ListKind::Tools, ListEra::Modern, Some(cursor)).is_ok());
}

#[test]
fn digests_tell_whether_a_list_changed_for_this_view() {
    let before = [offer("s", tools(["a", "b"].map(str::to_owned)))];
    let after = [offer("s", tools(["a", "b", "c"].map(str::to_owned)))];
    let digest = |offers, glob| view(offers, &[glob]).digest(ListKind::Tools);
    assert_eq!(digest(&before, "s_a"), digest(&after, "s_a"));
    assert_ne!(digest(&before, "*"), digest(&after, "*"));
    let view = view(&before, &["*"]);
    assert_ne!(view.digest(ListKind::Tools), view.digest(ListKind::Prompts));
    assert_eq!(view.digest(ListKind::Tools), view.digest(ListKind::Tools));
}

#[test]
fn uris_find_their_server_by_list_then_template_then_the_only_one() {
    let raw = |items: &[Value]| items.iter().map(raw_value).collect::<Vec<_>>();
    let files = ServerListing {
        resources: raw(&[json!({"uri": "file:///a", "name": "a"})]),
        ..ServerListing::default()
    };
    let rows = ServerListing {
        templates: raw(&[json!({"uriTemplate": "db://{table}/{+rest}", "name": "row"})]),
        prompts: raw(&[json!({"name": "p"})]),
        ..ServerListing::default()
    };
    let offers =
        [offer("files", files), offer("rows", rows), offer("other", tools(["x".to_owned()]))];
    let route = |globs: &[&str], uri: &str| {
        view(&offers, globs).resource_route(uri).map(ToString::to_string)
    };
    assert_eq!(route(&["*"], "file:///a").as_deref(), Some("files"));
    assert_eq!(route(&["*"], "db://users/1/name").as_deref(), Some("rows"));
    assert_eq!(route(&["*"], "file:///b"), None);
    assert_eq!(route(&["files_*"], "file:///b").as_deref(), Some("files"));
    assert_eq!(route(&["other_*"], "file:///a"), None);
    let view = view(&offers, &["rows_*"]);
    assert_eq!((view.resources().len(), view.templates().len(), view.prompts().len()), (0, 1, 1));
    assert!(view.prompt("rows_p").is_some() && view.prompt("p").is_none());
}

#[test]
fn resources_that_are_hidden_cannot_be_read_by_template_or_guess() {
    let raw = |items: &[Value]| items.iter().map(raw_value).collect::<Vec<_>>();
    let listing = ServerListing {
        resources: raw(&[
            json!({"uri": "file:///open", "name": "open"}),
            json!({"uri": "file:///secret", "name": "secret"}),
        ]),
        templates: raw(&[
            json!({"uriTemplate": "file:///{+path}", "name": "any"}),
            json!({"uriTemplate": "file:///keys/{id}", "name": "keys"}),
        ]),
        ..ServerListing::default()
    };
    let offers = [offer("s", listing)];
    let check = |globs: &[&str], uri: &str, expected: Option<&str>| {
        let view = view(&offers, globs);
        let route = view.resource_route(uri).map(ServerId::as_str);
        assert_eq!(route, expected, "{globs:?} {uri}");
    };
    check(&["s_open", "s_any"], "file:///open", Some("s"));
    check(&["s_open", "s_any"], "file:///other", Some("s"));
    check(&["s_open", "s_any"], "file:///secret", None);
    check(&["s_open", "s_any"], "file:///keys/{id}", None);
    for spelled in [
        "FILE:///secret",
        "file:///%73ecret",
        "file:///%2e/secret",
        "file:///a/%2E%2e/secret",
        "file:////secret",
        "file:///secret/",
        "file:///secret?",
        "file:///secret#part",
        "file:///\\secret",
    ] {
        check(&["s_open", "s_any"], spelled, None);
    }
    for other in ["file:///secrets", "file:///a/secret", "file:///secret?q", "file:///%", "x:y"] {
        let expected = other.starts_with("file:").then_some("s");
        check(&["s_open", "s_any"], other, expected);
    }
    check(&["s_any", "s_secret"], "file:///secret", Some("s"));
    check(&["s_open"], "file:///open", Some("s"));
    check(&["s_open"], "file:///secret", None);
    check(&["s_open"], "file:///other", None);
    check(&["s_open", "s_secret"], "mem://other", None);
    check(&["s_*"], "mem://other", Some("s"));
    check(&[], "file:///open", None);
}

#[test]
fn templates_match_what_they_can_expand_to() {
    for (pattern, uri, expected) in [
        ("a://{x}", "a://1", true),
        ("a://{x}", "a://", false),
        ("a://{x}", "a://1/2", false),
        ("a://{x}/b/{y}", "a://1/b/2", true),
        ("a://{x}/b/{y}", "a://1/c/2", false),
        ("a://{x}{y}", "a://12", true),
        ("a://{+path}", "a://1/2/3?q", true),
        ("a://h{/seg*}", "a://h/1/2", true),
        ("a://h{/seg*}", "a://h", true),
        ("a://h{?q,page}", "a://h?q=1&page=2", true),
        ("a://h{?q}", "b://h?q=1", false),
        ("a://{x", "a://{x", true),
        ("a://ü{x}", "a://ü1", true),
        ("", "", true),
        ("", "a", false),
    ] {
        assert_eq!(matches(pattern, uri), expected, "{pattern} {uri}");
    }
    assert!(!matches(&"{+a}x".repeat(1_000), &"x".repeat(5_000).replace("xx", "xy")));
    assert!(!matches("{+a}", &"x".repeat(10_000)));
}

fn reached(server: &str, listing: ServerListing, reach: ToolReach) -> ServerOffer {
    let rules = ServerRules::new(ServerId::parse(server).unwrap(), ServerOrigin::Upstream);
    let rules = Arc::new(ServerRules { reach, ..rules });
    ServerOffer { rules, listing: Arc::new(listing), present: true }
}

/// What is listed, and what a program may call, in a turn of the tier.
fn faces(offers: &[ServerOffer], agent: &Agent, global: &GlobalRules, tier: Tier) -> [String; 2] {
    let view = View::build(&catalog(offers), &ToolFilter::of(global, agent, tier));
    let names = |view: &View| {
        let names: Vec<&str> = view.tools().iter().map(|it| it.exposed.as_str()).collect();
        names.join(" ")
    };
    [names(&view), names(view.in_code())]
}

#[test]
fn a_tool_that_is_called_in_code_leaves_the_list_and_the_means_come_in() {
    let one = |name: &str| tools([name.to_owned()]);
    let offers = [
        reached("code", one("executeToolCode"), ToolReach::Means),
        reached("files", one("read"), ToolReach::Direct),
        reached("git", one("log"), ToolReach::Code),
    ];
    let global = GlobalRules::default();
    let from_deep = GlobalRules { code_from: Tier::Deep, ..GlobalRules::default() };
    let all = "files_read git_log";
    let agent = |tools: &[&str]| {
        let tools = tools.iter().map(|glob| Glob::new(*glob)).collect();
        Agent { tools, ..Agent::implicit() }
    };
    let everything = agent(&["*"]);
    let mut coder = everything.clone();
    coder.persona.code_mode = true;
    let mut speaker = coder.clone();
    speaker.persona.engine = Engine::SpeechToSpeech;
    for (agent, global, tier, listed, callable) in [
        (&everything, &global, Tier::Standard, "code_executeToolCode files_read", all),
        // No list of an agent's has to name the means.
        (&agent(&["git_*"]), &global, Tier::Standard, "code_executeToolCode", "git_log"),
        (&agent(&["files_*"]), &global, Tier::Standard, "files_read", "files_read"),
        (&agent(&["code_*"]), &global, Tier::Standard, "", ""),
        (&coder, &global, Tier::Standard, "code_executeToolCode", all),
        // Where there is no time for programs, all is listed.
        (&everything, &from_deep, Tier::Standard, all, all),
        (&coder, &from_deep, Tier::Deep, "code_executeToolCode", all),
        (&speaker, &global, Tier::Standard, all, all),
        (&speaker, &global, Tier::Deep, "code_executeToolCode", all),
    ] {
        let faces = faces(&offers, agent, global, tier);
        assert_eq!(faces, [listed, callable], "{:?} {tier}", agent.tools);
    }
}

#[test]
fn who_denies_the_means_does_without_them() {
    let one = |name: &str| tools([name.to_owned()]);
    let offers = [
        reached("code", one("executeToolCode"), ToolReach::Means),
        reached("git", one("log"), ToolReach::Code),
    ];
    let deny = vec![Glob::new("code_*")];
    let everywhere = AllowDenyLists { deny, ..AllowDenyLists::default() };
    let global = GlobalRules { everywhere, ..GlobalRules::default() };
    let faces = faces(&offers, &Agent::implicit(), &global, Tier::Deep);
    assert_eq!(faces, ["git_log", "git_log"], "what cannot be called in code is listed");
}

#[test]
fn a_tool_in_code_is_known_by_its_name_but_not_called_by_it() {
    let offers = [
        reached("code", tools(["executeToolCode".to_owned()]), ToolReach::Means),
        reached("git", tools(["log".to_owned()]), ToolReach::Code),
    ];
    let agent = Agent::implicit();
    let global = GlobalRules::default();
    let view = View::build(&catalog(&offers), &ToolFilter::of(&global, &agent, Tier::Deep));
    assert!(view.tool("git_log").is_none());
    assert!(view.only_in_code("git_log").is_some());
    assert!(view.only_in_code("git_push").is_none());
    assert!(view.in_code().tool("git_log").is_some());
    assert!(view.in_code().only_in_code("git_log").is_none());
    assert!(view.has_tools_of(&ServerId::parse("git").unwrap()));
}

#[test]
fn a_tool_of_a_server_that_has_listed_nothing_yet_is_away() {
    let absent = |name: &str| ServerOffer { present: false, ..offer(name, tools([])) };
    let mut strict = absent("strict");
    Arc::make_mut(&mut strict.rules).deny = vec![Glob::new("wipe")];
    let offers = [
        offer("here", tools(["read".to_owned()])),
        absent("git"),
        absent("git-hub"),
        absent("hidden"),
        strict,
    ];
    let everything = view(&offers, &["*"]);
    let narrow = view(&offers, &["git_*", "strict_*", "here_*"]);
    for (name, server) in [
        ("git_log", Some("git")),
        ("git_hub_issues", Some("git-hub")),
        ("strict_read", Some("strict")),
        ("strict_wipe", None),
        ("here_write", None),
        ("git_", None),
        ("git", None),
        ("nobody_reads", None),
        ("git_\u{0}", None),
    ] {
        for view in [&everything, &narrow, everything.in_code()] {
            assert_eq!(view.away(name).map(ServerId::as_str), server, "{name}");
        }
    }
    assert!(everything.away("hidden_tool").is_some());
    assert!(narrow.away("hidden_tool").is_none(), "who may not see it learns nothing of it");
    let in_code = |view: &View, server, tool| view.away_in_code(server, tool).is_some();
    assert!(in_code(&narrow, "git_hub", "issues"));
    assert!(!in_code(&narrow, "hidden", "tool"));
    assert!(!in_code(&narrow, "here", "write"));
}
