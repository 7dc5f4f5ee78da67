//! How programs that models write are run.

use std::path::PathBuf;

use tollgate_core::code::Binding;
use tollgate_sandbox::limits::Limits;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    pub limits: Limits,
    /// Of the process that runs one program: the kernel gives it no more.
    pub memory_bytes: u64,
    /// How tools are spread over the files that describe them.
    pub binding: Binding,
    /// Workers that wait for a program.
    pub spare: usize,
    /// Programs at the same time; others wait.
    pub most: usize,
    pub unapproved: Unapproved,
    /// The program that runs programs.
    pub worker: PathBuf,
}

/// What becomes of a call in a program that needs a person's leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unapproved {
    /// The program waits, as any call does.
    Waits,
    Refused,
}

impl Default for Code {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            memory_bytes: 256 << 20,
            binding: Binding::Server,
            spare: 1,
            most: 16,
            unapproved: Unapproved::Waits,
            worker: beside_ourselves(),
        }
    }
}

/// Both programs are built and installed together.
fn beside_ourselves() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.with_file_name("tollgate-worker")
}
