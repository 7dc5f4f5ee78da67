//! Free disk space for audit rows. An almost full disk counts as full, so that no call finds out
//! when its own row fails.

use tollgate_store::audit::Audit;

/// More than one commit ever needs, and too little to matter otherwise.
const RESERVE_BYTES: u64 = 1 << 20;

pub(super) fn is_short(trail: &Audit) -> bool {
    // If statvfs fails, writing will show whether there is space.
    rustix::fs::statvfs(trail.file())
        .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < RESERVE_BYTES)
}
