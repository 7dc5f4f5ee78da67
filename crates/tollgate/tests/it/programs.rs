//! `tollgate code` end to end: built-in tools, gateway, worker.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::running::Served;
use crate::{Run, run_with_input, tollgate};

fn ran(program: &str) -> Run {
    tollgate_testkit::worker();
    run_with_input(TempDir::new().unwrap().path(), &["code", "-"], program)
}

#[test]
fn a_program_of_a_person_needs_no_config() {
    let run = ran("
rolls = parallel([(dice.roll, {\"expression\": \"1d1+%d\" % n}) for n in range(5)])
print(len(rolls), \"rolls\")
result = {\"sum\": sum([r[\"total\"] for r in rolls]), \"large\": 12345678901234567890 * 10}
");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let expected = "5 rolls\n{\n  \"sum\": 15,\n  \"large\": 123456789012345678900\n}\n";
    assert_eq!(run.stdout, expected);
    assert!(
        run.stderr.starts_with("ok in ") && run.stderr.ends_with("5 calls\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn mistakes_are_shown_where_they_were_made() {
    for (program, place, line, hint) in [
        ("x = 1\nimport os\n", "2:1", "import os", "there is nothing to import"),
        ("result = dyce.roll()\n", "1:10", "result = dyce.roll()", "did you mean `dice`?"),
        ("x = 1\nwhile x:\n  x = 0\n", "2:1", "while x:", "there is no `while`"),
        ("x = {\"a\": 1}\ny = x.a\n", "2:5", "y = x.a", "value[\"a\"]"),
        ("print(1)\nx = dice.roll(expression=\"2d\")\n", "2:5", "x = dice.roll(", "try_call"),
    ] {
        let run = ran(program);
        assert_eq!(run.code, Some(1), "{program}: {}", run.stderr);
        assert!(run.stderr.contains(&format!(" --> standard input:{place}\n")), "{}", run.stderr);
        for part in [line, hint] {
            assert!(run.stderr.contains(part), "{part} in {}", run.stderr);
        }
    }
}

#[test]
fn b_st_12_a_tool_outside_the_view_is_not_there() {
    tollgate_testkit::worker();
    let folder = TempDir::new().unwrap();
    for program in [
        "files.write_file(path=\"a\", content=\"b\")",
        "getattr(files, \"write_file\")(path=\"a\", content=\"b\")",
        "t = {\"x\": files}\nt[\"x\"].write_file(path=\"a\", content=\"b\")",
        "code.executeToolCode(code=\"x = 1\")",
        "executeToolCode(code=\"x = 1\")",
    ] {
        let run = run_with_input(folder.path(), &["code", "-", "--agent", "assistant"], program);
        assert_eq!(run.code, Some(1), "{program}: {}", run.stderr);
        assert!(run.stderr.ends_with("0 calls\n"), "{program}: {}", run.stderr);
    }
}

#[test]
fn what_is_unbounded_is_ended_and_the_kind_says_by_what() {
    tollgate_testkit::worker();
    let folder = TempDir::new().unwrap();
    let config = "code: { max_steps: 100000, max_calls: 3, max_output_kb: 1, max_memory_mb: 64 }\n";
    fs::write(folder.path().join("tollgate.yaml"), config).unwrap();
    for (program, kind) in [
        ("for i in range(1000000000):\n    pass", "steps"),
        ("for i in range(4):\n    dice.roll(expression=\"1d6\")", "calls"),
        ("print(\"a\" * 2000)", "output"),
        ("x = \"a\" * 1000000000", "memory"),
        ("def f():\n    f()\nf()", "depth"),
    ] {
        let run = run_with_input(folder.path(), &["code", "-", "--json"], program);
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, &answer["error"]["kind"]), (Some(1), &Value::from(kind)), "{answer}");
        assert!(answer["error"]["hint"].is_string(), "{answer}");
    }
}

#[test]
fn a_gateway_that_runs_is_asked_and_a_reload_changes_its_limits() {
    tollgate_testkit::worker();
    let served = Served::start("agents: { sage: { tools: [roll] } }\n");
    let folder = TempDir::new().unwrap();
    fs::write(
        folder.path().join("a.star"),
        "for i in range(3):\n    dice.roll(expression=\"1d6\")\n",
    )
    .unwrap();
    let run = || {
        let data = served.folder.path().join("data");
        let file = served.file.to_str().unwrap();
        let at = ["--listen", &served.address, "--data", data.to_str().unwrap(), "--config", file];
        tollgate(folder.path(), &[&at[..], &["code", "a.star", "--json"]].concat())
    };
    let answer: Value = serde_json::from_str(&run().stdout).unwrap();
    assert_eq!((&answer["status"], &answer["calls"]), (&Value::from("ok"), &Value::from(3)));
    served.write("agents: { sage: { tools: [roll] } }\ncode: { max_calls: 2 }\n");
    served.wait_for(|answer| answer["last"]["outcome"] == "applied");
    let answer: Value = serde_json::from_str(&run().stdout).unwrap();
    assert_eq!(
        (&answer["error"]["kind"], &answer["calls"]),
        (&Value::from("calls"), &Value::from(2))
    );
}

/// A child of the process that has computed for a while.
fn busy_child_of(parent: u32) -> Option<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut ids = processes.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
    ids.find(|id| {
        // `12 (name) S 10 …`; the twelfth after the name are ticks on the processor.
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let after: Vec<&str> =
            stat.rsplit_once(") ").map_or(Vec::new(), |(_, after)| after.split(' ').collect());
        let ticks = after.get(11).and_then(|text| text.parse::<u32>().ok());
        after.get(1) == Some(&parent.to_string().as_str()) && ticks.is_some_and(|it| it >= 20)
    })
}

/// Asks again for a while.
fn eventually<T>(ask: impl Fn() -> Option<T>) -> Option<T> {
    (0..400).find_map(|_| {
        thread::sleep(Duration::from_millis(25));
        ask()
    })
}

#[test]
fn ctrl_c_ends_the_program_and_its_worker() {
    tollgate_testkit::worker();
    let folder = TempDir::new().unwrap();
    let config = "code: { max_steps: 1000000000000 }\n";
    fs::write(folder.path().join("tollgate.yaml"), config).unwrap();
    let endless = "for i in range(1000000):\n    for j in range(1000000):\n        pass\n";
    fs::write(folder.path().join("a.star"), endless).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["--listen", "127.0.0.1:0", "code", "a.star"])
        .current_dir(folder.path())
        .env_clear()
        .envs(tollgate_testkit::coverage_profile())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let worker = eventually(|| busy_child_of(child.id())).expect("a worker runs");
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    let stderr = child.stderr.take().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let last = BufReader::new(stderr).lines().map_while(Result::ok).last();
    assert_eq!(last.as_deref(), Some("error: stopped by a signal"));
    let gone = eventually(|| (!fs::exists(format!("/proc/{worker}")).unwrap()).then_some(()));
    assert!(gone.is_some(), "the worker {worker} outlives its command");
}
