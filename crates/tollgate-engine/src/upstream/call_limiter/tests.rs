use super::*;
use tollgate_core::circuit_breaker;
use tollgate_core::id::ServerId;

use super::super::process::ServerLog;
use crate::clock::SystemClock;

const IN_FLIGHT: usize = 64;
const WAITING: usize = 128;

fn limiter() -> (CallLimiter, Arc<Mailbox>) {
    with(ConcurrencySettings::default())
}

fn with(slots: ConcurrencySettings) -> (CallLimiter, Arc<Mailbox>) {
    let log = Arc::new(ServerLog::new(ServerId::parse("server").unwrap(), Vec::new()));
    let mailbox = Arc::new(Mailbox::new(log));
    (CallLimiter::new(Arc::new(SystemClock), Arc::clone(&mailbox), slots), mailbox)
}

async fn pass(limiter: &CallLimiter, outcome: Outcome) {
    limiter.enter(None).await.expect("it is open").give_back(outcome);
}

#[tokio::test(start_paused = true)]
async fn r_09_sixty_four_run_the_next_wait_and_the_rest_is_refused() {
    let (limiter, _) = limiter();
    let mut running = Vec::new();
    for _ in 0..IN_FLIGHT {
        running.push(limiter.enter(None).await.ok().unwrap());
    }
    let mut waiting: Vec<_> = (0..WAITING).map(|_| Box::pin(limiter.enter(None))).collect();
    for one in &mut waiting {
        assert!(futures_util::poll!(one).is_pending());
    }
    let Err(refused) = limiter.enter(None).await else { panic!("there was no room") };
    let BackendError::Resting { reason, retry_after } = refused else { panic!("{refused}") };
    assert_eq!(reason, "64 calls to the server are running and 128 waiting");
    assert_eq!(retry_after, Duration::from_secs(1));

    running.pop().unwrap().give_back(Outcome::Answered);
    assert!(futures_util::poll!(&mut waiting[0]).is_ready());
    waiting.clear();
    let room = limiter.slots.available_permits() + running.len();
    assert_eq!((room, limiter.waiting.load(Ordering::Relaxed)), (IN_FLIGHT, 0));
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_people_leave_room_for_others() {
    let (limiter, mailbox) = limiter();
    let waits = watch::Sender::new(WaitsFor::Server);
    let mut asking = Vec::new();
    for _ in 0..IN_FLIGHT {
        let mut pass = limiter.enter(None).await.ok().unwrap();
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
    assert_eq!(limiter.slots.available_permits(), 0);
    waits.send_replace(WaitsFor::Person);
    poll(&mut asking).await;
    assert_eq!((limiter.slots.available_permits(), limiter.in_use()), (IN_FLIGHT, 128));
    pass(&limiter, Outcome::Answered).await;
    waits.send_replace(WaitsFor::Server);
    poll(&mut asking).await;
    assert_eq!((limiter.slots.available_permits(), limiter.in_use()), (0, IN_FLIGHT + 1));
    waits.send_replace(WaitsFor::Person);
    poll(&mut asking).await;
    tokio::time::advance(Duration::from_secs(300)).await;
    asking.clear();
    assert_eq!(limiter.in_use(), 0);
    assert_eq!(mailbox.take().rechecks, 0, "it is the person who kept silent");
}

#[tokio::test(start_paused = true)]
async fn r_17_an_open_breaker_refuses_at_once_and_says_when_to_come_back() {
    let (limiter, mailbox) = limiter();
    for _ in 0..circuit_breaker::CONSECUTIVE_FAILURES {
        pass(&limiter, Outcome::Failed).await;
    }
    let Err(BackendError::Resting { retry_after, .. }) = limiter.enter(None).await else {
        panic!("the breaker is closed")
    };
    assert_eq!(retry_after, circuit_breaker::FIRST_OPEN_PERIOD);
    assert_eq!(mailbox.take().rechecks, circuit_breaker::CONSECUTIVE_FAILURES);
    tokio::time::advance(retry_after).await;
    pass(&limiter, Outcome::Answered).await;
    assert_eq!(limiter.breaker(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn those_who_waited_while_it_opened_are_not_sent() {
    let (limiter, _) = limiter();
    let mut running = Vec::new();
    for _ in 0..IN_FLIGHT {
        running.push(limiter.enter(None).await.ok().unwrap());
    }
    let mut late = Box::pin(limiter.enter(None));
    assert!(futures_util::poll!(&mut late).is_pending());
    for pass in running.drain(..) {
        pass.give_back(Outcome::Failed);
    }
    assert!(matches!(late.await, Err(BackendError::Resting { .. })));
}

/// Callers who give up after so many milliseconds (negative: get an answer); shows the doubts.
async fn check_silence(script: &[i64], doubts: u32) {
    let (limiter, mailbox) = limiter();
    for &wait in script {
        let pass = limiter.enter(None).await.ok().unwrap();
        tokio::time::advance(Duration::from_millis(wait.unsigned_abs())).await;
        if wait < 0 {
            pass.give_back(Outcome::Answered);
        }
    }
    assert_eq!(mailbox.take().rechecks, doubts, "{script:?}");
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

#[tokio::test(start_paused = true)]
async fn r_09_whoever_cannot_be_served_in_time_is_told_so_at_once() {
    let (limiter, _) = with(ConcurrencySettings { concurrent: 2, queue: 8 });
    let in_ms = |ms| Some(SystemClock.now() + Duration::from_millis(ms));
    // Half of the calls take a second.
    for ms in [1_000, 900, 5_000, 1_000, 800, 1_000] {
        let pass = limiter.enter(None).await.ok().unwrap();
        tokio::time::advance(Duration::from_millis(ms)).await;
        pass.give_back(Outcome::Answered);
    }
    let running = [limiter.enter(in_ms(1)).await, limiter.enter(in_ms(1)).await];
    assert!(running.iter().all(Result::is_ok), "who need not wait is not judged");
    let mut patient: Vec<_> = (0..3).map(|_| Box::pin(limiter.enter(in_ms(60_000)))).collect();
    for one in &mut patient {
        assert!(futures_util::poll!(one).is_pending());
    }
    let Err(BackendError::Resting { reason, retry_after }) = limiter.enter(in_ms(1_500)).await
    else {
        panic!("it waits in vain")
    };
    assert!(reason.contains("3 calls are queued ahead of this one"), "{reason}");
    assert!(retry_after >= Duration::from_secs(1));
    assert_eq!(limiter.waiting.load(Ordering::Relaxed), 3, "it gave up its place");
    let mut hopeful = Box::pin(limiter.enter(in_ms(4_000)));
    assert!(futures_util::poll!(&mut hopeful).is_pending());
}
