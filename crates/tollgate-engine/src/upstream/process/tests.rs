use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tollgate_core::id::ServerId;
use tollgate_core::secret::Secret;

use super::*;
use crate::clock::SystemClock;
use crate::settings::NetworkAccess;

fn command(words: &[&str]) -> StdioCommand {
    let words = words.iter().map(|&word| word.to_owned()).collect();
    StdioCommand::new(words)
}

fn log() -> Arc<ServerLog> {
    Arc::new(ServerLog::new(ServerId::parse("child").unwrap(), Vec::new()))
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

fn spawn(command: &StdioCommand) -> Result<(ChildProcess, ChildPipes), SpawnError> {
    ChildProcess::spawn(command, None, &log(), &clock())
}

/// A directory that is gone after the test.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("tollgate-{:016x}", rand::random::<u64>()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: &str, mode: u32) -> String {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn output(command: &StdioCommand) -> String {
    let (mut process, mut pipes) = spawn(command).unwrap();
    let mut text = String::new();
    pipes.stdout.read_to_string(&mut text).await.unwrap();
    process.wait_exit().await;
    text
}

/// Everybody alive who carries the mark of this start.
fn count_orphans(process_mark: &ChildMark) -> usize {
    orphans::kill(process_mark, &[])
}

async fn check_stop(script: &str, most: Duration) {
    let took = stopped(script).await;
    assert!(took < most, "{script} took {took:?}");
}

/// Runs the script, waits for its `ready`, stops it, and shows how long that took; nobody is left.
async fn stopped(script: &str) -> Duration {
    let (process, pipes) = spawn(&command(&["python3", "-c", script])).unwrap();
    let mark = Arc::clone(&process.mark);
    let mut lines = BufReader::new(pipes.stdout).lines();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("ready"), "{script}");
    let begun = clock().now();
    drop(pipes.stdin);
    process.stop().await;
    let took = clock().now().duration_since(begun);
    assert_eq!(count_orphans(&mark), 0, "somebody is left of {script}");
    took
}

#[tokio::test]
async fn a_group_is_signalled_only_while_one_of_ours_is_in_it() {
    let (mut process, pipes) = spawn(&command(&["sh", "-c", "sleep 60 & exit 0"])).unwrap();
    process.wait_exit().await;
    let mut builder = tokio::process::Command::new("sleep");
    let mut stranger = builder.arg("60").process_group(0).kill_on_drop(true).spawn().unwrap();
    let theirs = stranger.id().unwrap();
    // One that is just becoming `sleep` has no environment for a moment.
    let left_behind = async {
        while !orphans::is_in_group(process.id(), &process.mark, &[]) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(10), left_behind).await.is_ok());
    assert!(!orphans::is_in_group(theirs, &process.mark, &[]));
    // As if the id of the group had become the stranger's.
    process.group = Pid::from_raw(theirs.cast_signed()).unwrap();
    let mark = Arc::clone(&process.mark);
    drop(pipes);
    process.stop().await;
    assert!(stranger.try_wait().unwrap().is_none(), "the stranger lives");
    assert_eq!(count_orphans(&mark), 0);
}

#[test]
fn b_io_13_what_cannot_be_started_says_why() {
    let place = Directory::new();
    let directory = place.0.to_str().unwrap().to_owned();
    let plain = place.file("plain", "#!/bin/sh\n", 0o644);
    let empty = place.file("empty", "", 0o755);
    let orphan = place.file("orphan", "#!/nowhere/python9 -u\n", 0o755);
    let check = |words: &[&str], expected: &str| {
        let Err(error) = spawn(&command(words)) else { panic!("{words:?} was started") };
        assert_eq!(error.to_string(), expected);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    check(&["no-such-program"], "`no-such-program` was not found in PATH");
    check(&["/no/such/program"], "`/no/such/program` does not exist");
    check(&[&directory], &format!("`{directory}` is a directory, not a program"));
    check(&[&plain], &format!("`{plain}` is not executable (try `chmod +x`)"));
    check(&[&empty], &format!("`{empty}` is empty, not a program"));
    check(
        &[&orphan],
        &format!("`{orphan}` needs the interpreter `/nowhere/python9`, which does not exist"),
    );
    check(&["sh", "a\0b"], "an argument of `sh` contains NUL");
    let nowhere = StdioCommand { cwd: Some("/no/such/place".into()), ..command(&["sh"]) };
    let error = spawn(&nowhere).err().unwrap().to_string();
    assert_eq!(error, "the working directory `/no/such/place` is not a directory");
}

#[tokio::test]
async fn s_01_the_words_are_passed_on_as_they_are() {
    let words = ["python3", "-c", "import sys; print(sys.argv[1:])", "$HOME; `id`", "a  b", ""];
    assert_eq!(output(&command(&words)).await, "['$HOME; `id`', 'a  b', '']\n");
}

#[tokio::test]
async fn s_03_the_environment_is_clean_but_for_what_is_declared() {
    let mut declared = command(&["cat", "/proc/self/environ"]);
    declared.env.insert("API_KEY".to_owned(), Secret::new("k-123"));
    let shown = output(&declared).await;
    let shown: BTreeSet<&str> =
        shown.split_terminator('\0').filter_map(|it| Some(it.split_once('=')?.0)).collect();
    let harmless = [
        "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
        "USER",
    ];
    let mut expected: BTreeSet<&str> =
        harmless.into_iter().filter(|name| std::env::var_os(name).is_some()).collect();
    expected.extend(["API_KEY", "TOLLGATE_CHILD"]);
    assert_eq!(shown, expected);
    // Cargo gave the test more than that; a gateway's secrets would come the same way.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
}

#[tokio::test]
async fn s_03_bad_variables_are_refused_by_name_only() {
    let mut bad = command(&["sh"]);
    bad.env.insert("A=B".to_owned(), Secret::new("topsecret"));
    let error = spawn(&bad).err().unwrap().to_string();
    assert_eq!(error, "the variable `A=B` cannot be passed: it contains `=` or NUL");
}

#[tokio::test]
async fn s_05_without_a_launcher_limits_hold_and_rules_are_refused() {
    let mut tight = command(&["sh", "-c", "read _; ulimit -n; ulimit -c; ulimit -d"]);
    tight.sandbox.limits.open_files = Some(77);
    tight.sandbox.limits.memory_bytes = Some(512 << 20);
    let (mut process, mut pipes) = spawn(&tight).unwrap();
    pipes.stdin.write_all(b"\n").await.unwrap();
    let mut text = String::new();
    pipes.stdout.read_to_string(&mut text).await.unwrap();
    process.wait_exit().await;
    assert_eq!(text, "77\n0\n524288\n");
    let refused = "`sandbox` has file rules or denies the network, which needs the launcher; this \
                   program has none";
    let mut files = command(&["sh"]);
    files.sandbox.read.push("/srv".into());
    assert_eq!(spawn(&files).err().unwrap().to_string(), refused);
    let mut closed = command(&["sh"]);
    closed.sandbox.network = NetworkAccess::Deny;
    assert_eq!(spawn(&closed).err().unwrap().to_string(), refused);
}

#[tokio::test]
async fn a_relative_program_is_found_from_the_working_directory() {
    let place = Directory::new();
    fs::create_dir(place.0.join("bin")).unwrap();
    place.file("bin/hello", "#!/bin/sh\necho \"hello from $(basename \"$(pwd)\")\"\n", 0o755);
    let name = place.0.file_name().unwrap().to_str().unwrap().to_owned();
    let here = StdioCommand { cwd: Some(place.0.clone()), ..command(&["bin/hello"]) };
    assert_eq!(output(&here).await, format!("hello from {name}\n"));
}

#[tokio::test]
async fn a_server_that_heeds_the_end_of_its_input_is_not_signalled() {
    let polite = "import sys; print('ready', flush=True); sys.stdin.read()";
    // On a busy machine Python may be too slow at it, but not each time.
    for _ in 0..3 {
        if stopped(polite).await < EOF_GRACE {
            return;
        }
    }
    panic!("it was signalled each time");
}

#[tokio::test]
async fn s_04_r_21_servers_that_ignore_signals_and_hide_are_gone_after_a_stop() {
    let stubborn = "
import signal, time
for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(name, signal.SIG_IGN)
print('ready', flush=True)
while True: time.sleep(60)";
    let own_session = "
import os, signal, time
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print('ready', flush=True)
while True: time.sleep(60)";
    let daemon = "
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.closerange(2, 100)
        print('ready', flush=True)
        while True: time.sleep(60)
    os._exit(0)
while True: time.sleep(60)";
    let early_leaver = "
import os, time
if os.fork() == 0:
    print('ready', flush=True)
    while True: time.sleep(60)";
    // 2.5 s of patience, and what a busy machine needs for the rest.
    let within = Duration::from_secs(10);
    tokio::join!(
        check_stop(stubborn, within),
        check_stop(own_session, within),
        check_stop(daemon, within),
        check_stop(early_leaver, within),
    );
}

#[tokio::test]
async fn s_04_dropping_without_a_stop_kills_the_whole_group() {
    let script = "
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.fork()
print('ready', flush=True)
while True: time.sleep(60)";
    let (process, pipes) = spawn(&command(&["python3", "-c", script])).unwrap();
    let mark = Arc::clone(&process.mark);
    let mut lines = BufReader::new(pipes.stdout).lines();
    for _ in 0..2 {
        lines.next_line().await.unwrap();
    }
    drop(process);
    // Killed is killed; the kernel may take a moment until the last of them has closed its output.
    let ended = tokio::time::timeout(Duration::from_secs(10), lines.next_line()).await;
    assert!(matches!(ended, Ok(Ok(None))), "{ended:?}");
    assert_eq!(count_orphans(&mark), 0);
}

#[tokio::test]
async fn s_04_children_of_a_gateway_that_was_killed_are_swept_by_the_next() {
    let mut orphan = std::process::Command::new("sleep")
        .arg("60")
        .env(orphans::CHILD_MARK_VARIABLE, "999999999-1-0")
        .spawn()
        .unwrap();
    // It has no environment while it is becoming `sleep`, and other tests may sweep it first.
    let swept = async {
        while orphan.try_wait().unwrap().is_none() {
            orphans::sweep_orphans();
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(10), swept).await.is_ok(), "it lives on");
    assert!(!orphan.wait().unwrap().success());
}

#[tokio::test]
async fn a_living_gateways_children_are_not_swept() {
    let (mut process, _pipes) = spawn(&command(&["sleep", "60"])).unwrap();
    orphans::sweep_orphans();
    let early = tokio::time::timeout(Duration::from_millis(100), process.wait_exit()).await;
    assert!(early.is_err());
}

#[tokio::test]
async fn b_io_1_the_end_and_the_last_words_are_told() {
    let check = async |script: &str, expected: &str| {
        let log = log();
        log.push(b"from an earlier start");
        let (mut process, _pipes) =
            ChildProcess::spawn(&command(&["sh", "-c", script]), None, &log, &clock()).unwrap();
        process.wait_exit().await;
        assert_eq!(process.stop().await.to_string(), expected);
    };
    check("exit 0", "exited with status 0").await;
    check(
        "echo no key given >&2; exit 137",
        "exited with status 137; last line of stderr: no key given",
    )
    .await;
    check(
        "kill -9 $$",
        "was killed by signal 9: the machine ran out of memory, or somebody killed it",
    )
    .await;
}

#[tokio::test]
async fn r_19_a_flood_on_stderr_never_blocks_the_server() {
    let script = "
import sys
line = 'x' * 99 + '\\n'
for _ in range(300): sys.stderr.write(line * 1000)
sys.stderr.write('the end\\n')
print('done', flush=True)";
    let log = log();
    let command = command(&["python3", "-c", script]);
    let (process, mut pipes) = ChildProcess::spawn(&command, None, &log, &clock()).unwrap();
    let mut text = String::new();
    pipes.stdout.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "done\n");
    let ended = process.stop().await;
    assert_eq!(ended.last_words.as_deref(), Some("the end"));
    assert_eq!(log.lines().len(), 100);
}
