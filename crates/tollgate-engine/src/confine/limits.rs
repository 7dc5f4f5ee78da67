//! Resource limits (rlimits) of one process: the mapping from settings to kernel resources. Applied
//! by the launcher to itself or, without one, to a child that was just started.

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

use crate::settings::ProcessLimits;

/// Time between the first warning (SIGXCPU) and SIGKILL.
const LAST_CPU_SECONDS: u64 = 5;

/// A limit, and its name in messages.
pub(crate) struct KernelLimit {
    pub(crate) name: &'static str,
    pub(crate) resource: Resource,
    pub(crate) limit: Rlimit,
}

/// Core files are always disabled: they would contain the secrets in memory.
pub(crate) fn of(limits: &ProcessLimits) -> Vec<KernelLimit> {
    let ProcessLimits { memory_bytes, cpu_seconds, open_files, processes, file_bytes } = *limits;
    let both = |name, resource| {
        move |most| {
            let limit = Rlimit { current: Some(most), maximum: Some(most) };
            KernelLimit { name, resource, limit }
        }
    };
    // Not the address space: V8 and the JVM reserve far more of it than they use.
    let memory = memory_bytes.map(both("memory", Resource::Data));
    let cpu = cpu_seconds.map(|most| {
        let maximum = Some(most.saturating_add(LAST_CPU_SECONDS));
        let limit = Rlimit { current: Some(most), maximum };
        KernelLimit { name: "CPU time", resource: Resource::Cpu, limit }
    });
    let files = open_files.map(both("open files", Resource::Nofile));
    let processes = processes.map(both("processes", Resource::Nproc));
    let size = file_bytes.map(both("file size", Resource::Fsize));
    let core = Some(both("core files", Resource::Core)(0));
    [memory, cpu, files, processes, size, core].into_iter().flatten().collect()
}

/// Never raises a lower limit.
pub(super) fn lower(resource: Resource, limit: Rlimit) -> Result<(), Errno> {
    setrlimit(resource, below(limit, getrlimit(resource).maximum))
}

/// For a child without a launcher. Does nothing if the child is already gone.
pub(crate) fn lower_of(child: Pid, limit: &KernelLimit) -> Result<(), Errno> {
    let KernelLimit { resource, limit, .. } = *limit;
    match prlimit(Some(child), resource, below(limit, getrlimit(resource).maximum)) {
        Ok(_) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error),
    }
}

fn below(limit: Rlimit, most: Option<u64>) -> Rlimit {
    let least = |limit: Option<u64>| match (limit, most) {
        (Some(limit), Some(most)) => Some(limit.min(most)),
        (limit, most) => limit.or(most),
    };
    Rlimit { current: least(limit.current), maximum: least(limit.maximum) }
}

#[cfg(test)]
mod tests;
