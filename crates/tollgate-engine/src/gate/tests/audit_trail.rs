use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use rusqlite::Connection;
use tempfile::TempDir;
use tollgate_core::id::ToolName;
use tollgate_core::tool::{ApprovalMode, ToolOverride};
use tollgate_store::Store;
use tollgate_store::audit::{AuditDirection, AuditQuery, AuditRow};

use super::*;
use crate::settings::{ArgumentRecording, OnAuditFailure};

mod approved_calls;

/// A gate whose calls are kept in a database: `s_a` may change something, `s_b` only reads.
struct Audited {
    test: TestGate,
    directory: TempDir,
    /// How often a tool ran.
    ran: Arc<AtomicUsize>,
}

impl Audited {
    /// Its tools do `work` and then answer.
    async fn new<W>(audit: Audit, work: W) -> Self
    where
        W: Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
    {
        Self::with(audit, ApprovalMode::Auto, work).await
    }

    /// The same with other rules for who has to agree to `s_a`.
    async fn with<W>(audit: Audit, approval: ApprovalMode, work: W) -> Self
    where
        W: Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
    {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("tollgate.db")).unwrap();
        let clock = Arc::new(SystemClock);
        let ledger = Arc::new(AuditLedger::open(store.audit().unwrap(), &audit, clock).unwrap());
        let ran = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&ran);
        let change = |rules: &mut ServerRules, tools: &mut Vec<Value>| {
            rules.trusted = true;
            let agreed = ToolOverride { approval: Some(approval), ..ToolOverride::default() };
            rules.tools.insert(ToolName::new("a"), agreed);
            tools[1]["annotations"] = json!({"readOnlyHint": true});
        };
        let script = move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            let work = work();
            let answer = async move {
                work.await;
                Ok(text("done"))
            };
            Box::pin(answer) as BoxFuture<'static, _>
        };
        let stage = RecordingStage { ledger, audit, ..RecordingStage::default() };
        Self { test: gate_with(Era::Modern, stage, change, script).await, directory, ran }
    }

    async fn plain() -> Self {
        Self::new(Audit::default(), || Box::pin(async {})).await
    }

    async fn call(&self, name: &str) -> String {
        let client = nobody();
        let params = json!({"name": name, "arguments": {"n": 7}}).to_string();
        describe_reply(&self.test.call(&params, Caller::silent(&client)).await)
    }

    fn sql(&self, text: &str) {
        let file = self.directory.path().join("tollgate.db");
        Connection::open(file).unwrap().execute_batch(text).unwrap();
    }

    fn break_down(&self) {
        self.sql(
            "CREATE TRIGGER broken BEFORE INSERT ON audit BEGIN
             SELECT RAISE(ABORT, 'disk I/O error'); END",
        );
    }

    fn mend(&self) {
        self.sql("DROP TRIGGER broken");
    }

    /// What is in the trail now, without waiting for anything.
    async fn rows(&self) -> Vec<AuditRow> {
        let mut query = AuditQuery::all(AuditDirection::OldestFirst);
        let mut rows = Vec::new();
        loop {
            let page = self.test.gate.ledger().page(query.clone()).await.unwrap();
            rows.extend(page.rows);
            let Some(next) = page.next else { return rows };
            query.after = Some(next);
        }
    }

    async fn shown(&self) -> Vec<String> {
        let shown = |row: &AuditRow| {
            let entry = &row.entry;
            format!("{} {}", entry.name.as_deref().unwrap_or_default(), entry.outcome)
        };
        self.rows().await.iter().map(shown).collect()
    }

    async fn recovered(&self) {
        for _ in 0..600 {
            if self.test.gate.ledger().trouble().is_none() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("it never recovered");
    }
}

#[tokio::test]
async fn a_call_that_may_change_something_is_on_the_disk_before_its_answer() {
    let audited = Audited::plain().await;
    for number in 1..=10 {
        assert_eq!(audited.call("s_a").await, "ok done");
        assert_eq!(audited.rows().await.len(), number);
    }
    let row = &audited.rows().await[0].entry;
    assert_eq!((row.principal.as_str(), row.agent.as_deref()), ("ada", Some("default")));
    assert_eq!((row.server.as_deref(), row.tool.as_deref()), (Some("s"), Some("a")));
    let hash = ring::digest::digest(&ring::digest::SHA256, br#"{"n":7}"#);
    assert_eq!(row.arguments_hash.as_ref().map(<[u8; 32]>::as_slice), Some(hash.as_ref()));
    assert_eq!((row.arguments.as_deref(), row.cached), (None, Some(false)));
}

#[tokio::test]
async fn every_call_has_its_row_however_it_ends() {
    let audited = Audited::new(Audit::default(), || Box::pin(std::future::pending())).await;
    audited.call("hidden").await;
    audited.call("nope").await;
    let client = nobody();
    let wrong = r#"{"name":"s_a","arguments":{"n":"x"}}"#;
    audited.test.call(wrong, Caller::silent(&client)).await.unwrap();
    let hanging = audited.call("s_a");
    assert!(tokio::time::timeout(Duration::from_millis(50), hanging).await.is_err());
    audited.test.gate.ledger().flush().await.unwrap();
    assert_eq!(
        audited.shown().await,
        ["hidden refused", "nope refused", "s_a invalid_arguments", "s_a cancelled"]
    );
    let rows = audited.rows().await;
    let detail = rows[1].entry.detail.as_deref();
    assert_eq!(detail, Some("there is no tool `nope`"));
    let calls: std::collections::BTreeSet<_> = rows.iter().map(|row| &row.entry.call).collect();
    assert_eq!(calls.len(), 4, "each call has an id of its own");
}

/// R-26: nothing changes without a trace; reading goes on; it is over by itself.
#[tokio::test]
async fn r_26_without_a_trail_only_reading_goes_on() {
    let audited = Audited::plain().await;
    assert_eq!(audited.call("s_a").await, "ok done");
    audited.break_down();
    let withheld = audited.call("s_a").await;
    assert!(withheld.starts_with("error the call took effect, do not repeat it"), "{withheld}");
    assert_eq!(audited.ran.load(Ordering::SeqCst), 2);
    for _ in 0..3 {
        let refused = audited.call("s_a").await;
        assert!(refused.starts_with("error `s_a` was not run: the audit trail"), "{refused}");
        assert!(refused.contains("disk I/O error"), "{refused}");
    }
    assert_eq!(audited.ran.load(Ordering::SeqCst), 2, "it was refused before it ran");
    assert_eq!(audited.call("s_b").await, "ok done");
    audited.mend();
    audited.recovered().await;
    assert_eq!(audited.call("s_a").await, "ok done");
    assert_eq!(
        audited.shown().await,
        ["s_a ok", "s_a ok", "s_a error", "s_a error", "s_a error", "s_b ok", "s_a ok"]
    );
    let verified = audited.test.gate.ledger().verify().await.unwrap().unwrap();
    assert_eq!(verified.broken, None);
}

#[tokio::test]
async fn where_the_operator_says_so_calls_go_on_without_a_trail() {
    let audit = Audit { on_failure: OnAuditFailure::Continue, ..Audit::default() };
    let audited = Audited::new(audit, || Box::pin(async {})).await;
    audited.break_down();
    for _ in 0..3 {
        assert_eq!(audited.call("s_a").await, "ok done");
    }
    audited.mend();
    audited.recovered().await;
    audited.test.gate.ledger().flush().await.unwrap();
    assert_eq!(audited.shown().await, ["s_a ok", "s_a ok", "s_a ok"]);
}

/// R-36: as many rows as calls, whoever goes away in the middle.
#[tokio::test]
async fn r_36_answers_and_rows_agree_under_load_and_with_calls_given_up() {
    let pause =
        || async { tokio::time::sleep(Duration::from_millis(rand::random::<u64>() % 6)).await };
    let audited = Audited::new(Audit::default(), move || Box::pin(pause())).await;
    let calls = (0..2_000_u32).map(async |number| {
        let name = if number % 3 == 0 { "s_a" } else { "s_b" };
        let limit = Duration::from_millis(if number % 4 == 0 { 3 } else { 60_000 });
        tokio::time::timeout(limit, audited.call(name)).await.is_ok()
    });
    let answered = join_all(calls).await.into_iter().filter(|answered| *answered).count();
    audited.test.gate.ledger().flush().await.unwrap();
    let rows = audited.rows().await;
    assert_eq!(rows.len(), 2_000, "one for each call");
    let ok = rows.iter().filter(|row| row.entry.outcome == "ok").count();
    // Whoever went away while the row was on its way has an `ok` there as well.
    assert!((answered..=2_000).contains(&ok), "{answered} answered, {ok} rows");
    assert!(rows.iter().all(|row| ["ok", "cancelled"].contains(&row.entry.outcome.as_str())));
}

#[tokio::test]
async fn arguments_that_no_reader_could_take_are_not_kept() {
    let audit = Audit { arguments: ArgumentRecording::Redacted, ..Audit::default() };
    let audited = Audited::new(audit, || Box::pin(async {})).await;
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(120), "]".repeat(120));
    let params = format!(r#"{{"name": "s_a", "arguments": {deep}}}"#);
    let client = nobody();
    let _ = audited.test.call(&params, Caller::silent(&client)).await;
    audited.test.gate.ledger().flush().await.unwrap();
    let rows = audited.rows().await;
    assert_eq!(rows[0].entry.arguments.as_deref(), Some("\"[nested too deeply]\""));
}
