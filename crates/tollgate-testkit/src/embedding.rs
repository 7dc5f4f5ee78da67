//! A real static embedding model for tests: the one that WordLlama's package carries.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::root;

/// Its directory. The first time it is fetched.
///
/// # Panics
/// When it cannot be installed.
pub fn embedding_model() -> PathBuf {
    let mut setup = Command::new(root().join("scripts/setup-embedding"));
    let said = setup.stderr(Stdio::inherit()).output().expect("a shell runs the script");
    assert!(said.status.success(), "scripts/setup-embedding failed");
    let path = String::from_utf8(said.stdout).expect("a path in this repository");
    let path = PathBuf::from(path.trim());
    assert!(path.is_dir(), "{} is not there: see scripts/setup-embedding", path.display());
    path
}
