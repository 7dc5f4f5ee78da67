use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use tollgate_core::catalog::{
    Catalog, CatalogInputs, ServerListing, ServerOffer, ServerOrigin, ServerRules,
};
use tollgate_core::json::raw_value;
use tollgate_core::latency::SampleEnding;
use tollgate_core::names::{NameOwners, NamePattern};
use tollgate_core::tool::ToolOverride;
use tollgate_core::trust::ToolPins;
use tollgate_store::Store;

use super::*;
use crate::clock::SystemClock;

mod keeping;
mod lifetimes;

/// Tools of the server `s`, as a catalogue has them: `a` declares nothing, `b=200` an estimate in
/// milliseconds.
fn tools(script: &str) -> Vec<Arc<Tool>> {
    let mut overrides = BTreeMap::new();
    let mut listed = Vec::new();
    for word in script.split_whitespace() {
        let (name, estimated) = word.split_once('=').unwrap_or((word, ""));
        listed.push(raw_value(&json!({"name": name, "inputSchema": {"type": "object"}})));
        if let Ok(millis) = estimated.parse() {
            let estimated = Some(Duration::from_millis(millis));
            let said = ToolOverride { estimated, ..ToolOverride::default() };
            overrides.insert(id(name).tool, said);
        }
    }
    let rules =
        ServerRules { tools: overrides, ..ServerRules::new(id("").server, ServerOrigin::Upstream) };
    let listing = Arc::new(ServerListing { tools: listed, ..ServerListing::default() });
    let offers = [ServerOffer { rules: Arc::new(rules), listing, present: true }];
    let pattern = NamePattern::parse("{server}_{tool}").unwrap();
    let inputs = CatalogInputs {
        version: 1,
        offers: &offers,
        pattern: &pattern,
        previous: None,
        pins: &ToolPins::default(),
    };
    Catalog::build(&inputs, &mut NameOwners::default()).tools
}

fn id(tool: &str) -> ToolId {
    use tollgate_core::id::ToolName;
    ToolId { server: ServerId::parse("s").unwrap(), tool: ToolName::new(tool) }
}

fn answered(millis: u64) -> Sample {
    Sample { span: Duration::from_millis(millis), ending: SampleEnding::Answered }
}

fn failed() -> Sample {
    Sample { span: Duration::from_millis(1), ending: SampleEnding::Failed }
}

fn meters(store: Option<&Arc<Store>>) -> Arc<ToolMeters> {
    let archive = store.map(|store| MeterArchive::new(Arc::clone(store), "test".to_owned()));
    ToolMeters::new(MeterDeps {
        clock: Arc::new(SystemClock),
        rules: TierRules::default(),
        notices: Notices::default(),
        archive,
    })
}

impl ToolMeters {
    fn record_all(&self, tool: &str, samples: impl IntoIterator<Item = Sample>) {
        samples.into_iter().for_each(|sample| self.record(&id(tool), sample));
    }

    fn shown(&self, tool: &str) -> String {
        self.assigned_tier(&id(tool)).unwrap().to_string()
    }
}

async fn after(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

#[tokio::test(start_paused = true)]
async fn new_tools_stand_where_they_say_or_in_the_middle() {
    let meters = meters(None);
    let tiers = meters.register_tools(&tools("a b=200 c=3000"));
    assert_eq!(tiers, [Tier::Standard, Tier::Fast, Tier::Deep]);
    assert_eq!(meters.shown("a"), "standard: not measured yet");
    assert_eq!(meters.shown("b"), "fast: declared 200 ms");
    assert_eq!(meters.assigned_tier(&id("z")).map(drop), None);
}

#[tokio::test(start_paused = true)]
async fn calls_move_a_tool_soon_after_and_it_is_told() {
    let meters = meters(None);
    let mut notices = meters.notices.listen();
    let tools = tools("a=200 b=200");
    meters.register_tools(&tools);
    let _tending = meters.start_maintenance();
    let mut moves = meters.moves();
    meters.record_all("a", [answered(620); 4]);
    after(100).await;
    assert!(!moves.has_changed().unwrap(), "too few");
    assert_eq!(meters.shown("a"), "fast: declared 200 ms");
    meters.record_all("a", [answered(620)]);
    moves.changed().await.unwrap();
    assert_eq!(meters.tiers(&tools), [Tier::Standard, Tier::Fast]);
    assert_eq!(meters.shown("a"), "standard: measured p50 620 ms over 5 calls");
    let Notice::Moved { tool, from, to, reason } = &*notices.recv().await.unwrap() else {
        panic!("nothing else is told here");
    };
    assert_eq!((tool, *from, *to), (&id("a"), Tier::Fast, Tier::Standard));
    assert_eq!(reason, "measured p50 620 ms over 5 calls");
}

#[tokio::test(start_paused = true)]
async fn time_alone_moves_a_tool_when_its_time_has_come() {
    let meters = meters(None);
    let tools = tools("a=200");
    meters.register_tools(&tools);
    let _tending = meters.start_maintenance();
    let mut moves = meters.moves();
    meters.record_all("a", [answered(900); 5]);
    moves.changed().await.unwrap();
    // It changed just now: the next change waits, and then comes without another call.
    meters.record_all("a", [answered(2_000); 20]);
    after(200).await;
    assert_eq!(meters.tiers(&tools), [Tier::Standard]);
    moves.changed().await.unwrap();
    assert_eq!(meters.tiers(&tools), [Tier::Deep]);
    assert!(meters.wants_probe(&id("a")));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_nobody_calls_gets_another_chance() {
    let meters = meters(None);
    let tools = tools("a=200");
    meters.register_tools(&tools);
    let _tending = meters.start_maintenance();
    let mut moves = meters.moves();
    meters.record_all("a", [answered(900); 5]);
    moves.changed().await.unwrap();
    moves.changed().await.unwrap();
    assert_eq!(meters.shown("a"), "fast: on trial after 10 min without a call");
}

#[tokio::test(start_paused = true)]
async fn what_is_declared_anew_counts_at_once() {
    let meters = meters(None);
    assert_eq!(meters.register_tools(&tools("a=200 b")), [Tier::Fast, Tier::Standard]);
    assert_eq!(meters.register_tools(&tools("a=200 b=3000")), [Tier::Fast, Tier::Deep]);
    assert_eq!(meters.shown("b"), "deep: declared 3000 ms");
}

#[tokio::test(start_paused = true)]
async fn a_new_catalogue_has_the_tiers_of_what_was_just_recorded() {
    let meters = meters(None);
    let tools = tools("a=200");
    meters.register_tools(&tools);
    meters.record_all("a", [answered(2_000); 5]);
    assert_eq!(meters.register_tools(&tools), [Tier::Deep], "nobody tends them, and yet");
}

#[tokio::test(start_paused = true)]
async fn tools_that_come_back_are_known() {
    let meters = meters(None);
    meters.register_tools(&tools("a b"));
    meters.record_all("a", [answered(20); 10]);
    meters.register_tools(&tools("c"));
    meters.record_all("a", [answered(20)]);
    assert_eq!(
        meters.register_tools(&tools("a b c")),
        [Tier::Fast, Tier::Standard, Tier::Standard]
    );
    assert_eq!(meters.shown("a"), "fast: measured p50 20 ms over 11 calls");
}

#[tokio::test(start_paused = true)]
async fn names_that_only_pass_through_do_not_stay() {
    let meters = meters(None);
    for round in 0..50 {
        let names: Vec<String> = (0..20).map(|at| format!("t{round}_{at}")).collect();
        meters.register_tools(&tools(&names.join(" ")));
    }
    assert_eq!(meters.meters.load().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn tools_that_nobody_listed_are_not_measured() {
    let meters = meters(None);
    meters.record(&id("a"), answered(1));
    assert!(meters.assigned_tier(&id("a")).is_none() && meters.reading(&id("a")).is_none());
    assert!(!meters.wants_probe(&id("a")));
    assert_eq!(meters.tiers(&tools("a")), [Tier::Standard]);
}

#[tokio::test(start_paused = true)]
async fn readings_say_when_the_last_call_was() {
    let meters = meters(None);
    meters.register_tools(&tools("a"));
    assert_eq!(meters.reading(&id("a")).unwrap().measured_at, None);
    meters.record(&id("a"), answered(1));
    after(60_000).await;
    let ago = |at: SystemTime| meters.clock.wall().duration_since(at).unwrap().as_secs();
    let measured_at = meters.reading(&id("a")).unwrap().measured_at.unwrap();
    assert!((60..62).contains(&ago(measured_at)));
}

#[tokio::test(start_paused = true)]
async fn a_server_is_idle_when_its_last_call_is_over() {
    let meters = meters(None);
    meters.register_tools(&tools("a"));
    let server = id("a").server;
    let created = meters.idle_since(&server).unwrap();
    after(1_000).await;
    let one = meters.enter_server(&server).unwrap();
    let other = meters.enter_server(&server).unwrap();
    assert_eq!(meters.idle_since(&server), None);
    drop(one);
    after(1_000).await;
    assert_eq!(meters.idle_since(&server), None);
    drop(other);
    after(5_000).await;
    assert_eq!(meters.idle_since(&server), Some(created + Duration::from_millis(2_000)));
    assert!(meters.enter_server(&ServerId::parse("unknown").unwrap()).is_none());
}

/// Writers on many threads, a judge and readers at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thousands_of_calls_from_many_threads_are_all_counted() {
    const WRITERS: usize = 8;
    const EACH: usize = 5_000;
    let meters = meters(None);
    let tools = tools("a b c");
    meters.register_tools(&tools);
    let _tending = meters.start_maintenance();
    std::thread::scope(|threads| {
        for writer in 0..WRITERS {
            let meters = &meters;
            let tools = &tools;
            threads.spawn(move || {
                for at in 0..EACH {
                    let tool = &tools[(writer + at) % tools.len()];
                    let sample = if at % 4 == 0 { failed() } else { answered(100) };
                    let _visit = meters.enter_server(&tool.id.server);
                    meters.record(&tool.id, sample);
                    if at % 100 == 0 {
                        meters.register_tools(tools);
                    }
                }
            });
        }
    });
    meters.register_tools(&tools);
    let known = meters.meters.load();
    let recorded: u64 = known.values().map(|meter| meter.recorded_count()).sum();
    assert_eq!(recorded, (WRITERS * EACH) as u64);
    for tool in &tools {
        let assigned = meters.assigned_tier(&tool.id).unwrap();
        assert!(assigned.figures.count >= 100 - WRITERS, "{}", assigned.figures.count);
        assert_eq!(assigned.figures.p50(), Some(Duration::from_millis(100)));
    }
    assert!(meters.idle_since(&tools[0].id.server).is_some());
}
