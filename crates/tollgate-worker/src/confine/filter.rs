//! The system calls that are left: to compute, to talk over the three standard files, and to say
//! why the process dies. Anything else kills it.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is,
    SeccompCondition as Condition, SeccompFilter, SeccompRule as Rule, TargetArch,
    apply_filter_all_threads,
};

use super::WorkerConfineError;

/// Whatever their arguments.
const CALLS: &[i64] = &[
    // Memory and locks.
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    // Ends.
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Signals: what an abort, or the end of the stack, is told with.
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    // Waiting for the end of the input.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_restart_syscall,
    // Time of the interpreter's own statistics, and seeds of its maps.
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
    libc::SYS_sched_yield,
];

const EXECUTABLE: u64 = libc::PROT_EXEC as u64;

pub(super) fn apply() -> Result<(), WorkerConfineError> {
    let filter = program().map_err(|error| WorkerConfineError::Calls(error.to_string()))?;
    apply_filter_all_threads(&filter).map_err(|error| WorkerConfineError::Calls(error.to_string()))
}

fn program() -> Result<BpfProgram, BackendError> {
    let own = u64::from(std::process::id());
    let mut rules: BTreeMap<i64, Vec<Rule>> =
        CALLS.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_read, vec![when(0, Is::Eq, 0)?]);
    rules.insert(libc::SYS_write, vec![when(0, Is::Eq, 1)?, when(0, Is::Eq, 2)?]);
    rules.insert(libc::SYS_writev, vec![when(0, Is::Eq, 1)?, when(0, Is::Eq, 2)?]);
    rules.insert(libc::SYS_tgkill, vec![when(0, Is::Eq, own)?]);
    let no_code = Is::MaskedEq(EXECUTABLE);
    rules.insert(libc::SYS_mmap, vec![when(2, no_code.clone(), 0)?]);
    rules.insert(libc::SYS_mprotect, vec![when(2, no_code, 0)?]);
    let killed = SeccompAction::KillProcess;
    SeccompFilter::new(rules, killed, SeccompAction::Allow, TargetArch::try_from(ARCH)?)?.try_into()
}

/// Only if that argument, counted from 0, is so.
fn when(argument: u8, is: Is, value: u64) -> Result<Rule, BackendError> {
    Rule::new(vec![Condition::new(argument, Length::Dword, is, value)?])
}
