use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use super::{RunSlot, RunSlots};
use crate::clock;
use crate::program::SandboxUnavailableError;
use crate::stopwatch::Stopwatch;

const SECOND: Duration = Duration::from_secs(1);
const BUSY: SandboxUnavailableError = SandboxUnavailableError::Busy { together: 1 };

fn one() -> Arc<RunSlots> {
    Arc::new(RunSlots::new(1, usize::MAX))
}

async fn take(seats: &Arc<RunSlots>) -> Result<RunSlot, SandboxUnavailableError> {
    seats.take(None, clock::now() + 100 * SECOND).await
}

#[tokio::test(start_paused = true)]
async fn p_22_an_owner_leaves_half_of_the_slots_and_of_the_queue_to_others() {
    let seats = Arc::new(RunSlots::new(4, usize::MAX));
    let began = clock::now();
    let take_for = async |owner| seats.take(Some(owner), began + 5 * SECOND).await;
    let held = [take_for("greedy").await.unwrap(), take_for("greedy").await.unwrap()];
    let own_busy = SandboxUnavailableError::OwnerBusy { together: 2 };
    let wait = || take_for("greedy");
    let others = async {
        let refused = take_for("greedy").await.unwrap_err();
        assert_eq!((refused, clock::now() - began), (own_busy.clone(), Duration::ZERO));
        let modest = [take_for("modest").await.unwrap(), take_for("modest").await.unwrap()];
        assert_eq!(clock::now() - began, Duration::ZERO, "others do not wait behind them");
        drop(modest);
    };
    let (a, b, c, d, e, f, g, h, ()) =
        tokio::join!(wait(), wait(), wait(), wait(), wait(), wait(), wait(), wait(), others);
    for waited in [a, b, c, d, e, f, g, h] {
        assert_eq!(waited.unwrap_err(), own_busy);
    }
    assert_eq!(clock::now() - began, 5 * SECOND);
    drop(held);
    drop(take_for("greedy").await.unwrap());
    drop(take_for("another").await.unwrap());
    assert_eq!(seats.owners.lock().len(), 1, "who has no programs is forgotten");
}

#[tokio::test(start_paused = true)]
async fn p_22_an_owner_that_waits_for_a_person_may_start_another() {
    let seats = Arc::new(RunSlots::new(2, usize::MAX));
    let take_for = async |owner| seats.take(Some(owner), clock::now() + 100 * SECOND).await;
    let began = clock::now();
    let mut asking = take_for("owner").await.unwrap();
    let another = async {
        let _slot = take_for("owner").await.unwrap();
        assert_eq!(clock::now() - began, Duration::ZERO);
        tokio::time::sleep(20 * SECOND).await;
    };
    tokio::join!(ask(&mut asking, 10 * SECOND), another);
    assert_eq!(clock::now() - began, 20 * SECOND, "it has its own slot again");
}

/// Three processes are what 512 MiB allow by default.
#[tokio::test(start_paused = true)]
async fn p_22_programs_of_one_owner_that_wait_for_people_leave_processes_to_others() {
    let seats = Arc::new(RunSlots::new(16, 3));
    let began = clock::now();
    let asking = async || {
        let Ok(mut slot) = seats.take(Some("greedy"), began + 5 * SECOND).await else { return };
        ask(&mut slot, 100 * SECOND).await;
    };
    let modest = async {
        tokio::time::sleep(SECOND).await;
        seats.take(Some("modest"), began + 10 * SECOND).await.map(|_| clock::now() - began)
    };
    let (_, _, _, modest) = tokio::join!(asking(), asking(), asking(), modest);
    assert_eq!(modest, Ok(SECOND), "people may take hours");
}

#[tokio::test(start_paused = true)]
async fn p_22_processes_are_bounded_also_while_they_wait_for_people() {
    let seats = Arc::new(RunSlots::new(16, 2));
    let began = clock::now();
    let asking = async {
        let mut slot = take(&seats).await.unwrap();
        ask(&mut slot, 10 * SECOND).await;
    };
    let third = async {
        tokio::task::yield_now().await;
        drop(take(&seats).await.unwrap());
        clock::now() - began
    };
    let also = async {
        let mut slot = take(&seats).await.unwrap();
        ask(&mut slot, 20 * SECOND).await;
    };
    assert_eq!(tokio::join!(asking, also, third).2, 10 * SECOND);
}

/// Asks a person, who takes so long.
async fn ask(seat: &mut RunSlot, long: Duration) {
    let time = Stopwatch::start();
    let person = async {
        let _held = time.hold();
        tokio::time::sleep(long).await;
    };
    seat.during(person, &time).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_person_lets_another_in_and_comes_back_after_it() {
    let seats = one();
    let began = clock::now();
    let mut seat = take(&seats).await.unwrap();
    let another = async {
        let _seat = take(&seats).await.unwrap();
        assert_eq!(clock::now() - began, Duration::ZERO);
        tokio::time::sleep(20 * SECOND).await;
    };
    tokio::join!(ask(&mut seat, 10 * SECOND), another);
    assert_eq!(clock::now() - began, 20 * SECOND);
    assert_eq!(take(&seats).await.unwrap_err(), BUSY, "it has its seat again");
}

#[tokio::test(start_paused = true)]
async fn calls_that_ask_nobody_keep_the_seat() {
    let seats = one();
    let mut seat = take(&seats).await.unwrap();
    let time = Stopwatch::start();
    let calls = seat.during(tokio::time::sleep(200 * SECOND), &time);
    let (done, refused) = tokio::join!(calls, take(&seats));
    assert!(done.is_ok());
    assert_eq!(refused.unwrap_err(), BUSY);
}

#[tokio::test(start_paused = true)]
async fn only_so_many_stand_aside() {
    let seats = one();
    let began = clock::now();
    let asking = |seconds: u32| {
        let seats = &seats;
        async move {
            let mut seat = take(seats).await.unwrap();
            ask(&mut seat, seconds * SECOND).await;
        }
    };
    let sixth = async {
        drop(take(&seats).await.unwrap());
        clock::now() - began
    };
    // Five have begun, and all of them stand aside: the seat is free, and nobody gets it.
    let (.., came) =
        tokio::join!(asking(10), asking(20), asking(20), asking(20), asking(20), sixth);
    assert_eq!(came, 10 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn only_so_many_wait_and_others_are_refused_at_once() {
    let seats = one();
    let began = clock::now();
    let seat = take(&seats).await.unwrap();
    let waits = || async { take(&seats).await.map(drop) };
    let last = async {
        let refused = take(&seats).await.unwrap_err();
        assert_eq!((refused, clock::now() - began), (BUSY, Duration::ZERO));
        drop(seat);
    };
    let (a, b, c, d, ()) = tokio::join!(waits(), waits(), waits(), waits(), last);
    assert!([a, b, c, d].iter().all(Result::is_ok));
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_back_waits_for_one_newcomer_at_most() {
    let seats = one();
    let order = RefCell::new(Vec::new());
    let mut seat = take(&seats).await.unwrap();
    let returning = async {
        ask(&mut seat, SECOND).await;
        order.borrow_mut().push("back");
        drop(seat);
    };
    let newcomer = |name| {
        let seats = &seats;
        let order = &order;
        async move {
            let _seat = take(seats).await.unwrap();
            order.borrow_mut().push(name);
            tokio::time::sleep(10 * SECOND).await;
        }
    };
    tokio::join!(returning, newcomer("sits"), newcomer("first"), newcomer("second"));
    assert_eq!(order.into_inner(), ["sits", "first", "back", "second"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_seats_that_are_closed() {
    let seats = one();
    let mut seat = take(&seats).await.unwrap();
    let time = Stopwatch::start();
    let person = async {
        let _held = time.hold();
        tokio::time::sleep(SECOND).await;
    };
    let closed = async {
        tokio::task::yield_now().await;
        seats.close();
    };
    let first = take(&seats);
    let second = take(&seats);
    let third = take(&seats);
    let (back, first, second, third, ()) =
        tokio::join!(seat.during(person, &time), first, second, third, closed);
    assert!(back.is_err() && first.is_ok());
    assert_eq!(
        [second, third].map(|it| it.unwrap_err()),
        [SandboxUnavailableError::Shut, SandboxUnavailableError::Shut]
    );
}
