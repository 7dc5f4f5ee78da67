//! A temporary directory for one test, removed when the test ends.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) struct ScratchDir {
    path: PathBuf,
}

impl ScratchDir {
    pub(crate) fn new() -> Self {
        let name = format!("tollgate-test-{:016x}", rand::random::<u64>());
        let path = home().join(name);
        fs::create_dir(&path).unwrap();
        Self { path: path.canonicalize().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // A failed test may have removed a part of it.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// In tmpfs if possible: thousands of synced writes would be slow on a disk.
fn home() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}
