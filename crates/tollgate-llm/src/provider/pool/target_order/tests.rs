use std::time::{Duration, Instant};

use tollgate_engine::clock::{Clock, SystemClock};

use super::{TargetAvailability, TargetFacts, order_targets, shortest_wait};
use crate::settings::RoutePolicy::{self, Cost, Latency, Order, Weight};

const READY: TargetFacts = TargetFacts {
    weight: 1,
    price: None,
    expected: None,
    running: 0,
    made_reasoning: false,
    availability: TargetAvailability::Ready,
};

fn now() -> Instant {
    SystemClock.now()
}

/// The order where chance is always the same.
fn order(route: RoutePolicy, targets: &[TargetFacts]) -> Vec<usize> {
    order_targets(route, targets, &mut || 0.5)
}

fn broken(seconds: u64, from: Instant) -> TargetFacts {
    let until = from + Duration::from_secs(seconds);
    TargetFacts { availability: TargetAvailability::Broken { until }, ..READY }
}

fn limited(seconds: u64, from: Instant) -> TargetFacts {
    let until = from + Duration::from_secs(seconds);
    TargetFacts { availability: TargetAvailability::RateLimited { until }, ..READY }
}

fn measured(millis: u64) -> TargetFacts {
    TargetFacts { expected: Some(Duration::from_millis(millis)), ..READY }
}

#[test]
fn the_listed_order_skips_what_is_out() {
    let now = now();
    assert_eq!(order(Order, &[READY, READY, READY]), [0, 1, 2]);
    assert_eq!(order(Order, &[broken(1, now), READY, limited(1, now), READY]), [1, 3]);
    let full = TargetFacts { availability: TargetAvailability::Full, ..READY };
    assert_eq!(order(Order, &[full, READY, full]), [1, 0, 2]);
}

#[test]
fn a_healthy_target_that_made_the_reasoning_of_the_history_comes_first() {
    let now = now();
    let maker = TargetFacts { made_reasoning: true, ..READY };
    for route in [Order, Weight, Latency, Cost] {
        assert_eq!(order(route, &[READY, READY, maker])[0], 2, "{route:?}");
    }
    assert_eq!(order(Order, &[READY, READY, maker]), [2, 0, 1]);
    let out = TargetFacts { made_reasoning: true, ..broken(1, now) };
    assert_eq!(order(Order, &[READY, out, READY]), [0, 2]);
    let full = TargetFacts { availability: TargetAvailability::Full, ..maker };
    assert_eq!(order(Order, &[full, READY]), [1, 0], "a queue costs more than the reasoning");
}

#[test]
fn open_breakers_are_asked_when_nothing_else_is_left() {
    let now = now();
    assert_eq!(order(Order, &[broken(9, now), broken(2, now), limited(1, now)]), [1, 0]);
    assert!(order(Weight, &[limited(9, now), limited(4, now)]).is_empty());
    let wait = shortest_wait(&[limited(9, now), limited(4, now), READY], now);
    assert_eq!(wait, Some(Duration::from_secs(4)));
    assert_eq!(shortest_wait(&[READY, broken(1, now)], now), None);
}

#[test]
fn load_is_shared_by_weight() {
    let weighted = |weight| TargetFacts { weight, ..READY };
    let targets = [weighted(3), weighted(1), weighted(0)];
    let mut state = 1_u64;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut first = [0_u32; 3];
    for _ in 0..10_000 {
        let order = order_targets(Weight, &targets, &mut random);
        first[order[0]] += 1;
        assert_eq!(order[2], 2, "weight 0 is the last resort");
    }
    assert!((7_300..7_700).contains(&first[0]), "three of four: {first:?}");
}

#[test]
fn chance_at_its_ends_keeps_an_order() {
    for chance in [0.0, 1.0, f64::NAN] {
        let order = order_targets(Weight, &[READY, READY], &mut || chance);
        assert_eq!(order.len(), 2, "{chance}");
    }
}

#[test]
fn the_fastest_is_first_and_the_unmeasured_are_measured_one_by_one() {
    assert_eq!(order(Latency, &[measured(900), measured(200), measured(500)]), [1, 2, 0]);
    assert_eq!(order(Latency, &[measured(900), READY]), [1, 0]);
    let being_measured = TargetFacts { running: 1, ..READY };
    assert_eq!(order(Latency, &[being_measured, measured(900), measured(200)]), [2, 1, 0]);
}

#[test]
fn the_cheapest_is_first_and_the_unpriced_last() {
    let priced = |price| TargetFacts { price: Some(price), ..READY };
    assert_eq!(order(Cost, &[READY, priced(3_000_000), priced(250_000)]), [2, 1, 0]);
}
