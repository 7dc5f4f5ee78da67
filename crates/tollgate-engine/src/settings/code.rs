//! Settings of code mode: how programs written by models are run.

use std::path::PathBuf;

use tollgate_core::call_policy::UnapprovedCallPolicy;
use tollgate_core::code_mode::BindingLevel;
use tollgate_sandbox::limits::Limits;
use tollgate_sandbox::sandbox;

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
            memory_bytes: self.memory_bytes,
            // CPU time can never exceed the wall-clock limit.
            cpu: self.limits.time,
        }
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
