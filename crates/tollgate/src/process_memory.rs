//! What the process holds in memory is full of secrets: nobody else gets to read it.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Disables core files, and keeps other processes of this user from reading this one
/// (`/proc/PID/mem`, `/proc/PID/environ`, ptrace).
///
/// Landlock does the latter for servers, but not for those without it. Children begin anew.
pub fn keep_private() {
    // Where the system refuses, it is as it was before.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}
