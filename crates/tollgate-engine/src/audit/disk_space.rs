//! Whether there is room for more rows. A disk that is all but full is taken for full: a call must
//! not find out by its own row.

use tollgate_store::audit::Audit;

/// More than one commit ever needs, and less than anybody misses.
const RESERVE_BYTES: u64 = 1 << 20;

pub(super) fn is_short(trail: &Audit) -> bool {
    // What cannot be asked is found out by writing.
    rustix::fs::statvfs(trail.file())
        .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < RESERVE_BYTES)
}
