//! Resource limits (rlimits) of one process: the mapping from settings to kernel resources. Applied
//! by the launcher to itself or, without one, to a child that was just started.

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

use crate::settings::ProcessLimits;

/// Time between the first warning (SIGXCPU) and SIGKILL.
const LAST_CPU_SECONDS: u64 = 5;

pub(crate) type KernelLimit = (&'static str, Resource, Rlimit);

/// Core files are always disabled: they would contain the secrets in memory.
pub(crate) fn of(limits: &ProcessLimits) -> Vec<KernelLimit> {
    let ProcessLimits { memory_bytes, cpu_seconds, open_files, processes, file_bytes } = *limits;
    let both = |most| Rlimit { current: Some(most), maximum: Some(most) };
    // Not the address space: V8 and the JVM reserve far more of it than they use.
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

/// Never raises a lower limit.
pub(super) fn lower(resource: Resource, wanted: Rlimit) -> Result<(), Errno> {
    setrlimit(resource, below(wanted, getrlimit(resource).maximum))
}

/// For a child without a launcher. Does nothing if the child is already gone.
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
