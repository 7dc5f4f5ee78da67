//! Calls that several wait for.

use futures_util::future::join_all;

use super::*;

const SLOW: &str = r#"{"name":"s_a","arguments":{"n":900}}"#;

#[tokio::test(start_paused = true)]
async fn a_hundred_equal_calls_at_once_are_one_call() {
    let test = reusing(Era::Modern, numbered).await;
    let client = nobody();
    let began = SystemClock.now();
    let calls = (0..100).map(|_| test.show(SLOW, Caller::silent(&client)));
    let replies = join_all(calls).await;
    assert!(replies.iter().all(|it| it == "ok 1, good for 60000 ms"), "{replies:?}");
    assert_eq!((test.calls(), (SystemClock.now() - began).as_millis()), (1, 900));
}

#[tokio::test]
async fn a_hundred_equal_calls_from_many_threads_are_one_call() {
    let test = Arc::new(
        reusing(Era::Modern, |number, _| {
            Box::pin(async move {
                tokio::task::yield_now().await;
                Ok(text(&number.to_string()))
            })
        })
        .await,
    );
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let test = Arc::clone(&test);
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.unwrap().block_on(async {
                    let client = nobody();
                    let calls = (0..25).map(|_| test.call(SLOW, Caller::silent(&client)));
                    join_all(calls).await.iter().map(describe_reply).collect::<Vec<_>>()
                })
            })
        })
        .collect();
    for thread in threads {
        assert!(thread.join().unwrap().iter().all(|it| it == "ok 1"));
    }
    assert_eq!(test.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_who_goes_leaves_the_call_to_the_others() {
    let test = reusing(Era::Modern, numbered).await;
    let client = nobody();
    let gone = async {
        let call = test.call(SLOW, Caller::silent(&client));
        tokio::time::timeout(Duration::from_millis(100), call).await.is_err()
    };
    let (gone, stays) = tokio::join!(gone, test.show(SLOW, Caller::silent(&client)));
    assert!(gone);
    assert_eq!(stays, "ok 1, good for 60000 ms");
    assert_eq!((test.calls(), *test.dropped.lock()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn when_the_last_one_goes_the_call_is_cancelled_and_the_next_begins_anew() {
    let test = reusing(Era::Modern, numbered).await;
    let client = nobody();
    let wait = async |milliseconds| {
        let call = test.call(SLOW, Caller::silent(&client));
        tokio::time::timeout(Duration::from_millis(milliseconds), call).await.is_err()
    };
    assert_eq!(tokio::join!(wait(100), wait(200)), (true, true));
    test.settle().await;
    assert_eq!((test.calls(), *test.dropped.lock()), (1, 1));
    assert_eq!(test.show(SLOW, Caller::silent(&client)).await, "ok 2, good for 60000 ms");
}

#[tokio::test(start_paused = true)]
async fn r_15_a_shared_call_that_hangs_is_given_up_at_its_own_limit_and_cancelled() {
    let test = reusing(Era::Modern, |_, _| Box::pin(std::future::pending())).await;
    let client = nobody();
    let began = SystemClock.now();
    let later = async {
        pass(4_000).await;
        test.show(SLOW, Caller::silent(&client)).await
    };
    let (first, second) = tokio::join!(test.show(SLOW, Caller::silent(&client)), later);
    assert_eq!(first, "timeout `s_a` did not answer within 10000 ms");
    assert_eq!(second, first);
    assert_eq!((SystemClock.now() - began).as_millis(), 10_000);
    assert_eq!((test.calls(), *test.dropped.lock()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn all_who_wait_are_told_the_same_failure() {
    fn react(_: usize, _: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
        Box::pin(async {
            pass(100).await;
            Err(BackendError::Unauthorized("the token is old".to_owned()))
        })
    }
    let test = reusing(Era::Modern, react).await;
    let client = nobody();
    let calls = (0..5).map(|_| test.show(SLOW, Caller::silent(&client)));
    for said in join_all(calls).await {
        assert_eq!(said, "error server `s` rejected the gateway's credentials: the token is old");
    }
    assert_eq!(test.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn progress_of_a_shared_call_goes_to_the_one_who_began_it() {
    fn react(_: usize, seen: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
        Box::pin(async move {
            assert_eq!(seen.progress, ProgressReporting::Requested);
            pass(100).await;
            let progress = Event::Progress(Object::parse(r#"{"progress":1}"#).unwrap());
            seen.events.unwrap().send(progress).await.unwrap();
            pass(100).await;
            Ok(text("done"))
        })
    }
    let test = reusing(Era::Modern, react).await;
    let client = nobody();
    let heard = async || {
        let (events, mut received) = mpsc::channel(8);
        let progress = ProgressReporting::Requested;
        let caller = Caller { events: Some(events), progress, ..Caller::silent(&client) };
        let said = describe_reply(&test.call(SLOW, caller).await);
        let mut count = 0;
        while received.recv().await.is_some() {
            count += 1;
        }
        (said, count)
    };
    let (first, second) = tokio::join!(heard(), heard());
    assert_eq!((first, second), (("ok done".to_owned(), 1), ("ok done".to_owned(), 0)));
}

#[tokio::test(start_paused = true)]
async fn who_wants_a_fresh_answer_does_not_wait_for_an_older_call() {
    let test = reusing(Era::Modern, numbered).await;
    let client = nobody();
    let later = async {
        pass(100).await;
        let fresh = test.show(SLOW, fresh(&client));
        // Whoever comes now is better off with the newer call.
        tokio::join!(fresh, test.show(SLOW, Caller::silent(&client)))
    };
    let (old, new) = tokio::join!(test.show(SLOW, Caller::silent(&client)), later);
    assert_eq!(old, "ok 1, good for 60000 ms");
    assert_eq!(new.0, "ok 2, good for 60000 ms");
    assert_eq!(new.1, new.0);
}

/// A legacy server that asks in the middle of a call.
fn curious(number: usize, seen: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
    Box::pin(async move {
        let params = Some(raw(r#"{"message":"sure?"}"#.to_owned()));
        let events = seen.events.expect("somebody listens");
        let answer = ask(&events, "elicitation/create".to_owned(), params).await;
        let answer = answer.map(|it| it.get().to_owned()).unwrap_or_else(|it| it.message);
        Ok(text(&format!("{number}: {answer}")))
    })
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_is_called_by_each_and_what_it_says_is_not_kept() {
    let test = reusing(Era::Legacy, curious).await;
    let client = someone();
    let answered = async |answer: &'static str| {
        let (events, mut received) = mpsc::channel(8);
        let dialogue = Dialogue::Live;
        let caller = Caller { events: Some(events), dialogue, ..Caller::silent(&client) };
        let person = async {
            while let Some(event) = received.recv().await {
                if let Event::Question(question) = event {
                    question.reply.send(Ok(raw(answer.to_owned()))).unwrap();
                }
            }
        };
        tokio::join!(test.show(SLOW, caller), person).0
    };
    let (one, two) = tokio::join!(answered("\"yes\""), answered("\"no\""));
    assert!(one.starts_with("ok") && one.ends_with(": \"yes\""), "{one}");
    assert!(two.starts_with("ok") && two.ends_with(": \"no\""), "{two}");
    assert_eq!(test.calls(), 3, "the one that was to be shared was given up");
    assert_eq!(answered("\"maybe\"").await, "ok 5: \"maybe\"");
}

#[tokio::test(start_paused = true)]
async fn those_who_cannot_be_asked_do_not_make_a_server_ask_again() {
    let test = reusing(Era::Legacy, curious).await;
    let client = nobody();
    let silent = (0..100).map(|_| test.show(SLOW, Caller::silent(&client)));
    for said in join_all(silent).await {
        assert_eq!(said, "error `s_a` answered with a question that this client cannot answer");
    }
    let live = Caller { dialogue: Dialogue::Live, ..Caller::silent(&client) };
    assert!(test.show(SLOW, live).await.starts_with("error"));
    assert_eq!(test.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn questions_of_a_modern_server_reach_those_who_can_answer_them() {
    fn react(_: usize, _: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
        Box::pin(async {
            Ok(asking(&json!({
                "resultType": "input_required",
                "inputRequests": {"q": {"method": "elicitation/create", "params": {}}},
            })))
        })
    }
    let test = reusing(Era::Modern, react).await;
    let able = someone();
    let unable = nobody();
    let rounds = |client| {
        let dialogue = Dialogue::Rounds(RoundAnswers::default());
        Caller { dialogue, ..Caller::silent(client) }
    };
    assert_eq!(describe_reply(&test.call(SLOW, rounds(&able)).await), "input required");
    let said = describe_reply(&test.call(SLOW, Caller::silent(&unable)).await);
    assert_eq!(said, "error `s_a` answered with a question that this client cannot answer");
}
