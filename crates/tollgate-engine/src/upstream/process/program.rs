//! Resolves the program of a command, and explains why it cannot be started.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::environment::ChildEnvironment;
use crate::settings::StdioCommand;

#[derive(Debug, thiserror::Error)]
pub(in crate::upstream) enum SpawnError {
    #[error("`{program}` was not found in PATH")]
    NotInPath { program: String },
    #[error("`{program}` does not exist")]
    Missing { program: String },
    #[error("`{program}` is a directory, not a program")]
    Directory { program: String },
    #[error("`{program}` is not a regular file")]
    NotAFile { program: String },
    #[error("`{program}` is not executable (try `chmod +x`)")]
    NotExecutable { program: String },
    #[error("`{program}` is empty, not a program")]
    Empty { program: String },
    #[error("`{program}` is neither a binary for this machine nor a script with a `#!` line")]
    NotAProgram { program: String },
    #[error("`{program}` needs the interpreter `{interpreter}`, which does not exist")]
    NoInterpreter { program: String, interpreter: String },
    #[error("this user is not allowed to run `{program}`")]
    Denied { program: String },
    #[error("the working directory `{cwd}` is not a directory")]
    BadCwd { cwd: String },
    #[error("the variable `{name}` cannot be passed: it contains `=` or NUL")]
    Variable { name: String },
    #[error("an argument of `{program}` contains NUL")]
    Argument { program: String },
    #[error("the sandbox denies `{program}` access to its own files; add them to `sandbox.read`")]
    Closed { program: String },
    #[error(
        "its file rules allow `{path}`, which contains the gateway's `{private}`; use narrower \
         paths"
    )]
    Exposed { path: String, private: String },
    #[error(
        "`{program}` is in the gateway's data directory, which servers may not access; move it \
         elsewhere"
    )]
    AmongGatewayFiles { program: String },
    #[error("it cannot be confined: {why}")]
    Unconfined { why: String },
    #[error(
        "`sandbox` has file rules or denies the network, which needs the launcher; this program \
         has none"
    )]
    NoLauncher,
    #[error("`{program}` could not be started")]
    Other {
        program: String,
        #[source]
        cause: io::Error,
    },
}

/// The absolute path of the program, as the child would resolve it.
pub(super) fn resolve(
    command: &StdioCommand,
    environment: &ChildEnvironment,
) -> Result<PathBuf, SpawnError> {
    let name = &command.words[0];
    if let Some(cwd) = &command.cwd
        && !cwd.is_dir()
    {
        return Err(SpawnError::BadCwd { cwd: cwd.display().to_string() });
    }
    if command.words.iter().any(|word| word.contains('\0')) {
        return Err(SpawnError::Argument { program: name.replace('\0', "") });
    }
    if name.contains('/') {
        let path = command.cwd.as_deref().unwrap_or(Path::new("")).join(name);
        usable(name, &path)?;
        return std::path::absolute(&path)
            .map_err(|cause| SpawnError::Other { program: name.clone(), cause });
    }
    let paths = environment.get(std::ffi::OsStr::new("PATH"));
    let mut trouble = SpawnError::NotInPath { program: name.clone() };
    for directory in paths.iter().flat_map(|paths| std::env::split_paths(paths)) {
        let candidate = directory.join(name);
        match usable(name, &candidate) {
            Ok(()) => return Ok(candidate),
            Err(SpawnError::Missing { .. } | SpawnError::Directory { .. }) => {}
            Err(error) => trouble = error,
        }
    }
    Err(trouble)
}

fn usable(name: &str, path: &Path) -> Result<(), SpawnError> {
    let program = name.to_owned();
    let Ok(found) = fs::metadata(path) else {
        return Err(SpawnError::Missing { program });
    };
    if found.is_dir() {
        return Err(SpawnError::Directory { program });
    }
    if !found.is_file() {
        return Err(SpawnError::NotAFile { program });
    }
    if found.permissions().mode() & 0o111 == 0 {
        return Err(SpawnError::NotExecutable { program });
    }
    if found.len() == 0 {
        return Err(SpawnError::Empty { program });
    }
    match interpreter(path) {
        Some(interpreter) if !Path::new(&interpreter).exists() => {
            Err(SpawnError::NoInterpreter { program, interpreter })
        }
        _ => Ok(()),
    }
}

/// The operating system's error, in terms of the command.
pub(super) fn explain(command: &StdioCommand, path: &Path, error: &io::Error) -> SpawnError {
    const ENOEXEC: i32 = 8;
    let program = command.words[0].clone();
    match error.kind() {
        io::ErrorKind::NotFound => {
            let interpreter = interpreter(path).unwrap_or_else(|| "its loader".to_owned());
            SpawnError::NoInterpreter { program, interpreter }
        }
        io::ErrorKind::PermissionDenied if command.sandbox.has_file_rules() => {
            SpawnError::Closed { program }
        }
        io::ErrorKind::PermissionDenied => SpawnError::Denied { program },
        _ if error.raw_os_error() == Some(ENOEXEC) => SpawnError::NotAProgram { program },
        _ => SpawnError::Other {
            program,
            cause: error.raw_os_error().map_or_else(
                || io::Error::new(error.kind(), error.to_string()),
                io::Error::from_raw_os_error,
            ),
        },
    }
}

/// The first word after `#!`.
pub(super) fn interpreter(path: &Path) -> Option<String> {
    let mut first = Vec::new();
    BufReader::new(File::open(path).ok()?.take(256)).read_until(b'\n', &mut first).ok()?;
    let line = String::from_utf8(first.strip_prefix(b"#!")?.to_vec()).ok()?;
    line.split_whitespace().next().map(str::to_owned)
}
