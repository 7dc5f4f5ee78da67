//! On connect, while idle, and to bring tools back.

use tollgate_core::call::{GateRequest, RequestKind};
use tollgate_core::json::Object;
use tollgate_core::turn::{Actor, Principal};
use tollgate_mcp::meta::ClientFacts;

use super::super::background::BackgroundProber;
use super::*;
use crate::caller::Caller;
use crate::gate::TurnRequest;

impl Stage {
    /// Somebody's own call.
    async fn call(&self, name: &str) {
        let turn_request = TurnRequest::by(Actor::endless(Principal::local()));
        let turn = self.gate.turn(turn_request).unwrap();
        let params = format!(r#"{{"name":"{name}","arguments":{{"n":7}}}}"#);
        let request =
            GateRequest { kind: RequestKind::CallTool, params: Object::parse(&params).unwrap() };
        let nobody = ClientFacts::default();
        self.gate.call(&turn, request, Caller::silent(&nobody)).await.unwrap();
    }

    /// Calls it until the meters think so.
    async fn call_until(&self, name: &str, tool: &str, expected: &str) {
        for _ in 0..200 {
            self.call(name).await;
            pass(1).await;
            if self.assigned_tier("s", tool).starts_with(expected) {
                return;
            }
        }
        panic!("never {expected}: {}", self.assigned_tier("s", tool));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_comes_up_is_measured_and_then_left_until_it_is_old() {
    let stage = Stage::of(vec![server("s", vec![reads("a"), writes("w")])]).await;
    let _keeping = stage.keep();
    pass(2).await;
    assert_eq!(stage.calls(), "s/a=5");
    assert_eq!(stage.assigned_tier("s", "a"), "fast: measured p50 10 ms over 5 calls");
    pass(290).await;
    assert_eq!(stage.calls(), "s/a=5");
    pass(20).await;
    assert_eq!(stage.calls(), "s/a=6");
    pass(3_000).await;
    assert_eq!(stage.calls(), "s/a=16");
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_is_probed_with_is_found_out_once() {
    let stage = Stage::of(vec![server("s", vec![reads("a"), writes("w")])]).await;
    let probing = BackgroundProbing { every: Duration::from_secs(300), left_alone: HashSet::new() };
    let mut background =
        BackgroundProber::new(&stage.gate, Arc::new(ArcSwap::from_pointee(probing)));
    let now = stage.gate.clock.now();
    background.take_catalog(&stage.gate);
    background.take_catalog(&stage.gate);
    assert_eq!(
        background.wait_for_prepared(now).await,
        2,
        "though there were two catalogues meanwhile"
    );
    background.take_catalog(&stage.gate);
    assert_eq!(
        background.wait_for_prepared(now).await,
        0,
        "nor is one that cannot be probed looked at again"
    );
    let mut listing = stage.listings["s"].clone();
    listing.tools.push(raw_value(&reads("b")));
    stage.change("s", Change::Listed(Arc::new(listing))).await;
    background.take_catalog(&stage.gate);
    assert_eq!(background.wait_for_prepared(now).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_comes_back_is_not_measured_again() {
    let stage = Stage::of(vec![server("s", vec![reads("a")])]).await;
    let _keeping = stage.keep();
    pass(2).await;
    stage.change("s", Change::Gone).await;
    pass(700).await;
    assert_eq!(stage.calls(), "s/a=5");
    let listing = Arc::new(stage.listings["s"].clone());
    stage.change("s", Change::Listed(listing)).await;
    pass(100).await;
    assert_eq!(stage.calls(), "s/a=5");
}

#[tokio::test(start_paused = true)]
async fn servers_that_are_not_to_be_calibrated_are_not() {
    let stage = Stage::of(vec![server("s", vec![reads("a")]), server("t", vec![reads("a")])]).await;
    let left_alone = HashSet::from([ServerId::parse("s").unwrap()]);
    let probing = BackgroundProbing { every: Duration::from_secs(300), left_alone };
    let _keeping = spawn_background(&stage.gate, Arc::new(ArcSwap::from_pointee(probing)));
    pass(1_000).await;
    assert_eq!(stage.calls(), "t/a=8");
}

#[tokio::test(start_paused = true)]
async fn never_is_never() {
    let stage = Stage::of(vec![server("s", vec![reads("a")])]).await;
    let probing = BackgroundProbing { every: Duration::ZERO, left_alone: HashSet::new() };
    let _keeping = spawn_background(&stage.gate, Arc::new(ArcSwap::from_pointee(probing)));
    pass(10_000).await;
    assert_eq!(stage.calls(), "s/a=5");
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_not_probed_for_freshness() {
    let stage = Stage::of(vec![server("s", vec![reads("a"), reads("b")])]).await;
    let _keeping = stage.keep();
    pass(5).await;
    assert_eq!(stage.calls(), "s/a=5 s/b=5");
    for _ in 0..500 {
        stage.call("s_a").await;
        pass(2).await;
    }
    assert_eq!(stage.calls_of("s/b"), 5);
    stage.set("a", Does::Answer(5_000));
    for _ in 0..100 {
        stage.call("s_a").await;
    }
    assert_eq!(stage.calls_of("s/b"), 5);
    pass(10).await;
    assert_eq!(stage.calls_of("s/b"), 6);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_was_slow_is_back_soon_after_it_is_fast_again() {
    let stage = Stage::of(vec![server("s", vec![reads("a")])]).await;
    let _keeping = stage.keep();
    pass(2).await;
    assert!(stage.assigned_tier("s", "a").starts_with("fast: measured"));
    stage.set("a", Does::Answer(900));
    stage.call_until("s_a", "a", "standard: ").await;
    pass(120).await;
    let while_slow = stage.calls_of("s/a");
    assert!(stage.assigned_tier("s", "a").starts_with("standard: "));
    stage.set("a", Does::Answer(10));
    pass(70).await;
    assert!(
        stage.assigned_tier("s", "a").starts_with("fast: "),
        "{}",
        stage.assigned_tier("s", "a")
    );
    let needed = stage.calls_of("s/a") - while_slow;
    assert!((10..=40).contains(&needed), "{needed} probes");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_stays_slow_is_tried_ever_less_often() {
    let stage = Stage::of(vec![server("s", vec![reads("a")])]).await;
    let _keeping = stage.keep();
    pass(2).await;
    stage.set("a", Does::Answer(900));
    stage.call_until("s_a", "a", "standard: ").await;
    let before = stage.calls_of("s/a");
    pass(3_600).await;
    let tried = stage.calls_of("s/a") - before;
    assert!((10..=25).contains(&tried), "{tried} probes in an hour");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_failed_is_back_soon_after_it_works_again() {
    let lines = vec![("a", json!({"n": 4}))];
    let stage = Stage::of(vec![Server { answers: lines, ..server("s", vec![reads("a")]) }]).await;
    let _keeping = stage.keep();
    pass(2).await;
    stage.set("a", Does::Fail(5));
    stage.call_until("s_a", "a", "standard: ").await;
    pass(100).await;
    stage.set("a", Does::Answer(10));
    pass(130).await;
    assert!(
        stage.assigned_tier("s", "a").starts_with("fast: "),
        "{}",
        stage.assigned_tier("s", "a")
    );
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_does_not_keep_its_other_tools_from_coming_back() {
    let stage = Stage::of(vec![server("s", vec![reads("a"), reads("b")])]).await;
    let _keeping = stage.keep();
    pass(2).await;
    stage.set("a", Does::Answer(900));
    stage.call_until("s_a", "a", "standard: ").await;
    stage.set("a", Does::Answer(10));
    for _ in 0..400 {
        stage.call("s_b").await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(
        stage.assigned_tier("s", "a").starts_with("fast: "),
        "{}",
        stage.assigned_tier("s", "a")
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_dislikes_made_up_arguments_is_rarely_bothered() {
    let stage = Stage::of(vec![server("s", vec![reads("a")])]).await;
    stage.set("a", Does::Fail(5));
    let _keeping = stage.keep();
    pass(3_600).await;
    assert!(stage.calls_of("s/a") <= 13, "{}", stage.calls());
    assert_eq!(stage.assigned_tier("s", "a"), "standard: not measured yet");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_is_measured_last_and_costs_other_servers_nothing() {
    let slow = server("s", vec![reads("a"), reads("b")]);
    let stage = Stage::of(vec![slow, server("t", vec![reads("c")])]).await;
    stage.set("a", Does::Hang);
    let _keeping = stage.keep();
    pass(2).await;
    assert_eq!(stage.calls(), "s/a=1 t/c=5");
    pass(10).await;
    assert_eq!(stage.calls(), "s/a=2 s/b=5 t/c=5");
    pass(40).await;
    assert_eq!(stage.calls(), "s/a=5 s/b=5 t/c=5");
    assert!(
        stage.assigned_tier("s", "a").starts_with("deep: measured"),
        "{}",
        stage.assigned_tier("s", "a")
    );
}

#[tokio::test(start_paused = true)]
async fn it_ends_with_its_owner() {
    let stage = Stage::of(vec![server("s", vec![reads("a")])]).await;
    stage.set("a", Does::Answer(1_000));
    let keeping = stage.keep();
    pass(2).await;
    drop(keeping);
    let calls = stage.calls_of("s/a");
    pass(1_000).await;
    assert_eq!(stage.calls_of("s/a"), calls);
    assert_eq!(stage.log.lock().at_once["all"], 0);
}
