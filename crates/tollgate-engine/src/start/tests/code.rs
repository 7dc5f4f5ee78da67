//! Programs in a running gate: what their calls may do, wait for and cost, and what comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::sync::{Barrier, mpsc};
use tollgate_core::approval::{ApprovalVerdict, Decision};
use tollgate_core::budget::{Deadline, Tier};
use tollgate_core::call::Decider;
use tollgate_core::json::{raw, raw_value};
use tollgate_mcp::client::Event;
use tollgate_mcp::tasks;

use super::*;
use crate::audit::AuditLedger;
use crate::builtin::{
    self, BuiltinReply as Said, BuiltinTool, BuiltinToolContext, BuiltinToolError,
};
use crate::calibration::CalibrationMode;
use crate::caller::{CallError, Dialogue, RoundAnswers};
use crate::clock::{Clock as _, SystemClock};
use crate::gate::Gate;
use crate::record::{CallRecord, Observer};
use crate::settings::{CodeModeSettings, UnapprovedCallPolicy};

/// A tool that does what its name says; counts the calls that reached it, and those under way.
struct Lab {
    name: &'static str,
    counts: Arc<Counts>,
    /// Where three calls have to be at the same time to go on.
    meeting: Arc<Barrier>,
}

#[derive(Default)]
struct Counts {
    begun: AtomicUsize,
    ended: AtomicUsize,
}

#[async_trait]
impl BuiltinTool for Lab {
    fn definition(&self) -> Value {
        let any = json!({"type": "object"});
        json!({"name": self.name, "inputSchema": any, "annotations": {"readOnlyHint": true}})
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<Said, BuiltinToolError> {
        self.counts.begun.fetch_add(1, Ordering::SeqCst);
        let structured = match self.name {
            "echo" | "guarded" => json!({"given": arguments}),
            "slow" => {
                tokio::time::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap())).await;
                json!({"waited": arguments["ms"]})
            }
            "meet" => {
                self.meeting.wait().await;
                json!({"met": arguments["who"]})
            }
            "fail" => return Err(BuiltinToolError::new("the lab is on fire")),
            "big" => json!({"text": "x".repeat(arguments["bytes"].as_u64().unwrap() as usize)}),
            other => panic!("no tool {other}"),
        };
        self.counts.ended.fetch_add(1, Ordering::SeqCst);
        Ok(Said { text: "for people".to_owned(), structured: Some(structured) })
    }
}

struct Bench {
    running: RunningEngine,
    counts: Arc<Counts>,
    records: Arc<parking_lot::Mutex<Vec<String>>>,
    _data: tempfile::TempDir,
}

struct Remember(Arc<parking_lot::Mutex<Vec<String>>>);

impl Observer for Remember {
    fn observe(&self, record: &CallRecord) {
        let within = if record.within.is_some() { "in code: " } else { "" };
        self.0.lock().push(format!("{within}{} {}", record.name, record.end.as_str()));
    }
}

/// All tools are called in code; all but `guarded` run when a model wants them.
fn coder() -> Agent {
    let mut agent = Agent::implicit();
    agent.persona.code_mode = true;
    let automatic = ["echo", "slow", "fail", "big", "meet"];
    agent.auto_execute = automatic.map(Glob::new).to_vec();
    agent
}

impl Bench {
    async fn open(agent: Agent, change: impl FnOnce(&mut CodeModeSettings)) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut code =
            CodeModeSettings { worker: tollgate_testkit::worker(), ..CodeModeSettings::default() };
        change(&mut code);
        let settings = EngineSettings {
            agents: vec![agent],
            code,
            ..EngineSettings::new(data.path().to_owned())
        };
        let counts = Arc::<Counts>::default();
        let records = Arc::default();
        let meeting = Arc::new(Barrier::new(3));
        let tool = |name| -> Box<dyn BuiltinTool> {
            let counts = Arc::clone(&counts);
            let meeting = Arc::clone(&meeting);
            Box::new(Lab { name, counts, meeting })
        };
        let tools = ["echo", "guarded", "slow", "fail", "big", "meet"].map(tool).into();
        let parts = Parts {
            tools: vec![builtin::Server { name: "lab", tools }],
            observers: vec![Box::new(Remember(Arc::clone(&records)))],
            ledger: Arc::<AuditLedger>::default(),
            calibration: CalibrationMode::OnCommand,
            ..Parts::default()
        };
        let running = start(&settings, parts).unwrap();
        running.gate.wait_until_settled().await;
        Self { running, counts, records, _data: data }
    }

    fn gate(&self) -> &Arc<Gate> {
        &self.running.gate
    }

    fn turn(&self) -> Turn {
        self.gate().turn(TurnRequest::by(Actor::endless(Principal::from_name("ada")))).unwrap()
    }

    async fn ask(&self, source: &str, caller: Caller<'_>) -> Result<Reply, CallError> {
        self.ask_in(&self.turn(), source, caller).await
    }

    async fn ask_in(
        &self,
        turn: &Turn,
        source: &str,
        caller: Caller<'_>,
    ) -> Result<Reply, CallError> {
        let params = json!({"name": "executeToolCode", "arguments": {"code": source}});
        let params = Object::parse(&params.to_string()).unwrap().into_owned();
        self.gate().call(turn, GateRequest { kind: RequestKind::CallTool, params }, caller).await
    }

    /// What a model is told of such a program.
    async fn run(&self, source: &str) -> String {
        describe_reply(&self.ask(source, Caller::silent(&ClientFacts::default())).await)
    }

    /// The approval that waits, once it does.
    async fn waits(&self) -> ApprovalVerdict {
        loop {
            if let [one] = &self.gate().approvals().waiting()[..] {
                let by = Principal::from_name("boss");
                return ApprovalVerdict { id: one.id, decision: Decision::Approve, by, note: None };
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

fn describe_reply(reply: &Result<Reply, CallError>) -> String {
    match reply {
        Ok(Reply::Tool(outcome)) => {
            let result: Value = serde_json::from_str(outcome.result.get()).unwrap();
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            format!("{} {text}", outcome.status)
        }
        Ok(Reply::InputRequired(_)) => "input required".to_owned(),
        Ok(Reply::Result(_) | Reply::Task(_)) => "something else".to_owned(),
        Err(error) => format!("error: {error}"),
    }
}

#[tokio::test]
async fn a_program_gets_data_and_only_its_words_come_back() {
    let bench = Bench::open(coder(), |_| {}).await;
    let program = "
first = lab.echo(n=12345678901234567890)
print('n is', first['given']['n'])
result = {'same': lab.echo({'n': None})['given'], 'text': 'ü'}
";
    let expected = r#"ok n is 12345678901234567890
result = {"same":{"n":null},"text":"ü"}"#;
    assert_eq!(bench.run(program).await, expected);
    let records = bench.records.lock().clone();
    assert_eq!(records, ["in code: echo ok", "in code: echo ok", "executeToolCode ok"]);
}

#[tokio::test]
async fn a_tool_that_fails_ends_a_program_unless_it_is_expected_to() {
    let bench = Bench::open(coder(), |_| {}).await;
    let text = bench.run("print('before')\nlab.fail()\nprint('after')").await;
    assert_eq!(
        text,
        "error `lab.fail` failed (error): the lab is on fire\nline 2: lab.fail()\nhint: to \
         continue after a failure: `outcome = try_call(server.tool, name=value)`, then look at \
         `outcome.ok`, `outcome.value` and `outcome.error`\n1 call was made before; nothing is \
         undone\nprinted before:\nbefore"
    );
    let caught = "r = try_call(lab.fail)\nresult = [r.ok, r.error, r['status'], r.retryable]";
    let expected = r#"ok [false,"the lab is on fire","error",true]"#;
    assert_eq!(bench.run(caught).await, expected);
}

#[tokio::test]
async fn calls_in_parallel_run_side_by_side_and_answer_in_order() {
    let bench = Bench::open(coder(), |_| {}).await;
    let program = "
calls = [(lab.meet, {'who': who}) for who in ['c', 'a', 'b']]
result = [it['met'] for it in parallel(calls)]
";
    assert_eq!(bench.run(program).await, r#"ok ["c","a","b"]"#);
}

#[tokio::test]
async fn s_29_a_program_reaches_what_its_turn_may_call_and_nothing_else() {
    let mut agent = coder();
    agent.tools = vec![Glob::new("echo")];
    let bench = Bench::open(agent, |_| {}).await;
    for escape in [
        "lab.big(bytes=1)",
        "getattr(lab, 'big')(bytes=1)",
        "x = lab\nx.big(bytes=1)",
        "[lab][0].big(bytes=1)",
        "{'l': lab}['l'].big(bytes=1)",
        "def f(s): return s.big(bytes=1)\nf(lab)",
        "(lambda: lab.big(bytes=1))()",
        "try_call(lab.big, bytes=1)",
        "parallel([(lab.big, {'bytes': 1})])",
        "code.executeToolCode(code='1')",
        "executeToolCode(code='1')",
        "dice.roll(expression='1d6')",
    ] {
        let text = bench.run(escape).await;
        assert!(text.starts_with("error "), "{escape}: {text}");
    }
    assert_eq!(bench.counts.begun.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_tool_that_is_called_in_code_is_not_called_by_its_name() {
    let bench = Bench::open(coder(), |_| {}).await;
    let params = Object::parse(r#"{"name":"echo","arguments":{}}"#).unwrap();
    let request = GateRequest { kind: RequestKind::CallTool, params };
    let client = ClientFacts::default();
    let reply = bench.gate().call(&bench.turn(), request, Caller::silent(&client)).await;
    assert!(
        describe_reply(&reply).starts_with("denied `echo` can be called from code only"),
        "{}",
        describe_reply(&reply)
    );
    assert_eq!(bench.counts.begun.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_call_that_needs_leave_pauses_the_program_and_then_it_goes_on() {
    let bench = Bench::open(coder(), |code| code.limits.time = Duration::from_millis(3_500)).await;
    // The start of a worker would count.
    Arc::clone(bench.gate()).warm().await;
    let program = "print(1)\nx = lab.guarded(n=7)\nprint(2)\nresult = x['given']";
    let decided = async {
        let verdict = bench.waits().await;
        // Longer than the program has: its own time stands still.
        tokio::time::sleep(Duration::from_millis(4_000)).await;
        assert_eq!(bench.counts.begun.load(Ordering::SeqCst), 0);
        bench.gate().judge(verdict).await.unwrap();
    };
    let (text, ()) = tokio::join!(bench.run(program), decided);
    assert_eq!(text, "ok 1\n2\nresult = {\"n\":7}");
}

#[tokio::test]
async fn a_call_that_is_denied_fails_in_the_program() {
    let bench = Bench::open(coder(), |_| {}).await;
    let decided = async {
        let verdict = ApprovalVerdict { decision: Decision::Deny, ..bench.waits().await };
        bench.gate().judge(verdict).await.unwrap();
    };
    let program = "r = try_call(lab.guarded)\nresult = [r.ok, r.status]";
    let (text, ()) = tokio::join!(bench.run(program), decided);
    assert_eq!(text, r#"ok [false,"denied"]"#);
    assert_eq!(bench.counts.begun.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn programs_do_not_wait_for_leave_where_the_operator_says_so() {
    let bench = Bench::open(coder(), |code| code.unapproved = UnapprovedCallPolicy::Refused).await;
    let text = bench.run("f = lab.guarded\nf(n=1)").await;
    let refused = "error `lab.guarded` failed (denied): `guarded` cannot be called in a program: \
                   the model requested the call, and the agent's `auto_execute` does not include \
                   this tool";
    assert!(text.starts_with(refused), "{text}");
    assert_eq!(bench.counts.begun.load(Ordering::SeqCst), 0);
    let records = bench.records.lock().clone();
    assert_eq!(records, ["in code: guarded denied", "executeToolCode error"]);
}

#[tokio::test]
async fn a_person_who_runs_a_program_needs_nobodys_leave() {
    let bench = Bench::open(coder(), |_| {}).await;
    let client = ClientFacts::default();
    let caller = Caller::silent(&client);
    assert_eq!(caller.decided_by, Decider::Client);
    let ended = bench.gate().code(&bench.turn(), "result = lab.guarded(n=1)", caller).await;
    assert_eq!(ended.unwrap().result.unwrap().unwrap().get(), r#"{"given":{"n":1}}"#);
}

fn someone() -> ClientFacts {
    let capabilities = Some(raw(r#"{"elicitation":{}}"#.to_owned()));
    ClientFacts { capabilities, ..ClientFacts::default() }
}

#[tokio::test]
async fn who_can_be_asked_at_once_is_asked_in_the_middle_of_a_program() {
    let bench = Bench::open(coder(), |_| {}).await;
    let (events, mut receiver) = mpsc::channel(4);
    let client = someone();
    let caller =
        Caller { events: Some(events), dialogue: Dialogue::Live, ..Caller::silent(&client) };
    let person = async {
        let Some(Event::Question(question)) = receiver.recv().await else { panic!("no question") };
        assert_eq!(question.method, "elicitation/create");
        let yes = json!({"action": "accept", "content": {"approve": true}});
        question.reply.send(Ok(raw_value(&yes))).unwrap();
    };
    let program = "result = lab.guarded(n=1)['given']['n'] + lab.echo(n=2)['given']['n']";
    let (reply, ()) = tokio::join!(bench.ask(program, caller), person);
    assert_eq!(describe_reply(&reply), "ok 3");
}

#[tokio::test]
async fn who_has_to_come_back_finds_the_program_where_it_was() {
    let bench = Bench::open(coder(), |_| {}).await;
    let program = "a = lab.echo(n=1)\nb = lab.guarded(n=2)\nresult = [a, b]";
    let client = someone();
    let caller = |retry| Caller { dialogue: Dialogue::Rounds(retry), ..Caller::silent(&client) };
    let request = match bench.ask(program, caller(RoundAnswers::default())).await {
        Ok(Reply::InputRequired(request)) => serde_json::from_str::<Value>(request.get()).unwrap(),
        other => panic!("{}", describe_reply(&other)),
    };
    let questions = request["inputRequests"].as_object().unwrap();
    let yes = json!({"action": "accept", "content": {"approve": true}});
    let answers: Map<String, Value> =
        questions.keys().map(|key| (key.clone(), yes.clone())).collect();
    let retry = RoundAnswers {
        state: Some(request["requestState"].as_str().unwrap().to_owned()),
        responses: Some(raw_value(&Value::Object(answers))),
    };
    let reply = bench.ask(program, caller(retry)).await;
    assert_eq!(describe_reply(&reply), r#"ok [{"given":{"n":1}},{"given":{"n":2}}]"#);
    // Nothing was called twice.
    assert_eq!(bench.counts.begun.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn the_wall_of_the_turn_ends_a_program_and_what_it_waits_for() {
    let endless = |code: &mut CodeModeSettings| code.limits.fence.steps = u64::MAX;
    let bench = Bench::open(coder(), endless).await;
    let slow = "lab.slow(ms=60000)";
    let endless = "for i in range(2000000000):\n  pass";
    let rounds = Dialogue::Rounds(RoundAnswers::default());
    for (last, dialogue) in [(slow, Dialogue::Nobody), (endless, Dialogue::Nobody), (slow, rounds)]
    {
        let program = format!("print('so far')\n{last}");
        let mut text = String::new();
        // A machine that is busy at the wall has no time for last words.
        for _ in 0..5 {
            let deadline = Deadline::after(SystemClock.now(), Duration::from_secs(2));
            let turn = Turn { deadline: Some(deadline), ..bench.turn() };
            let client = someone();
            let caller = Caller { dialogue: dialogue.clone(), ..Caller::silent(&client) };
            text = describe_reply(&bench.ask_in(&turn, &program, caller).await);
            if text.contains("so far") {
                break;
            }
        }
        assert!(text.starts_with("error the program took too long: "), "{last}: {text}");
        assert!(text.ends_with("printed before:\nso far"), "{last}: {text}");
    }
    assert_eq!(bench.counts.ended.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn who_goes_away_takes_the_program_along() {
    let bench = Arc::new(Bench::open(coder(), |_| {}).await);
    let there = Arc::clone(&bench);
    let task = tasks::spawn("caller", async move {
        there.run("lab.slow(ms=1)\nlab.slow(ms=60000)\nlab.slow(ms=1)").await;
    });
    while bench.counts.begun.load(Ordering::SeqCst) < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(task);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(bench.counts.begun.load(Ordering::SeqCst), 2);
    assert_eq!(bench.counts.ended.load(Ordering::SeqCst), 1);
    assert!(bench.records.lock().contains(&"in code: slow cancelled".to_owned()));
}

#[tokio::test]
async fn a_large_result_comes_whole_or_not_at_all() {
    let bench = Bench::open(coder(), |_| {}).await;
    let whole = bench.run("result = len(lab.big(bytes=2000000)['text'])").await;
    assert_eq!(whole, "ok 2000000");
    let text = bench.run("result = len(lab.big(bytes=9000000)['text'])").await;
    let refused = "error `lab.big` failed (error): `big` returned more than a program accepts";
    assert!(text.starts_with(refused), "{text}");
}

#[tokio::test]
async fn results_that_are_too_much_together_become_failures_one_by_one() {
    let bench = Bench::open(coder(), |code| code.memory_bytes = 1 << 30).await;
    let program = "
all = parallel([(lab.big, {'bytes': 6000000})] * 4, catch=True)
result = [it.ok for it in all]
";
    assert_eq!(bench.run(program).await, "ok [true,true,false,false]");
}

#[tokio::test]
async fn calls_of_programs_are_counted_as_all_others() {
    let mut agent = coder();
    agent.concurrent = Some(1);
    let bench = Bench::open(agent, |_| {}).await;
    assert_eq!(bench.run("result = lab.echo(n=1)['given']['n']").await, "ok 1");
    let program = "
all = parallel([(lab.slow, {'ms': 50}), (lab.slow, {'ms': 50})], catch=True)
result = sorted([it.status for it in all])
";
    assert_eq!(bench.run(program).await, r#"ok ["ok","rate_limited"]"#);
}

#[tokio::test]
async fn a_tier_takes_slow_tools_from_programs_too() {
    let bench = Bench::open(coder(), |_| {}).await;
    let view = |tier| {
        let budget = tollgate_core::agent::RequestedTier::Override(tier);
        let turn_request =
            TurnRequest { budget, ..TurnRequest::by(Actor::endless(Principal::from_name("ada"))) };
        bench.gate().turn(turn_request).unwrap()
    };
    // Nothing is known of the lab's tools: they are standard.
    let client = ClientFacts::default();
    let program = "result = lab.echo(n=1)['given']['n']";
    let standard = bench.ask_in(&view(Tier::Standard), program, Caller::silent(&client)).await;
    assert_eq!(describe_reply(&standard), "ok 1");
    let ended = bench.gate().code(&view(Tier::Fast), program, Caller::silent(&client)).await;
    assert!(ended.unwrap().result.is_err());
}

#[tokio::test]
async fn without_a_worker_a_model_is_told_so() {
    let bench = Bench::open(coder(), |code| code.worker = "/nowhere/tollgate-worker".into()).await;
    let text = bench.run("result = 1").await;
    assert!(text.starts_with("offline "), "{text}");
    assert!(!text.contains("/nowhere"), "where it should be is the operator's business: {text}");
    let client = ClientFacts::default();
    let ended = bench.gate().code(&bench.turn(), "result = 1", Caller::silent(&client)).await;
    let why = ended.unwrap_err().to_string();
    assert!(why.contains("/nowhere/tollgate-worker"), "{why}");
}

#[tokio::test]
async fn code_mode_comes_and_goes_with_the_config() {
    let bench = Bench::open(coder(), |_| {}).await;
    let names = |bench: &Bench| {
        let turn = bench.turn();
        let names: Vec<String> =
            turn.view.tools().iter().map(|it| it.exposed.to_string()).collect();
        names.join(" ")
    };
    let means = "executeToolCode getToolDocs listToolFiles readToolFile searchTools";
    assert_eq!(names(&bench), means);
    let mut plain = EngineSettings::new(bench._data.path().to_owned());
    plain.agents = vec![Agent::implicit()];
    bench.running.reconfigure(&plain, || {}).await;
    assert!(names(&bench).contains("echo"), "{}", names(&bench));
    assert!(!names(&bench).contains("executeToolCode"), "{}", names(&bench));
}

/// A reload that loosens the limits of programs does not reach a turn that has begun.
#[tokio::test]
async fn a_program_has_the_limits_that_its_turn_began_with() {
    let bench = Bench::open(coder(), |code| code.limits.fence.calls = 1).await;
    let turn = bench.turn();
    let code =
        CodeModeSettings { worker: tollgate_testkit::worker(), ..CodeModeSettings::default() };
    let folder = bench._data.path().to_owned();
    let loose = EngineSettings { agents: vec![coder()], code, ..EngineSettings::new(folder) };
    bench.running.reconfigure(&loose, || {}).await;
    let program = "lab.echo(n=1)\nlab.echo(n=2)\nresult = 2";
    let client = ClientFacts::default();
    let old = describe_reply(&bench.ask_in(&turn, program, Caller::silent(&client)).await);
    assert!(old.starts_with("error ") && old.contains("1 call"), "{old}");
    assert_eq!(bench.counts.begun.load(Ordering::SeqCst), 1);
    assert_eq!(bench.run(program).await, "ok 2");
}

#[tokio::test]
async fn a_model_reads_how_tools_are_called_and_what_they_returned_so_far() {
    let bench = Bench::open(coder(), |_| {}).await;
    let look = |name: &'static str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        let params = Object::parse(&params.to_string()).unwrap().into_owned();
        let bench = &bench;
        let client = ClientFacts::default();
        async move {
            let request = GateRequest { kind: RequestKind::CallTool, params };
            describe_reply(
                &bench.gate().call(&bench.turn(), request, Caller::silent(&client)).await,
            )
        }
    };
    assert!(look("listToolFiles", json!({})).await.contains("lab.pyi"));
    let before = look("getToolDocs", json!({"server": "lab", "tool": "slow"})).await;
    assert!(before.contains("unknown shape"), "{before}");
    bench.run("lab.slow(ms=1)\nlab.slow(ms=2)").await;
    let after = look("getToolDocs", json!({"server": "lab", "tool": "slow"})).await;
    assert!(after.contains("{\"waited\": int}"), "{after}");
    assert!(look("searchTools", json!({"query": "echo"})).await.contains("lab.echo("));
    assert!(look("readToolFile", json!({"fileName": "lab"})).await.contains("def slow("));
    let missed = look("readToolFile", json!({"fileName": "laboratory"})).await;
    assert!(missed.starts_with("error "), "{missed}");
}

#[tokio::test]
async fn s_29_what_is_taken_away_while_a_program_runs_cannot_be_called_any_more() {
    let bench = Bench::open(coder(), |_| {}).await;
    let mut narrow = coder();
    narrow.tools = vec![Glob::new("meet")];
    let mut settings = EngineSettings::new(bench._data.path().to_owned());
    settings.agents = vec![narrow];
    settings.code.worker = tollgate_testkit::worker();
    let program = "
parallel([(lab.meet, {'who': 1})] * 2)
r = try_call(lab.echo)
result = [r.status, r.error]
";
    let changed = async {
        while bench.counts.begun.load(Ordering::SeqCst) < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        bench.running.reconfigure(&settings, || {}).await;
        bench.run("lab.meet(who=1)").await;
    };
    let (text, ()) = tokio::join!(bench.run(program), changed);
    assert_eq!(text, r#"ok ["denied","`echo` was removed while the program ran"]"#);
}

#[tokio::test]
async fn a_program_by_hand_is_recorded_and_counted_as_one_call() {
    let mut agent = coder();
    agent.rate_limit = tollgate_core::rate::RateLimit::parse("3/min");
    let bench = Bench::open(agent, |_| {}).await;
    let client = ClientFacts::default();
    let turn = bench.turn();
    let run = || bench.gate().code(&turn, "lab.echo(n=1)", Caller::silent(&client));
    run().await.unwrap().result.unwrap();
    assert_eq!(bench.records.lock().clone(), ["in code: echo ok", "executeToolCode ok"]);
    let ended = run().await.unwrap();
    assert!(ended.result.is_err(), "there is none left for its call");
    assert!(run().await.unwrap_err().to_string().contains("try again in"));
    assert_eq!(bench.records.lock().last().unwrap(), "executeToolCode rate_limited");
}
