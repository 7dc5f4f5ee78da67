use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use tollgate_core::call::{CallStatus, Outcome, ResultHandle};
use tollgate_core::json::raw;
use tollgate_core::shaping;
use tollgate_core::turn::{Actor, Principal};

use super::{ResultBounds, ResultLookup, ResultStore, StoredResult};
use crate::clock::Clock;
use crate::random::SystemRandom;

/// A clock that stands until it is moved.
struct Hands {
    start: Instant,
    moved: Mutex<Duration>,
}

impl Clock for Hands {
    fn now(&self) -> Instant {
        self.start + *self.moved.lock()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

struct ResultStage {
    results: Arc<ResultStore>,
    hands: Arc<Hands>,
}

impl ResultStage {
    fn new(bounds: ResultBounds) -> Self {
        let start = crate::clock::SystemClock.now();
        let hands = Arc::new(Hands { start, moved: Mutex::default() });
        let clock: Arc<dyn Clock> = Arc::<Hands>::clone(&hands);
        Self { results: ResultStore::within(clock, Arc::new(SystemRandom), bounds), hands }
    }

    fn wait(&self, seconds: u64) {
        *self.hands.moved.lock() += Duration::from_secs(seconds);
    }

    /// Keeps a result of so many bytes.
    fn keep(&self, principal: &str, bytes: usize) -> ResultHandle {
        let handle = self.results.spare(bytes).expect("it is not too large");
        let outcome = Outcome { handle: Some(handle), ..sized(bytes) };
        let stored = StoredResult { tool: "s_t".to_owned(), outcome, page_bytes: 1_000, raw: None };
        self.results.keep(&Actor::endless(Principal::from_name(principal)), stored);
        handle
    }

    /// What is behind a handle, in a word.
    fn read(&self, principal: &str, handle: ResultHandle) -> String {
        match self.results.read(&Principal::from_name(principal), handle) {
            ResultLookup::Unknown => "unknown".to_owned(),
            ResultLookup::Pending { since } => format!("pending {}", since.as_secs()),
            ResultLookup::Ready(stored) => {
                assert_eq!(stored.outcome.handle, Some(handle));
                format!("{} {}", stored.outcome.status, stored.outcome.result.get().len())
            }
        }
    }
}

fn sized(bytes: usize) -> Outcome {
    let result = raw(format!("\"{}\"", "x".repeat(bytes - 2)));
    Outcome {
        result,
        status: CallStatus::Ok,
        ..shaping::failure(CallStatus::Ok, "", Duration::ZERO)
    }
}

const SMALL: ResultBounds =
    ResultBounds { bytes: 1_000, entries: 4, life: Duration::from_secs(600) };

#[test]
fn what_is_kept_is_read_by_its_principal_until_its_time_is_over() {
    let stage = ResultStage::new(SMALL);
    let handle = stage.keep("ada", 100);
    assert_eq!(stage.read("ada", handle), "ok 100");
    assert_eq!(stage.read("ada", handle), "ok 100", "reading takes nothing away");
    assert_eq!(stage.read("ada", ResultHandle::from_bits(7)), "unknown");
    stage.wait(599);
    assert_eq!(stage.read("ada", handle), "ok 100");
    stage.wait(1);
    assert_eq!(stage.read("ada", handle), "unknown");
    assert_eq!(stage.results.table.lock().bytes, 0);
}

#[test]
fn s_14_anothers_result_is_not_there() {
    let stage = ResultStage::new(SMALL);
    let handle = stage.keep("ada", 100);
    let (pending, _promise) =
        stage.results.expect(Actor::endless(Principal::from_name("ada")), "s_t", 1_000);
    for handle in [handle, pending] {
        assert_eq!(stage.read("bob", handle), stage.read("bob", ResultHandle::from_bits(7)));
    }
}

#[test]
fn handles_are_not_alike() {
    let stage = ResultStage::new(SMALL);
    let handles: std::collections::HashSet<_> =
        (0..1_000).filter_map(|_| stage.results.spare(1)).collect();
    assert_eq!(handles.len(), 1_000);
}

#[test]
fn what_is_expected_is_pending_until_it_is_there() {
    let stage = ResultStage::new(SMALL);
    let (handle, promise) =
        stage.results.expect(Actor::endless(Principal::from_name("ada")), "s_t", 1_000);
    assert_eq!(promise.handle(), handle);
    stage.wait(7);
    assert_eq!(stage.read("ada", handle), "pending 7");
    stage.wait(993);
    assert_eq!(stage.read("ada", handle), "pending 1000", "as long as the call runs");
    promise.keep(sized(200));
    assert_eq!(stage.read("ada", handle), "ok 200");
    stage.wait(599);
    assert_eq!(stage.read("ada", handle), "ok 200", "its time begins when it is there");
    stage.wait(1);
    assert_eq!(stage.read("ada", handle), "unknown");
}

#[test]
fn a_promise_that_nobody_keeps_is_an_error() {
    let stage = ResultStage::new(SMALL);
    let (handle, promise) =
        stage.results.expect(Actor::endless(Principal::from_name("ada")), "s_t", 1_000);
    drop(promise);
    assert!(stage.read("ada", handle).starts_with("error "));
}

#[test]
fn the_oldest_makes_room_in_bytes_and_in_number() {
    let stage = ResultStage::new(SMALL);
    let [a, b, c] = [400, 400, 400].map(|bytes| stage.keep("ada", bytes));
    assert_eq!(stage.read("ada", a), "unknown");
    assert_eq!((stage.read("ada", b), stage.read("ada", c)), ("ok 400".into(), "ok 400".into()));
    let few: Vec<ResultHandle> = (0..6).map(|_| stage.keep("ada", 10)).collect();
    let there = few.iter().filter(|handle| stage.read("ada", **handle) != "unknown").count();
    assert_eq!(there, 4);
    assert_eq!(stage.results.spare(1_001), None);
    let table = stage.results.table.lock();
    assert_eq!((table.bytes, table.entries.len(), table.order.len()), (40, 4, 4));
}

#[test]
fn one_principal_does_not_crowd_out_another() {
    let stage = ResultStage::new(SMALL);
    let of_bob = stage.keep("bob", 200);
    for _ in 0..20 {
        stage.keep("ada", 300);
    }
    for _ in 0..20 {
        stage.keep("ada", 10);
    }
    assert_eq!(stage.read("bob", of_bob), "ok 200");
}

#[test]
fn a_promise_is_kept_even_if_its_place_was_taken() {
    let stage = ResultStage::new(SMALL);
    let (handle, promise) =
        stage.results.expect(Actor::endless(Principal::from_name("ada")), "s_t", 1_000);
    for _ in 0..4 {
        stage.keep("ada", 10);
    }
    assert_eq!(stage.read("ada", handle), "unknown");
    promise.keep(sized(100));
    assert_eq!(stage.read("ada", handle), "ok 100");
    let (handle, promise) =
        stage.results.expect(Actor::endless(Principal::from_name("ada")), "s_t", 1_000);
    for _ in 0..4 {
        stage.keep("ada", 10);
    }
    drop(promise);
    assert_eq!(stage.read("ada", handle), "unknown", "an error is not worth a place");
}
