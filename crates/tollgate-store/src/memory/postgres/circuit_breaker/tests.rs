use super::*;

fn after(start: Instant, millis: u64) -> Instant {
    start + Duration::from_millis(millis)
}

#[expect(clippy::disallowed_methods, reason = "some moment to count from")]
fn start() -> Instant {
    Instant::now()
}

#[test]
fn no_more_are_tried_within_a_second_than_there_are_places() {
    let mut circuit = ConnectBreaker::new(2);
    let start = start();
    assert_eq!(circuit.ask(start), ConnectDecision::Connect);
    circuit.record_success();
    assert_eq!(circuit.ask(after(start, 300)), ConnectDecision::Connect);
    circuit.record_success();
    assert_eq!(circuit.ask(after(start, 400)), ConnectDecision::Wait(Duration::from_millis(600)));
    assert_eq!(circuit.ask(after(start, 1_000)), ConnectDecision::Connect);
    assert_eq!(circuit.ask(after(start, 1_100)), ConnectDecision::Wait(Duration::from_millis(200)));
}

#[test]
fn after_a_failure_one_finds_out_and_the_others_hear_why() {
    let mut circuit = ConnectBreaker::new(8);
    let start = start();
    let refused = ConnectDecision::Refused("refused".to_owned());
    assert_eq!(circuit.ask(start), ConnectDecision::Connect);
    assert_eq!(circuit.ask(start), ConnectDecision::Connect);
    circuit.record_failure(start, "refused".to_owned());
    circuit.record_failure(start, "refused".to_owned());
    assert_eq!(circuit.ask(after(start, 99)), refused);
    assert_eq!(circuit.ask(after(start, 100)), ConnectDecision::Connect, "two failures, one pause");
    assert_eq!(circuit.ask(after(start, 101)), refused, "one at a time");
    circuit.record_success();
    assert_eq!(circuit.ask(after(start, 102)), ConnectDecision::Connect);
    assert_eq!(circuit.ask(after(start, 102)), ConnectDecision::Connect);
}

#[test]
fn pauses_grow_up_to_a_second() {
    let mut circuit = ConnectBreaker::new(8);
    let mut now = start();
    let mut pauses = Vec::new();
    for _ in 0..6 {
        assert_eq!(circuit.ask(now), ConnectDecision::Connect);
        circuit.record_failure(now, "away".to_owned());
        let pause =
            (0..).find(|ms| circuit.ask(after(now, *ms)) == ConnectDecision::Connect).unwrap();
        circuit.record_abandoned(now);
        pauses.push(pause);
        now = after(now, pause + 1_000);
    }
    assert_eq!(pauses, [100, 200, 400, 800, 1_000, 1_000]);
}

#[test]
fn a_probe_that_was_given_up_lets_another_try() {
    let mut circuit = ConnectBreaker::new(8);
    let start = start();
    assert_eq!(circuit.ask(start), ConnectDecision::Connect);
    circuit.record_failure(start, "away".to_owned());
    assert_eq!(circuit.ask(after(start, 200)), ConnectDecision::Connect);
    circuit.record_abandoned(after(start, 200));
    assert_eq!(circuit.ask(after(start, 250)), ConnectDecision::Refused("away".to_owned()));
    assert_eq!(circuit.ask(after(start, 300)), ConnectDecision::Connect);
}
