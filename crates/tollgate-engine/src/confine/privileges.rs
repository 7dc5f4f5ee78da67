//! Drops privileges of a process beyond file access: gaining privileges, root's capabilities,
//! behaviour towards other processes. Used by the launcher only.

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::umask;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
    set_capabilities,
};

/// The OOM killer picks the process with the highest score: a server before its gateway.
const FIRST_TO_GO: i32 = 500;
const SCORE: &str = "/proc/self/oom_score_adj";

/// Capabilities that root keeps: those over files and its own processes, as in most containers.
const RETAINED_CAPABILITIES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// With these a process can read the memory and environment of others, or the disk, despite
/// Landlock.
const POWER_OVER_OTHERS: [CapabilitySet; 7] = [
    CapabilitySet::BPF,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::PERFMON,
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::SYS_RAWIO,
];

/// New files are private to the user, and the process goes first when memory runs out.
pub(super) fn keep_to_ourselves() {
    umask(Mode::RWXG | Mode::RWXO);
    let now = std::fs::read_to_string(SCORE).ok().and_then(|text| text.trim().parse().ok());
    if now.is_some_and(|now: i32| now < FIRST_TO_GO) {
        // Best effort: without it nothing is less safe than before.
        let _ = std::fs::write(SCORE, FIRST_TO_GO.to_string());
    }
}

/// No program it runs can gain privileges any more, and root gives up the capabilities that no
/// server needs: with them, limits could be raised again.
pub(super) fn give_up() -> Result<(), Errno> {
    let now = capabilities(None)?;
    let less = CapabilitySets {
        effective: now.effective & RETAINED_CAPABILITIES,
        permitted: now.permitted & RETAINED_CAPABILITIES,
        inheritable: CapabilitySet::empty(),
    };
    if now != less {
        set_capabilities(None, less)?;
    }
    rustix::thread::set_no_new_privs(true)
}

/// For a server that may gain privileges: never these, through whatever program.
pub(super) fn give_up_power_over_others() -> Result<(), Errno> {
    for power in POWER_OVER_OTHERS {
        remove_capability_from_bounding_set(power)?;
    }
    let all = POWER_OVER_OTHERS.into_iter().fold(CapabilitySet::empty(), CapabilitySet::union);
    let now = capabilities(None)?;
    let less = CapabilitySets {
        effective: now.effective - all,
        permitted: now.permitted - all,
        inheritable: now.inheritable - all,
    };
    set_capabilities(None, less)
}
