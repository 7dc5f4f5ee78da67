use serde_json::json;
use tollgate_core::json::raw_value;
use tollgate_core::names::ServerOrigin;
use tollgate_core::tier_assignment;
use tollgate_mcp::tasks;

use super::*;
use crate::clock::SystemClock;
use crate::meters::MeterDeps;
use crate::notices::Notices;
use crate::settings::EngineSettings;

fn id(name: &str) -> ServerId {
    ServerId::parse(name).unwrap()
}

fn plan(servers: &[&str]) -> RegistryParts {
    let rules = |name: &&str| Arc::new(ServerRules::new(id(name), ServerOrigin::Upstream));
    RegistryParts {
        rules: servers.iter().map(rules).collect(),
        policy: Arc::new(PolicySnapshot::of(&EngineSettings::new("nowhere".into()))),
        pattern: NamePattern::parse("{server}_{tool}").unwrap(),
        owners: None,
        meters: ToolMeters::new(MeterDeps {
            clock: Arc::new(SystemClock),
            rules: tier_assignment::TierRules::default(),
            notices: Notices::default(),
            archive: None,
        }),
        book: Arc::new(PinStore::open(None).unwrap()),
        notices: Notices::default(),
        clock: Arc::new(SystemClock),
    }
}

fn listing(tools: &[&str]) -> ServerListing {
    let tool = |name: &&str| raw_value(&json!({"name": name, "inputSchema": {"type": "object"}}));
    ServerListing { tools: tools.iter().map(tool).collect(), ..ServerListing::default() }
}

/// Breaks down on a tool with the name `bomb`.
fn build(inputs: &CatalogInputs<'_>, owners: &mut NameOwners) -> Catalog {
    let mut present = inputs.offers.iter().filter(|offer| offer.present);
    let bomb = present.any(|it| it.listing.tools.iter().any(|tool| tool.get().contains("bomb")));
    assert!(!bomb, "boom");
    Catalog::build(inputs, owners)
}

#[tokio::test]
async fn a_listing_that_cannot_be_built_leaves_all_others_in_service() {
    let (updates, receiver) = updates();
    let (registry, mut registry_actor) = registry(plan(&["a", "b", "c"]), receiver);
    registry_actor.build = build;
    registry_actor.offer(&id("a"), listing(&["one"]));
    let _registry_task = tasks::spawn("registry", registry_actor.run());
    let check = async |lines: &[(&str, &[&str])], expected: &str| {
        for (server, tools) in lines {
            let change = Change::Listed(Arc::new(listing(tools)));
            updates.send(Update { server: id(server), change }).await.unwrap();
        }
        registry.flush().await;
        let tools = registry.current().catalog.tools.clone();
        let names: Vec<&str> = tools.iter().map(|tool| tool.exposed.as_str()).collect();
        assert_eq!(names.join(" "), expected);
    };
    check(&[], "a_one").await;
    check(&[("b", &["bomb"]), ("c", &["three"])], "a_one c_three").await;
    check(&[("b", &["two"])], "a_one b_two c_three").await;
    check(&[("a", &["bomb"])], "b_two c_three").await;
    check(&[("b", &["bomb"]), ("c", &["bomb"])], "").await;
    check(&[("a", &["one"])], "a_one").await;
}

#[test]
fn news_are_told_once_and_not_without_end() {
    let build = |tools: &[&str], previous: &Catalog| {
        let offers = [ServerOffer {
            rules: Arc::clone(&plan(&["s"]).rules[0]),
            listing: Arc::new(listing(tools)),
            present: true,
        }];
        let pattern = NamePattern::parse("{server}_{tool}").unwrap();
        let inputs = CatalogInputs {
            version: 1,
            offers: &offers,
            pattern: &pattern,
            previous: Some(previous),
            pins: &ToolPins::default(),
        };
        Catalog::build(&inputs, &mut NameOwners::default())
    };
    let one = build(&["a", "a"], &Catalog::default());
    let lines = news(&Catalog::default(), &one);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].matches("left out").count(), 1, "{lines:?}");
    assert!(news(&one, &one).is_empty());
    let names: Vec<String> = (0..50).map(|at| format!("t{at}")).collect();
    let twice: Vec<&str> = names.iter().chain(&names).map(String::as_str).collect();
    let lines = news(&one, &build(&twice, &one));
    assert_eq!(lines.len(), MAX_LOGGED_CHANGES + 1);
    assert_eq!(lines[MAX_LOGGED_CHANGES], "and 30 more of the kind");
}
