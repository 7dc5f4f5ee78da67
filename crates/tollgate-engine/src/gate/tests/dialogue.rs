//! Questions in the middle of a call: the four pairs of eras.

use super::*;

const QUESTION: &str = r#"{"message":"Your name?","requestedSchema":{"type":"object"}}"#;

/// A legacy server that asks once, and answers with what it was told.
fn legacy_asker(seen: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
    Box::pin(async move {
        let events = seen.events.expect("someone can be asked");
        let params = Some(raw(QUESTION.to_owned()));
        let answer = ask(&events, "elicitation/create".to_owned(), params).await;
        Ok(text(&answer.map_or_else(|error| error.message, |raw| raw.get().to_owned())))
    })
}

/// A modern server that asks until it is told, keeping count in its own state.
fn modern_asker(seen: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
    Box::pin(async move {
        Ok(match seen.params.get("inputResponses") {
            Some(answers) => text(&format!("{} {}", seen.params["requestState"], answers["name"])),
            None => asking(&json!({
                "resultType": "input_required",
                "inputRequests": {"name": {"method": "elicitation/create", "params": {}}},
                "requestState": "inner",
            })),
        })
    })
}

/// Answers every question with `Ada`, after so long.
fn person(after: Duration) -> (ServerEventSender, Task) {
    let (events, mut received) = mpsc::channel(8);
    let task = tasks::spawn("person", async move {
        while let Some(event) = received.recv().await {
            if let Event::Question(question) = event {
                tokio::time::sleep(after).await;
                let _ = question.reply.send(Ok(raw("\"Ada\"".to_owned())));
            }
        }
    });
    (events, task)
}

fn live(client: &ClientFacts, events: ServerEventSender) -> Caller<'_> {
    Caller { events: Some(events), dialogue: Dialogue::Live, ..Caller::silent(client) }
}

fn rounds(state: Option<&str>, responses: Option<&str>) -> Dialogue {
    let responses: Option<Box<RawValue>> = responses.map(|text| raw(text.to_owned()));
    Dialogue::Rounds(RoundAnswers { state: state.map(str::to_owned), responses })
}

fn required(reply: Result<Reply, CallError>) -> (Value, String) {
    let Ok(Reply::InputRequired(result)) = reply else { panic!("not asked: {reply:?}") };
    let result: Value = serde_json::from_str(result.get()).unwrap();
    let state = result["requestState"].as_str().unwrap().to_owned();
    (result, state)
}

#[tokio::test(start_paused = true)]
async fn legacy_to_legacy_asks_live_and_the_clock_stands_still_meanwhile() {
    let test = gate(Era::Legacy, legacy_asker).await;
    let client = someone();
    let (events, _person) = person(Duration::from_secs(60));
    let caller = live(&client, events);
    assert_eq!(describe_reply(&test.call(r#"{"name":"s_a"}"#, caller).await), "ok \"Ada\"");

    let (events, _person) = person(Duration::from_secs(3_600));
    let caller = live(&client, events);
    let reply = describe_reply(&test.call(r#"{"name":"s_a"}"#, caller).await);
    assert!(reply.starts_with("timeout"), "nobody is waited for without end: {reply}");
}

fn able(capabilities: &str) -> ClientFacts {
    ClientFacts { capabilities: Some(raw(capabilities.to_owned())), ..nobody() }
}

#[derive(Clone, Copy)]
struct TestQuestion {
    method: &'static str,
    params: &'static str,
}

/// What a server hears that asks this of a live client; a person would say `Ada`.
async fn check_question(era: Era, capabilities: &str, question: TestQuestion, hears: &str) {
    let method = question.method.to_owned();
    let params = raw(question.params.to_owned());
    let test = gate(era, move |seen| {
        let method = method.clone();
        let params = params.clone();
        Box::pin(async move {
            if era == Era::Modern {
                return Ok(match seen.params.get("inputResponses") {
                    Some(answers) => text(&answers["it"].to_string()),
                    None => asking(&json!({"resultType": "input_required",
                        "inputRequests": {"it": {"method": method, "params": params}}})),
                });
            }
            let events = seen.events.expect("there is a way to ask");
            let _ = events.send(Event::Progress(Object::new())).await;
            let answer = ask(&events, method, Some(params)).await;
            Ok(text(&answer.map_or_else(|it| it.code.to_string(), |it| it.get().to_owned())))
        })
    })
    .await;
    let client = able(capabilities);
    let (events, _person) = person(Duration::ZERO);
    let caller = live(&client, events);
    let reply = describe_reply(&test.call(r#"{"name":"s_a"}"#, caller).await);
    assert!(reply.contains(hears), "{era:?} {capabilities}: {reply}");
}

#[tokio::test]
async fn live_clients_are_asked_only_what_they_declared() {
    let form = TestQuestion { method: "elicitation/create", params: QUESTION };
    let url = TestQuestion {
        method: "elicitation/create",
        params: r#"{"mode":"url","url":"https://x.example"}"#,
    };
    let roots = TestQuestion { method: "roots/list", params: "{}" };
    let sampling = TestQuestion { method: "sampling/createMessage", params: "{}" };
    let cancel = r#"{"action":"cancel"}"#;
    for era in [Era::Legacy, Era::Modern] {
        check_question(era, r#"{"elicitation":{}}"#, form, "Ada").await;
        check_question(era, r#"{"elicitation":{}}"#, url, cancel).await;
        check_question(era, r#"{"elicitation":{"url":{}}}"#, url, "Ada").await;
        check_question(era, r#"{"elicitation":{"url":{}}}"#, form, cancel).await;
        check_question(era, r#"{"roots":{}}"#, roots, "Ada").await;
        check_question(era, r#"{"elicitation":{}}"#, roots, r#"{"roots":[]}"#).await;
        check_question(era, r#"{"sampling":{}}"#, sampling, "Ada").await;
    }
    check_question(Era::Legacy, r#"{"roots":{}}"#, sampling, "-32601").await;
    check_question(Era::Modern, r#"{"roots":{}}"#, sampling, "does not support").await;
    check_question(Era::Legacy, "{}", form, cancel).await;
    check_question(Era::Legacy, "{}", roots, r#"{"roots":[]}"#).await;
    check_question(Era::Legacy, "{}", sampling, "-32601").await;
}

#[tokio::test]
async fn legacy_to_modern_runs_the_rounds_for_the_client() {
    let test = gate(Era::Modern, modern_asker).await;
    let client = someone();
    let (events, _person) = person(Duration::ZERO);
    let caller = live(&client, events);
    assert_eq!(
        describe_reply(&test.call(r#"{"name":"s_a"}"#, caller).await),
        "ok \"inner\" \"Ada\""
    );
}

#[tokio::test]
async fn b_re_09_a_server_that_asks_without_end_is_given_up() {
    let test = gate(Era::Modern, |_| {
        let again = json!({"resultType": "input_required", "requestState": "again"});
        Box::pin(async move { Ok(asking(&again)) })
    })
    .await;
    let client = someone();
    let (events, _person) = person(Duration::ZERO);
    let caller = live(&client, events);
    let reply = describe_reply(&test.call(r#"{"name":"s_a"}"#, caller).await);
    assert!(reply.contains("asked more than 10 times"), "{reply}");
}

#[tokio::test]
async fn s_14_modern_to_modern_seals_the_servers_state_for_principal_and_request() {
    let test = gate(Era::Modern, modern_asker).await;
    let client = someone();
    let call = async |params: &str, turn: &Turn, dialogue: Dialogue| {
        let caller = Caller { dialogue, ..Caller::silent(&client) };
        test.gate.call(turn, request(params), caller).await
    };
    let turn = test.turn();
    let first = call(r#"{"name":"s_a","arguments":{"n":1}}"#, &turn, rounds(None, None)).await;
    let (result, state) = required(first);
    assert_eq!(result["inputRequests"]["name"]["method"], "elicitation/create");
    assert_ne!(state, "inner");

    let answers = Some(r#"{"name":"Ada"}"#);
    let again = rounds(Some(&state), answers);
    let reply = call(r#"{"arguments":{"n":1},"name":"s_a"}"#, &turn, again.clone()).await;
    assert_eq!(describe_reply(&reply), "ok \"inner\" \"Ada\"");

    let other = call(r#"{"name":"s_a","arguments":{"n":2}}"#, &turn, again.clone()).await;
    assert_eq!(describe_reply(&other), "error: `requestState` belongs to another request");
    let thief = test.turn_of("bob");
    let stolen = call(r#"{"name":"s_a","arguments":{"n":1}}"#, &thief, again).await;
    assert_eq!(describe_reply(&stolen), "error: `requestState` was not issued by this server");
    let forged = rounds(Some("inner"), answers);
    let forged = call(r#"{"name":"s_a","arguments":{"n":1}}"#, &turn, forged).await;
    assert!(matches!(forged, Err(CallError::BadState(_))));
}

#[tokio::test]
async fn modern_to_legacy_parks_the_call_until_the_caller_is_back() {
    let test = gate(Era::Legacy, legacy_asker).await;
    let client = someone();
    let call = async |dialogue: Dialogue| {
        let caller = Caller { dialogue, ..Caller::silent(&client) };
        test.call(r#"{"name":"s_a"}"#, caller).await
    };
    let (result, state) = required(call(rounds(None, None)).await);
    assert_eq!(result["inputRequests"]["q1"]["params"]["message"], "Your name?");
    assert_eq!(*test.dropped.lock(), 0, "the call goes on at the server");

    // B-JR 29, conformance missing-input-response: what was not answered is asked again.
    let (result, second) = required(call(rounds(Some(&state), Some("{}"))).await);
    assert!(result["inputRequests"].get("q1").is_some());
    assert_ne!(second, state);
    let used = call(rounds(Some(&state), Some(r#"{"q1":1}"#))).await;
    assert!(matches!(used, Err(CallError::BadState(_))), "a ticket is good once");

    let answers = r#"{"q1":{"action":"accept"},"unasked":1}"#;
    let reply = call(rounds(Some(&second), Some(answers))).await;
    assert_eq!(describe_reply(&reply), r#"ok {"action":"accept"}"#);
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_in_a_short_turn_meets_the_wall_of_that_turn() {
    let test = gate(Era::Legacy, |seen| {
        Box::pin(async move {
            let _ = ask(&seen.events.unwrap(), "elicitation/create".to_owned(), None).await;
            std::future::pending().await
        })
    })
    .await;
    let client = someone();
    let caller = |dialogue| Caller { dialogue, ..Caller::silent(&client) };
    let first = test.call(r#"{"name":"s_a"}"#, caller(rounds(None, None))).await;
    let (_, state) = required(first);
    let began = SystemClock.now();
    let deadline = Some(Deadline::after(began, Duration::from_millis(500)));
    let turn = Turn { deadline, ..test.turn() };
    let back = caller(rounds(Some(&state), Some(r#"{"q1":1}"#)));
    let reply = test.gate.call(&turn, request(r#"{"name":"s_a"}"#), back).await;
    assert_eq!(describe_reply(&reply), "timeout `s_a` did not answer within 500 ms");
    assert_eq!((SystemClock.now() - began).as_millis(), 500);
}

#[tokio::test]
async fn questions_that_come_together_are_asked_together() {
    let test = gate(Era::Legacy, |seen| {
        Box::pin(async move {
            let events = seen.events.expect("someone can be asked");
            let one = ask(&events, "elicitation/create".to_owned(), None);
            let two = ask(&events, "elicitation/create".to_owned(), None);
            let (one, two) = tokio::join!(one, two);
            Ok(text(&format!("{} {}", one.unwrap(), two.unwrap())))
        })
    })
    .await;
    let client = someone();
    let caller = Caller { dialogue: rounds(None, None), ..Caller::silent(&client) };
    let (result, state) = required(test.call(r#"{"name":"s_a"}"#, caller).await);
    assert_eq!(result["inputRequests"].as_object().unwrap().len(), 2);
    let dialogue = rounds(Some(&state), Some(r#"{"q1":1,"q2":2}"#));
    let caller = Caller { dialogue, ..Caller::silent(&client) };
    assert_eq!(describe_reply(&test.call(r#"{"name":"s_a"}"#, caller).await), "ok 1 2");
}

#[tokio::test]
async fn a_question_beyond_what_the_client_can_do_is_refused_by_name() {
    let test = gate(Era::Legacy, |seen| {
        Box::pin(async move {
            let events = seen.events.expect("someone can be asked");
            let answer = ask(&events, "sampling/createMessage".to_owned(), None).await;
            Ok(text(&format!("{answer:?}")))
        })
    })
    .await;
    let client = someone();
    let caller = Caller { dialogue: rounds(None, None), ..Caller::silent(&client) };
    let reply = test.call(r#"{"name":"s_a"}"#, caller).await;
    let Err(CallError::MissingCapability { required, .. }) = reply else { panic!("{reply:?}") };
    assert_eq!(required.get(), r#"{"sampling":{}}"#);
    tokio::task::yield_now().await;
    assert_eq!(*test.dropped.lock(), 1, "the call is given up at the server too");
}

#[tokio::test(start_paused = true)]
async fn a_parked_call_that_nobody_comes_back_for_ends() {
    let test = gate(Era::Legacy, legacy_asker).await;
    let client = someone();
    let caller = Caller { dialogue: rounds(None, None), ..Caller::silent(&client) };
    let (_, state) = required(test.call(r#"{"name":"s_a"}"#, caller).await);
    tokio::time::sleep(Duration::from_secs(400)).await;
    assert_eq!(*test.dropped.lock(), 1);
    let dialogue = rounds(Some(&state), Some(r#"{"q1":1}"#));
    let caller = Caller { dialogue, ..Caller::silent(&client) };
    let reply = test.call(r#"{"name":"s_a"}"#, caller).await;
    assert!(!matches!(&reply, Ok(Reply::Tool(outcome)) if outcome.status == CallStatus::Ok));
}

/// Asks three times; sees that it is the person who is waited for, and then the server again.
fn patient_asker(seen: Seen) -> BoxFuture<'static, Result<Answer, BackendError>> {
    Box::pin(async move {
        let events = seen.events.expect("someone can be asked");
        let mut waits = seen.waits.expect("someone can be waited for");
        for _ in 0..3 {
            let answer = ask(&events, "elicitation/create".to_owned(), None);
            let person = async { waits.wait_for(|it| *it == WaitsFor::Person).await.is_ok() };
            let (answer, person) = tokio::join!(answer, person);
            assert!(answer.is_ok() && person);
            assert!(waits.wait_for(|it| *it == WaitsFor::Server).await.is_ok());
        }
        Ok(text("thrice"))
    })
}

#[tokio::test(start_paused = true)]
async fn every_round_of_a_parked_call_has_its_own_patience() {
    let test = gate(Era::Legacy, patient_asker).await;
    let client = someone();
    let mut dialogue = rounds(None, None);
    for at in 1..=3 {
        let caller = Caller { dialogue, ..Caller::silent(&client) };
        let (_, state) = required(test.call(r#"{"name":"s_a"}"#, caller).await);
        tokio::time::sleep(Duration::from_secs(290)).await;
        assert_eq!(*test.dropped.lock(), 0, "round {at}");
        dialogue = rounds(Some(&state), Some(r#"{"q1":1}"#));
    }
    let caller = Caller { dialogue, ..Caller::silent(&client) };
    assert_eq!(describe_reply(&test.call(r#"{"name":"s_a"}"#, caller).await), "ok thrice");

    let (events, _person) = person(Duration::from_secs(60));
    let caller = live(&client, events);
    assert_eq!(describe_reply(&test.call(r#"{"name":"s_a"}"#, caller).await), "ok thrice");
}

#[tokio::test]
async fn one_principal_cannot_fill_the_parking() {
    let test = gate(Era::Legacy, legacy_asker).await;
    let client = someone();
    let call = async |who: &str| {
        let caller = Caller { dialogue: rounds(None, None), ..Caller::silent(&client) };
        let turn = test.turn_of(who);
        describe_reply(&test.gate.call(&turn, request(r#"{"name":"s_a"}"#), caller).await)
    };
    for _ in 0..32 {
        assert_eq!(call("ada").await, "input required");
    }
    assert!(call("ada").await.contains("too many calls are awaiting input"));
    assert_eq!(call("bob").await, "input required");
}

#[tokio::test]
async fn a_url_that_must_be_visited_first_becomes_a_question() {
    let test = gate(Era::Legacy, |_| {
        let data = json!({"elicitations": [{"mode": "url", "url": "https://x.example/go",
            "message": "Sign in", "elicitationId": "e1"}]});
        let error = tollgate_mcp::error_code::JsonRpcError::new(-32042, "visit first");
        let error = error.with_data(raw_value(&data));
        Box::pin(async move { Err(BackendError::Refused(error)) })
    })
    .await;
    let forms_only = someone();
    let caller = Caller { dialogue: rounds(None, None), ..Caller::silent(&forms_only) };
    let reply = test.call(r#"{"name":"s_a"}"#, caller).await;
    assert!(matches!(reply, Err(CallError::Upstream(error)) if error.code == -32042));
    let client = able(r#"{"elicitation":{"url":{}}}"#);
    let caller = Caller { dialogue: rounds(None, None), ..Caller::silent(&client) };
    let Ok(Reply::InputRequired(result)) = test.call(r#"{"name":"s_a"}"#, caller).await else {
        panic!("a question was expected");
    };
    let result: Value = serde_json::from_str(result.get()).unwrap();
    assert_eq!(result["inputRequests"]["u1"]["params"]["url"], "https://x.example/go");
    let silent = Caller { dialogue: Dialogue::Live, ..Caller::silent(&client) };
    let reply = test.call(r#"{"name":"s_a"}"#, silent).await;
    assert!(matches!(reply, Err(CallError::Upstream(error)) if error.code == -32042));
}

#[tokio::test]
async fn progress_is_asked_for_only_if_the_caller_wants_it() {
    for era in [Era::Legacy, Era::Modern] {
        let say = |seen: Seen| -> BoxFuture<'static, Result<Answer, BackendError>> {
            Box::pin(async move { Ok(text(&format!("{:?}", seen.progress))) })
        };
        let test = gate(era, say).await;
        let client = someone();
        for (progress, dialogue) in [
            (ProgressReporting::Unwanted, Dialogue::Live),
            (ProgressReporting::Requested, Dialogue::Live),
            (ProgressReporting::Unwanted, rounds(None, None)),
            (ProgressReporting::Requested, rounds(None, None)),
        ] {
            let (events, _person) = person(Duration::ZERO);
            let caller =
                Caller { events: Some(events), progress, dialogue, ..Caller::silent(&client) };
            let reply = describe_reply(&test.call(r#"{"name":"s_a"}"#, caller).await);
            assert_eq!(reply, format!("ok {progress:?}"));
        }
    }
}
