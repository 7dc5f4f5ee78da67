use std::time::{Duration, Instant, SystemTime};

use futures_util::future::join_all;
use rusqlite::{Connection, TransactionBehavior};
use tempfile::TempDir;
use tollgate_core::budget::Tier;
use tollgate_core::call::{CallStatus, ResultSource};
use tollgate_core::id::{AgentId, ServerId, ToolName};
use tollgate_core::turn::Principal;
use tollgate_store::Store;
use tollgate_store::audit::{AuditDirection, AuditRow};

use super::*;
use crate::clock::SystemClock;
use crate::record::{CallEnding, CallId};

mod keeping;
mod trouble;

/// A database with a trail.
struct AuditStage {
    directory: TempDir,
    settings: Audit,
}

impl AuditStage {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Store::open(&directory.path().join("tollgate.db")).unwrap();
        Self { directory, settings: Audit::default() }
    }

    fn open(&self) -> AuditLedger {
        self.open_by(Arc::new(SystemClock))
    }

    fn open_by(&self, clock: Arc<dyn Clock>) -> AuditLedger {
        let store = Store::open(&self.directory.path().join("tollgate.db")).unwrap();
        AuditLedger::open(store.audit().unwrap(), &self.settings, clock).unwrap()
    }

    fn connection(&self) -> Connection {
        Connection::open(self.directory.path().join("tollgate.db")).unwrap()
    }

    /// From now on every row is refused, as by a broken disk.
    fn break_down(&self) {
        let broken = "CREATE TRIGGER broken BEFORE INSERT ON audit BEGIN
            SELECT RAISE(ABORT, 'disk I/O error'); END";
        self.connection().execute_batch(broken).unwrap();
    }

    fn mend(&self) {
        self.connection().execute_batch("DROP TRIGGER broken").unwrap();
    }

    fn rows(&self) -> u64 {
        let count = "SELECT count(*) FROM audit";
        self.connection().query_row(count, [], |row| row.get::<_, i64>(0)).unwrap().unsigned_abs()
    }
}

fn record(name: &str) -> CallRecord {
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_800_000_000_000);
    CallRecord {
        call: CallId::new(at, 1),
        within: None,
        at,
        principal: Principal::from_name("key:ops"),
        agent: AgentId::parse("sage").unwrap(),
        provider: None,
        method: "tools/call",
        name: name.into(),
        server: Some(ServerId::parse("files").unwrap()),
        tool: Some(ToolName::new("write")),
        arguments_hash: Some([1; 32]),
        arguments: None,
        tier: Tier::Deep,
        catalog_version: 7,
        end: CallEnding::Tool(CallStatus::Ok),
        detail: None,
        source: ResultSource::Fresh,
        duration: Duration::from_millis(3),
        removed: tollgate_core::tool::hidden_text::RemovedCounts::default(),
        result_bytes: 12,
        trace: None,
    }
}

fn decision(name: &str) -> Decision {
    Decision::new(AuditAction::Key, &Principal::from_name("key:ops"), "made").about(name)
}

async fn keep(
    ledger: &AuditLedger,
    name: &str,
    weight: RowDurability,
) -> Result<(), AuditWriteError> {
    ledger.place().await.unwrap().keep(record(name), weight).wait_until_written().await
}

async fn all(ledger: &AuditLedger) -> Vec<AuditRow> {
    let mut rows = Vec::new();
    let mut query = AuditQuery::all(AuditDirection::OldestFirst);
    loop {
        let page = ledger.page(query.clone()).await.unwrap();
        rows.extend(page.rows);
        let Some(next) = page.next else { return rows };
        query.after = Some(next);
    }
}

async fn is_sound(ledger: &AuditLedger) {
    let verified = ledger.verify().await.unwrap().unwrap();
    assert_eq!(verified.broken, None, "{verified:?}");
}

/// Waits until it is so; panics after a while.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let began = SystemClock.now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what} never came");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    began.elapsed()
}
