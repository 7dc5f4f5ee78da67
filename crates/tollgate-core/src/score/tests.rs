use proptest::prelude::*;

use super::*;
use crate::latency::{LatencyStats, Sample, SampleEnding};

const ENDINGS: [SampleEnding; 3] =
    [SampleEnding::Answered, SampleEnding::Failed, SampleEnding::Overran];

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn badges_begin_where_the_one_before_ends() {
    for (micros, expected) in [
        (0, "lightning"),
        (49_999, "lightning"),
        (50_000, "fast"),
        (199_999, "fast"),
        (200_000, "standard"),
        (999_999, "standard"),
        (1_000_000, "slow"),
        (u64::MAX, "slow"),
    ] {
        assert_eq!(
            SpeedBadge::of(Duration::from_micros(micros)).to_string(),
            expected,
            "{micros} µs"
        );
    }
}

#[test]
fn a_tool_says_in_which_turns_it_can_be_used() {
    let lines = Tier::ALL.map(compatibility);
    assert_eq!(lines, ["fast compatible", "standard compatible", "deep only"]);
}

/// Entries as `category/name=ms`; boards as `category: 1 name, 2 name`.
#[track_caller]
fn check(entries: &str, expected: &str) {
    let entry = |word: &str| {
        let (category, rest) = word.split_once('/').unwrap();
        let (name, p50) = rest.split_once('=').unwrap();
        let p50 = millis(p50.parse().unwrap());
        LeaderboardEntry { category: category.to_owned(), name: name.to_owned(), p50 }
    };
    let boards = leaderboard(entries.split_whitespace().map(entry).collect());
    let shown = boards.iter().map(|board| {
        let ranked = board.ranked.iter().map(|it| format!("{} {} {}", it.rank, it.name, it.badge));
        format!("{}: {}", board.category, ranked.collect::<Vec<_>>().join(", "))
    });
    assert_eq!(shown.collect::<Vec<_>>().join("; "), expected);
}

#[test]
fn the_quickest_of_its_category_comes_first() {
    check("", "");
    check(
        "search/web=900 dice/roll=3 search/facts=180",
        "dice: 1 roll lightning; search: 1 facts fast, 2 web standard",
    );
}

#[test]
fn equally_quick_tools_share_a_rank() {
    check(
        "a/z=5 a/x=5 a/y=9 a/w=1",
        "a: 1 w lightning, 2 x lightning, 2 z lightning, 4 y lightning",
    );
}

#[test]
fn hostile_numbers_are_refused() {
    let too_many = LatencyAggregate::MAX_COUNTED_CALLS + 1;
    for (calls, errors, steps, expected) in [
        (too_many, 0, vec![(1, too_many)], AggregateError::TooMany),
        (1, 2, vec![(1, 1)], AggregateError::Errors { errors: 2, calls: 1 }),
        (1, 0, vec![(1, 2)], AggregateError::Spans { timed: 2, errors: 0, calls: 1 }),
        (9, 3, vec![(1, 5)], AggregateError::Spans { timed: 5, errors: 3, calls: 9 }),
        (
            9,
            0,
            vec![(1, u64::MAX), (2, 10)],
            AggregateError::Spans { timed: u64::MAX, errors: 0, calls: 9 },
        ),
        (1, 0, vec![(16, 1)], AggregateError::OffScale(16)),
        (1, 0, vec![(u64::MAX, 1)], AggregateError::OffScale(u64::MAX)),
        (2, 0, vec![(17, 1), (17, 1)], AggregateError::Twice(17)),
    ] {
        assert_eq!(LatencyAggregate::from_untrusted(calls, errors, steps), Err(expected));
    }
    let said = AggregateError::Spans { timed: 5, errors: 3, calls: 9 }.to_string();
    assert_eq!(said, "5 durations and 3 errors do not add up to 9 calls");
}

#[test]
fn nothing_is_an_aggregate_too() {
    let nothing = LatencyAggregate::from_untrusted(0, 0, [(17, 0)]).unwrap();
    assert_eq!(nothing, LatencyAggregate::default());
    assert_eq!(nothing.percentile(99), None);
}

#[test]
fn merging_the_largest_again_and_again_saturates() {
    let most = LatencyAggregate::MAX_COUNTED_CALLS;
    let mut sum = LatencyAggregate::from_untrusted(most, most, [(17, most)]).unwrap();
    for _ in 0..70 {
        sum.merge(&sum.clone());
    }
    assert_eq!((sum.calls(), sum.errors(), sum.timed_calls()), (u64::MAX, u64::MAX, u64::MAX));
    assert_eq!(sum.percentile(99), Some(Duration::from_micros(17)));
}

fn any_samples() -> impl Strategy<Value = Vec<Sample>> {
    let span = prop_oneof![
        (0..40_u64).prop_map(Duration::from_micros),
        (0..5_000_000_u64).prop_map(Duration::from_micros),
        any::<u64>().prop_map(Duration::from_nanos),
        Just(Duration::MAX),
    ];
    let sample = (span, 0..3_usize);
    let sample = sample.prop_map(|(span, ending)| Sample { span, ending: ENDINGS[ending] });
    prop::collection::vec(sample, 0..100)
}

fn merge(parts: &[&LatencyAggregate]) -> LatencyAggregate {
    let mut sum = LatencyAggregate::default();
    parts.iter().for_each(|part| sum.merge(part));
    sum
}

proptest! {
    #[test]
    fn merging_is_measuring_together_in_any_order(
        a in any_samples(),
        b in any_samples(),
        c in any_samples(),
    ) {
        let together = LatencyAggregate::of(&[a.clone(), b.clone(), c.clone()].concat());
        let [a, b, c] = [a, b, c].map(|it| LatencyAggregate::of(&it));
        prop_assert_eq!(&merge(&[&a, &b, &c]), &together);
        prop_assert_eq!(&merge(&[&c, &a, &b]), &together);
        prop_assert_eq!(&merge(&[&a, &merge(&[&b, &c])]), &together);
    }

    #[test]
    fn a_percentile_is_at_most_an_eighth_too_high(samples in any_samples(), percent in 0..=100_u8) {
        let aggregate = LatencyAggregate::of(&samples);
let figures = LatencyStats::of(&samples);
        prop_assert_eq!(aggregate.timed_calls(), figures.timed_calls() as u64);
        prop_assert_eq!(aggregate.errors(), figures.errors() as u64);
        let found = aggregate.percentile(percent);
let exact = figures.percentile(percent);
        prop_assert_eq!(found.is_some(), exact.is_some());
        if let (Some(found), Some(exact)) = (found, exact) {
            prop_assert!(exact <= found && (found - exact) * 8 <= exact, "{exact:?} {found:?}");
        }
    }

    #[test]
    fn what_goes_out_comes_in_again(samples in any_samples()) {
        let aggregate = LatencyAggregate::of(&samples);
        let back = LatencyAggregate::from_untrusted(aggregate.calls(), aggregate.errors(), aggregate.steps());
        prop_assert_eq!(back, Ok(aggregate));
    }

    #[test]
    fn any_numbers_are_figures_or_refused(
        calls in any::<u64>(),
        errors in any::<u64>(),
        steps in prop::collection::vec((any::<u64>(), any::<u64>()), 0..5),
    ) {
        let few = |number: u64| if number.is_multiple_of(2) { number % 20 } else { number };
        let steps = steps.into_iter().map(|(micros, count)| (few(micros), few(count)));
        if let Ok(aggregate) = LatencyAggregate::from_untrusted(few(calls), few(errors), steps) {
            prop_assert!(aggregate.p50() <= aggregate.percentile(99));
            prop_assert!(aggregate.errors() <= aggregate.calls());
        }
    }

    #[test]
    fn a_leaderboard_loses_nobody_and_is_in_order(
        entries in prop::collection::vec(("[a-c]", "[a-z]{1,3}", 0..9_u64), 0..40),
    ) {
        let count = entries.len();
        let entry = |(category, name, p50)| LeaderboardEntry { category, name, p50: millis(p50) };
        let boards = leaderboard(entries.into_iter().map(entry).collect());
        prop_assert_eq!(boards.iter().map(|board| board.ranked.len()).sum::<usize>(), count);
        prop_assert!(boards.is_sorted_by(|a, b| a.category < b.category));
        for board in boards {
            prop_assert!(board.ranked.is_sorted_by_key(|it| (it.p50, it.name.clone())));
            for it in &board.ranked {
                let quicker = board.ranked.iter().filter(|other| other.p50 < it.p50).count();
                prop_assert_eq!(it.rank, quicker + 1);
            }
        }
    }
}
