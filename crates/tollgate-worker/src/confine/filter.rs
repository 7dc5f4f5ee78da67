//! The seccomp filter: allows the system calls needed to compute, to use the three standard files,
//! and to report why the process dies. Anything else kills it.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is,
    SeccompCondition as Condition, SeccompFilter, SeccompRule as Rule, TargetArch,
    apply_filter_all_threads,
};

use super::WorkerConfineError;

/// Allowed with any arguments.
const CALLS: &[i64] = &[
    // Memory and locks.
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    // Exit.
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Signals: used to report an abort or a stack overflow.
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    // Waiting for EOF on the input.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_restart_syscall,
    // Clock for the interpreter's statistics, and seeds of its maps.
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

/// Matches if that argument, counted from 0, satisfies the condition.
fn when(argument: u8, is: Is, value: u64) -> Result<Rule, BackendError> {
    Rule::new(vec![Condition::new(argument, Length::Dword, is, value)?])
}
