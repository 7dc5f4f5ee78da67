//! Reads the repository as text, for the tests that guard its shape.
//!
//! Finds the worker for those that run programs and a model for those that look for meanings, and
//! starts PostgreSQL for those that need one; has WebSockets by hand, and realtime providers and
//! clients made of them; makes memory control groups, attacks a running gateway, and counts tests
//! that cannot run on this machine.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

pub mod attack;
pub mod cgroup;
mod embedding;
pub mod postgres;
pub mod realtime;
pub mod skip;
mod worker;
pub mod ws;

pub use embedding::embedding_model;
pub use worker::worker;

/// A file of the repository, by its path from the root.
#[derive(Debug)]
pub struct RepositoryFile {
    pub path: String,
    pub text: String,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/tollgate-testkit has two parents").to_owned()
}

/// Where a build that counts what is covered writes (`scripts/coverage`), for children that get an environment of their own.
pub fn coverage_profile() -> Option<(&'static str, OsString)> {
    const NAME: &str = "LLVM_PROFILE_FILE";
    std::env::var_os(NAME).map(|file| (NAME, file))
}

/// All files below `folder` that end in `ending`, sorted.
pub fn sources(folder: &str, ending: &str) -> Vec<RepositoryFile> {
    let mut found = Vec::new();
    collect(&root().join(folder), ending, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(folder: &Path, ending: &str, found: &mut Vec<RepositoryFile>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let skip = ["target", "node_modules", ".git", ".state"];
        let is_foreign =
            skip.iter().any(|it| name == *it) || name.to_string_lossy().starts_with(".venv");
        if path.is_dir() {
            if !is_foreign {
                collect(&path, ending, found);
            }
        } else if name.to_string_lossy().ends_with(ending)
            && let Ok(text) = fs::read_to_string(&path)
        {
            let path = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
            found.push(RepositoryFile { path, text });
        }
    }
}
