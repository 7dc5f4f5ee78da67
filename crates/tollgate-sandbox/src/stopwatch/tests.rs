use std::time::Duration;

use super::Stopwatch;
use crate::clock;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn time_passes_only_while_nobody_holds_it() {
    let began = clock::now();
    let watch = Stopwatch::start();
    let person = async {
        tokio::time::sleep(SECOND).await;
        let held = watch.hold();
        tokio::time::sleep(10 * SECOND).await;
        let another = watch.hold();
        drop(held);
        tokio::time::sleep(10 * SECOND).await;
        drop(another);
        std::future::pending().await
    };
    tokio::select! {
        () = watch.reaches(3 * SECOND) => {}
        () = person => {}
    }
    assert_eq!(clock::now() - began, 23 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_time_that_was_reached_stays_reached() {
    let watch = Stopwatch::start();
    tokio::time::sleep(5 * SECOND).await;
    watch.reaches(SECOND).await;
    let _held = watch.hold();
    let reached = tokio::time::timeout(SECOND, watch.reaches(SECOND));
    assert!(reached.await.is_err(), "a person is waited for, and nothing ends meanwhile");
}
