use std::fs::DirEntry;
use std::path::Path;
use std::time::Duration;

use tollgate_sandbox::frames::{InterpreterLimits, NO_PROGRESS, ProgramErrorKind};
use tollgate_sandbox::limits::Limits;

use crate::world::World;

/// Of programs that only time can stop.
const TIME: Duration = Duration::from_secs(3);
/// Beyond it. Nothing is waited for any more; but machines that run tests are busy.
const GRACE: Duration = Duration::from_secs(3);

/// Each is stopped by one of these limits, and its process did not hold up this one.
async fn check(sources: &[&str], kinds: &[ProgramErrorKind]) {
    // What something else has to stop is given the time for it, on a busy machine too.
    let time = if kinds.contains(&ProgramErrorKind::Time) { TIME } else { 5 * TIME };
    let world = World::new();
    let before = own_memory();
    for source in sources {
        let ended = world.within(source, &Limits { time, ..Limits::default() }).await;
        assert!(ended.took < time + GRACE, "{source} took {:?}", ended.took);
        let failed = ended.result.expect_err(source);
        assert!(kinds.contains(&failed.kind), "{source}: {failed:?}");
        assert!(
            failed.hint.is_some() || failed.kind == ProgramErrorKind::Runtime,
            "{source}: {failed:?}"
        );
    }
    let grown = own_memory().saturating_sub(before);
    assert!(grown <= 8 << 20, "this process grew by {grown} bytes");
    assert_eq!(world.run_as_text("result = 1").await, "1");
}

/// The most that this process ever had.
fn own_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kilobytes: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes << 10
}

#[tokio::test]
async fn b_st_01_large_values_at_once() {
    check(
        &["x = 'a' * 2000000000", "x = [0] * 300000000", "x = (1,) * 300000000"],
        &[ProgramErrorKind::Memory, ProgramErrorKind::Runtime],
    )
    .await;
}

#[tokio::test]
async fn b_st_02_values_that_double() {
    check(
        &[
            "s = 'a'\nfor i in range(100):\n    s = s + s",
            "s = [0]\nfor i in range(100):\n    s = s + s",
            "s = [0]\nfor i in range(100):\n    s.extend(s)",
            "s = {}\nfor i in range(1000000000):\n    s[i] = str(i) * 100",
        ],
        &[ProgramErrorKind::Memory, ProgramErrorKind::Steps],
    )
    .await;
}

#[tokio::test]
async fn b_st_03_loops_without_end() {
    let nested = "def f():\n    for a in range(10000):\n        for b in range(10000):\n            \
                  for c in range(10000):\n                for d in range(10000):\n                    \
                  pass\nf()";
    let sum = "x = 0\nfor i in range(2000000000):\n    x += i";
    // Large numbers are values, and none is taken back while a program runs.
    check(
        &[nested, sum],
        &[ProgramErrorKind::Steps, ProgramErrorKind::Time, ProgramErrorKind::Memory],
    )
    .await;
}

#[tokio::test]
async fn b_st_04_functions_within_each_other() {
    check(
        &[
            "def f(x):\n    return f(x + 1)\nf(0)",
            "def f(x):\n    return g(x)\ndef g(x):\n    return f(x)\nf(0)",
            "f = lambda g: g(g)\nf(f)",
            "def f(x):\n    return sorted([1, 2], key = lambda y: f(x + 1))\nf(0)",
        ],
        &[ProgramErrorKind::Depth, ProgramErrorKind::Runtime],
    )
    .await;
}

#[tokio::test]
async fn b_st_05_numbers_without_end() {
    check(
        &[
            "x = 1 << 4000000000",
            "x = 3\nfor i in range(100):\n    x = x * x",
            "x = 1 << 30000000\nfor i in range(1000):\n    y = str(x)",
        ],
        &[
            ProgramErrorKind::Memory,
            ProgramErrorKind::Steps,
            ProgramErrorKind::Time,
            ProgramErrorKind::Runtime,
        ],
    )
    .await;
}

/// Well before the program's time is over, and with words that name the cause.
#[tokio::test]
async fn b_st_05_one_operation_is_ended_by_its_cpu_time() {
    let world = World::new();
    let source = "a = 7\nfor i in range(40):\n    a = a * a";
    let limits = Limits { time: 20 * TIME, ..Limits::default() };
    let failed = world.within(source, &limits).await.result.expect_err(source);
    assert_eq!(failed.kind, ProgramErrorKind::Time, "{failed:?}");
    assert_eq!(failed.message, NO_PROGRESS, "{failed:?}");
    assert!(failed.hint.is_some_and(|hint| hint.contains("smaller numbers")));
}

#[tokio::test]
async fn b_st_06_ranges_that_are_made_real() {
    check(
        &[
            "x = list(range(100000000))",
            "x = sorted(range(20000000))",
            "x = dict([(i, i) for i in range(100000000)])",
        ],
        &[ProgramErrorKind::Memory, ProgramErrorKind::Steps, ProgramErrorKind::Time],
    )
    .await;
}

#[tokio::test]
async fn b_st_07_text_that_blows_up() {
    check(
        &[
            "x = ('a' * 100000).replace('a', 'b' * 100000)",
            "x = ('b' * 100000).join(['a'] * 100000)",
            "x = '%s' * 100000 % tuple(['a' * 100000] * 100000)",
            "x = '{0}' * 100000\ny = x.format('a' * 100000)",
        ],
        &[ProgramErrorKind::Memory, ProgramErrorKind::Runtime],
    )
    .await;
}

#[tokio::test]
async fn b_st_09_values_within_each_other() {
    let build = "x = []\nfor i in range(300000):\n    x = [x]\n";
    let sources: Vec<String> = [
        "y = str(x)",
        "y = x == [x]",
        "result = x",
        "y = json.encode(x)",
        "y = dice.roll(x = x)",
        "print(x)",
    ]
    .map(|end| format!("{build}{end}"))
    .to_vec();
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    check(
        &sources,
        &[
            ProgramErrorKind::Depth,
            ProgramErrorKind::Runtime,
            ProgramErrorKind::Memory,
            ProgramErrorKind::Time,
        ],
    )
    .await;
}

#[tokio::test]
async fn b_st_10_values_that_hold_themselves() {
    let world = World::new();
    for end in
        ["y = str(x)", "y = x == x", "result = x", "y = json.encode(x)", "y = dice.roll(x = x)"]
    {
        let source = format!("x = [1]\nx.append(x)\n{end}");
        let ended = world.within(&source, &Limits { time: TIME, ..Limits::default() }).await;
        assert!(ended.took < TIME + GRACE, "{end} took {:?}", ended.took);
        if let Err(failed) = ended.result {
            assert!(!failed.message.contains("crashed the interpreter"), "{end}: {failed:?}");
        }
    }
}

#[tokio::test]
async fn b_st_13_prints_without_end() {
    check(
        &[
            "for i in range(10000000):\n    print('x' * 1000)",
            "print('x' * 1000000)",
            "result = 'x' * 1000000",
            "for i in range(10000000):\n    print()",
        ],
        &[ProgramErrorKind::Output],
    )
    .await;
}

#[tokio::test]
async fn s_35_programs_go_on_beside_one_that_does_not_end() {
    let world = World::new();
    let limits = Limits { time: TIME, ..Limits::default() };
    let bomb = world.within("for i in range(2000000000):\n    pass", &limits);
    let others = async {
        for _ in 0..5 {
            assert_eq!(world.run_as_text("result = dice.roll(n = 1)['n']").await, "1");
        }
    };
    let (ended, ()) = tokio::join!(bomb, others);
    assert!(matches!(
        ended.result.unwrap_err().kind,
        ProgramErrorKind::Steps | ProgramErrorKind::Time
    ));
}

/// What only time can stop ends within 200 ms of its limit. A busy machine may be late sometimes, but
/// not each time.
#[tokio::test]
async fn s_35_a_program_ends_within_200_ms_of_its_limit() {
    const LIMIT: Duration = Duration::from_secs(1);
    let world = World::new();
    let fence = InterpreterLimits { steps: u64::MAX, ..Limits::default().fence };
    let limits = Limits { time: LIMIT, fence, ..Limits::default() };
    for source in [
        "for i in range(2000000000):\n    pass",
        "def f():\n    for a in range(100000):\n        for b in range(100000):\n            pass\nf()",
    ] {
        let mut took = Vec::new();
        while took.iter().all(|took| *took > LIMIT + Duration::from_millis(200)) {
            assert!(took.len() < 8, "{source}: {took:?}");
            let ended = world.within(source, &limits).await;
            assert_eq!(ended.result.expect_err(source).kind, ProgramErrorKind::Time, "{source}");
            took.push(ended.took);
        }
    }
}

#[tokio::test]
async fn s_35_a_program_that_was_given_up_leaves_nothing() {
    // By a name of its own, since other tests have workers too.
    let built = tollgate_testkit::worker();
    let folder = tempfile::tempdir_in(built.parent().unwrap()).unwrap();
    let worker = folder.path().join("tollgate-worker");
    std::fs::hard_link(built, &worker).unwrap();
    let world = World::of(worker.clone());
    let fence = InterpreterLimits { steps: u64::MAX, ..Limits::default().fence };
    let limits = Limits { fence, ..Limits::default() };
    let endless = "dice.roll(n = 1)\nfor i in range(2000000000):\n    pass";
    let busy = async {
        world.tools.called.notified().await;
        // It has its answer, and does not hear that nobody listens.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_ne!(running(&worker), 0);
    };
    tokio::select! {
        ended = world.within(endless, &limits) => panic!("{ended:?}"),
        () = busy => {}
    }
    assert_eq!(world.run_as_text("result = 1").await, "1");
    // With the one that stands ready.
    drop(world);
    let patience = tokio::time::timeout(Duration::from_secs(20), async {
        while running(&worker) > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    patience.await.expect("a process was left");
}

/// How many processes run this program.
fn running(program: &Path) -> usize {
    let run = |process: &DirEntry| {
        std::fs::read_link(process.path().join("exe")).is_ok_and(|it| it == program)
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter(run).count()
}
