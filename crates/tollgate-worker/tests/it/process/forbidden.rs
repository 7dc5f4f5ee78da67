//! What a worker can no longer do once it is shut in. Programs have no way to try, so this test
//! starts itself once more, shuts itself in, and tries.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};

use tollgate_worker::confine::{self, KernelLimits};

/// What the second one tries.
const TRY: &str = "TOLLGATE_TRIES";
const SIGSYS: i32 = 31;

/// In the second one this is the whole test; in the first it tries nothing.
#[test]
fn tries() {
    let Some(what) = std::env::var_os(TRY) else { return };
    let what = what.into_string().expect("a word");
    confine::begin(KernelLimits::default()).expect("it is shut in");
    confine::finish().expect("it is shut in");
    match what.as_str() {
        "nothing" => {}
        "to read a file" => drop(std::fs::read("/etc/passwd")),
        "to list files" => drop(std::fs::read_dir("/")),
        "to make a file" => drop(std::fs::write("/tmp/tollgate-forbidden", "x")),
        "to connect" => drop(std::net::TcpStream::connect("127.0.0.1:9")),
        "to listen" => drop(std::os::unix::net::UnixListener::bind("/tmp/tollgate-forbidden")),
        "to start a program" => drop(Command::new("/bin/true").status()),
        "to start a thread" => drop(std::thread::Builder::new().spawn(|| ())),
        "to signal another" => {
            let parent = rustix::process::getppid().expect("it has one");
            let _ = rustix::process::kill_process(parent, rustix::process::Signal::CONT);
        }
        "to raise a limit" => {
            let none = rustix::process::Rlimit { current: None, maximum: None };
            let _ = rustix::process::setrlimit(rustix::process::Resource::As, none);
        }
        other => panic!("it does not know how {other}"),
    }
}

fn trying(what: &str) -> Output {
    let test = std::env::current_exe().expect("a test is a file");
    Command::new(test)
        .args(["--exact", "process::forbidden::tries", "--nocapture", "--test-threads=1"])
        .env_clear()
        .env(TRY, what)
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .expect("it starts")
}

/// Or the others below would die of being shut in, or of the test around them.
#[test]
fn whoever_tries_nothing_lives() {
    let tried = trying("nothing");
    assert!(tried.status.success(), "{tried:?}");
    assert!(String::from_utf8_lossy(&tried.stdout).contains("1 passed"), "{tried:?}");
}

#[test]
fn files_connections_and_processes_are_out_of_reach() {
    for what in [
        "to read a file",
        "to list files",
        "to make a file",
        "to connect",
        "to listen",
        "to start a program",
        "to start a thread",
        "to signal another",
        "to raise a limit",
    ] {
        let tried = trying(what);
        assert_eq!(tried.status.signal(), Some(SIGSYS), "{what}: {tried:?}");
    }
}
