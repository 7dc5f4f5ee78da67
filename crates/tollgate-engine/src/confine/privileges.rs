//! What a process may do beyond its files: gained privileges, root's powers, the way it treats
//! its neighbours on the machine. Used by the launcher only.

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::umask;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set,
    set_capabilities,
};

/// The kernel picks the highest of all processes when memory runs out: a server before its gateway.
const FIRST_TO_GO: i32 = 500;
const SCORE: &str = "/proc/self/oom_score_adj";

/// What is left of root's powers: those over files and own processes, as in most containers.
const KEPT_CAPABILITIES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// With these a process reads the memory and the environment of others, or the disk, whatever
/// Landlock says.
const POWER_OVER_OTHERS: [CapabilitySet; 7] = [
    CapabilitySet::BPF,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::PERFMON,
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::SYS_RAWIO,
];

/// Files it makes are its user's alone, and it goes first when memory runs out.
pub(super) fn keep_to_ourselves() {
    umask(Mode::RWXG | Mode::RWXO);
    let now = std::fs::read_to_string(SCORE).ok().and_then(|text| text.trim().parse().ok());
    if now.is_some_and(|now: i32| now < FIRST_TO_GO) {
        // Where it cannot be written nobody is less safe than before.
        let _ = std::fs::write(SCORE, FIRST_TO_GO.to_string());
    }
}

/// Nothing that it runs can gain a privilege any more, and root gives up what no server needs:
/// with it, limits could be raised again.
pub(super) fn give_up() -> Result<(), Errno> {
    let now = capabilities(None)?;
    let less = CapabilitySets {
        effective: now.effective & KEPT_CAPABILITIES,
        permitted: now.permitted & KEPT_CAPABILITIES,
        inheritable: CapabilitySet::empty(),
    };
    if now != less {
        set_capabilities(None, less)?;
    }
    rustix::thread::set_no_new_privs(true)
}

/// For a server that may gain privileges: not these, by whatever program.
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
