//! The limits that the kernel keeps for one process: which resource stands for which setting.
//! Used by the launcher on itself and, where there is none, on a child that was just started.

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

use crate::settings::ProcessLimits;

/// After the first warning (SIGXCPU) a process has this long to leave.
const LAST_CPU_SECONDS: u64 = 5;

pub(crate) type KernelLimit = (&'static str, Resource, Rlimit);

/// A core file would hold whatever secrets were in memory, so there is never one.
pub(crate) fn of(limits: &ProcessLimits) -> Vec<KernelLimit> {
    let ProcessLimits { memory_bytes, cpu_seconds, open_files, processes, file_bytes } = *limits;
    let both = |most| Rlimit { current: Some(most), maximum: Some(most) };
    // Not the address space: V8 and the JVM reserve far more of it than they ever use.
    let memory = memory_bytes.map(|most| ("memory", Resource::Data, both(most)));
    let cpu = cpu_seconds.map(|most| {
        let maximum = Some(most.saturating_add(LAST_CPU_SECONDS));
        ("CPU time", Resource::Cpu, Rlimit { current: Some(most), maximum })
    });
    let files = open_files.map(|most| ("open files", Resource::Nofile, both(most)));
    let processes = processes.map(|most| ("processes", Resource::Nproc, both(most)));
    let size = file_bytes.map(|most| ("file size", Resource::Fsize, both(most)));
    let core = Some(("core files", Resource::Core, both(0)));
    [memory, cpu, files, processes, size, core].into_iter().flatten().collect()
}

/// Never raises what is lower already.
pub(super) fn lower(resource: Resource, wanted: Rlimit) -> Result<(), Errno> {
    setrlimit(resource, below(wanted, getrlimit(resource).maximum))
}

/// For a child without a launcher. One that is gone already needs no limit.
pub(crate) fn lower_of(child: Pid, (_, resource, wanted): KernelLimit) -> Result<(), Errno> {
    match prlimit(Some(child), resource, below(wanted, getrlimit(resource).maximum)) {
        Ok(_) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error),
    }
}

fn below(wanted: Rlimit, most: Option<u64>) -> Rlimit {
    let least = |wanted: Option<u64>| match (wanted, most) {
        (Some(wanted), Some(most)) => Some(wanted.min(most)),
        (wanted, most) => wanted.or(most),
    };
    Rlimit { current: least(wanted.current), maximum: least(wanted.maximum) }
}

#[cfg(test)]
mod tests;
