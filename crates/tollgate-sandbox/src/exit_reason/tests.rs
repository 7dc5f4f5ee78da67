use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use rustix::process::Signal;

use super::explain;

#[derive(Clone, Copy)]
enum How {
    Signal(Signal),
    Exit(i32),
    NotAtAll,
}

#[track_caller]
fn check(how: How, last_words: &str, expected: &str) {
    let status = match how {
        How::Signal(signal) => Some(ExitStatus::from_raw(signal.as_raw())),
        How::Exit(code) => Some(ExitStatus::from_raw(code << 8)),
        How::NotAtAll => None,
    };
    let failed = explain(status, last_words);
    assert_eq!(format!("{:?}: {}", failed.kind, failed.message), expected);
}

#[test]
fn the_end_of_a_process_says_which_limit_it_met() {
    let memory = "Memory: the program ran out of memory";
    let deep = "Depth: functions or values are nested too deeply";
    check(How::Signal(Signal::ABORT), "memory allocation of 99 bytes failed\n", memory);
    check(How::Exit(101), "thread 'main' panicked at x:\ncapacity overflow\n", memory);
    check(How::Signal(Signal::ABORT), "\nthread 'main' has overflowed its stack\n", deep);
    check(How::Signal(Signal::SEGV), "", deep);
    check(How::Signal(Signal::BUS), "", deep);
    let time = "Time: the program took more CPU time than its limit";
    check(How::Signal(Signal::XCPU), "", time);
    let stalled = "tollgate-worker: one operation took more than 2 s of CPU time\n";
    check(How::Exit(1), stalled, "Time: one operation took more than 2 s of CPU time");
    let rights = "Runtime: the program did something that is not allowed here";
    check(How::Signal(Signal::SYS), "", rights);
    check(How::Signal(Signal::KILL), "", "Memory: the program's process was killed from outside");
}

#[test]
fn an_end_that_nobody_expects_is_told_as_it_was() {
    let broke = "Runtime: the program crashed the interpreter";
    check(How::Exit(0), "", &format!("{broke} (its process ended without an answer)"));
    check(How::Exit(3), "", &format!("{broke} (exit status: 3)"));
    let words = "thread 'main' panicked\nindex out of bounds\n\n";
    check(How::Exit(101), words, &format!("{broke} (exit status: 101): index out of bounds"));
    let many = "x".repeat(10_000);
    check(How::Exit(1), &many, &format!("{broke} (exit status: 1): {}", "x".repeat(200)));
    check(How::NotAtAll, "", "Runtime: the program's process stopped responding and was killed");
}
