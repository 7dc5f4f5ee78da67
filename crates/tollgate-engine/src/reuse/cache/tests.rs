use super::*;
use tollgate_core::id::{ServerId, ToolName};

use crate::clock::{Clock, SystemClock};

fn key(number: usize) -> CacheKey {
    let server = ServerId::parse("s").unwrap();
    CacheKey {
        tool: ToolId { server, tool: ToolName::new("t") },
        hash: ContentHash([0; 32]),
        arguments: number.to_string().into(),
        principal: None,
    }
}

fn cached(bytes: usize, now: Instant) -> CachedAnswer {
    let result = json::raw_string(&"x".repeat(bytes.saturating_sub(2)));
    CachedAnswer { result, called_at: now, came: now }
}

#[tokio::test(start_paused = true)]
async fn all_answers_together_have_a_limit_and_so_has_each() {
    let cache = AnswerCache::new();
    let now = SystemClock.now();
    let minute = Duration::from_secs(60);
    let room = MAX_ENTRY_BYTES - key(0).bytes();
    assert!(cache.put(&key(0), cached(room, now)));
    assert_eq!(cache.get(&key(0), minute, now).unwrap().result.get().len(), room);
    assert!(!cache.put(&key(1), cached(room + 1, now)));
    assert!(cache.get(&key(1), minute, now).is_none());
    let large = cached(200 << 10, now).result;
    for number in 0..1_000 {
        cache.put(&key(number), CachedAnswer { result: large.clone(), called_at: now, came: now });
    }
    assert!(cache.entries.weight() <= TOTAL_BYTES, "{}", cache.entries.weight());
    assert!(cache.entries.weight() > TOTAL_BYTES / 2, "{}", cache.entries.weight());
}

#[tokio::test(start_paused = true)]
async fn what_is_too_old_leaves_at_once() {
    let cache = AnswerCache::new();
    let now = SystemClock.now();
    cache.put(&key(0), cached(100, now));
    let second = Duration::from_secs(1);
    assert!(cache.get(&key(0), second, now + second / 2).is_some());
    assert!(cache.get(&key(0), second, now + second).is_none());
    assert_eq!(cache.entries.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_stands_still_or_an_answer_from_the_future_does_no_harm() {
    let cache = AnswerCache::new();
    let now = SystemClock.now();
    let second = Duration::from_secs(1);
    cache.put(&key(0), cached(100, now + second));
    assert_eq!(cache.get(&key(0), second, now).unwrap().age, Duration::ZERO);
    assert!(cache.get(&key(0), Duration::ZERO, now).is_none());
}
