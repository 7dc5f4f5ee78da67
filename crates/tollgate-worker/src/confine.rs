//! Confines the process before it reads a program: first what threads inherit, then what would
//! prevent starting them. Called by `main` only; independent of programs.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr as _, RulesetError, Scope,
};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

mod filter;

/// With more than one arena, the allocator reserves 64 MiB per thread, and reads `/proc` when it
/// frees memory.
const ARENAS: &str = "MALLOC_ARENA_MAX";
/// Set in a process that re-executed itself, which happens once.
const REEXEC_VARIABLE: &str = "TOLLGATE_WORKER_AGAIN";

/// Limits that the kernel enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelLimits {
    /// Address space, including stacks and the executable.
    pub memory_bytes: u64,
    pub cpu_seconds: u64,
}

impl Default for KernelLimits {
    fn default() -> Self {
        Self { memory_bytes: 256 << 20, cpu_seconds: 60 }
    }
}

/// Why the process could not be confined. It must not read a program then.
#[derive(Debug, thiserror::Error)]
pub enum WorkerConfineError {
    #[error("it could not restart itself without inherited files: {0}")]
    Again(io::Error),
    #[error("it restarted itself, but {0} files beyond the standard three are still open")]
    StillOpen(usize),
    #[error("its privileges could not be dropped: {0}")]
    Privileges(Errno),
    #[error("its file rules could not be set: {0}")]
    Files(#[from] RulesetError),
    #[error("the limit of {0} could not be set: {1}")]
    Limit(&'static str, Errno),
    #[error("its system calls could not be limited: {0}")]
    Calls(String),
}

/// Call it on the first thread, while that is the only one: threads inherit all of it.
pub fn begin(walls: KernelLimits) -> Result<(), WorkerConfineError> {
    // The OOM killer picks the process with the highest score. Best effort: without it nothing is
    // less safe than before.
    let _ = fs::write("/proc/self/oom_score_adj", "800");
    begin_well()?;
    let nothing = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, nothing).map_err(WorkerConfineError::Privileges)?;
    rustix::thread::set_no_new_privs(true).map_err(WorkerConfineError::Privileges)?;
    close_files()?;
    limit("memory", Resource::As, walls.memory_bytes)?;
    // One second more for the hard limit, or the kernel would kill without a signal that tells why.
    let seconds = [walls.cpu_seconds, walls.cpu_seconds.saturating_add(1)];
    set("CPU time", Resource::Cpu, seconds)
}

/// Call it when all threads are running. From here on the process can only compute, read its input,
/// write its output, and exit.
pub fn finish() -> Result<(), WorkerConfineError> {
    limit("open files", Resource::Nofile, 3)?;
    limit("processes", Resource::Nproc, 0)?;
    limit("file size", Resource::Fsize, 0)?;
    limit("core files", Resource::Core, 0)?;
    limit("locked memory", Resource::Memlock, 0)?;
    filter::apply()
}

/// Inherited files cannot be closed without unsafe code, and the allocator is configured before
/// `main`: a process that started with the wrong ones re-executes itself.
fn begin_well() -> Result<(), WorkerConfineError> {
    let one_arena = env::var_os(ARENAS).is_some_and(|most| most == "1");
    let files = count_inherited_files().unwrap_or_default();
    if one_arena && files == 0 {
        return Ok(());
    }
    // Something in the process opens them, and would do so every time.
    if env::var_os(REEXEC_VARIABLE).is_some() {
        return Err(WorkerConfineError::StillOpen(files));
    }
    close_fds::set_fds_cloexec(3, &[]);
    let mut again = Command::new("/proc/self/exe");
    again
        .arg0("tollgate-worker")
        .args(env::args_os().skip(1))
        .env(ARENAS, "1")
        .env(REEXEC_VARIABLE, "1");
    Err(WorkerConfineError::Again(again.exec()))
}

/// Open files beyond the standard three. If they cannot be counted, the seccomp filter blocks them.
fn count_inherited_files() -> Option<usize> {
    let open = fs::read_dir("/proc/self/fd").ok()?;
    let beyond = |name: &OsStr| name.to_str()?.parse().ok().filter(|file: &u32| *file > 2);
    let open = open.flatten().filter(|file| beyond(&file.file_name()).is_some()).count();
    // One is the directory that is being read.
    Some(open.saturating_sub(1))
}

/// No files, no connections, no signals to others. On a kernel without Landlock this is left to the
/// seccomp filter.
fn close_files() -> Result<(), WorkerConfineError> {
    Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V5))?
        .handle_access(AccessNet::from_all(ABI::V4))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?
        .restrict_self()?;
    Ok(())
}

fn limit(what: &'static str, resource: Resource, most: u64) -> Result<(), WorkerConfineError> {
    set(what, resource, [most, most])
}

/// Never raises a lower limit.
fn set(what: &'static str, resource: Resource, limits: [u64; 2]) -> Result<(), WorkerConfineError> {
    let now = getrlimit(resource).maximum;
    let [current, maximum] = limits.map(|most| Some(now.map_or(most, |now| now.min(most))));
    setrlimit(resource, Rlimit { current, maximum })
        .map_err(|error| WorkerConfineError::Limit(what, error))
}
