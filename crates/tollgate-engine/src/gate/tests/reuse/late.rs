//! Calls that are not over when their turn is.

use tollgate_core::call::{Outcome, Retryability as Again};

use super::*;
use crate::notices::Notice;
use crate::results::ResultLookup;

fn slow(n: u64) -> String {
    json!({"name": "s_a", "arguments": {"n": n}}).to_string()
}

async fn outcome(test: &Reusing, turn: &Turn, params: &str, caller: Caller<'_>) -> Outcome {
    match test.gate.call(turn, request(params), caller).await {
        Ok(Reply::Tool(outcome)) => outcome,
        other => panic!("{other:?}"),
    }
}

/// What is behind a handle: `pending 400 ms`, `ok 1`, `nothing`.
fn behind(test: &Reusing, principal: &str, handle: &str) -> String {
    match test.gate.result(&Principal::from_name(principal), handle) {
        ResultLookup::Unknown => "nothing".to_owned(),
        ResultLookup::Pending { since } => format!("pending {} ms", since.as_millis()),
        ResultLookup::Ready(kept) => describe_reply(&Ok(Reply::Tool(kept.outcome.clone()))),
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_after_the_turn_is_behind_a_handle_told_of_and_kept() {
    let test = reusing(Era::Modern, numbered).await;
    let mut notices = test.gate.notices();
    let client = nobody();
    let began = SystemClock.now();
    let pending = outcome(&test, &test.short(500), &slow(900), Caller::silent(&client)).await;
    assert_eq!(pending.status, CallStatus::Pending);
    assert_eq!((SystemClock.now() - began).as_millis(), 500, "not a moment later");
    assert_eq!(pending.duration.as_millis(), 500);
    let handle = pending.handle.expect("it is to come").to_string();
    let Again::Sensible { hint: Some(hint), .. } = &pending.retry else { panic!("{pending:?}") };
    assert!(hint.contains(&handle), "{hint}");
    assert_eq!(*test.dropped.lock(), 0, "the call goes on");

    pass(300).await;
    assert_eq!(behind(&test, "ada", &handle), "pending 300 ms");
    assert_eq!(behind(&test, "bob", &handle), "nothing");
    let notice = notices.recv().await.unwrap();
    assert_eq!((SystemClock.now() - began).as_millis(), 900);
    let Notice::Late { call, handle: told, status } = &*notice else { panic!("{notice:?}") };
    assert_eq!((&**told, *status, &*call.exposed), (&*handle, CallStatus::Ok, "s_a"));
    assert_eq!(call.principal, Principal::from_name("ada"));
    assert_eq!(behind(&test, "ada", &handle), "ok 1");
    assert_eq!(behind(&test, "bob", &handle), "nothing");

    let again = test.show(&slow(900), Caller::silent(&client)).await;
    assert_eq!(again, "ok 1, hit at 0 of 60000 ms");
    assert_eq!(test.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn each_of_those_who_wait_has_the_end_of_its_own_turn() {
    let test = reusing(Era::Modern, numbered).await;
    let began = SystemClock.now();
    let timed = async |turn: Turn| {
        let said = test.ask(&turn, &slow(1_200)).await;
        let word = said.split(' ').next().unwrap_or_default().to_owned();
        (word, (SystemClock.now() - began).as_millis())
    };
    let (short, shorter, long, endless) = tokio::join!(
        timed(test.short(500)),
        timed(test.short(37)),
        timed(test.short(1_500)),
        timed(test.turn()),
    );
    assert_eq!(short, ("pending".to_owned(), 500));
    assert_eq!(shorter, ("pending".to_owned(), 37));
    assert_eq!(long, ("ok".to_owned(), 1_200));
    assert_eq!(endless, ("ok".to_owned(), 1_200));
    assert_eq!(test.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_comes_while_a_late_call_runs_joins_it() {
    let test = reusing(Era::Modern, numbered).await;
    assert!(test.ask(&test.short(500), &slow(2_000)).await.starts_with("pending"));
    pass(1_000).await;
    let began = SystemClock.now();
    assert_eq!(test.ask(&test.turn(), &slow(2_000)).await, "ok 1");
    assert_eq!((SystemClock.now() - began).as_millis(), 500);
}

#[tokio::test(start_paused = true)]
async fn only_what_can_be_kept_or_was_asked_for_goes_on_after_the_turn() {
    let test = reusing(Era::Modern, numbered).await;
    let client = nobody();
    let b = r#"{"name":"s_b","arguments":{"n":900}}"#;
    let dropped = outcome(&test, &test.short(500), b, Caller::silent(&client)).await;
    assert_eq!(dropped.status, CallStatus::Timeout);
    assert_eq!(dropped.retry, Again::Sensible { hint: None, after: None });
    assert_eq!((*test.dropped.lock(), test.calls()), (1, 1));

    let wanted = || Caller { late: LateResultPolicy::Delivered, ..Caller::silent(&client) };
    let pending = outcome(&test, &test.short(500), b, wanted()).await;
    assert_eq!(pending.status, CallStatus::Pending);
    let handle = pending.handle.unwrap().to_string();
    let mut notices = test.gate.notices();
    notices.recv().await.unwrap();
    assert_eq!(behind(&test, "ada", &handle), "ok 2");
    assert_eq!(test.ask(&test.turn(), b).await, "ok 3", "it was delivered, not kept");

    let once = |rules: &mut ServerRules, _: &mut Vec<Value>| rules.tools.clear();
    let test = reusing_of(Era::Modern, once, numbered).await;
    let once = outcome(&test, &test.short(500), b, wanted()).await;
    assert_eq!(once.status, CallStatus::Timeout, "what must not be repeated is not left running");
    assert_eq!(once.retry, Again::Pointless, "nobody knows whether it had its effect");
    assert_eq!(*test.dropped.lock(), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_promised_to_those_who_cannot_come_back_for_it() {
    let test = reusing(Era::Modern, numbered).await;
    let client = nobody();
    for params in [r#"{"name":"s_b","arguments":{"n":900}}"#.to_owned(), slow(900)] {
        let late = LateResultPolicy::Delivered;
        let rest = OverflowPolicy::Lost;
        let caller = Caller { late, rest, ..Caller::silent(&client) };
        let over = outcome(&test, &test.short(500), &params, caller).await;
        assert_eq!((over.status, over.handle), (CallStatus::Timeout, None));
    }
    test.settle().await;
    assert_eq!(*test.dropped.lock(), 2);
}

#[tokio::test(start_paused = true)]
async fn r_15_a_late_call_ends_at_its_own_limit_and_says_so_behind_the_handle() {
    let test = reusing(Era::Modern, |_, _| Box::pin(std::future::pending())).await;
    let mut notices = test.gate.notices();
    let client = nobody();
    let began = SystemClock.now();
    let pending = outcome(&test, &test.short(500), &slow(0), Caller::silent(&client)).await;
    let notice = notices.recv().await.unwrap();
    assert!(matches!(&*notice, Notice::Late { status: CallStatus::Timeout, .. }), "{notice:?}");
    assert_eq!((SystemClock.now() - began).as_millis(), 10_000);
    assert_eq!(*test.dropped.lock(), 1, "and is cancelled then");
    let handle = pending.handle.unwrap().to_string();
    let said = behind(&test, "ada", &handle);
    assert_eq!(said, "timeout `s_a` did not answer within 10000 ms");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_gathers_so_many_late_calls_and_no_more() {
    let test = reusing(Era::Modern, |_, _| Box::pin(std::future::pending())).await;
    let turn = test.short(500);
    let calls = (0..40).map(|n| {
        let test = &test;
        let turn = &turn;
        async move { test.ask(turn, &slow(n)).await }
    });
    let said = futures_util::future::join_all(calls).await;
    let pending = said.iter().filter(|it| it.starts_with("pending")).count();
    let given_up = said.iter().filter(|it| it.starts_with("timeout")).count();
    assert_eq!((pending, given_up), (32, 8));
    test.settle().await;
    assert_eq!(*test.dropped.lock(), 8, "those were cancelled");
    pass(10_000).await;
    assert_eq!(*test.dropped.lock(), 40);
    assert!(test.ask(&test.short(500), &slow(1)).await.starts_with("pending"), "there is room");
}

#[tokio::test(start_paused = true)]
async fn many_who_wait_for_one_late_call_take_one_place() {
    let test = reusing(Era::Modern, numbered).await;
    let turn = test.short(500);
    let calls = (0..100).map(|_| test.ask(&turn, r#"{"name":"s_a","arguments":{"n":900}}"#));
    let said = futures_util::future::join_all(calls).await;
    assert!(said.iter().all(|it| it.starts_with("pending")), "{said:?}");
    assert_eq!(test.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_late_failure_is_told_too_and_not_kept() {
    fn react(number: usize, _: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
        Box::pin(async move {
            match number {
                1 => {
                    pass(900).await;
                    Err(BackendError::Unauthorized("no".to_owned()))
                }
                _ => Ok(text("fine")),
            }
        })
    }
    let test = reusing(Era::Modern, react).await;
    let mut notices = test.gate.notices();
    assert!(test.ask(&test.short(500), &slow(0)).await.starts_with("pending"));
    let notice = notices.recv().await.unwrap();
    assert!(matches!(&*notice, Notice::Late { status: CallStatus::Error, .. }), "{notice:?}");
    assert_eq!(test.ask(&test.turn(), &slow(0)).await, "ok fine");
}
