use super::*;

/// what may change something is refused while the trail cannot be written, and nothing of
/// what was brought meanwhile is lost.
#[tokio::test]
async fn r_26_a_broken_disk_is_told_at_once_and_over_by_itself() {
    let stage = AuditStage::new();
    let ledger = stage.open();
    keep(&ledger, "before", RowDurability::Durable).await.unwrap();
    stage.break_down();
    let began = SystemClock.now();
    let error = keep(&ledger, "while", RowDurability::Durable).await.unwrap_err();
    assert!(error.to_string().contains("the audit trail cannot be written"), "{error}");
    assert!(error.to_string().contains("disk I/O error"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(ledger.trouble().is_some());
    let admits = |weight, policy| ledger.admits(weight, policy).is_ok();
    assert!(!admits(RowDurability::Durable, OnAuditFailure::Refuse));
    assert!(admits(RowDurability::Durable, OnAuditFailure::Continue));
    assert!(admits(RowDurability::Queued, OnAuditFailure::Refuse), "reading goes on");
    keep(&ledger, "read", RowDurability::Queued).await.unwrap();
    assert!(ledger.note(decision("denied")).await.is_err());
    assert!(ledger.flush().await.is_err());
    stage.mend();
    let took = until("its recovery", || ledger.trouble().is_none()).await;
    assert!(took < Duration::from_secs(20), "{took:?}");
    ledger.flush().await.unwrap();
    let rows = all(&ledger).await;
    let names: Vec<&str> = rows.iter().filter_map(|row| row.entry.name.as_deref()).collect();
    assert_eq!(names, ["before", "while", "read", "denied"]);
    is_sound(&ledger).await;
}

#[tokio::test]
async fn reading_goes_on_however_long_it_takes_and_what_found_no_room_is_counted() {
    let stage = AuditStage::new();
    let ledger = stage.open();
    stage.break_down();
    keep(&ledger, "first", RowDurability::Durable).await.unwrap_err();
    let many = 2 * QUEUE;
    for _ in 0..many {
        keep(&ledger, "read", RowDurability::Queued).await.unwrap();
    }
    stage.mend();
    until("its recovery", || ledger.trouble().is_none()).await;
    ledger.flush().await.unwrap();
    let rows = all(&ledger).await;
    let calls = rows.iter().filter(|row| row.entry.kind == "call").count();
    let lost = rows.iter().filter(|row| row.entry.kind == "lost");
    let lost: usize = lost
        .map(|row| {
            row.entry
                .detail
                .as_deref()
                .unwrap()
                .split(' ')
                .next()
                .unwrap()
                .parse::<usize>()
                .unwrap()
        })
        .sum();
    assert!(lost > 0);
    assert!(rows.iter().filter(|row| row.entry.kind == "lost").count() <= 2, "told once");
    assert_eq!(calls + lost, 1 + many, "every call is there or counted");
    is_sound(&ledger).await;
}

/// another process that holds the lock for long is trouble, not a hang.
#[tokio::test]
async fn r_27_a_lock_that_is_held_for_long_is_told_and_over_by_itself() {
    let stage = AuditStage::new();
    let ledger = stage.open();
    let mut other = stage.connection();
    let lock = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let began = SystemClock.now();
    let error = keep(&ledger, "a", RowDurability::Durable).await.unwrap_err();
    assert_eq!(error.why, Error::Busy);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    drop(lock);
    let took = until("its recovery", || ledger.trouble().is_none()).await;
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert_eq!(stage.rows(), 1);
}

#[tokio::test]
async fn a_ledger_that_cannot_write_still_ends() {
    let stage = AuditStage::new();
    let ledger = stage.open();
    stage.break_down();
    keep(&ledger, "a", RowDurability::Durable).await.unwrap_err();
    let began = SystemClock.now();
    drop(ledger);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

/// Breaks whoever asks it for the time, once that is wanted.
struct Bomb(AtomicBool);

impl Clock for Bomb {
    fn now(&self) -> Instant {
        assert!(!self.0.load(Ordering::SeqCst), "this clock is to break its writer");
        SystemClock.now()
    }

    fn wall(&self) -> SystemTime {
        SystemClock.wall()
    }
}

#[tokio::test]
async fn a_writer_that_breaks_down_is_told_and_nobody_waits_for_it() {
    let stage = AuditStage::new();
    let clock = Arc::new(Bomb(AtomicBool::new(false)));
    let ledger = stage.open_by(Arc::<Bomb>::clone(&clock));
    keep(&ledger, "before", RowDurability::Durable).await.unwrap();
    clock.0.store(true, Ordering::SeqCst);
    let patient = Duration::from_secs(20);
    for name in ["while", "after"] {
        let kept = tokio::time::timeout(patient, keep(&ledger, name, RowDurability::Durable)).await;
        kept.expect("nobody waits for ever").unwrap_err();
    }
    until("the news", || ledger.trouble().is_some()).await;
    assert!(ledger.admits(RowDurability::Durable, OnAuditFailure::Refuse).is_err());
    assert!(ledger.note(decision("more")).await.is_err());
    keep(&ledger, "read", RowDurability::Queued).await.unwrap();
}

#[tokio::test]
async fn a_row_that_nobody_took_is_not_waited_for() {
    let stage = AuditStage::new();
    let ledger = stage.open();
    let shared = &ledger.0.as_ref().unwrap().shared;
    let (done, waiting) = oneshot::channel();
    drop(done);
    let written = PendingAuditRow { shared, waiting: Some(waiting) }.wait_until_written();
    let written = tokio::time::timeout(Duration::from_secs(20), written).await;
    assert!(written.expect("nobody waits for ever").is_err());
}
