use super::*;
use tollgate_core::breaker;
use tollgate_core::id::ServerId;

use super::super::process::Log;
use crate::clock::SystemClock;

fn turnstile() -> (Turnstile, Arc<Mailbox>) {
    let log = Arc::new(Log::new(ServerId::parse("server").unwrap(), Vec::new()));
    let mailbox = Arc::new(Mailbox::new(log));
    (Turnstile::new(Arc::new(SystemClock), Arc::clone(&mailbox)), mailbox)
}

async fn pass(turnstile: &Turnstile, outcome: Outcome) {
    turnstile.enter().await.expect("it is open").give_back(outcome);
}

#[tokio::test(start_paused = true)]
async fn r_09_sixty_four_run_the_next_wait_and_the_rest_is_refused() {
    let (turnstile, _) = turnstile();
    let mut running = Vec::new();
    for _ in 0..IN_FLIGHT {
        running.push(turnstile.enter().await.ok().unwrap());
    }
    let mut waiting: Vec<_> = (0..WAITING).map(|_| Box::pin(turnstile.enter())).collect();
    for one in &mut waiting {
        assert!(futures_util::poll!(one).is_pending());
    }
    let Err(refused) = turnstile.enter().await else { panic!("there was no room") };
    let Failure::Resting { reason, retry_after } = refused else { panic!("{refused}") };
    assert_eq!(reason, "64 calls to the server are running and 128 waiting");
    assert_eq!(retry_after, Duration::from_secs(1));

    running.pop().unwrap().give_back(Outcome::Answered);
    assert!(futures_util::poll!(&mut waiting[0]).is_ready());
    waiting.clear();
    let room = turnstile.slots.available_permits() + running.len();
    assert_eq!((room, turnstile.waiting.load(Ordering::Relaxed)), (IN_FLIGHT, 0));
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_people_leave_room_for_others() {
    let (turnstile, mailbox) = turnstile();
    let waits = watch::Sender::new(WaitsFor::Server);
    let mut asking = Vec::new();
    for _ in 0..IN_FLIGHT {
        let mut pass = turnstile.enter().await.ok().unwrap();
        let waits = waits.subscribe();
        let lending = async move { pass.lend(waits).await };
        asking.push(Box::pin(tokio::task::unconstrained(lending)));
    }
    let poll = async |asking: &mut Vec<_>| {
        for one in asking {
            assert!(futures_util::poll!(one).is_pending());
        }
    };
    poll(&mut asking).await;
    assert_eq!(turnstile.slots.available_permits(), 0);
    waits.send_replace(WaitsFor::Person);
    poll(&mut asking).await;
    assert_eq!((turnstile.slots.available_permits(), turnstile.used()), (IN_FLIGHT, 128));
    pass(&turnstile, Outcome::Answered).await;
    waits.send_replace(WaitsFor::Server);
    poll(&mut asking).await;
    assert_eq!((turnstile.slots.available_permits(), turnstile.used()), (0, IN_FLIGHT + 1));
    waits.send_replace(WaitsFor::Person);
    poll(&mut asking).await;
    tokio::time::advance(Duration::from_secs(300)).await;
    asking.clear();
    assert_eq!(turnstile.used(), 0);
    assert_eq!(mailbox.take().doubts, 0, "it is the person who kept silent");
}

#[tokio::test(start_paused = true)]
async fn r_17_an_open_breaker_refuses_at_once_and_says_when_to_come_back() {
    let (turnstile, mailbox) = turnstile();
    for _ in 0..breaker::IN_A_ROW {
        pass(&turnstile, Outcome::Failed).await;
    }
    let Err(Failure::Resting { retry_after, .. }) = turnstile.enter().await else {
        panic!("the breaker is closed")
    };
    assert_eq!(retry_after, breaker::FIRST_REST);
    assert_eq!(mailbox.take().doubts, breaker::IN_A_ROW);
    tokio::time::advance(retry_after).await;
    pass(&turnstile, Outcome::Answered).await;
    assert_eq!(turnstile.breaker(), Standing::Closed);
}

#[tokio::test(start_paused = true)]
async fn those_who_waited_while_it_opened_are_not_sent() {
    let (turnstile, _) = turnstile();
    let mut running = Vec::new();
    for _ in 0..IN_FLIGHT {
        running.push(turnstile.enter().await.ok().unwrap());
    }
    let mut late = Box::pin(turnstile.enter());
    assert!(futures_util::poll!(&mut late).is_pending());
    for pass in running.drain(..) {
        pass.give_back(Outcome::Failed);
    }
    assert!(matches!(late.await, Err(Failure::Resting { .. })));
}

/// Callers who give up after so many milliseconds (negative: get an answer); shows the doubts.
async fn check_silence(script: &[i64], doubts: u32) {
    let (turnstile, mailbox) = turnstile();
    for &wait in script {
        let pass = turnstile.enter().await.ok().unwrap();
        tokio::time::advance(Duration::from_millis(wait.unsigned_abs())).await;
        if wait < 0 {
            pass.give_back(Outcome::Answered);
        }
    }
    assert_eq!(mailbox.take().doubts, doubts, "{script:?}");
}

#[tokio::test(start_paused = true)]
async fn r_15_three_silent_timeouts_in_a_row_raise_a_doubt() {
    check_silence(&[500, 500], 0).await;
    check_silence(&[500, 500, 500], 1).await;
    check_silence(&[500, 500, -500, 500], 0).await;
    check_silence(&[500; 7], 2).await;
}

#[tokio::test(start_paused = true)]
async fn callers_who_change_their_mind_at_once_say_nothing_about_the_server() {
    check_silence(&[100; 10], 0).await;
}
