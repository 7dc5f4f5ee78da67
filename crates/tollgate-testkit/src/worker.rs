//! Finds `tollgate-worker` for tests, which lies in a workspace of its own: `cargo` does not build
//! it with them. `make` does; whoever runs tests without it waits here, once.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::root;

/// What goes into it. Dependencies are its lock file's.
const SOURCES: [&str; 4] = [
    "crates/tollgate-worker/src",
    "crates/tollgate-worker/Cargo.toml",
    "crates/tollgate-worker/Cargo.lock",
    "crates/tollgate-sandbox/src/frames.rs",
];

/// The worker beside the binaries of this build; built if it is not there, or old.
///
/// # Panics
/// When it cannot be built.
pub fn worker() -> PathBuf {
    let own = std::env::current_exe().expect("a test has an executable");
    // target/debug/deps/it-0123 and target/debug/examples/x, or a binary in target/debug itself.
    let folder = own.parent().expect("an executable lies in a folder");
    let nested = folder.ends_with("deps") || folder.ends_with("examples");
    let folder = if nested { folder.parent().expect("deps lies in a folder") } else { folder };
    let worker = folder.join("tollgate-worker");
    let lock = File::create(folder.join(".tollgate-worker.lock")).expect("a file beside the tests");
    lock.lock().expect("one test at a time looks at the worker");
    if !is_current(&worker) {
        build(folder);
    }
    assert!(worker.exists(), "{} is not there: run `make worker`", worker.display());
    worker
}

fn build(folder: &Path) {
    let target = folder.parent().expect("a profile's folder lies in the target folder");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["build", "--quiet", "--locked", "--manifest-path"])
        .arg(root().join("crates/tollgate-worker/Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        // A test that is ended because this takes too long leaves the build to the next one.
        .process_group(0);
    if folder.ends_with("release") {
        command.arg("--release");
    }
    let built = command.status().is_ok_and(|status| status.success());
    assert!(built, "tollgate-worker cannot be built: run `make worker`");
}

fn is_current(worker: &Path) -> bool {
    let Some(built) = modified_at(worker) else { return false };
    let mut newest = None;
    for source in SOURCES {
        look(&root().join(source), &mut newest);
    }
    newest.is_some_and(|newest| newest <= built)
}

fn look(path: &Path, newest: &mut Option<SystemTime>) {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().for_each(|entry| look(&entry.path(), newest)),
        Err(_) => *newest = (*newest).max(modified_at(path)),
    }
}

fn modified_at(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}
