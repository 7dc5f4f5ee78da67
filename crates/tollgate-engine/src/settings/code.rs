//! Settings of code mode: how programs written by models are run.

use std::path::PathBuf;

use tollgate_core::call_policy::UnapprovedCallPolicy;
use tollgate_core::code_mode::BindingLevel;
use tollgate_mcp::memory_budget;
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

/// Both binaries are built and installed together.
fn beside_ourselves() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.with_file_name("tollgate-worker")
}
