//! Calls that somebody has to agree to.

use std::sync::atomic::{AtomicUsize, Ordering};

use tollgate_core::approval::{ApprovalId, ApprovalVerdict, Decision};
use tollgate_core::call::Decider;
use tollgate_core::id::ToolName;
use tollgate_core::policy;
use tollgate_core::tool::{ApprovalMode, ToolOverride};

use super::*;
use crate::approvals::{ApprovalDecisionError, ApprovalRequest as Waiting};
use crate::notices::Notice;
use crate::results::ResultLookup;

/// A gate whose tool `a` needs approval for every call; `b` does not. Counts what reached the server.
struct Guarded {
    test: TestGate,
    calls: Arc<AtomicUsize>,
}

async fn guarded(era: Era) -> Guarded {
    guarded_for(Agent::implicit(), era, |_, _| {}).await
}

async fn guarded_for(
    agent: Agent,
    era: Era,
    change: impl FnOnce(&mut ServerRules, &mut Vec<Value>),
) -> Guarded {
    let mut rules = ServerRules::new(ServerId::parse("s").unwrap(), ServerOrigin::Upstream);
    let always = ToolOverride { approval: Some(ApprovalMode::Always), ..ToolOverride::default() };
    rules.tools.insert(ToolName::new("a"), always);
    let mut tools = ["a", "b"].map(tool).to_vec();
    change(&mut rules, &mut tools);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let test = gate_for(agent, RecordingStage::default(), era, rules, tools, move |seen| {
        counted.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { Ok(text(&format!("did {}", seen.params["arguments"]))) })
    })
    .await;
    Guarded { test, calls }
}

const CALL: &str = r#"{"name":"s_a","arguments":{"n":7}}"#;

impl Guarded {
    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// The one that waits, once it does.
    async fn waits(&self) -> Arc<Waiting> {
        loop {
            if let [one] = &self.test.gate.approvals().waiting()[..] {
                return Arc::clone(one);
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn decide(
        &self,
        id: ApprovalId,
        decision: Decision,
    ) -> Result<Arc<Waiting>, ApprovalDecisionError> {
        let by = Principal::from_name("boss");
        let note = None;
        self.test.gate.judge(ApprovalVerdict { id, decision, by, note }).await
    }

    /// Calls, and decides so after so long.
    async fn call_and(&self, after: Duration, decision: Decision) -> String {
        let client = nobody();
        let call = self.test.call(CALL, Caller::silent(&client));
        let decide = async {
            let waiting = self.waits().await;
            tokio::time::sleep(after).await;
            self.decide(waiting.id, decision).await.unwrap();
        };
        describe_reply(&tokio::join!(call, decide).0)
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_leave_and_its_own_time_begins_with_that() {
    let gate = guarded(Era::Modern).await;
    let patient = Duration::from_secs(100);
    assert_eq!(gate.call_and(patient, Decision::Approve).await, r#"ok did {"n":7}"#);
    let denied = gate.call_and(patient, Decision::Deny).await;
    assert_eq!(denied, "denied this call of `s_a` was denied; do not repeat it");
    assert_eq!(gate.calls(), 1);
    let client = nobody();
    let free = gate.test.call(r#"{"name":"s_b"}"#, Caller::silent(&client)).await;
    assert_eq!(describe_reply(&free), "ok did null");
    assert_eq!(*gate.test.records.lock(), ["s_a ok", "s_a denied", "s_b ok"]);
}

#[tokio::test(start_paused = true)]
async fn the_queue_says_who_wants_what_and_why() {
    let gate = guarded(Era::Modern).await;
    let client = nobody();
    let mut notices = gate.test.gate.notices();
    let mut call = Box::pin(gate.test.call(CALL, Caller::silent(&client)));
    assert!(futures_util::poll!(&mut call).is_pending());
    let waiting = gate.waits().await;
    assert_eq!(waiting.principal.as_str(), "ada");
    assert_eq!((waiting.exposed.as_str(), waiting.arguments.text.as_str()), ("s_a", r#"{"n":7}"#));
    assert_eq!(waiting.why.as_str(), "always");
    assert_eq!(waiting.until.duration_since(waiting.since).unwrap(), Duration::from_secs(120));
    let Notice::ApprovalRequested { id, .. } = &*notices.recv().await.unwrap() else {
        panic!("it is told")
    };
    assert_eq!(*id, waiting.id);
    drop(call);
    assert!(gate.test.gate.approvals().waiting().is_empty(), "who goes away leaves the queue");
    let Notice::ApprovalDecided { ending, .. } = &*notices.recv().await.unwrap() else {
        panic!("it is told")
    };
    assert_eq!(ending.as_str(), "withdrawn");
    assert_eq!(
        gate.decide(waiting.id, Decision::Approve).await,
        Err(ApprovalDecisionError::Unknown)
    );
    assert_eq!(gate.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn nobody_can_decide_twice_nor_when_it_is_too_late() {
    let gate = guarded(Era::Modern).await;
    let client = nobody();
    let call = gate.test.call(CALL, Caller::silent(&client));
    let decide = async {
        let id = gate.waits().await.id;
        assert!(gate.decide(id, Decision::Deny).await.is_ok());
        assert_eq!(gate.decide(id, Decision::Approve).await, Err(ApprovalDecisionError::Decided));
        id
    };
    let (reply, id) = tokio::join!(call, decide);
    assert!(describe_reply(&reply).starts_with("denied"));
    assert_eq!(gate.decide(id, Decision::Approve).await, Err(ApprovalDecisionError::Decided));

    let began = SystemClock.now();
    let late = describe_reply(&gate.test.call(CALL, Caller::silent(&client)).await);
    assert!(late.starts_with("denied nobody approved this call of `s_a` in time"), "{late}");
    assert_eq!((SystemClock.now() - began).as_secs(), 120);
    let never = ApprovalId::from_bits(1);
    assert_eq!(gate.decide(never, Decision::Approve).await, Err(ApprovalDecisionError::Unknown));
    assert_eq!(gate.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn when_the_turn_is_over_the_result_comes_behind_a_handle() {
    let gate = guarded(Era::Modern).await;
    let client = nobody();
    let mut notices = gate.test.gate.notices();
    for (decision, expected) in [(Decision::Approve, "ok"), (Decision::Deny, "denied")] {
        let deadline = Deadline::after(SystemClock.now(), Duration::from_millis(500));
        let turn = Turn { deadline: Some(deadline), ..gate.test.turn() };
        let began = SystemClock.now();
        let reply = gate.test.gate.call(&turn, request(CALL), Caller::silent(&client)).await;
        let Ok(Reply::Tool(pending)) = reply else { panic!("{reply:?}") };
        assert_eq!(pending.status, CallStatus::Pending);
        assert_eq!((SystemClock.now() - began).as_millis(), 500);
        let handle = pending.handle.expect("a handle").to_string();
        let read = |gate: &Guarded| gate.test.gate.result(&turn.principal, &handle);
        assert!(matches!(read(&gate), ResultLookup::Pending { .. }));
        let waiting = gate.waits().await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        gate.decide(waiting.id, decision).await.unwrap();
        let status = loop {
            if let Notice::Late { status, .. } = &*notices.recv().await.unwrap() {
                break status.to_string();
            }
        };
        assert_eq!(status, expected);
        let ResultLookup::Ready(stored) = read(&gate) else { panic!("it is there") };
        assert_eq!(stored.outcome.status.as_str(), expected);
    }
    assert_eq!(gate.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_bounded_and_nobody_has_all_of_it() {
    let gate = guarded(Era::Modern).await;
    let client = nobody();
    let ada = gate.test.turn();
    let bob = gate.test.turn_of("bob");
    let call = |turn| Box::pin(gate.test.gate.call(turn, request(CALL), Caller::silent(&client)));
    let mut waiting: Vec<_> = (0..128).map(|_| call(&ada)).collect();
    for one in &mut waiting {
        assert!(futures_util::poll!(one).is_pending());
    }
    let refused = describe_reply(&call(&ada).await);
    assert!(refused.starts_with("rate_limited too many calls are awaiting approval"), "{refused}");
    let mut other = call(&bob);
    assert!(futures_util::poll!(&mut other).is_pending(), "another has room");
    assert_eq!(gate.test.gate.approvals().waiting().len(), 129);
    drop(waiting);
    assert_eq!(gate.test.gate.approvals().waiting().len(), 1);
}

/// A client whose user answers the form so, after so long.
fn user(after: Duration, answer: &'static str) -> (ServerEventSender, Task) {
    let (events, mut received) = mpsc::channel(8);
    let task = tasks::spawn("user", async move {
        while let Some(event) = received.recv().await {
            if let Event::Question(question) = event {
                assert_eq!(question.method, "elicitation/create");
                let params = question.params.unwrap();
                assert!(params.get().contains("s_a") && params.get().contains("approve"));
                tokio::time::sleep(after).await;
                let _ = question.reply.send(Ok(raw(answer.to_owned())));
            }
        }
    });
    (events, task)
}

const YES: &str = r#"{"action":"accept","content":{"approve":true}}"#;

#[tokio::test(start_paused = true)]
async fn a_legacy_client_is_asked_while_the_call_waits_and_the_first_decision_counts() {
    let gate = guarded(Era::Legacy).await;
    let client = someone();
    let check = async |after: u64, answer, boss: Option<(u64, Decision)>, expected: &str| {
        let (events, _user) = user(Duration::from_secs(after), answer);
        let live = Dialogue::Live;
        let caller = Caller { events: Some(events), dialogue: live, ..Caller::silent(&client) };
        let decide = async {
            if let Some((after, decision)) = boss {
                let id = gate.waits().await.id;
                tokio::time::sleep(Duration::from_secs(after)).await;
                gate.decide(id, decision).await.unwrap();
            }
        };
        let (reply, ()) = tokio::join!(gate.test.call(CALL, caller), decide);
        let reply = describe_reply(&reply);
        assert!(reply.starts_with(expected), "{answer} {boss:?}: {reply}");
        assert!(gate.test.gate.approvals().waiting().is_empty());
    };
    check(30, YES, None, "ok did").await;
    check(30, r#"{"action":"decline"}"#, None, "denied this call of `").await;
    check(1, r#"{"action":"cancel"}"#, None, "denied").await;
    check(60, r#"{"action":"decline"}"#, Some((10, Decision::Approve)), "ok did").await;
    check(60, YES, Some((10, Decision::Deny)), "denied").await;
    assert_eq!(gate.calls(), 2);
}

/// The state that a modern client was given along with the question.
fn request_state(reply: Result<Reply, CallError>) -> String {
    let Ok(Reply::InputRequired(result)) = reply else { panic!("not asked: {reply:?}") };
    let result: Value = serde_json::from_str(result.get()).unwrap();
    let form = &result["inputRequests"]["approval"];
    assert_eq!(form["method"], "elicitation/create");
    assert!(form["params"]["message"].as_str().unwrap().contains(r#"{"n":7}"#));
    result["requestState"].as_str().unwrap().to_owned()
}

fn round<'c>(client: &'c ClientFacts, state: Option<&str>, answer: Option<&str>) -> Caller<'c> {
    let responses = answer.map(|answer| raw(format!("{{\"approval\":{answer}}}")));
    let retry = RoundAnswers { state: state.map(str::to_owned), responses };
    Caller { dialogue: Dialogue::Rounds(retry), ..Caller::silent(client) }
}

#[tokio::test(start_paused = true)]
async fn a_modern_client_comes_back_with_the_answer_and_cannot_do_so_twice() {
    let gate = guarded(Era::Modern).await;
    let client = someone();
    let call = async |params: &str, state: Option<&str>, answer: Option<&str>| {
        gate.test.call(params, round(&client, state, answer)).await
    };
    let state = request_state(call(CALL, None, None).await);
    let again = request_state(call(CALL, Some(&state), None).await);
    assert_eq!(gate.calls(), 0, "no answer is no leave");
    let other = r#"{"name":"s_a","arguments":{"n":8}}"#;
    let forged = call(other, Some(&again), Some(YES)).await;
    assert!(!describe_reply(&forged).starts_with("ok"), "leave for one call is none for another");
    assert_eq!(gate.calls(), 0);
    let done = call(CALL, Some(&again), Some(YES)).await;
    assert_eq!(describe_reply(&done), r#"ok did {"n":7}"#);
    for state in [&state, &again] {
        let replayed = call(CALL, Some(state), Some(YES)).await;
        assert!(matches!(replayed, Err(CallError::BadState(_))), "{replayed:?}");
    }
    assert_eq!(gate.calls(), 1);

    let state = request_state(call(CALL, None, None).await);
    let denied = describe_reply(&call(CALL, Some(&state), Some(r#"{"action":"decline"}"#)).await);
    assert!(denied.starts_with("denied"), "{denied}");

    for it in gate.test.gate.approvals().waiting() {
        gate.decide(it.id, Decision::Deny).await.unwrap();
    }
    let state = request_state(call(CALL, None, None).await);
    gate.decide(gate.waits().await.id, Decision::Approve).await.unwrap();
    assert_eq!(describe_reply(&call(CALL, Some(&state), None).await), r#"ok did {"n":7}"#);

    let state = request_state(call(CALL, None, None).await);
    tokio::time::sleep(Duration::from_secs(121)).await;
    assert!(gate.test.gate.approvals().waiting().is_empty(), "its time is over");
    let late = call(CALL, Some(&state), Some(YES)).await;
    assert!(matches!(late, Err(CallError::BadState(_))), "{late:?}");
    assert_eq!(gate.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn s_28_a_model_needs_leave_for_what_its_agent_does_not_run_by_itself() {
    let agent = Agent { auto_execute: vec![Glob::new("s_*")], ..Agent::implicit() };
    let gate = guarded_for(agent, Era::Modern, |rules, tools| {
        rules.tools.clear();
        for tool in tools {
            tool["annotations"] = json!({"readOnlyHint": true, "destructiveHint": false});
        }
    })
    .await;
    let client = nobody();
    let by = |decided_by| Caller { decided_by, ..Caller::silent(&client) };
    let mut evil = Box::pin(gate.test.call(CALL, by(Decider::Model)));
    assert!(futures_util::poll!(&mut evil).is_pending(), "its own word counts for nothing");
    assert_eq!(gate.waits().await.why.as_str(), "destructive");
    assert_eq!(gate.calls(), 0);
    assert_eq!(
        describe_reply(&gate.test.call(CALL, by(Decider::Client)).await),
        r#"ok did {"n":7}"#
    );
}

/// What a person agreed to is the tool as it was, for this agent.
#[tokio::test(start_paused = true)]
async fn s_25_a_tool_that_moved_while_its_call_waited_does_not_run() {
    let mut changed = tool("a");
    changed["inputSchema"]["properties"]["n"]["description"] = json!("another");
    for listed in [vec![changed, tool("b")], vec![tool("b")]] {
        let gate = guarded(Era::Modern).await;
        let client = nobody();
        let call = gate.test.call(CALL, Caller::silent(&client));
        let decide = async {
            let id = gate.waits().await.id;
            gate.test.lists(&listed).await;
            gate.decide(id, Decision::Approve).await.unwrap();
        };
        let text = describe_reply(&tokio::join!(call, decide).0);
        assert!(text.starts_with("denied `s_a` was not run: it was changed, withheld"), "{text}");
        assert_eq!(gate.calls(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_leave_holds_no_slot_and_takes_one_to_run() {
    let agent = Agent { concurrent: Some(1), ..Agent::implicit() };
    let gate = guarded_for(agent, Era::Modern, |_, _| {}).await;
    let client = nobody();
    let call = gate.test.call(CALL, Caller::silent(&client));
    let others = async {
        let id = gate.waits().await.id;
        let free = gate.test.call(r#"{"name":"s_b"}"#, Caller::silent(&client)).await;
        assert_eq!(describe_reply(&free), "ok did null", "the one that waits is in nobody's way");
        let turn = gate.test.turn();
        let request = policy::permit(&turn, request(r#"{"name":"s_b"}"#)).unwrap();
        let begin = |by| gate.test.gate.limits.begin(&turn, by, &request);
        let running = begin(Decider::Client).unwrap();
        assert!(begin(Decider::Gateway).is_ok(), "measurements are not counted");
        gate.decide(id, Decision::Approve).await.unwrap();
        running
    };
    let (reply, _running) = tokio::join!(call, others);
    assert!(
        describe_reply(&reply).starts_with("rate_limited agent `default` has 1 calls"),
        "{reply:?}"
    );
    assert_eq!(gate.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn calls_that_nobody_comes_back_for_are_bounded_and_leave_in_time() {
    let gate = guarded(Era::Modern).await;
    let client = someone();
    let call = async || gate.test.call(CALL, round(&client, None, None)).await;
    for _ in 0..256 {
        request_state(call().await);
        gate.decide(gate.waits().await.id, Decision::Approve).await.unwrap();
    }
    let refused = describe_reply(&call().await);
    assert!(refused.starts_with("rate_limited too many calls are awaiting"), "{refused}");
    assert!(gate.test.gate.approvals().waiting().is_empty(), "it waits nowhere else either");
    tokio::time::sleep(Duration::from_secs(121)).await;
    request_state(call().await);
}
