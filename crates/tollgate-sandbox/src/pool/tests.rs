use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::WorkerPool;
use crate::clock;
use crate::fake_worker::{
    FakeWorker, GatedHost, NumberHost, describe_outcome, run, settings, wait_until_gone,
};
use crate::frames::{Answer, ProgramCall};
use crate::host::HostCalls;
use crate::limits::Limits;
use crate::sandbox::{ProgramSandbox, SandboxSettings, SandboxUnavailableError};
use crate::stopwatch::Stopwatch;
use crate::worker::WorkerLaunch;

fn keeping(fake: &FakeWorker, spare: usize) -> ProgramSandbox {
    ProgramSandbox::new(SandboxSettings { spare, ..settings(fake.program.clone()) })
}

/// Waits until so many processes were started.
async fn starts(fake: &FakeWorker, count: usize) -> Vec<u32> {
    let patience = tokio::time::timeout(Duration::from_secs(20), async {
        while fake.started_processes().len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    patience.await.expect("no worker was started");
    fake.started_processes()
}

async fn works(sandbox: &ProgramSandbox) {
    let ended = run(sandbox, &Limits::default(), &NumberHost).await.unwrap();
    assert_eq!(describe_outcome(&ended), "1");
}

const GOOD: &str = "done(1)";

#[tokio::test]
async fn nothing_is_started_before_it_is_wanted() {
    let fake = FakeWorker::after_ready(GOOD);
    let program = fake.program.clone();
    let cpu = Duration::from_secs(60);
    let pool = Arc::new(WorkerPool::new(WorkerLaunch { program, memory_bytes: 256 << 20, cpu }, 1));
    let keeps = || pool.state.lock().refill.is_some();
    assert!(!keeps());
    let worker = pool.take(clock::now() + Duration::from_secs(20)).await;
    assert!(worker.is_ok() && keeps());
    starts(&fake, 2).await;
}

#[tokio::test]
async fn every_program_has_a_process_of_its_own() {
    let fake = FakeWorker::after_ready("done(os.getpid())");
    let sandbox = keeping(&fake, 2);
    let mut processes = Vec::new();
    for _ in 0..6 {
        processes
            .push(describe_outcome(&run(&sandbox, &Limits::default(), &NumberHost).await.unwrap()));
    }
    processes.sort();
    processes.dedup();
    assert_eq!(processes.len(), 6);
}

#[tokio::test]
async fn a_warm_sandbox_has_a_worker_ready() {
    let fake = FakeWorker::after_ready("done(starts)");
    let sandbox = keeping(&fake, 1);
    sandbox.warm().await.unwrap();
    sandbox.warm().await.unwrap();
    assert_eq!(fake.started_processes().len(), 1);
    works(&sandbox).await;
}

/// Nobody has to have noticed.
async fn died(process: u32) {
    let dead = || {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"));
        status.is_ok_and(|text| text.contains("State:\tZ"))
    };
    let patience = tokio::time::timeout(Duration::from_secs(20), async {
        while !dead() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    patience.await.expect("it lives");
}

#[tokio::test]
async fn a_worker_that_died_while_it_waited_is_replaced() {
    // The first one dies unseen; the second one stops listening, which shows only when it is used.
    let script = "if starts == 2: os.close(0)\nready()\nif starts == 1: sys.exit(0)\n\
                  if starts == 2: time.sleep(60)\nhear()\ndone(starts)";
    let fake = FakeWorker::new(script);
    let sandbox = keeping(&fake, 0);
    sandbox.warm().await.unwrap();
    died(fake.started_processes()[0]).await;
    let ended = run(&sandbox, &Limits::default(), &NumberHost).await.unwrap();
    assert_eq!(describe_outcome(&ended), "3");
}

#[tokio::test]
async fn a_program_that_no_worker_took_was_not_run() {
    let fake = FakeWorker::new("os.close(0)\nready()\ntime.sleep(60)");
    let refused = run(&keeping(&fake, 0), &Limits::default(), &NumberHost).await.unwrap_err();
    assert_eq!((refused, fake.started_processes().len()), (SandboxUnavailableError::NotTaken, 2));
}

#[tokio::test]
async fn workers_that_die_while_they_wait_are_not_replaced_as_fast_as_they_die() {
    let fake = FakeWorker::new("ready()\ndie(9)");
    let sandbox = keeping(&fake, 4);
    sandbox.warm().await.unwrap();
    // Enough for dozens.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let starts = fake.started_processes().len();
    assert!(starts <= 10, "{starts} starts");
}

#[tokio::test]
async fn no_process_is_left_when_a_run_is_dropped() {
    let script = "import subprocess\nchild = subprocess.Popen(['/bin/sleep', '60'])\n\
                  open(folder + '/started', 'a').write(str(child.pid) + '\\n')\ntime.sleep(60)";
    let fake = FakeWorker::after_ready(script);
    let sandbox = keeping(&fake, 0);
    let limits = Limits::default();
    tokio::select! {
        _ = run(&sandbox, &limits, &NumberHost) => panic!("it cannot end"),
        _ = starts(&fake, 2) => {}
    }
    wait_until_gone(&fake.started_processes()).await;
}

#[tokio::test]
async fn no_process_is_left_when_the_sandbox_goes() {
    let fake = FakeWorker::after_ready(GOOD);
    let sandbox = keeping(&fake, 3);
    works(&sandbox).await;
    starts(&fake, 4).await;
    drop(sandbox);
    wait_until_gone(&fake.started_processes()).await;
}

#[tokio::test]
async fn a_closed_sandbox_ends_what_runs_and_takes_nothing_new() {
    let fake = FakeWorker::after_ready("call()\ndone(1)");
    let sandbox = keeping(&fake, 1);
    let limits = Limits::default();
    let held = GatedHost::default();
    // It runs once it calls; the number of workers says nothing about that.
    let close = async {
        held.called.notified().await;
        sandbox.close();
    };
    let (ended, ()) = tokio::join!(run(&sandbox, &limits, &held), close);
    let text = describe_outcome(&ended.unwrap());
    assert_eq!(text, "Runtime: the program was stopped: the gateway is shutting down");
    wait_until_gone(&fake.started_processes()).await;
    let refused = run(&sandbox, &limits, &NumberHost).await.unwrap_err();
    assert_eq!(refused, SandboxUnavailableError::Shut);
}

#[tokio::test]
async fn only_so_many_run_at_a_time_and_others_wait_their_time() {
    let fake = FakeWorker::after_ready("call()\ndone(1)");
    let one = SandboxSettings { together: 1, ..settings(fake.program.clone()) };
    let sandbox = ProgramSandbox::new(one);
    let short = Limits { time: Duration::from_millis(200), ..Limits::default() };
    let long = Limits::default();
    let held = GatedHost::default();
    let first = Limits::default();
    let begun = async {
        held.called.notified().await;
        let refused = run(&sandbox, &short, &NumberHost).await.unwrap_err();
        assert_eq!(refused, SandboxUnavailableError::Busy { together: 1 });
        let after = async {
            held.go.notify_one();
        };
        tokio::join!(run(&sandbox, &long, &NumberHost), after).0
    };
    let (first, second) = tokio::join!(run(&sandbox, &first, &held), begun);
    assert_eq!(
        (describe_outcome(&first.unwrap()), describe_outcome(&second.unwrap())),
        ("1".to_owned(), "1".to_owned())
    );
}

/// Waits for a person, who decides when it is let.
struct Person {
    questions: Semaphore,
    decided: Semaphore,
}

#[async_trait]
impl HostCalls for Person {
    async fn call(&self, calls: Vec<ProgramCall>, time: &Stopwatch) -> Vec<Answer> {
        let _held = time.hold();
        self.questions.add_permits(1);
        self.decided.acquire().await.unwrap().forget();
        NumberHost.call(calls, time).await
    }
}

#[tokio::test]
async fn programs_that_wait_for_people_do_not_stop_others() {
    let fake = FakeWorker::after_ready("call()\ndone(1)");
    let sandbox =
        ProgramSandbox::new(SandboxSettings { together: 1, ..settings(fake.program.clone()) });
    let person = Person { questions: Semaphore::new(0), decided: Semaphore::new(0) };
    let limits = Limits::default();
    let waiting = || async {
        let ended = run(&sandbox, &limits, &person).await.unwrap();
        assert_eq!(describe_outcome(&ended), "1");
    };
    let others = async {
        let _all = person.questions.acquire_many(3).await.unwrap();
        works(&sandbox).await;
        works(&sandbox).await;
        person.decided.add_permits(3);
    };
    tokio::join!(waiting(), waiting(), waiting(), others);
    works(&sandbox).await;
}

#[tokio::test(start_paused = true)]
async fn a_program_with_little_time_does_not_wait_longer_for_a_worker() {
    let fake = FakeWorker::new("time.sleep(600)");
    let short = Limits { time: Duration::from_secs(2), ..Limits::default() };
    let refused = run(&fake.sandbox(), &short, &NumberHost).await.unwrap_err();
    assert_eq!(refused, SandboxUnavailableError::NotReady);
}

async fn broken(program: PathBuf, expected: &str) {
    let sandbox = ProgramSandbox::new(settings(program.clone()));
    for refused in [
        run(&sandbox, &Limits::default(), &NumberHost).await.unwrap_err().to_string(),
        sandbox.warm().await.unwrap_err().to_string(),
    ] {
        let start = format!("cannot run programs: `{}` {expected}", program.display());
        assert!(refused.starts_with(&start), "{refused}");
        assert!(refused.ends_with("`cargo install --path crates/tollgate-worker`"), "{refused}");
    }
}

#[tokio::test]
async fn a_worker_that_cannot_be_started_is_named() {
    broken("/nowhere/tollgate-worker".into(), "is not there").await;
    broken("/etc/passwd".into(), "may not be executed").await;
    broken("/etc".into(), "may not be executed").await;
    for (script, expected) in [
        ("sys.exit(1)", "ended before it was ready (exit status: 1)"),
        ("sys.exit('no landlock')", "ended before it was ready (exit status: 1): no landlock"),
        ("die(11)", "ended before it was ready (signal: 11 (SIGSEGV)"),
        ("say({'ready': {'version': 7}})", "has protocol version 7, but this gateway has 1"),
        ("say({'print': 'hello'})", "is not a worker: it did not say `ready`"),
        ("print('hello, world')", "is not a worker: it sent a message of"),
        ("raw(b'\\x09\\0')", "is not a worker: its output ended in the middle"),
    ] {
        broken(FakeWorker::new(script).program.clone(), expected).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_never_gets_ready_is_not_waited_for_without_end() {
    let fake = FakeWorker::new("time.sleep(600)");
    broken(fake.program.clone(), "was not ready within 20s").await;
}

#[tokio::test]
async fn a_broken_worker_is_not_started_again_and_again() {
    let fake = FakeWorker::new("sys.exit(1)");
    let sandbox = keeping(&fake, 4);
    for _ in 0..200 {
        assert!(run(&sandbox, &Limits::default(), &NumberHost).await.is_err());
    }
    let starts = fake.started_processes().len();
    assert!(starts <= 4, "{starts} starts");
}

#[tokio::test]
async fn a_worker_that_was_mended_is_found() {
    let fake = FakeWorker::new("if starts == 1: sys.exit(1)\nready()\nhear()\ndone(1)");
    let sandbox = keeping(&fake, 0);
    assert!(run(&sandbox, &Limits::default(), &NumberHost).await.is_err());
    let mended = tokio::time::timeout(Duration::from_secs(20), async {
        while run(&sandbox, &Limits::default(), &NumberHost).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    mended.await.unwrap();
}
