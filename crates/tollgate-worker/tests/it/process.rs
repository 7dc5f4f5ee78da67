//! The worker as a process: what breaks the interpreter ends with it, and says why. Every program
//! here would otherwise take the machine's memory, its stack, or for ever.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use tollgate_sandbox::frames::{InterpreterLimits, NO_PROGRESS, VERSION, WorkerMessage};

use crate::rehearsal::{FENCE, NAMES};

mod forbidden;

const MEMORY: u64 = 256 << 20;
const SIGABRT: i32 = 6;
const SIGXCPU: i32 = 24;

struct Worker {
    child: Child,
    /// Dropping it ends the worker.
    input: Option<ChildStdin>,
    output: ChildStdout,
}

/// How a run ended.
#[derive(Debug)]
struct Ended {
    prints: String,
    last: Option<WorkerMessage>,
    status: ExitStatus,
    reason: String,
}

impl Worker {
    fn start(cpu_seconds: u64) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate-worker"))
            .args([MEMORY.to_string(), cpu_seconds.to_string()])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the worker starts");
        let input = child.stdin.take();
        let output = child.stdout.take().expect("it is piped");
        let mut worker = Self { child, input, output };
        assert!(matches!(worker.hear(), Some(WorkerMessage::Ready { version: VERSION })));
        worker
    }

    fn give(&mut self, frame: &[u8]) {
        let input = self.input.as_mut().expect("it was not closed");
        let length = u32::try_from(frame.len()).expect("it is short");
        input.write_all(&[&length.to_le_bytes(), frame].concat()).expect("the worker reads");
    }

    fn run(&mut self, source: &str, fence: InterpreterLimits) {
        let source = serde_json::to_string(source).expect("it is JSON");
        let fence = serde_json::to_string(&fence).expect("it is JSON");
        let job = format!(r#"{{"run":{{"source":{source},"names":{NAMES},"fence":{fence}}}}}"#);
        self.give(job.as_bytes());
    }

    fn hear(&mut self) -> Option<WorkerMessage> {
        let mut length = [0; 4];
        self.output.read_exact(&mut length).ok()?;
        let mut frame = vec![0; u32::from_le_bytes(length) as usize];
        self.output.read_exact(&mut frame).ok()?;
        Some(serde_json::from_slice(&frame).expect("it is a word"))
    }

    fn end(mut self) -> Ended {
        let mut prints = String::new();
        let mut last = None;
        while let Some(word) = self.hear() {
            match word {
                WorkerMessage::Print(text) => prints.push_str(&text),
                word => last = Some(word),
            }
        }
        let status = self.child.wait().expect("it ends");
        let mut reason = String::new();
        let _ = self.child.stderr.take().expect("it is piped").read_to_string(&mut reason);
        Ended { prints, last, status, reason }
    }
}

fn run(source: &str) -> Ended {
    let mut worker = Worker::start(20);
    worker.run(source, FENCE);
    worker.end()
}

/// The fence, or the wall behind it: either says that there was too much of something.
#[track_caller]
fn is_stopped(source: &str, words: &[&str]) {
    let ended = run(source);
    let text = match &ended.last {
        Some(WorkerMessage::Failed(failed)) => format!("{:?} {}", failed.kind, failed.message),
        Some(word) => format!("{word:?}"),
        None => format!("{} {}", ended.status, ended.reason),
    };
    assert!(words.iter().any(|words| text.contains(words)), "{source}\n{text}");
}

/// What a gateway makes of memory that ran out.
const MEMORY_WORDS: &[&str] = &["memory allocation of", "Memory ", "Integer overflow", "shift"];
const STACK_WORDS: &[&str] = &["overflowed its stack", "Depth ", "Syntax "];

#[test]
fn b_st_01_repeated_strings_and_lists_end() {
    is_stopped("x = 'a' * 2 * 1000000000", MEMORY_WORDS);
    is_stopped("x = [0] * 3 * 100000000", MEMORY_WORDS);
    is_stopped("x = (0,) * 300000000", MEMORY_WORDS);
    is_stopped("x = 'a' * 1000000000", MEMORY_WORDS);
}

#[test]
fn b_st_02_doubling_ends() {
    is_stopped("x = 'a'\nfor i in range(100):\n    x = x + x", MEMORY_WORDS);
    is_stopped("x = [1]\nfor i in range(100):\n    x += x", MEMORY_WORDS);
    is_stopped("x = {}\nfor i in range(100000000):\n    x[i] = str(i)", &["Memory ", "Steps "]);
}

#[test]
fn b_st_02_many_small_values_end() {
    // The allocator grows and shrinks: it must not need what it cannot have.
    is_stopped("x = {}\nfor i in range(900000):\n    x[str(i)] = [i]", &["Memory "]);
    let rows = "def f():\n    x = []\n    for i in range(900000):\n        x.append({'a': i, 'b': [i, str(i)]})\nf()";
    is_stopped(rows, &["Memory "]);
}

#[test]
fn much_data_fits_into_a_worker() {
    let rows = "x = [{'name': str(i), 'tags': [i, 'a']} for i in range(50000)]\nresult = len(json.decode(json.encode(x)))";
    is_stopped(rows, &["Done(ProgramResult { result: Some(RawValue(50000))"]);
}

#[test]
fn b_st_04_deep_comprehensions_end() {
    let deep = "[".repeat(5000) + "1" + &" for x in [1]]".repeat(5000);
    is_stopped(&format!("x = {deep}"), STACK_WORDS);
    is_stopped(
        "x = [[j for j in range(100000)] for i in range(100000)]",
        &["Memory ", "Steps ", "memory allocation of"],
    );
}

#[test]
fn b_st_05_huge_integers_end() {
    is_stopped("x = 1 << 4 * 1000000000", &["Memory ", "memory allocation of", "Runtime "]);
    is_stopped("x = 1 << 2000000000", &["Memory ", "memory allocation of", "Runtime "]);
    let mut worker = Worker::start(1);
    worker.run("print('on')\nx = 3\nfor i in range(60):\n    x = x * x", FENCE);
    let ended = worker.end();
    assert_eq!(ended.prints, "on\n");
    assert_eq!(ended.status.signal(), Some(SIGXCPU), "{ended:?}");
    is_stopped("x = str(1 << 3 * 1000000)", &["Runtime "]);
}

/// The kernel's limit counts the same time: whoever is ended by the watchdog used less of it.
#[test]
fn b_st_05_an_operation_without_end_is_ended_after_two_seconds_of_cpu_time() {
    for source in [
        "print('on')\na = 7\nfor i in range(40):\n    a = a * a",
        "print('on')\nx = 3\ndef f(a):\n    return a * a\nfor i in range(40):\n    x = f(x)",
    ] {
        let mut worker = Worker::start(4);
        worker.run(source, FENCE);
        let ended = worker.end();
        assert_eq!((ended.prints.as_str(), ended.status.code()), ("on\n", Some(1)), "{ended:?}");
        assert!(ended.last.is_none() && ended.reason.contains(NO_PROGRESS), "{ended:?}");
    }
}

/// Progress in between: much CPU time in many steps is a matter of the other limits.
#[test]
fn b_st_05_many_steps_may_take_longer_than_one_operation() {
    let mut worker = Worker::start(4);
    let fence = InterpreterLimits { steps: u64::MAX, ..FENCE };
    worker.run("print('on')\nfor i in range(2000000000):\n    pass", fence);
    let ended = worker.end();
    assert_eq!((ended.prints.as_str(), ended.status.signal()), ("on\n", Some(SIGXCPU)));
}

#[test]
fn b_st_06_huge_ranges_end() {
    is_stopped("x = list(range(100000000))", MEMORY_WORDS);
    is_stopped("x = sorted(range(20000000))", MEMORY_WORDS);
    is_stopped("x = [i for i in range(100000000)]", &["Steps ", "Memory "]);
    is_stopped("x = zip(range(50000000), range(50000000))", MEMORY_WORDS);
    is_stopped("result = range(1000000000)", &["Output "]);
}

#[test]
fn b_st_07_strings_that_blow_up_end() {
    is_stopped("x = 'a' * 100000\nx = x.replace('a', 'b' * 100000)", MEMORY_WORDS);
    is_stopped("x = ('b' * 100000).join(['a'] * 100000)", MEMORY_WORDS);
    is_stopped("s = '%s' * 10000\nx = s % tuple(['a' * 1000000] * 10000)", MEMORY_WORDS);
    is_stopped("x = ('{0}' * 100000).format('a' * 100000)", MEMORY_WORDS);
}

#[test]
fn b_st_08_deep_sources_end() {
    for (begin, middle, end) in
        [("(", "1", ")"), ("[", "", "]"), ("{1:", "1", "}"), ("not ", "1", ""), ("-", "1", "")]
    {
        let source = format!("x = {}{middle}{}", begin.repeat(20000), end.repeat(20000));
        is_stopped(&source, STACK_WORDS);
    }
    is_stopped(&format!("x = 1{}", " + 1".repeat(100_000)), &["overflowed its stack", "Done"]);
    is_stopped(&format!("x = f{}", "(1)".repeat(20000)), STACK_WORDS);
    is_stopped(&format!("x = {}1", "lambda: ".repeat(20000)), STACK_WORDS);
}

#[test]
fn b_st_09_a_deep_value_as_text_ends() {
    let deep = "x = []\nfor i in range(300000):\n    x = [x]\n";
    for last in ["str(x)", "print(x)", "x == [x]", "json.encode(x)", "hash(str(x))", "result = x"] {
        is_stopped(
            &format!("{deep}{last}"),
            &["overflowed its stack", "Depth ", "Memory ", "Done"],
        );
    }
}

#[test]
fn b_st_13_a_flood_of_prints_ends() {
    is_stopped("for i in range(1000000000):\n    print('a' * 1000)", &["Output "]);
    is_stopped("print('a' * 1000000000)", MEMORY_WORDS);
    let ended = run("for i in range(1000000000):\n    print(i)");
    assert_eq!(ended.prints.len() as u64, FENCE.output_bytes);
}

#[test]
fn as_much_leaves_a_worker_as_the_limit_says() {
    let mut worker = Worker::start(20);
    let half = 1 << 20;
    let source = format!("print('\\0' * {half}, end='')\nresult = 'a' * {}", half - 2);
    worker.run(&source, InterpreterLimits { output_bytes: 2 * half, ..FENCE });
    let ended = worker.end();
    assert_eq!(ended.prints.len() as u64, half);
    let Some(WorkerMessage::Done(done)) = ended.last else { panic!("it did not end well") };
    assert_eq!(done.result.expect("a result").get().len() as u64, half);
}

#[test]
fn b_st_14_odd_sources_end() {
    is_stopped(&"x = 1\n".repeat(175_000), &["Done"]);
    is_stopped(&"#".repeat(1 << 20), &["Done"]);
    is_stopped("x = 1\0", &["Syntax "]);
    is_stopped("x\r=\r1", &["Syntax ", "Done"]);
    is_stopped("\u{feff}x = 1", &["Syntax ", "Done"]);
    let mut worker = Worker::start(20);
    let fence = serde_json::to_string(&FENCE).expect("it is JSON");
    let job = [
        br#"{"run":{"source":"x = '"#.as_slice(),
        b"\xff\xfe'",
        br#"","names":[],"fence":"#,
        fence.as_bytes(),
        b"}}",
    ];
    worker.give(&job.concat());
    let ended = worker.end();
    assert!(!ended.status.success() && ended.last.is_none(), "{ended:?}");
}

#[test]
fn an_endless_loop_ends_with_its_steps_or_its_time() {
    is_stopped("for i in range(1000000000): pass", &["Steps "]);
    let mut worker = Worker::start(1);
    worker.run(
        "print('on')\nfor i in range(2000000000): pass",
        InterpreterLimits { steps: u64::MAX, ..FENCE },
    );
    let ended = worker.end();
    assert_eq!((ended.prints.as_str(), ended.status.signal()), ("on\n", Some(SIGXCPU)));
}

#[test]
fn what_was_printed_is_there_when_the_process_dies() {
    let ended = run("print('before')\nx = [0] * 300000000");
    assert_eq!((ended.prints.as_str(), ended.status.signal()), ("before\n", Some(SIGABRT)));
    assert!(ended.reason.contains("memory allocation of"), "{}", ended.reason);
}

#[test]
fn closing_its_input_ends_a_run_in_the_middle() {
    let mut worker = Worker::start(20);
    worker.run(
        "print('on')\nfor i in range(2000000000): pass",
        InterpreterLimits { steps: u64::MAX, ..FENCE },
    );
    assert!(matches!(worker.hear(), Some(WorkerMessage::Print(_))));
    worker.input = None;
    let ended = worker.end();
    assert!(ended.last.is_none() && ended.status.success(), "{ended:?}");
}

#[test]
fn closing_its_input_ends_a_worker_that_waits() {
    let mut worker = Worker::start(20);
    worker.input = None;
    assert!(worker.end().status.success());
    let mut worker = Worker::start(20);
    worker.run("slack.post()", FENCE);
    assert!(matches!(worker.hear(), Some(WorkerMessage::Calls(_))));
    worker.input = None;
    assert!(worker.end().last.is_none());
}

#[test]
fn many_workers_wait_and_then_run() {
    let workers: Vec<_> = (0..40).map(|_| Worker::start(20)).collect();
    for mut worker in workers {
        worker.run("result = 1", FENCE);
        let ended = worker.end();
        assert!(matches!(ended.last, Some(WorkerMessage::Done(_))), "{ended:?}");
    }
}

#[test]
fn an_order_that_makes_no_sense_ends_it() {
    for order in [b"{}".as_slice(), b"null", br#"{"answers":[]}"#, b"\xff"] {
        let mut worker = Worker::start(20);
        worker.give(order);
        let ended = worker.end();
        assert!(!ended.status.success() && ended.last.is_none(), "{ended:?}");
    }
    let mut worker = Worker::start(20);
    worker.run("slack.post()", FENCE);
    worker.give(br#"{"answers":[]}"#);
    assert!(!worker.end().status.success());
}

#[test]
fn s_35_it_is_shut_in_before_it_is_ready() {
    let worker = Worker::start(20);
    let proc = format!("/proc/{}", worker.child.id());
    let threads = fs::read_dir(format!("{proc}/task")).expect("it lives");
    for thread in threads {
        let path = thread.expect("it lives").path().join("status");
        let status = fs::read_to_string(path).expect("it lives");
        for line in [
            "NoNewPrivs:\t1",
            "Seccomp:\t2",
            "CapEff:\t0000000000000000",
            "CapPrm:\t0000000000000000",
        ] {
            assert!(status.contains(line), "{line}\n{status}");
        }
    }
    let mut open: Vec<_> = fs::read_dir(format!("{proc}/fd"))
        .expect("it lives")
        .map(|it| it.expect("it lives").file_name().into_string().expect("a number"))
        .collect();
    open.sort();
    assert_eq!(open, ["0", "1", "2"]);
    let limits = fs::read_to_string(format!("{proc}/limits")).expect("it lives");
    let limit = |what: &str| {
        let line = limits.lines().find(|line| line.starts_with(what)).expect("a known limit");
        line[what.len()..].split_whitespace().take(2).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(limit("Max address space"), format!("{MEMORY} {MEMORY}"));
    assert_eq!(limit("Max cpu time"), "20 21");
    assert_eq!(limit("Max open files"), "3 3");
    for what in ["Max processes", "Max file size", "Max core file size", "Max locked memory"] {
        assert_eq!(limit(what), "0 0", "{what}");
    }
    assert_eq!(fs::read_link(format!("{proc}/cwd")).expect("it lives"), std::path::Path::new("/"));
    let environment = fs::read(format!("{proc}/environ")).expect("it lives");
    assert_eq!(environment, b"MALLOC_ARENA_MAX=1\0TOLLGATE_WORKER_AGAIN=1\0");
}

#[test]
fn s_35_files_that_it_inherited_are_closed() {
    let worker = env!("CARGO_BIN_EXE_tollgate-worker");
    let child = Command::new("sh")
        .args(["-c", &format!("exec 7</dev/null 9>/dev/null; exec {worker}")])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.expect("a shell");
    let input = child.stdin.take();
    let output = child.stdout.take().expect("it is piped");
    let mut worker = Worker { child, input, output };
    assert!(matches!(worker.hear(), Some(WorkerMessage::Ready { .. })));
    let open = fs::read_dir(format!("/proc/{}/fd", worker.child.id())).expect("it lives");
    assert_eq!(open.count(), 3);
}

#[test]
fn a_worker_begins_again_only_once() {
    let worker = env!("CARGO_BIN_EXE_tollgate-worker");
    let again = "export MALLOC_ARENA_MAX=1 TOLLGATE_WORKER_AGAIN=1";
    let ended = Command::new("sh")
        .args(["-c", &format!("{again}; exec 7</dev/null; exec {worker}")])
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    assert!(!ended.status.success() && ended.stdout.is_empty(), "{ended:?}");
    let reason = String::from_utf8_lossy(&ended.stderr);
    assert!(reason.contains("it restarted itself, but "), "{reason}");
}

#[test]
fn a_thousand_tools_are_bound() {
    let tools: Vec<String> = (0..1000).map(|n| format!("\"tool_{n}\"")).collect();
    let names = format!(r#"[["big",[{}]]]"#, tools.join(","));
    let fence = serde_json::to_string(&FENCE).expect("it is JSON");
    let source =
        serde_json::to_string("result = [len(dir(big)), str(big.tool_999)]").expect("it is JSON");
    let mut worker = Worker::start(20);
    worker.give(
        format!(r#"{{"run":{{"source":{source},"names":{names},"fence":{fence}}}}}"#).as_bytes(),
    );
    let Some(WorkerMessage::Done(done)) = worker.end().last else { panic!("it did not end well") };
    assert_eq!(done.result.expect("a result").get(), r#"[1000,"<tool big.tool_999>"]"#);
}
