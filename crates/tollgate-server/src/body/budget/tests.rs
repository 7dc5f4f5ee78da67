use std::sync::Arc;

use tollgate_core::turn::Principal;

use super::{BodyBudget, BodyBudgetError, BodyPermit};
use crate::pressure::MemoryLimit;

fn key(name: &str) -> Option<Principal> {
    Some(Principal::from_name(name))
}

async fn take_from(budget: &Arc<BodyBudget>, name: &str, bytes: usize) -> BodyPermit {
    let permit = budget.permit(key(name));
    permit.grow(bytes).await.unwrap();
    permit
}

#[test]
fn the_budget_is_an_eighth_of_the_memory() {
    let total = |memory: &MemoryLimit| BodyBudget::new(memory).0.total();
    assert_eq!(total(&MemoryLimit::without_limit()), 1 << 30);
    for (megabytes, expected) in [(512, 64), (4_096, 512), (8, 4)] {
        let memory = MemoryLimit::with_gauge(megabytes << 20, Arc::new(Nothing));
        assert_eq!(total(&memory), expected << 20, "{megabytes}");
    }
}

struct Nothing;

impl crate::MemoryGauge for Nothing {
    fn resident_bytes(&self) -> Option<u64> {
        None
    }
}

#[tokio::test(start_paused = true)]
async fn p_21_a_key_has_half_of_the_room_and_gives_it_back() {
    let budget = BodyBudget::of_bytes(100);
    let first = take_from(&budget, "a", 30).await;
    assert_eq!(
        budget.permit(key("a")).grow(51).await,
        Err(BodyBudgetError::NeverFits { limit: 50 })
    );
    assert_eq!(first.grow(21).await, Err(BodyBudgetError::NeverFits { limit: 50 }));
    assert_eq!(budget.permit(key("a")).grow(21).await, Err(BodyBudgetError::NoRoom));
    let other = take_from(&budget, "b", 50).await;
    assert_eq!(budget.permit(None).grow(21).await, Err(BodyBudgetError::NoRoom));
    let local = budget.permit(None);
    assert_eq!(local.grow(20).await, Ok(()));
    assert_eq!(budget.0.reserved_bytes(), 100);
    drop((first, other));
    assert_eq!(local.grow(80).await, Ok(()), "without a key there is no share");
    drop(local);
    assert_eq!(budget.0.reserved_bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn p_21_whoever_has_the_least_is_served_first() {
    let budget = BodyBudget::of_bytes(100);
    let greedy = take_from(&budget, "greedy", 20).await;
    let other = take_from(&budget, "other", 40).await;
    let filler = take_from(&budget, "filler", 40).await;
    let wait = |name: &'static str, bytes| {
        let permit = budget.permit(key(name));
        async move {
            let got = permit.grow(bytes).await;
            (name, got, permit)
        }
    };
    let mut second = Box::pin(wait("greedy", 30));
    let mut modest = Box::pin(wait("modest", 30));
    // The greedy one asks first.
    assert!(futures_util::poll!(&mut second).is_pending());
    assert!(futures_util::poll!(&mut modest).is_pending());
    drop(filler);
    let (name, got, permit) = modest.await;
    assert_eq!((name, got), ("modest", Ok(())));
    assert!(futures_util::poll!(&mut second).is_pending(), "10 bytes are left");
    drop((other, permit));
    assert_eq!(second.await.1, Ok(()));
    drop(greedy);
    assert_eq!(budget.0.reserved_bytes(), 0);
}
