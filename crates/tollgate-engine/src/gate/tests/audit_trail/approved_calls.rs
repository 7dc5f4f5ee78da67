//! Calls that somebody has to agree to, in the trail.

use tollgate_core::approval::{ApprovalId, ApprovalVerdict, Decision};

use super::*;
use crate::approvals::ApprovalDecisionError;
use crate::caller::OverflowPolicy;
use crate::notices::Notice;
use crate::registry::RegistryReconfiguration;

impl Audited {
    /// The call that waits, once it does.
    async fn waiting(&self) -> ApprovalId {
        loop {
            if let [one] = &self.test.gate.approvals().waiting()[..] {
                return one.id;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn agree(&self) -> Result<(), ApprovalDecisionError> {
        let id = self.waiting().await;
        let decision = Decision::Approve;
        let by = Principal::from_name("boss");
        let verdict = ApprovalVerdict { id, decision, by, note: None };
        self.test.gate.judge(verdict).await.map(drop)
    }

    /// Calls `s_a` in a turn that is over before anybody agrees.
    async fn call_and_leave(&self) {
        let deadline = Deadline::after(SystemClock.now(), Duration::from_millis(20));
        let turn = Turn { deadline: Some(deadline), ..self.test.turn() };
        let client = nobody();
        let call = request(r#"{"name":"s_a"}"#);
        let reply = self.test.gate.call(&turn, call, Caller::silent(&client)).await;
        assert!(describe_reply(&reply).starts_with("pending"), "{reply:?}");
    }
}

#[tokio::test]
async fn who_agreed_is_on_the_disk_before_the_call_runs() {
    let audited =
        Audited::with(Audit::default(), ApprovalMode::Always, || Box::pin(async {})).await;
    let (text, agreed) = tokio::join!(audited.call("s_a"), audited.agree());
    agreed.unwrap();
    assert_eq!(text, "ok done");
    assert_eq!(audited.shown().await, ["s_a approved", "s_a ok"]);
}

#[tokio::test]
async fn r_26_a_decision_that_cannot_be_written_is_none_and_the_call_waits_on() {
    let audited =
        Audited::with(Audit::default(), ApprovalMode::Always, || Box::pin(async {})).await;
    let decide = async {
        audited.break_down();
        for _ in 0..2 {
            let refused = audited.agree().await.unwrap_err();
            assert!(matches!(refused, ApprovalDecisionError::Unwritten(_)), "{refused}");
        }
        assert_eq!(audited.ran.load(Ordering::SeqCst), 0);
        audited.mend();
        audited.recovered().await;
        audited.agree().await.unwrap();
    };
    let (text, ()) = tokio::join!(audited.call("s_a"), decide);
    assert_eq!(text, "ok done");
    let expected = ["s_a approved", "s_a not_decided", "s_a approved", "s_a ok"];
    assert_eq!(audited.shown().await, expected);
}

/// A decision counts by the rules that the waiting call began with, whatever the config says by then.
#[tokio::test]
async fn a_reload_that_goes_on_without_a_trail_does_not_reach_a_call_that_waits() {
    let audited =
        Audited::with(Audit::default(), ApprovalMode::Always, || Box::pin(async {})).await;
    let decide = async {
        audited.waiting().await;
        let continues = EngineSettings {
            audit: Audit { on_failure: OnAuditFailure::Continue, ..Audit::default() },
            ..EngineSettings::new("nowhere".into())
        };
        let gate = &audited.test.gate;
        let reload = RegistryReconfiguration {
            rules: Vec::new(),
            policy: Arc::new(PolicySnapshot::of(&continues)),
            pattern: NamePattern::parse("{server}_{tool}").unwrap(),
            listings: Vec::new(),
            outdated: Vec::new(),
        };
        gate.registry.reconfigure(reload).await;
        assert!(!gate.needs_audit(), "it is loaded");
        audited.break_down();
        let refused = audited.agree().await.unwrap_err();
        assert!(matches!(refused, ApprovalDecisionError::Unwritten(_)), "{refused}");
    };
    tokio::select! {
        text = audited.call("s_a") => panic!("it waits on: {text}"),
        () = decide => {}
    }
    assert_eq!(audited.ran.load(Ordering::SeqCst), 0);
    audited.mend();
}

#[tokio::test]
async fn what_ran_after_its_turn_is_on_the_disk_before_its_result_can_be_read() {
    let audited =
        Audited::with(Audit::default(), ApprovalMode::Always, || Box::pin(async {})).await;
    let mut notices = audited.test.gate.notices();
    audited.call_and_leave().await;
    audited.agree().await.unwrap();
    while !matches!(&*notices.recv().await.unwrap(), Notice::Late { .. }) {}
    assert_eq!(audited.shown().await, ["s_a pending", "s_a approved", "s_a ran"]);
}

#[tokio::test]
async fn what_is_given_up_after_its_turn_has_its_row_too() {
    let hangs = || Box::pin(std::future::pending()) as BoxFuture<'static, _>;
    let audited = Audited::with(Audit::default(), ApprovalMode::Always, hangs).await;
    audited.call_and_leave().await;
    audited.agree().await.unwrap();
    while audited.ran.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let Audited { test, directory, .. } = audited;
    drop(test);
    let file = directory.path().join("tollgate.db");
    let count = "SELECT count(*) FROM audit WHERE outcome = 'ran' AND detail LIKE '%cancelled'";
    for _ in 0..600 {
        let rows = Connection::open(&file).unwrap();
        if rows.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap() == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it has no row");
}

/// A call that was not made had no effect: nothing has to be on the disk for that, and nobody is
/// told that it had.
#[tokio::test]
async fn a_call_that_was_never_sent_waits_for_no_row() {
    let audited =
        Audited::with(Audit::default(), ApprovalMode::Always, || Box::pin(async {})).await;
    let deadline = Deadline::after(SystemClock.now(), Duration::from_millis(20));
    let turn = Turn { deadline: Some(deadline), ..audited.test.turn() };
    let client = nobody();
    let caller = Caller { rest: OverflowPolicy::Lost, ..Caller::silent(&client) };
    let call = audited.test.gate.call(&turn, request(r#"{"name":"s_a"}"#), caller);
    let broken = async {
        tokio::task::yield_now().await;
        audited.break_down();
    };
    let (reply, ()) = tokio::join!(call, broken);
    let text = describe_reply(&reply);
    assert!(text.starts_with("timeout nobody approved `s_a`"), "{text}");
    audited.mend();
}
