use std::time::Duration;

use async_trait::async_trait;
use serde_json::value::RawValue;

use crate::clock;
use crate::fake_worker::{
    FakeWorker, GatedHost, NumberHost, describe_outcome, run, settings, wait_until_gone,
};
use crate::frames::{Answer, InterpreterLimits, ProgramCall};
use crate::host::{CallsRefusedError, HostCalls};
use crate::limits::Limits;
use crate::program::{ProgramOutcome, SandboxProgram};
use crate::sandbox::{ProgramSandbox, SandboxSettings};
use crate::stopwatch::Stopwatch;

const SHORT: Duration = Duration::from_millis(400);
const LONG: Duration = Duration::from_secs(30);

fn limits() -> Limits {
    Limits { time: LONG, ..Limits::default() }
}

async fn ran(script: &str, limits: &Limits) -> ProgramOutcome {
    let fake = FakeWorker::after_ready(script);
    let ended = run(&warm(&fake).await, limits, &NumberHost).await.unwrap();
    wait_until_gone(&fake.started_processes()).await;
    ended
}

/// With a worker that is ready: its start would count.
async fn warm(fake: &FakeWorker) -> ProgramSandbox {
    let sandbox = fake.sandbox();
    sandbox.warm().await.unwrap();
    sandbox
}

async fn check(script: &str, expected: &str) {
    let text = describe_outcome(&ran(script, &limits()).await);
    assert!(text.starts_with(expected), "{script}: {text}");
}

#[tokio::test]
async fn prints_calls_and_the_result_come_back() {
    let script = "say({'print': 'a\\nb'})\nsay({'print': 'c\\n'})\ndone([call(7), call(8)])";
    let ended = ran(script, &limits()).await;
    assert_eq!(describe_outcome(&ended), r#"[{"data": 7}, {"data": 8}]"#);
    assert_eq!((ended.prints.as_str(), ended.calls, ended.steps), ("a\nbc\n", 2, 1));
}

#[tokio::test]
async fn a_program_arrives_with_its_names_and_its_fence() {
    check("done([job['source'], job['names'], job['fence']['calls']])", "[\"result = 1\", [[")
        .await;
}

#[tokio::test]
async fn a_program_that_fails_says_where() {
    let script = "say({'failed': {'kind': 'runtime', 'message': 'm' * 9000, 'line': 3, \
                  'column': 1, 'text': 't' * 9000, 'hint': None}})";
    let failed = ran(script, &limits()).await.result.unwrap_err();
    assert_eq!(
        (failed.line, failed.message.len(), failed.text.unwrap().len()),
        (Some(3), 2003, 303)
    );
}

#[tokio::test]
async fn a_worker_that_speaks_nonsense_is_ended_and_named() {
    let nonsense = "Runtime: the program's process was killed because it sent invalid data";
    for script in [
        "raw(b'\\xff\\xff\\xff\\xff')",
        "raw(b'Traceback (most recent call last)')",
        "raw(struct.pack('<I', 3) + b'{]}')",
        "raw(struct.pack('<I', 0))",
        "say({'dance': 1})\ntime.sleep(60)",
        "say({'print': 7})\ntime.sleep(60)",
        "ready()\ntime.sleep(60)",
        "say({'calls': []})\ntime.sleep(60)",
        "raw(struct.pack('<I', 5 << 20) + b'x' * (5 << 20))\ntime.sleep(60)",
    ] {
        check(script, nonsense).await;
    }
}

#[tokio::test]
async fn a_worker_that_dies_leaves_its_reason() {
    for (script, expected) in [
        ("print('memory allocation of 7 bytes failed', file=sys.stderr)\ndie(6)", "Memory: "),
        ("print('thread has overflowed its stack', file=sys.stderr)\ndie(6)", "Depth: "),
        ("die(signal.SIGSEGV)", "Depth: "),
        ("die(signal.SIGXCPU)", "Time: "),
        ("die(signal.SIGSYS)", "Runtime: the program did something that is not allowed here"),
        ("die(signal.SIGKILL)", "Memory: the program's process was killed from outside"),
        ("sys.exit(0)", "Runtime: the program crashed the interpreter (its process ended"),
        (
            "sys.exit('it broke')",
            "Runtime: the program crashed the interpreter (exit status: 1): it br",
        ),
        (
            "raw(b'\\x09\\0\\0\\0{')\nsys.exit(4)",
            "Runtime: the program crashed the interpreter (exit",
        ),
        ("os.close(1)\ntime.sleep(60)", "Runtime: the program's process stopped responding"),
    ] {
        check(script, expected).await;
    }
}

#[tokio::test]
async fn prints_before_a_death_are_kept() {
    let ended = ran("say({'print': 'so far'})\ncall()\ndie(signal.SIGSEGV)", &limits()).await;
    assert_eq!((ended.prints.as_str(), ended.calls), ("so far", 1));
}

#[tokio::test]
async fn b_st_13_prints_without_end_are_cut() {
    let fence = InterpreterLimits { output_bytes: 1000, ..Limits::default().fence };
    for piece in ["'é' * 60", "'x' * 100000"] {
        let script = format!("while True: say({{'print': {piece}}})");
        let ended = ran(&script, &Limits { fence, ..limits() }).await;
        assert_eq!(
            describe_outcome(&ended),
            "Output: prints and `result` together are limited to 1000 bytes"
        );
        assert_eq!(ended.prints.len(), 1000);
    }
}

#[tokio::test]
async fn b_st_13_a_result_counts_as_output() {
    let fence = InterpreterLimits { output_bytes: 1000, ..Limits::default().fence };
    let script = "say({'print': 'x' * 600})\ndone('y' * 600)";
    let ended = ran(script, &Limits { fence, ..limits() }).await;
    assert_eq!(
        describe_outcome(&ended),
        "Output: prints and `result` together are limited to 1000 bytes"
    );
}

#[tokio::test]
async fn b_st_12_calls_without_end_are_stopped() {
    let ended = ran("while True: call()", &limits()).await;
    assert_eq!(
        (describe_outcome(&ended).as_str(), ended.calls),
        ("Calls: a program is limited to 50 calls", 50)
    );
    let many =
        "say({'calls': [{'tool': 0, 'positional': [], 'named': {}, 'line': 1}] * 51})\nhear()";
    assert_eq!(ran(many, &limits()).await.calls, 0);
}

#[tokio::test]
async fn what_a_worker_complains_about_does_not_hold_it_up() {
    let script = "sys.stderr.write('x' * (8 << 20))\nsys.stderr.flush()\ndone(1)";
    check(script, "1").await;
}

#[tokio::test]
async fn a_worker_that_hangs_is_out_of_time() {
    for script in [
        "time.sleep(60)",
        "while True: pass",
        "raw(b'\\x09\\0')\ntime.sleep(60)",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)",
        "while True: sys.stderr.write('x' * 1000)",
        // Nobody waits for longer to see how it ends.
        "os.close(1)\ntime.sleep(60)",
    ] {
        let ended = ran(script, &Limits { time: SHORT, ..limits() }).await;
        let expected = "Time: the program took longer than its limit of 400ms";
        assert_eq!(describe_outcome(&ended), expected, "{script}");
    }
}

#[tokio::test]
async fn a_worker_that_does_not_listen_is_out_of_time() {
    let script = "say({'calls': [{'tool': 0, 'positional': [], 'named': {}, 'line': 1}]})\n\
                  time.sleep(60)";
    let fake = FakeWorker::after_ready(script);
    let limits = Limits { time: SHORT, ..limits() };
    let ended = run(&warm(&fake).await, &limits, &Large(8 << 20)).await.unwrap();
    assert!(describe_outcome(&ended).starts_with("Time: "), "{ended:?}");
}

/// Answers with so many bytes.
struct Large(usize);

#[async_trait]
impl HostCalls for Large {
    async fn call(&self, calls: Vec<ProgramCall>, _time: &Stopwatch) -> Vec<Answer> {
        let text = format!("\"{}\"", "x".repeat(self.0));
        let data = RawValue::from_string(text).unwrap();
        let small = RawValue::from_string("1".to_owned()).unwrap();
        let of = |place: usize| if place == 0 { data.clone() } else { small.clone() };
        (0..calls.len()).map(|place| Answer::Data(of(place))).collect()
    }
}

#[tokio::test]
async fn a_result_that_is_too_large_fails_alone() {
    let script = "say({'calls': [{'tool': 0, 'positional': [], 'named': {}, 'line': 1}] * 2})\n\
                  one, two = hear()['answers']\ndone([one['failure']['status'], two])";
    let fake = FakeWorker::after_ready(script);
    let ended = run(&fake.sandbox(), &limits(), &Large(20 << 20)).await.unwrap();
    assert_eq!(describe_outcome(&ended), r#"["too_large", {"data": 1}]"#);
}

/// Fails with this text.
struct Loud(String);

#[async_trait]
impl HostCalls for Loud {
    async fn call(&self, calls: Vec<ProgramCall>, _time: &Stopwatch) -> Vec<Answer> {
        let status = "error".to_owned();
        let message = self.0.clone();
        let failure = || Answer::Failure {
            status: status.clone(),
            message: message.clone(),
            retryable: true,
        };
        calls.iter().map(|_| failure()).collect()
    }
}

#[tokio::test]
async fn failures_that_are_too_large_are_replaced_as_results_are() {
    let script = "say({'calls': [{'tool': 0, 'positional': [], 'named': {}, 'line': 1}] * 2})\n\
                  done([answer['failure']['status'] for answer in hear()['answers']])";
    for (message, expected) in [
        ("x".repeat(9 << 20), r#"["too_large", "error"]"#),
        // Six bytes each, once they are written.
        ("\u{1}".repeat(3 << 19), r#"["too_large", "error"]"#),
        ("x".repeat(3 << 19), r#"["error", "error"]"#),
    ] {
        let fake = FakeWorker::after_ready(script);
        let ended = run(&fake.sandbox(), &limits(), &Loud(message)).await.unwrap();
        assert_eq!(describe_outcome(&ended), expected);
    }
}

/// Time passes, while everybody else stands still.
async fn passes(long: Duration) {
    // Whoever waits sees first what was done just before.
    tokio::task::yield_now().await;
    tokio::time::pause();
    tokio::time::advance(long).await;
    tokio::time::resume();
}

/// Waits for a person, for so long.
struct Person(Duration);

#[async_trait]
impl HostCalls for Person {
    async fn call(&self, calls: Vec<ProgramCall>, time: &Stopwatch) -> Vec<Answer> {
        let _held = time.hold();
        passes(self.0).await;
        NumberHost.call(calls, time).await
    }
}

#[tokio::test]
async fn waiting_for_a_person_takes_none_of_the_programs_time() {
    let fake = FakeWorker::after_ready("done(call(5))");
    let ended = run(&fake.sandbox(), &limits(), &Person(4 * LONG)).await.unwrap();
    assert_eq!(describe_outcome(&ended), r#"{"data": 5}"#);
    assert!(ended.took >= 4 * LONG);
}

/// Needs so long for its answer.
struct Slow(Duration);

#[async_trait]
impl HostCalls for Slow {
    async fn call(&self, calls: Vec<ProgramCall>, time: &Stopwatch) -> Vec<Answer> {
        passes(self.0).await;
        NumberHost.call(calls, time).await
    }
}

#[tokio::test]
async fn waiting_for_a_turn_takes_of_the_programs_time() {
    for (slow, expected) in [
        (LONG / 4, r#"{"data": 5}"#),
        (3 * LONG / 4, "Time: the program took longer than its limit of 30s"),
    ] {
        let fake = FakeWorker::after_ready("done(call(5))");
        let sandbox =
            ProgramSandbox::new(SandboxSettings { together: 1, ..settings(fake.program.clone()) });
        let before = GatedHost::default();
        let patient = Limits { time: 10 * LONG, ..limits() };
        let limits = limits();
        let slow = Slow(slow);
        let waits = async {
            before.called.notified().await;
            let meanwhile = async {
                passes(LONG / 3).await;
                before.go.notify_one();
            };
            tokio::join!(run(&sandbox, &limits, &slow), meanwhile).0
        };
        let (first, second) = tokio::join!(run(&sandbox, &patient, &before), waits);
        assert_eq!(describe_outcome(&first.unwrap()), r#"{"data": 5}"#);
        assert_eq!(describe_outcome(&second.unwrap()), expected);
    }
}

#[tokio::test]
async fn the_turn_ends_whoever_is_waited_for() {
    let fake = FakeWorker::after_ready("done(call(5))");
    let names = RawValue::from_string("[]".to_owned()).unwrap();
    let until = Some((clock::now() + LONG).into_std());
    let program =
        SandboxProgram { source: "x", names: &names, limits: &limits(), owner: None, until };
    let ended = fake.sandbox().run(&program, &Person(2 * LONG)).await.unwrap();
    assert_eq!(describe_outcome(&ended), "Time: the program took longer than its turn");
    wait_until_gone(&fake.started_processes()).await;
}

/// Waits for somebody to approve the call.
struct Approver;

#[async_trait]
impl HostCalls for Approver {
    async fn call(&self, calls: Vec<ProgramCall>, time: &Stopwatch) -> Vec<Answer> {
        let _held = time.hold_for("`mail_send` (line 1) waits for approval".to_owned());
        passes(2 * LONG).await;
        NumberHost.call(calls, time).await
    }
}

#[tokio::test]
async fn a_program_that_waits_for_approval_at_the_end_of_its_turn_is_told_for_which_call() {
    let fake = FakeWorker::after_ready("done(call(5))");
    let names = RawValue::from_string("[]".to_owned()).unwrap();
    let until = Some((clock::now() + LONG).into_std());
    let program =
        SandboxProgram { source: "x", names: &names, limits: &limits(), owner: None, until };
    let ended = fake.sandbox().run(&program, &Approver).await.unwrap();
    let told = describe_outcome(&ended);
    assert!(told.contains("`mail_send` (line 1) waits for approval"), "{told}");
    let hint = ended.result.unwrap_err().hint.unwrap();
    assert!(!hint.contains("do less"), "{hint}");
}

/// Lets no call through.
struct Denying;

#[async_trait]
impl HostCalls for Denying {
    async fn call(&self, calls: Vec<ProgramCall>, _time: &Stopwatch) -> Vec<Answer> {
        let denied = |_| Answer::Failure {
            status: "denied".to_owned(),
            message: "no".to_owned(),
            retryable: false,
        };
        calls.into_iter().map(denied).collect()
    }
}

#[tokio::test]
async fn calls_that_are_denied_do_not_count_as_made() {
    let fake = FakeWorker::after_ready("done([call(1), call(2)])");
    let ended = run(&fake.sandbox(), &limits(), &Denying).await.unwrap();
    assert_eq!(ended.calls, 0);
}

#[tokio::test]
async fn a_host_that_forgets_an_answer_is_found_out() {
    struct Forgetful;
    #[async_trait]
    impl HostCalls for Forgetful {
        async fn call(&self, _calls: Vec<ProgramCall>, _time: &Stopwatch) -> Vec<Answer> {
            Vec::new()
        }
    }
    let fake = FakeWorker::after_ready("call()");
    let ended = run(&fake.sandbox(), &limits(), &Forgetful).await.unwrap();
    assert_eq!(describe_outcome(&ended), "Runtime: the gateway answered 0 of 1 calls");
}

#[tokio::test]
async fn s_33_calls_that_the_host_does_not_admit_end_the_program() {
    #[derive(Default)]
    struct OneCall(std::sync::atomic::AtomicU32);
    #[async_trait]
    impl HostCalls for OneCall {
        fn admit(&self, calls: u32) -> Result<(), CallsRefusedError> {
            let before = self.0.fetch_add(calls, std::sync::atomic::Ordering::Relaxed);
            if before == 0 { Ok(()) } else { Err(CallsRefusedError("one is enough".to_owned())) }
        }

        async fn call(&self, calls: Vec<ProgramCall>, time: &Stopwatch) -> Vec<Answer> {
            NumberHost.call(calls, time).await
        }
    }
    let fake = FakeWorker::after_ready("call(5)\ncall(6)\ndone(call(7))");
    let ended = run(&fake.sandbox(), &limits(), &OneCall::default()).await.unwrap();
    assert_eq!(describe_outcome(&ended), "Calls: one is enough");
    assert_eq!(ended.calls, 1);
    wait_until_gone(&fake.started_processes()).await;
}
