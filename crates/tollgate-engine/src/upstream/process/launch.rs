//! Builds the command line of a child: its own command, prefixed by the launcher if there is one.
//! Also converts what a launcher reports to the usual errors.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use rustix::process::Pid;
use tokio::process::Command as Builder;

use super::program::{self, SpawnError};
use crate::builtin::files::overlaps;
use crate::confine::{self, LaunchSpec, Launcher, limits};
use crate::settings::{GatewayFiles, NetworkAccess, ServerSandbox, StdioCommand};

pub(super) fn words(
    command: &StdioCommand,
    program: &Path,
    launcher: Option<&Launcher>,
) -> Result<Builder, SpawnError> {
    let sandbox = &command.sandbox;
    let name = &command.words[0];
    let others = &command.words[1..];
    let Some(launcher) = launcher else {
        if sandbox.has_file_rules() || sandbox.network == NetworkAccess::Deny {
            return Err(SpawnError::NoLauncher);
        }
        let mut builder = Builder::new(program);
        builder.arg0(name).args(others);
        return Ok(builder);
    };
    let private = launcher.private.paths();
    if sandbox.has_file_rules() {
        apart(sandbox, &private)?;
    }
    if sandbox.gateway_files == GatewayFiles::Closed
        && private.iter().any(|private| overlaps(private, &[program]).is_some())
    {
        return Err(SpawnError::AmongGatewayFiles { program: name.clone() });
    }
    let interpreter = program::interpreter(program);
    let mut run = vec![program];
    run.extend(interpreter.as_deref().map(Path::new));
    let unwritten =
        || SpawnError::Unconfined { why: "one of its paths is not valid UTF-8".to_owned() };
    let order = LaunchSpec::of(sandbox, &run, &private).write().ok_or_else(unwritten)?;
    let mut builder = Builder::new(&launcher.program);
    builder.args(&launcher.arguments).arg(order).arg(program).arg(name).args(others);
    Ok(builder)
}

/// The gateway's files stay closed. Landlock rules only allow, so no rule may cover them.
fn apart(sandbox: &ServerSandbox, private: &[PathBuf]) -> Result<(), SpawnError> {
    let ours: Vec<&Path> = private.iter().map(PathBuf::as_path).collect();
    let named = sandbox.read.iter().chain(&sandbox.write).map(PathBuf::as_path);
    for path in named.chain(confine::always_open()) {
        if let Some(private) = overlaps(path, &ours) {
            let path = path.display().to_string();
            let private = private.display().to_string();
            return Err(SpawnError::Exposed { path, private });
        }
    }
    Ok(())
}

/// With file rules, our own directory would be unreadable for it.
pub(super) fn directory(command: &StdioCommand) -> Option<&Path> {
    let closed = command.sandbox.has_file_rules().then(|| Path::new("/"));
    command.cwd.as_deref().or(closed)
}

/// For a child without a launcher, right after its start.
pub(super) fn limit(command: &StdioCommand, child: Pid) -> Result<(), SpawnError> {
    for limit in limits::of(&command.sandbox.limits) {
        limits::lower_of(child, &limit).map_err(|error| SpawnError::Unconfined {
            why: format!("the limit of {} could not be set: {error}", limit.name),
        })?;
    }
    Ok(())
}

/// The operating system's error on starting the child.
pub(super) fn explain(
    command: &StdioCommand,
    program: &Path,
    launcher: Option<&Launcher>,
    error: &io::Error,
) -> SpawnError {
    match launcher {
        None => program::explain(command, program, error),
        Some(launcher) => {
            let launcher = launcher.program.display();
            SpawnError::Unconfined { why: format!("`{launcher}` could not be run: {error}") }
        }
    }
}

/// Why a launcher did not execute the program, if that is what happened.
pub(super) fn failure(
    command: &StdioCommand,
    program: &Path,
    status: Option<ExitStatus>,
    lines: &[String],
) -> Option<SpawnError> {
    if status?.code()? != confine::LAUNCH_FAILED_EXIT_CODE {
        return None;
    }
    let why = lines.last()?.strip_prefix(confine::ERROR_PREFIX)?;
    let number = why.strip_prefix("os error ").and_then(|number| number.parse().ok());
    Some(match number {
        None => SpawnError::Unconfined { why: why.to_owned() },
        Some(number) => {
            let error = io::Error::from_raw_os_error(number);
            program::explain(command, program, &error)
        }
    })
}
