use std::sync::Barrier;
use std::sync::atomic::AtomicBool;
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::sync::Ordering;

const ENDINGS: [SampleEnding; 3] =
    [SampleEnding::Answered, SampleEnding::Failed, SampleEnding::Overran];

/// `200` answered after so many milliseconds, `x2` failed after 2, `o500` overran at 500.
fn samples(script: &str) -> Vec<Sample> {
    let sample = |word: &str| {
        let (ending, number) = match word.as_bytes()[0] {
            b'x' => (SampleEnding::Failed, &word[1..]),
            b'o' => (SampleEnding::Overran, &word[1..]),
            _ => (SampleEnding::Answered, word),
        };
        Sample { span: Duration::from_millis(number.parse().unwrap()), ending }
    };
    script.split_whitespace().map(sample).collect()
}

fn answered(micros: u64) -> Sample {
    Sample { span: Duration::from_micros(micros), ending: SampleEnding::Answered }
}

fn micros(window: &LatencyWindow, since: u64) -> Vec<u64> {
    window.latest(since).iter().map(|it| it.span.as_micros() as u64).collect()
}

/// Shows p50, p95 and p99 in milliseconds, and errors in percent.
fn check(script: &str, expected: &str) {
    let figures = LatencyStats::of(&samples(script));
    let shown = [figures.p50(), figures.p95(), figures.p99()]
        .map(|it| it.map_or("-".to_owned(), |span| span.as_millis().to_string()))
        .join(" ");
    assert_eq!(format!("{shown} {:.0}%", figures.error_rate()), expected, "{script}");
}

#[test]
fn percentiles_are_spans_that_were_measured() {
    check("", "- - - 0%");
    check("7", "7 7 7 0%");
    check("10 20", "10 20 20 0%");
    check("30 10 20", "20 30 30 0%");
    let hundred: Vec<String> = (1..=100).map(|it| it.to_string()).collect();
    check(&hundred.join(" "), "50 95 99 0%");
}

#[test]
fn errors_have_no_latency_and_overruns_have() {
    check("x1 x1 x1 900 900", "900 900 900 60%");
    check("o501 o501 10", "501 501 501 67%");
    check("x1 x2", "- - - 100%");
}

#[test]
fn r_31_a_window_of_nothing_but_timeouts_has_figures() {
    check(&"o1501 ".repeat(100), "1501 1501 1501 100%");
}

#[test]
fn r_31_two_kinds_of_calls_show_in_the_tail() {
    check(&"200 3000 ".repeat(50), "200 3000 3000 0%");
    check(&format!("{}{}", "200 ".repeat(96), "3000 ".repeat(4)), "200 200 3000 0%");
}

#[test]
fn a_percentile_is_sure_only_when_enough_calls_say_so() {
    let sure = |script: &str| LatencyStats::of(&samples(script)).surely(50).unwrap().as_millis();
    assert_eq!(sure(&"200 3000 ".repeat(50)), 3000);
    assert_eq!(sure(&format!("{}{}", "200 ".repeat(64), "3000 ".repeat(36))), 3000);
    assert_eq!(sure(&format!("{}{}", "200 ".repeat(65), "3000 ".repeat(35))), 200);
    assert_eq!(sure("200 200 200 200 3000"), 3000, "few calls prove little");
    assert_eq!(sure("200 200 200 200 200"), 200);
    assert_eq!(LatencyStats::default().surely(50), None);
}

#[test]
fn percents_out_of_range_are_the_ends() {
    let figures = LatencyStats::of(&samples("3 1 2"));
    assert_eq!(figures.percentile(0), Some(Duration::from_millis(1)));
    assert_eq!(figures.percentile(255), Some(Duration::from_millis(3)));
    assert_eq!(figures.surely(255), Some(Duration::from_millis(3)));
    assert_eq!(rank(100, u64::MAX), Some(u64::MAX));
}

#[test]
fn longer_than_a_limit_is_not_as_long_as_it() {
    let figures = LatencyStats::of(&samples("100 o200 200 201 x900"));
    assert_eq!(figures.longer_than(Duration::from_millis(200)), 1);
    assert_eq!(figures.longer_than(Duration::ZERO), 4);
}

#[test]
fn a_window_keeps_the_last_hundred_in_order() {
    let window = LatencyWindow::new();
    assert!(micros(&window, 0).is_empty());
    (0..250).for_each(|it| window.record(answered(it)));
    assert_eq!(window.recorded_count(), 250);
    assert_eq!(micros(&window, 0), (150..250).collect::<Vec<_>>());
    assert_eq!(micros(&window, 240), (240..250).collect::<Vec<_>>());
    assert!(micros(&window, 250).is_empty());
    assert!(micros(&window, u64::MAX).is_empty());
}

#[test]
fn a_sample_that_is_just_being_written_is_left_out() {
    let window = LatencyWindow::new();
    (0..3).for_each(|it| window.record(answered(it)));
    window.ring.next.fetch_add(1, Ordering::Relaxed);
    window.record(answered(4));
    assert_eq!(micros(&window, 0), [0, 1, 2, 4]);
    // A lap later the slot still has the old sample, which must not be taken for the new one.
    (5..102).for_each(|it| window.record(answered(it)));
    window.ring.next.fetch_add(1, Ordering::Relaxed);
    assert!(!micros(&window, 0).contains(&2), "that was a lap ago");
    assert_eq!(window.latest(0).len(), 98);
}

#[test]
fn a_writer_a_lap_behind_hides_one_sample_and_shows_none_of_its_own() {
    let window = LatencyWindow::new();
    (0..150).for_each(|it| window.record(answered(it)));
    window.ring.slots[7].store(answered(7).to_bits(), Ordering::Relaxed);
    let seen = micros(&window, 0);
    assert_eq!(seen.len(), 99);
    assert!(!seen.contains(&7) && !seen.contains(&107));
}

#[test]
fn laps_may_run_over() {
    let window = LatencyWindow::new();
    let last = (u64::MAX >> VALUE_BITS) * LatencyWindow::SIZE as u64 + 99;
    window.ring.next.store(last, Ordering::Relaxed);
    window.record(answered(1));
    window.record(answered(2));
    assert_eq!(micros(&window, 0), [1, 2]);
}

#[test]
fn a_restored_window_has_the_last_hundred() {
    let many: Vec<Sample> = (0..130).map(answered).collect();
    let window = LatencyWindow::restore(&many);
    assert_eq!(window.recorded_count(), 100);
    assert_eq!(window.latest(0), many[30..]);
    assert_eq!(LatencyWindow::restore(&[]).recorded_count(), 0);
}

#[test]
fn a_span_just_over_a_limit_stays_over_it() {
    let limit = Duration::from_millis(500);
    let sample = Sample { span: limit + Duration::from_nanos(1), ending: SampleEnding::Overran };
    assert!(Sample::from_bits(sample.to_bits()).unwrap().span > limit);
}

#[test]
fn spans_saturate() {
    let sample = Sample { span: Duration::MAX, ending: SampleEnding::Failed };
    let kept = Sample::from_bits(sample.to_bits()).unwrap();
    assert_eq!(kept, Sample { span: Sample::MAX_SPAN, ending: SampleEnding::Failed });
}

#[test]
fn many_writers_lose_nothing() {
    for round in 0..50 {
        let window = LatencyWindow::new();
        let start = Barrier::new(10);
        thread::scope(|scope| {
            for writer in 0..10 {
                let window = &window;
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    (0..10).for_each(|it| window.record(answered(writer * 10 + it)));
                });
            }
        });
        let mut seen = micros(&window, 0);
        seen.sort_unstable();
        assert_eq!(seen, (0..100).collect::<Vec<_>>(), "round {round}");
    }
}

/// The ending follows from the span here, so that a torn sample would show.
#[test]
fn samples_read_while_others_write_are_whole() {
    const WRITERS: u64 = 4;
    const EACH: u64 = 20_000;
    let whole = |sample: &Sample| ENDINGS[sample.span.as_micros() as usize % 3] == sample.ending;
    let window = LatencyWindow::new();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                let seen = window.latest(0);
                assert!(seen.len() <= LatencyWindow::SIZE && seen.iter().all(whole));
            }
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let window = &window;
                scope.spawn(move || {
                    for it in writer * EACH..(writer + 1) * EACH {
                        let ending = ENDINGS[it as usize % 3];
                        window.record(Sample { span: Duration::from_micros(it), ending });
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|it| it.join().unwrap());
        done.store(true, Ordering::Release);
        reader.join().unwrap();
    });
    assert_eq!(window.recorded_count(), WRITERS * EACH);
    // Every writer may have slept for a lap in the middle of one record, and hidden one sample.
    let seen = window.latest(0);
    assert!(seen.len() >= LatencyWindow::SIZE - WRITERS as usize, "{}", seen.len());
    assert!(seen.iter().all(whole));
}

fn any_sample() -> impl Strategy<Value = Sample> {
    let span = prop_oneof![
        any::<u64>().prop_map(Duration::from_nanos),
        (0..5_000_u64).prop_map(Duration::from_millis),
        Just(Duration::MAX),
        Just(Duration::ZERO),
    ];
    (span, 0..3_usize).prop_map(|(span, ending)| Sample { span, ending: ENDINGS[ending] })
}

proptest! {
    #[test]
    fn what_is_stored_comes_back_as_it_was_to_the_microsecond(sample in any_sample()) {
        let kept = Sample::from_bits(sample.to_bits()).unwrap();
        prop_assert_eq!(kept.ending, sample.ending);
        prop_assert!(kept.span >= sample.span || kept.span == Sample::MAX_SPAN);
        prop_assert!(kept.span.saturating_sub(sample.span) < Duration::from_micros(1));
        prop_assert_eq!(Sample::from_bits(kept.to_bits()), Some(kept));
    }

    #[test]
    fn any_bits_are_a_sample_or_none(bits in any::<u64>()) {
        if let Some(sample) = Sample::from_bits(bits) {
            prop_assert_eq!(sample.to_bits(), bits);
        }
    }

    #[test]
    fn r_31_figures_are_ordered_and_never_absurd(
        samples in prop::collection::vec(any_sample(), 0..150),
        percent in any::<u8>(),
    ) {
        let window = LatencyWindow::restore(&samples);
        let figures = LatencyStats::of(&window.latest(0));
        prop_assert_eq!(figures.count, samples.len().min(LatencyWindow::SIZE));
        prop_assert_eq!(figures.timed_calls() + figures.failed, figures.count);
        prop_assert!((0.0..=100.0).contains(&figures.error_rate()));
        prop_assert!(figures.p50() <= figures.p95() && figures.p95() <= figures.p99());
        prop_assert!(figures.percentile(percent) <= figures.surely(percent));
        prop_assert_eq!(figures.percentile(percent).is_some(), figures.timed_calls() > 0);
    }

    #[test]
    fn a_percentile_is_the_smallest_span_that_enough_calls_kept(
        millis in prop::collection::vec(0..1_000_u64, 1..100),
        percent in 1..=100_u8,
    ) {
        let samples: Vec<Sample> = millis.iter().map(|it| answered(it * 1_000)).collect();
        let found = LatencyStats::of(&samples).percentile(percent).unwrap();
        let kept = |enough: fn(&Duration, &Duration) -> bool| {
            samples.iter().filter(|it| enough(&it.span, &found)).count() * 100
        };
        let wanted = usize::from(percent) * samples.len();
        prop_assert!(kept(Duration::le) >= wanted && kept(Duration::lt) < wanted);
    }
}
