//! Calls that somebody has to agree to, in the trail.

use tollgate_core::approval::{ApprovalVerdict, Decision};

use super::*;
use crate::approvals::ApprovalDecisionError;
use crate::caller::OverflowPolicy;
use crate::notices::Notice;

impl Audited {
    async fn agree(&self) -> Result<(), ApprovalDecisionError> {
        let approvals = self.test.gate.approvals();
        let id = loop {
            if let [one] = &approvals.waiting()[..] {
                break one.id;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
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
