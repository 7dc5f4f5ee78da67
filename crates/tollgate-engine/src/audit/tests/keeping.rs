use super::*;

#[tokio::test]
async fn a_call_and_a_decision_become_rows() {
    let stage = AuditStage::new();
    let ledger = stage.open();
    keep(&ledger, "write_file", RowDurability::Durable).await.unwrap();
    let call = CallId::new(SystemTime::UNIX_EPOCH, 1);
    let decided = Decision::new(AuditAction::Approval, &Principal::from_name("key:boss"), "denied")
        .about("write_file")
        .agent(&AgentId::parse("sage").unwrap())
        .server(&ServerId::parse("files").unwrap())
        .tool("write")
        .call(call, Some([2; 32]))
        .because("not today");
    ledger.note(decided).await.unwrap();
    let rows = all(&ledger).await;
    let [first, second] = &rows[..] else { panic!("{rows:?}") };
    let entry = &first.entry;
    assert_eq!((entry.kind.as_str(), entry.outcome.as_str()), ("call", "ok"));
    assert_eq!((entry.principal.as_str(), entry.agent.as_deref()), ("key:ops", Some("sage")));
    assert_eq!(
        (entry.method.as_deref(), entry.tier.as_deref()),
        (Some("tools/call"), Some("deep"))
    );
    assert_eq!((entry.server.as_deref(), entry.tool.as_deref()), (Some("files"), Some("write")));
    assert_eq!((entry.arguments_hash, entry.catalog_version), (Some([1; 32]), Some(7)));
    assert_eq!((entry.duration, entry.bytes), (Some(Duration::from_millis(3)), Some(12)));
    assert_eq!((entry.cached, entry.call.as_ref().map(String::len)), (Some(false), Some(26)));
    let entry = &second.entry;
    assert_eq!((entry.kind.as_str(), entry.outcome.as_str()), ("approval", "denied"));
    assert_eq!(
        (entry.name.as_deref(), entry.detail.as_deref()),
        (Some("write_file"), Some("not today"))
    );
    assert_eq!((entry.call.as_deref(), entry.arguments_hash), (Some(call.as_str()), Some([2; 32])));
    is_sound(&ledger).await;
}

#[tokio::test]
async fn a_durable_row_is_on_the_disk_when_its_caller_goes_on() {
    let stage = AuditStage::new();
    let ledger = stage.open();
    for number in 1..=20 {
        keep(&ledger, "a", RowDurability::Durable).await.unwrap();
        assert_eq!(stage.rows(), number);
    }
}

#[tokio::test]
async fn a_queued_row_waits_for_nothing_and_comes_a_moment_later() {
    let stage = AuditStage::new();
    let ledger = stage.open();
    for _ in 0..3 {
        let before = stage.rows();
        keep(&ledger, "a", RowDurability::Queued).await.unwrap();
        ledger.note_later(decision("b"));
        let took = until("the rows", || stage.rows() == before + 2).await;
        assert!(took < Duration::from_secs(20), "{took:?}");
        // The writer sleeps by then, and has to be woken for the next.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// those who wait together are committed together.
#[tokio::test]
async fn r_25_many_who_wait_share_a_commit() {
    let stage = AuditStage::new();
    let ledger = stage.open();
    let mut commits = ledger.commits().unwrap();
    let keeping = (0..2_000).map(|_| keep(&ledger, "a", RowDurability::Durable));
    for kept in join_all(keeping).await {
        kept.unwrap();
    }
    // Told after those who waited were woken.
    let told = commits.wait_for(|rows| *rows == 2_000);
    tokio::time::timeout(Duration::from_secs(60), told).await.unwrap().unwrap();
    assert_eq!(stage.rows(), 2_000);
    is_sound(&ledger).await;
}

#[tokio::test]
async fn a_queue_that_is_full_makes_callers_wait_and_drops_nothing() {
    let stage = AuditStage::new();
    let ledger = Arc::new(stage.open());
    let mut other = stage.connection();
    let lock = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let keeping = join_all((0..QUEUE + 2_000).map(|_| keep(&ledger, "a", RowDurability::Queued)));
    let mut keeping = std::pin::pin!(keeping);
    let waiting = tokio::time::timeout(Duration::from_millis(200), &mut keeping).await;
    assert!(waiting.is_err(), "there is no room for all of them");
    drop(lock);
    for kept in keeping.await {
        kept.unwrap();
    }
    ledger.flush().await.unwrap();
    assert_eq!(stage.rows(), QUEUE as u64 + 2_000);
    assert!(ledger.trouble().is_none());
}

#[tokio::test]
async fn a_place_that_was_taken_is_there_when_the_call_is_given_up() {
    let stage = AuditStage::new();
    let ledger = stage.open();
    let places: Vec<_> = join_all((0..QUEUE).map(|_| ledger.place())).await;
    let none = tokio::time::timeout(Duration::from_millis(50), ledger.place()).await;
    assert!(none.is_err(), "all are taken");
    for place in places {
        drop(place.unwrap().keep(record("given up"), RowDurability::Queued));
    }
    ledger.flush().await.unwrap();
    assert_eq!(stage.rows(), QUEUE as u64);
}

#[tokio::test]
async fn what_is_queued_when_the_ledger_is_dropped_is_written() {
    let stage = AuditStage::new();
    let ledger = stage.open();
    for _ in 0..1_500 {
        keep(&ledger, "a", RowDurability::Queued).await.unwrap();
    }
    drop(ledger);
    assert_eq!(stage.rows(), 1_500);
}

#[tokio::test]
async fn two_gateways_on_one_file_write_one_chain() {
    let stage = AuditStage::new();
    let one = stage.open();
    let other = stage.open();
    let keeping = (0..200)
        .map(|at| keep(if at % 2 == 0 { &one } else { &other }, "a", RowDurability::Durable));
    for kept in join_all(keeping).await {
        kept.unwrap();
    }
    assert_eq!(stage.rows(), 200);
    is_sound(&one).await;
}

#[tokio::test]
async fn old_rows_go_and_the_trail_says_so() {
    let mut stage = AuditStage::new();
    let ledger = stage.open();
    join_all((0..2_500).map(|_| keep(&ledger, "a", RowDurability::Durable))).await;
    drop(ledger);
    stage.settings.keep_rows = 100;
    let ledger = stage.open();
    until("the cut", || stage.rows() <= 101).await;
    ledger.flush().await.unwrap();
    let rows = all(&ledger).await;
    let last = &rows[rows.len() - 1].entry;
    assert_eq!((last.kind.as_str(), last.outcome.as_str()), ("retention", "removed"));
    assert_eq!(last.detail.as_deref(), Some("2400 of the oldest rows"));
    is_sound(&ledger).await;
}

#[tokio::test]
async fn a_ledger_without_a_store_keeps_nothing_and_is_well() {
    let ledger = AuditLedger::none();
    ledger.note(decision("a")).await.unwrap();
    ledger.note_later(decision("a"));
    ledger.flush().await.unwrap();
    assert!(ledger.place().await.is_none());
    assert!(ledger.trouble().is_none());
    assert!(all(&ledger).await.is_empty());
    assert_eq!(ledger.verify().await.unwrap(), None);
}

/// a clock that jumped ahead must not cost the trail.
#[test]
fn r_30_the_age_of_rows_is_counted_by_the_time_of_the_trail() {
    struct Ahead(Duration);
    impl Clock for Ahead {
        fn now(&self) -> Instant {
            SystemClock.now()
        }
        fn wall(&self) -> SystemTime {
            SystemClock.wall() + self.0
        }
    }
    let day = Duration::from_secs(24 * 3_600);
    let settings = Audit::default();
    let today = SystemClock.wall();
    let since = |ahead: Duration, newest: Option<SystemTime>| {
        let clock = Ahead(ahead);
        Retention::new(&settings, newest, &clock).keep(&clock).since
    };
    assert!(since(Duration::ZERO, Some(today)) < today - 89 * day);
    assert!(since(3_650 * day, Some(today)) < today - 88 * day, "ten years ahead");
    assert!(since(Duration::ZERO, None) > today - 91 * day);
    let forever = Audit { keep: None, ..Audit::default() };
    let kept = Retention::new(&forever, None, &SystemClock).keep(&SystemClock);
    assert_eq!(kept.since, SystemTime::UNIX_EPOCH);
}
