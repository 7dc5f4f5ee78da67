//! Protects the memory of the process, which contains secrets, from other processes.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Disables core files, and keeps other processes of this user from reading this one
/// (`/proc/PID/mem`, `/proc/PID/environ`, ptrace).
///
/// Landlock does the latter for servers, but not for those without it. An `exec` resets this, so
/// child processes are not covered.
pub fn keep_private() {
    // If the system refuses, nothing changes.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
