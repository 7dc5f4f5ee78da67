//! Network isolation: a seccomp filter that blocks the creation of sockets of any family.
//!
//! Connected socket pairs stay allowed; programs use them to talk to their children. Used by the
//! launcher only.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

use super::ConfineError;

/// `EACCES`, which programs report correctly.
const EACCES: u32 = 13;
/// io_uring can create sockets without the system call.
const IO_URING_SETUP: i64 = 425;
/// The same calls with the numbers of the x32 ABI.
const X32: i64 = 0x4000_0000;

pub(super) fn close() -> Result<(), ConfineError> {
    let socket = match ARCH {
        "x86_64" => 41,
        "aarch64" | "riscv64" => 198,
        _ => return Err(ConfineError::Network(format!("not supported on {ARCH}"))),
    };
    let calls = [socket, IO_URING_SETUP, socket | X32, IO_URING_SETUP | X32];
    let rules: BTreeMap<_, _> = calls.into_iter().map(|call| (call, Vec::new())).collect();
    let filter = || -> Result<BpfProgram, seccompiler::BackendError> {
        let target = TargetArch::try_from(ARCH)?;
        let denied = SeccompAction::Errno(EACCES);
        SeccompFilter::new(rules, SeccompAction::Allow, denied, target)?.try_into()
    };
    let filter = filter().map_err(|error| ConfineError::Network(error.to_string()))?;
    apply_filter(&filter).map_err(|error| ConfineError::Network(error.to_string()))
}
