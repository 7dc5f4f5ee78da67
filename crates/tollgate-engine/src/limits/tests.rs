//! What is remembered of limits is bounded, and forgets the lightest first.

use tollgate_core::rate::RateLimit;
use tollgate_core::turn::Principal;

use super::*;
use crate::clock::SystemClock;

const LIMIT: RateLimit = RateLimit { calls: 10, per: Duration::from_secs(60) };

fn principal(number: usize) -> RateLimitKey {
    RateLimitKey::Principal(Principal::from_name(&format!("p{number}")))
}

fn take(limits: &RateLimiter, number: usize, times: usize) {
    let bucket = limits.bucket(&principal(number));
    for _ in 0..times {
        let _ = bucket.take(LIMIT, limits.clock.now()).expect("there is one");
    }
}

#[tokio::test(start_paused = true)]
async fn s_33_however_many_ask_no_more_is_remembered_than_there_is_room_for() {
    let limits = RateLimiter::with_room(100, Arc::new(SystemClock));
    take(&limits, 0, 10);
    for number in 1..1_000 {
        take(&limits, number, 1);
    }
    assert!(limits.buckets.read().len() <= 100);
    let exhausted = limits.bucket(&principal(0));
    assert!(exhausted.take(LIMIT, limits.clock.now()).is_err(), "who took most is remembered");

    tokio::time::advance(Duration::from_secs(61)).await;
    for number in 2_000..2_099 {
        take(&limits, number, 1);
    }
    assert!(limits.buckets.read().len() <= 100, "what weighs nothing has gone");
    assert_eq!(limits.bucket(&principal(2_050)).weighs(limits.clock.now()).as_secs(), 6);
}
