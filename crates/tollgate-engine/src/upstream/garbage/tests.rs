use super::*;
use crate::clock::{Clock, SystemClock};

#[test]
fn r_18_more_than_twenty_bad_lines_a_minute_are_a_trouble_until_they_stop() {
    let start = SystemClock.now();
    let mut garbage = GarbageMonitor::default();
    for second in 0..20 {
        garbage.add(start + Duration::from_secs(second), 1);
    }
    let now = start + Duration::from_secs(20);
    assert_eq!(garbage.trouble(now), None);
    garbage.add(now, 1);
    let words = garbage.trouble(now);
    assert_eq!(words.as_deref(), Some("21 lines within a minute were not MCP messages"));
    assert_eq!(garbage.trouble(now + WINDOW), None);
}

#[test]
fn a_flood_is_counted_by_the_second() {
    let start = SystemClock.now();
    let mut garbage = GarbageMonitor::default();
    for _ in 0..100_000 {
        garbage.add(start, u32::MAX / 2);
    }
    assert_eq!(garbage.seen.len(), 1);
    assert!(garbage.trouble(start).is_some());
}
