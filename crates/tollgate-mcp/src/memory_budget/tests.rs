use futures_util::FutureExt as _;
use tollgate_core::turn::Principal;

use super::{MemoryBudget, NoRoomError, ReservationRequest};

fn key(name: &str) -> Principal {
    Principal::from_name(name)
}

fn ask(principal: &Principal, bytes: usize, held: usize) -> ReservationRequest<'_> {
    ReservationRequest { principal: Some(principal), bytes, held }
}

#[tokio::test(start_paused = true)]
async fn p_21_a_message_that_is_alone_always_fits() {
    let budget = MemoryBudget::new(100);
    let alone = key("alone");
    let other = key("other");
    assert_eq!(budget.reserve(ask(&alone, 300, 0)).await, Ok(()));
    assert_eq!(budget.reserve(ask(&alone, 50, 300)).await, Ok(()), "it grows");
    assert_eq!(budget.reserve(ask(&alone, 1, 0)).await, Err(NoRoomError), "a second one waits");
    assert_eq!(budget.reserve(ask(&other, 1, 0)).await, Err(NoRoomError));
    assert_eq!((budget.reserved_bytes(), budget.refusal_count()), (350, 2));
    budget.release(Some(&alone), 350);
    assert_eq!(budget.reserve(ask(&other, 1, 0)).await, Ok(()));
    assert_eq!(budget.reserved_bytes(), 1);
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "the paused clock of the test")]
async fn p_21_a_key_has_half_of_the_budget_and_waits_no_longer_than_two_seconds() {
    let budget = MemoryBudget::new(100);
    let greedy = key("greedy");
    let modest = key("modest");
    assert_eq!(budget.reserve(ask(&greedy, 50, 0)).await, Ok(()));
    let began = tokio::time::Instant::now();
    assert_eq!(budget.reserve(ask(&greedy, 1, 0)).await, Err(NoRoomError));
    assert_eq!(began.elapsed(), super::RESERVE_TIMEOUT);
    assert_eq!(budget.reserve(ask(&modest, 50, 0)).await, Ok(()));
    budget.release(Some(&greedy), 50);
    budget.release(Some(&modest), 50);
    assert!(budget.state.lock().by_principal.is_empty());
}

#[tokio::test(start_paused = true)]
async fn p_21_transferred_memory_counts_against_the_new_principal() {
    let budget = MemoryBudget::new(100);
    let owner = key("owner");
    let unknown = ReservationRequest { principal: None, bytes: 40, held: 0 };
    assert_eq!(budget.try_reserve(unknown), Ok(()));
    budget.transfer(None, Some(&owner), 40);
    assert_eq!(budget.try_reserve(ask(&owner, 11, 0)), Err(NoRoomError));
    assert_eq!(budget.try_reserve(ask(&owner, 10, 0)), Ok(()));
    budget.release(Some(&owner), 50);
    assert_eq!(budget.reserved_bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_waiting_leaves_nothing_behind() {
    let budget = MemoryBudget::new(100);
    let [a, b, c] = ["a", "b", "c"].map(key);
    budget.reserve(ask(&a, 50, 0)).await.unwrap();
    budget.reserve(ask(&b, 50, 0)).await.unwrap();
    let mut waiting = Box::pin(budget.reserve(ask(&c, 50, 0)));
    assert!((&mut waiting).now_or_never().is_none());
    // Granted, and dropped before anybody looked.
    budget.release(Some(&a), 50);
    assert_eq!(budget.reserved_bytes(), 100);
    drop(waiting);
    assert_eq!(budget.reserved_bytes(), 50);
    assert!(budget.state.lock().waiting.is_empty());
}

#[tokio::test(start_paused = true)]
async fn p_21_small_messages_of_who_has_much_do_not_keep_others_from_room() {
    let budget = MemoryBudget::new(120);
    let [a, b, large, small] = ["a", "b", "large", "small"].map(key);
    for _ in 0..6 {
        budget.reserve(ask(&a, 10, 0)).await.unwrap();
        budget.reserve(ask(&b, 10, 0)).await.unwrap();
    }
    let mut waiting = Box::pin(budget.reserve(ask(&large, 45, 0)));
    assert!((&mut waiting).now_or_never().is_none());
    for who in [&a, &b, &a, &b] {
        budget.release(Some(who), 10);
        assert_eq!(budget.try_reserve(ask(who, 10, 0)), Err(NoRoomError), "it would pass");
        assert_eq!(budget.try_reserve(ask(&small, 5, 0)), Ok(()), "it has less than all");
        budget.release(Some(&small), 5);
    }
    budget.release(Some(&a), 10);
    assert_eq!((&mut waiting).now_or_never(), Some(Ok(())));
    assert_eq!(budget.try_reserve(ask(&a, 10, 0)), Err(NoRoomError), "now it is full");
}

#[tokio::test(start_paused = true)]
async fn p_21_a_message_that_grows_goes_before_those_that_have_not_begun() {
    let budget = MemoryBudget::new(100);
    let [growing, other, waits] = ["growing", "other", "waits"].map(key);
    budget.reserve(ask(&growing, 40, 0)).await.unwrap();
    budget.reserve(ask(&other, 50, 0)).await.unwrap();
    let mut new = Box::pin(budget.reserve(ask(&waits, 20, 0)));
    assert!((&mut new).now_or_never().is_none());
    assert_eq!(budget.try_reserve(ask(&growing, 10, 40)), Ok(()), "its end frees all of it");
    assert!((&mut new).now_or_never().is_none());
    budget.release(Some(&growing), 50);
    assert_eq!(new.now_or_never(), Some(Ok(())));
}

#[tokio::test(start_paused = true)]
async fn p_21_memory_is_handed_over_within_the_share_of_who_gets_it() {
    let budget = MemoryBudget::new(100);
    let owner = key("owner");
    let unknown = ReservationRequest { principal: None, bytes: 60, held: 0 };
    assert_eq!(budget.try_reserve(unknown), Ok(()));
    assert_eq!(budget.try_transfer(None, Some(&owner), 60), Ok(()), "it is alone");
    let unknown = ReservationRequest { principal: None, bytes: 20, held: 0 };
    assert_eq!(budget.try_reserve(unknown), Ok(()));
    assert_eq!(budget.try_transfer(None, Some(&owner), 20), Err(NoRoomError));
    assert_eq!(budget.reserved_bytes(), 80, "it stays with nobody in particular");
}
