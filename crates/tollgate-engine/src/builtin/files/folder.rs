//! Opens folders one by one, so that no link leads out of the sandbox.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;

/// Never follow a link; never leak the descriptor to a child process.
pub(super) const SAFE: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);

/// Opens a folder by its name in another.
pub(super) fn open_folder(parent: impl AsFd, name: impl Arg) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(parent, name, OFlags::RDONLY | OFlags::DIRECTORY | SAFE, Mode::empty())
}
