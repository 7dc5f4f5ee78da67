use super::*;

#[test]
fn pauses_are_short_and_differ() {
    assert_eq!(pause(0.0), SHORTEST_PAUSE);
    assert_eq!(pause(1.0), MAX_RETRY_DELAY);
    assert_eq!(pause(f64::MAX), MAX_RETRY_DELAY);
    assert!(pause(0.3) < pause(0.4));
}
