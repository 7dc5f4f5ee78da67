//! Settings of code mode: how programs written by models are run.

use std::path::PathBuf;

use tollgate_core::call_policy::{CodeModePolicy, ProgramLimits, UnapprovedCallPolicy};
use tollgate_core::code_mode::BindingLevel;
use tollgate_mcp::memory_budget;
use tollgate_sandbox::frames::InterpreterLimits;
use tollgate_sandbox::limits::Limits;
use tollgate_sandbox::sandbox;

/// Divisor of the memory limit, for the worker processes.
const SHARE_OF_MEMORY: u64 = 2;
/// Memory of a worker beside the heap of its program.
const PROCESS_BYTES: usize = 16 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeModeSettings {
    /// What one stub file for models describes.
    pub binding: BindingLevel,
    pub limits: Limits,
    /// Per worker, enforced by the kernel.
    pub memory_bytes: u64,
    /// Idle workers kept ready.
    pub spare: usize,
    /// Concurrent programs; others wait.
    pub together: usize,
    pub unapproved: UnapprovedCallPolicy,
    /// The executable of the worker.
    pub worker: PathBuf,
}

impl CodeModeSettings {
    /// What turns carry of it.
    pub(crate) fn policy(&self) -> CodeModePolicy {
        let limits = program_limits(self.limits);
        CodeModePolicy { binding: self.binding, unapproved: self.unapproved, limits }
    }

    pub(crate) fn sandbox(&self) -> sandbox::SandboxSettings {
        sandbox::SandboxSettings {
            worker: self.worker.clone(),
            spare: self.spare,
            together: self.together,
            processes: self.processes_in_memory(),
            memory_bytes: self.memory_bytes,
            // CPU time can never exceed the wall-clock limit.
            cpu: self.limits.time,
        }
    }
}

impl CodeModeSettings {
    /// How many processes fit into their share of the memory limit, beside the idle ones.
    fn processes_in_memory(&self) -> usize {
        let Some(share) = memory_budget::share_of_memory_limit(SHARE_OF_MEMORY) else {
            return usize::MAX;
        };
        let heap = usize::try_from(self.limits.fence.heap_bytes).unwrap_or(usize::MAX);
        let idle = self.spare.saturating_mul(PROCESS_BYTES);
        (share.saturating_sub(idle) / heap.saturating_add(PROCESS_BYTES)).max(1)
    }
}

impl Default for CodeModeSettings {
    fn default() -> Self {
        Self {
            binding: BindingLevel::Server,
            limits: Limits::default(),
            memory_bytes: 256 << 20,
            spare: 1,
            together: 16,
            unapproved: UnapprovedCallPolicy::Waits,
            worker: beside_ourselves(),
        }
    }
}

fn program_limits(limits: Limits) -> ProgramLimits {
    let Limits { fence, time, source_bytes, nesting } = limits;
    let InterpreterLimits { steps, heap_bytes, depth, calls, output_bytes } = fence;
    ProgramLimits { steps, heap_bytes, depth, calls, output_bytes, time, source_bytes, nesting }
}

/// The limits of a turn as the sandbox takes them.
pub(crate) fn sandbox_limits(limits: ProgramLimits) -> Limits {
    let ProgramLimits { steps, heap_bytes, depth, calls, output_bytes, time, .. } = limits;
    let fence = InterpreterLimits { steps, heap_bytes, depth, calls, output_bytes };
    Limits { fence, time, source_bytes: limits.source_bytes, nesting: limits.nesting }
}

/// Both binaries are built and installed together.
fn beside_ourselves() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.with_file_name("tollgate-worker")
}

#[cfg(test)]
mod tests {
    use tollgate_core::call_policy::ProgramLimits;
    use tollgate_sandbox::limits::Limits;

    use super::{program_limits, sandbox_limits};

    #[test]
    fn turns_and_the_sandbox_know_the_same_limits() {
        assert_eq!(sandbox_limits(ProgramLimits::default()), Limits::default());
        let mut other = Limits::default();
        other.fence.calls += 1;
        other.nesting += 1;
        assert_eq!(sandbox_limits(program_limits(other)), other);
    }
}
