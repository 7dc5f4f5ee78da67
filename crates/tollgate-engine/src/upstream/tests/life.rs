//! The life of a server, on a paused clock.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tollgate_mcp::{Era, Revision};

use super::super::UpstreamState;
use super::super::connect::{ServerDownError, ServerDownKind};
use super::super::connection_schedule::UpstreamKind;
use super::fake::{Fake, Reply, Stage, call_noted, params, server};
use crate::backend::{Backend, BackendError, SendTimestamp};
use crate::clock::{Clock, SystemClock};
use crate::resource_watches::WatchTarget;
use crate::settings::{RestartPolicy, ServerDesiredState, StartMode};
use crate::upstream::TestVerdict;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn offline(outcome: Result<String, BackendError>) -> String {
    match outcome {
        Err(BackendError::Offline { state, reason }) => format!("{state}: {reason}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_comes_up_and_serves() {
    let mut stage = Stage::new(UpstreamKind::Child);
    stage.upstream.wait_until_settled().await;
    stage.until(UpstreamState::Ready).await;
    assert_eq!(stage.take_updates(), "listed 2");
    let status = stage.upstream.status();
    assert_eq!((status.tools, status.restarts, status.reason.as_str()), (2, 0, "in service"));
    assert_eq!(stage.call().await.unwrap(), r#"{"content":[]}"#);
    stage.upstream.stop().await;
    assert_eq!(stage.take_updates(), "gone");
    assert_eq!(offline(stage.call().await), "offline: stopped");
    assert!(!stage.upstream.restart().await);
}

#[tokio::test(start_paused = true)]
async fn of_a_long_reason_only_the_beginning_is_kept() {
    let stage = Stage::new(UpstreamKind::Remote);
    stage.fake.now(|it| it.connects = Err(ServerDownError::down("x".repeat(1 << 20))));
    stage.until(UpstreamState::Offline).await;
    let retained = stage.upstream.history();
    assert!(stage.upstream.status().reason.len() < 2_000 && retained[0].reason.len() < 2_000);
}

#[tokio::test(start_paused = true)]
async fn a_call_leaves_when_there_is_room_for_it() {
    let stage = Stage::new(UpstreamKind::Child);
    stage.until(UpstreamState::Ready).await;
    stage.fake.now(|it| it.calls = Reply::Silence);
    let one = r#"{"name":"one"}"#;
    let departures: Vec<_> = (0..65).map(|_| SendTimestamp::new(Arc::new(SystemClock))).collect();
    let call = |departure| Box::pin(call_noted(&stage.upstream, "tools/call", one, departure));
    let mut calls: Vec<_> = departures.iter().map(call).collect();
    for call in &mut calls {
        assert!(futures_util::poll!(call).is_pending());
    }
    let start = SystemClock.now();
    let left = |at: usize| departures[at].at().map(|at: Instant| at - start);
    assert_eq!((left(0), left(63), left(64)), (Some(seconds(0)), Some(seconds(0)), None));
    tokio::time::sleep(seconds(2)).await;
    drop(calls.remove(0));
    assert!(futures_util::poll!(&mut calls[63]).is_pending());
    assert_eq!(left(64), Some(seconds(2)));
}

#[tokio::test(start_paused = true)]
async fn r_22_a_crash_loop_is_paused_longer_and_longer_then_failed_then_tried_every_minute() {
    let mut stage = Stage::new(UpstreamKind::Child);
    stage.fake.now(|it| it.connects = Err(ServerDownError::down("exited with status 1")));
    let start = SystemClock.now();
    stage.until(UpstreamState::Failed).await;
    let took = SystemClock.now().duration_since(start);
    assert!(
        took > Duration::from_millis(11_600) && took < Duration::from_millis(15_600),
        "{took:?}"
    );
    assert_eq!((stage.fake.connects(), stage.take_updates().as_str()), (6, ""));
    assert_eq!(offline(stage.call().await), "failed: exited with status 1");

    tokio::time::sleep(seconds(121)).await;
    assert_eq!(stage.fake.connects(), 8);
    stage.fake.now(|it| it.connects = Ok(()));
    stage.until(UpstreamState::Ready).await;
    assert_eq!(stage.take_updates(), "listed 2");
    assert_eq!(stage.upstream.status().restarts, 8);
}

#[tokio::test(start_paused = true)]
async fn r_22_a_healthy_minute_forgets_the_crashes() {
    let mut stage = Stage::new(UpstreamKind::Child);
    for _ in 0..20 {
        stage.until(UpstreamState::Ready).await;
        tokio::time::sleep(seconds(61)).await;
        stage.fake.breaks();
        stage.until(UpstreamState::Offline).await;
    }
    stage.until(UpstreamState::Ready).await;
    assert!(stage.take_updates().ends_with("gone, listed 2"));
    assert_eq!(stage.upstream.status().restarts, 20);
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_withdraws_the_tools_until_it_is_back() {
    let mut stage = Stage::new(UpstreamKind::Child);
    stage.until(UpstreamState::Ready).await;
    stage.fake.breaks();
    stage.until(UpstreamState::Offline).await;
    assert_eq!(stage.take_updates(), "listed 2, gone");
    assert_eq!(offline(stage.call().await), "offline: the server closed its output");
    stage.until(UpstreamState::Ready).await;
    assert_eq!(stage.take_updates(), "listed 2");
    let last = stage.upstream.status().last_error;
    assert_eq!(last.as_deref(), Some("the server closed its output"));
}

#[tokio::test(start_paused = true)]
async fn a_child_that_must_not_be_restarted_stays_down_until_asked_for() {
    let stage = Stage::with(UpstreamKind::Child, |it| it.restart.policy = RestartPolicy::Never);
    stage.until(UpstreamState::Ready).await;
    stage.fake.breaks();
    stage.until(UpstreamState::Offline).await;
    tokio::time::sleep(seconds(600)).await;
    assert_eq!(stage.fake.connects(), 1);
    assert!(stage.upstream.restart().await);
    stage.until(UpstreamState::Ready).await;
}

#[tokio::test(start_paused = true)]
async fn r_23_a_remote_server_is_back_in_service_two_seconds_after_it_is_there() {
    let mut stage = Stage::new(UpstreamKind::Remote);
    stage.until(UpstreamState::Ready).await;
    stage.fake.now(|it| {
        it.calls = Reply::Lose;
        it.pings = Reply::Lose;
        it.connects = Err(ServerDownError::down("connection refused"));
    });
    assert!(matches!(stage.call().await, Err(BackendError::Lost(_))));
    stage.until(UpstreamState::Offline).await;
    assert_eq!(stage.take_updates(), "listed 2, gone");
    tokio::time::sleep(seconds(60)).await;
    stage.fake.now(|it| {
        it.calls = Reply::Answer;
        it.connects = Ok(());
        it.tools.push("three");
    });
    let back = SystemClock.now();
    stage.until(UpstreamState::Ready).await;
    assert!(SystemClock.now().duration_since(back) <= seconds(2));
    assert_eq!(stage.take_updates(), "listed 3");
    assert!(stage.fake.connects() > 10);
    assert_eq!(stage.upstream.status().restarts, 1, "knocking at its door starts nothing");
    stage.call().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_remote_server_that_is_away_is_offline_since_it_left_however_often_it_is_tried() {
    let stage = Stage::new(UpstreamKind::Remote);
    stage.fake.now(|it| it.connects = Err(ServerDownError::down("connection refused")));
    stage.until(UpstreamState::Offline).await;
    let since = stage.upstream.status().since;
    let changes = stage.upstream.changes();
    tokio::time::sleep(seconds(3600)).await;
    assert_eq!(
        (stage.upstream.status().since, changes.borrow().state),
        (since, UpstreamState::Offline)
    );
    // Every 1.5 s for five minutes, every 15 s from then on.
    let tries = stage.fake.connects();
    assert!((400..600).contains(&tries), "{tries}");
}

#[tokio::test(start_paused = true)]
async fn a_call_brings_the_next_try_to_a_remote_server_forward() {
    let stage = Stage::new(UpstreamKind::Remote);
    let refused = ServerDownError { reason: "401".to_owned(), kind: ServerDownKind::Refused };
    stage.fake.now(|it| it.connects = Err(refused));
    stage.until(UpstreamState::Failed).await;
    stage.fake.now(|it| it.connects = Ok(()));
    assert_eq!(offline(stage.call().await), "failed: 401");
    let start = SystemClock.now();
    stage.until(UpstreamState::Ready).await;
    assert!(SystemClock.now().duration_since(start) <= Duration::from_millis(250));
}

#[tokio::test(start_paused = true)]
async fn r_17_a_server_that_fails_calls_but_answers_pings_rests_and_recovers() {
    let mut stage = Stage::new(UpstreamKind::Remote);
    stage.until(UpstreamState::Ready).await;
    stage.fake.now(|it| it.calls = Reply::Lose);
    for _ in 0..5 {
        assert!(matches!(stage.call().await, Err(BackendError::Lost(_))));
    }
    assert!(matches!(stage.call().await, Err(BackendError::Resting { .. })));
    stage.until(UpstreamState::Degraded).await;
    let reason = stage.upstream.status().reason;
    assert_eq!(reason, "circuit breaker open: too many recent calls failed");
    stage.fake.now(|it| it.calls = Reply::Answer);
    tokio::time::sleep(seconds(1)).await;
    stage.call().await.unwrap();
    stage.until(UpstreamState::Ready).await;
    assert_eq!((stage.take_updates().as_str(), stage.fake.connects()), ("listed 2", 1));
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_server_itself_never_open_the_breaker() {
    let stage = Stage::new(UpstreamKind::Remote);
    stage.until(UpstreamState::Ready).await;
    stage.fake.now(|it| it.calls = Reply::Refuse);
    for _ in 0..50 {
        assert!(matches!(stage.call().await, Err(BackendError::Refused(_))));
    }
    assert_eq!(stage.upstream.status().state, UpstreamState::Ready);
}

#[tokio::test(start_paused = true)]
async fn r_20_a_remote_server_may_leave_one_ping_unanswered_and_no_two() {
    let mut stage = Stage::new(UpstreamKind::Remote);
    stage.until(UpstreamState::Ready).await;
    stage.fake.now(|it| it.pings = Reply::Silence);
    tokio::time::sleep(seconds(14)).await;
    stage.fake.now(|it| it.pings = Reply::Answer);
    tokio::time::sleep(seconds(10)).await;
    stage.call().await.unwrap();
    assert_eq!((stage.take_updates().as_str(), stage.fake.connects()), ("listed 2", 1));
    stage.fake.now(|it| it.pings = Reply::Silence);
    stage.until(UpstreamState::Offline).await;
    assert_eq!(stage.upstream.status().reason, "no answer to a ping within 3 s");
}

#[tokio::test(start_paused = true)]
async fn r_15_a_child_that_answers_nobody_is_restarted_after_three_silent_timeouts() {
    let mut stage = Stage::new(UpstreamKind::Child);
    stage.until(UpstreamState::Ready).await;
    stage.fake.now(|it| (it.calls, it.pings) = (Reply::Silence, Reply::Silence));
    for _ in 0..3 {
        assert!(stage.call_within(seconds(1)).await.is_none());
    }
    stage.until(UpstreamState::Offline).await;
    assert_eq!(stage.upstream.status().reason, "no answer to a ping within 3 s");
    stage.until(UpstreamState::Ready).await;
    assert_eq!(
        (stage.take_updates().as_str(), stage.fake.connects()),
        ("listed 2, gone, listed 2", 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_child_with_one_slow_tool_is_left_alone() {
    let stage = Stage::new(UpstreamKind::Child);
    stage.until(UpstreamState::Ready).await;
    stage.fake.now(|it| it.calls = Reply::Silence);
    for _ in 0..12 {
        assert!(stage.call_within(seconds(1)).await.is_none());
    }
    tokio::time::sleep(seconds(10)).await;
    assert_eq!((stage.upstream.status().state, stage.fake.connects()), (UpstreamState::Ready, 1));
}

#[tokio::test(start_paused = true)]
async fn r_15_answers_for_which_nobody_waits_any_more_are_counted() {
    let stage = Stage::new(UpstreamKind::Child);
    stage.until(UpstreamState::Ready).await;
    for _ in 0..3 {
        stage.fake.listener().late();
    }
    tokio::time::sleep(seconds(1)).await;
    assert_eq!(stage.upstream.status().late_answers, 3);
    stage.fake.breaks();
    stage.until(UpstreamState::Offline).await;
    stage.until(UpstreamState::Ready).await;
    stage.fake.listener().late();
    tokio::time::sleep(seconds(1)).await;
    assert_eq!(stage.upstream.status().late_answers, 4, "over restarts too");
}

/// Whether a call that failed may be made again, asked with so many milliseconds to wait; and how
/// long that took to find out.
async fn returned(stage: &Stage, milliseconds: u64) -> (bool, u128) {
    let began = SystemClock.now();
    let until = began + Duration::from_millis(milliseconds);
    (stage.upstream.wait_until_available(until).await, (SystemClock.now() - began).as_millis())
}

#[tokio::test(start_paused = true)]
async fn r_14_a_child_that_crashed_is_waited_for_if_it_may_be_back_in_time() {
    let stage = Stage::new(UpstreamKind::Child);
    stage.until(UpstreamState::Ready).await;
    assert_eq!(returned(&stage, 0).await, (true, 0));
    // Nobody has seen yet that it is gone.
    stage.fake.breaks();
    let (back, took) = returned(&stage, 2_000).await;
    assert!(back && (250..=1_000).contains(&took), "{took} ms: the first pause is half a second");
    stage.call().await.unwrap();

    stage.fake.breaks();
    stage.until(UpstreamState::Offline).await;
    assert_eq!(returned(&stage, 100).await, (false, 0), "its pause is longer than that");
    stage.fake.now(|it| it.connects = Err(ServerDownError::down("exited with status 1")));
    let (back, took) = returned(&stage, 2_000).await;
    assert!(!back && took <= 2_000, "{took} ms");
    stage.until(UpstreamState::Failed).await;
    assert_eq!(returned(&stage, 2_000).await, (false, 0), "it is tried once a minute now");
    stage.upstream.stop().await;
    assert_eq!(returned(&stage, 60_000).await, (false, 0));
}

#[tokio::test(start_paused = true)]
async fn r_14_a_remote_server_is_tried_again_for_whoever_waits() {
    let stage = Stage::new(UpstreamKind::Remote);
    let refused = ServerDownError { reason: "401".to_owned(), kind: ServerDownKind::Refused };
    stage.fake.now(|it| it.connects = Err(refused));
    stage.until(UpstreamState::Failed).await;
    stage.fake.now(|it| it.connects = Ok(()));
    assert_eq!(offline(stage.call().await), "failed: 401");
    tokio::time::sleep(Duration::from_millis(10)).await;
    let (back, took) = returned(&stage, 2_000).await;
    assert!(back && took <= 250, "{took} ms");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_come_back_by_itself_is_not_waited_for() {
    let stage = Stage::with(UpstreamKind::Child, |it| it.state = ServerDesiredState::Disabled);
    assert_eq!(returned(&stage, 60_000).await, (false, 0));
    let stage = Stage::with(UpstreamKind::Child, |it| it.restart.policy = RestartPolicy::Never);
    stage.until(UpstreamState::Ready).await;
    stage.fake.breaks();
    stage.until(UpstreamState::Offline).await;
    assert_eq!(returned(&stage, 60_000).await, (false, 0));
}

#[tokio::test(start_paused = true)]
async fn r_24_announced_changes_are_listed_once_a_second_and_told_if_they_are_any() {
    let mut stage = Stage::new(UpstreamKind::Child);
    stage.until(UpstreamState::Ready).await;
    tokio::time::sleep(seconds(5)).await;
    let listener = stage.fake.listener();
    for _ in 0..1000 {
        listener.on_notification("notifications/tools/list_changed", None);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(seconds(5)).await;
    let lists = stage.fake.lists.load(Ordering::Relaxed);
    assert!((2..=4).contains(&lists), "{lists}");
    assert_eq!(stage.take_updates(), "listed 2");
    stage.fake.now(|it| it.tools.push("three"));
    listener.on_notification("notifications/tools/list_changed", None);
    tokio::time::sleep(seconds(2)).await;
    assert_eq!((stage.take_updates().as_str(), stage.upstream.status().tools), ("listed 3", 3));
}

#[tokio::test(start_paused = true)]
async fn lists_are_read_again_every_five_minutes() {
    let mut stage = Stage::new(UpstreamKind::Child);
    stage.until(UpstreamState::Ready).await;
    stage.fake.now(|it| it.tools.push("three"));
    tokio::time::sleep(seconds(301)).await;
    assert_eq!(stage.take_updates(), "listed 2, listed 3");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_costs_only_its_part() {
    let mut stage = Stage::new(UpstreamKind::Child);
    stage.fake.now(|it| it.prompts = Reply::Refuse);
    stage.until(UpstreamState::Degraded).await;
    assert_eq!(stage.take_updates(), "listed 2");
    let reason = stage.upstream.status().reason;
    assert_eq!(reason, "`prompts/list` failed: not today (-32000)");
    stage.call().await.unwrap();
    stage.fake.now(|it| it.prompts = Reply::Answer);
    stage.fake.listener().on_notification("notifications/prompts/list_changed", None);
    stage.until(UpstreamState::Ready).await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_list_costs_only_its_part_after_its_time() {
    let mut stage = Stage::new(UpstreamKind::Child);
    stage.fake.now(|it| it.prompts = Reply::Silence);
    stage.until(UpstreamState::Degraded).await;
    assert_eq!(stage.take_updates(), "listed 2");
    let reason = stage.upstream.status().reason;
    assert_eq!(reason, "`prompts/list` failed: no answer within 30 s (-32603)");
}

#[tokio::test(start_paused = true)]
async fn r_18_garbage_degrades_for_as_long_as_it_comes() {
    let stage = Stage::new(UpstreamKind::Child);
    stage.until(UpstreamState::Ready).await;
    for _ in 0..21 {
        stage.fake.listener().on_garbage("npm warn deprecated");
    }
    stage.until(UpstreamState::Degraded).await;
    assert_eq!(stage.upstream.status().reason, "21 lines within a minute were not MCP messages");
    assert_eq!(stage.upstream.logs().len(), 21);
    stage.call().await.unwrap();
    stage.until(UpstreamState::Ready).await;
}

#[tokio::test(start_paused = true)]
async fn the_union_of_watched_resources_follows_the_server_through_restarts() {
    let mut stage = Stage::new(UpstreamKind::Child);
    stage.until(UpstreamState::Ready).await;
    stage.upstream.watch_resources(vec!["a:1".to_owned(), "b:2".to_owned()]);
    tokio::time::sleep(seconds(1)).await;
    let updated = params(r#"{"uri":"a:1"}"#);
    stage.fake.listener().on_notification("notifications/resources/updated", Some(&updated));
    tokio::time::sleep(seconds(1)).await;
    assert_eq!(stage.take_updates(), "listed 2, updated a:1");
    stage.upstream.restart().await;
    stage.until(UpstreamState::Ready).await;
    tokio::time::sleep(seconds(1)).await;
    assert_eq!(*stage.fake.watched.lock(), ["", "a:1 b:2", "a:1 b:2"]);
}

#[tokio::test(start_paused = true)]
async fn a_disabled_server_says_so() {
    let stage = Stage::with(UpstreamKind::Child, |it| it.state = ServerDesiredState::Disabled);
    stage.upstream.wait_until_settled().await;
    assert_eq!(offline(stage.call().await), "disabled: disabled in the config");
    let report = stage.upstream.test().await;
    assert_eq!(
        (report.verdict, report.message.as_str()),
        (TestVerdict::Fails, "disabled in the config")
    );
    assert_eq!(stage.fake.connects(), 0);
    stage.upstream.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_test_pings_the_live_and_starts_the_dead() {
    let stage = Stage::new(UpstreamKind::Child);
    stage.fake.now(|it| it.connects = Err(ServerDownError::down("`x` was not found in PATH")));
    stage.until(UpstreamState::Failed).await;
    let report = stage.upstream.test().await;
    assert_eq!(report.message, "`x` was not found in PATH");
    stage.fake.now(|it| it.connects = Ok(()));
    let report = stage.upstream.test().await;
    assert_eq!((report.verdict, report.tools), (TestVerdict::Works, 2));
    let connects = stage.fake.connects();
    assert_eq!(stage.upstream.test().await.verdict, TestVerdict::Works);
    stage.fake.now(|it| it.pings = Reply::Silence);
    let report = stage.upstream.test().await;
    assert_eq!(report.message, "no answer to a ping within 3 s");
    assert_eq!(stage.fake.connects(), connects);
}

#[tokio::test]
async fn r_22_a_lazy_server_shows_stored_tools_and_starts_on_first_use() {
    let data = std::env::temp_dir().join(format!("tollgate-{:016x}", rand::random::<u64>()));
    let lazy = || {
        let mut lazy = server();
        lazy.start = StartMode::Lazy;
        lazy
    };
    // The first time there is no other way to learn its tools than to start it.
    let mut first = Stage::start(Fake::new(UpstreamKind::Child), lazy(), &data);
    first.until(UpstreamState::Ready).await;
    assert_eq!((first.take_updates().as_str(), first.fake.connects()), ("listed 2", 1));
    tokio::time::sleep(Duration::from_millis(50)).await;
    first.upstream.stop().await;

    let mut second = Stage::start(Fake::new(UpstreamKind::Child), lazy(), &data);
    second.until(UpstreamState::Ready).await;
    assert_eq!((second.take_updates().as_str(), second.fake.connects()), ("listed 2", 0));
    let status = second.upstream.status();
    assert_eq!((status.tools, status.reason.as_str()), (2, "idle; starts on first use"));
    assert!(!second.upstream.is_up(), "nobody but a caller wakes it");
    let (one, other) = tokio::join!(second.call(), second.call());
    assert!(one.is_ok() && other.is_ok() && second.upstream.is_up());
    assert_eq!((second.take_updates().as_str(), second.fake.connects()), ("", 1));

    let modern = Stage::start(Fake::new(UpstreamKind::Child), lazy(), &data);
    modern.until(UpstreamState::Ready).await;
    modern.fake.now(|it| it.revision = Revision::V2026_07_28);
    let line = modern.upstream.connection().await.unwrap();
    assert_eq!((line.era(), modern.fake.connects()), (Era::Modern, 1), "woken, then known");

    let mut third = Stage::start(Fake::new(UpstreamKind::Child), lazy(), &data);
    third.until(UpstreamState::Ready).await;
    third.fake.now(|it| it.connects = Err(ServerDownError::down("exited with status 1")));
    assert_eq!(offline(third.call().await), "offline: exited with status 1");
    assert_eq!(third.take_updates(), "listed 2, gone");
    let _ = std::fs::remove_dir_all(&data);
}

#[tokio::test(start_paused = true)]
async fn orders_are_heard_while_a_server_hangs_in_its_start() {
    let stage = Stage::new(UpstreamKind::Child);
    stage.fake.now(|it| it.lists = Reply::Silence);
    tokio::time::sleep(seconds(1)).await;
    assert_eq!(stage.upstream.status().state, UpstreamState::Starting);
    let start = SystemClock.now();
    stage.upstream.stop().await;
    assert!(SystemClock.now().duration_since(start) < seconds(1));
    assert_eq!(stage.upstream.status().reason, "stopped");
}
