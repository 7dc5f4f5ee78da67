//! The program from outside: arguments in; exit code, stdout and stderr out.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod approvals;
mod audit;
mod bad_servers;
mod canaries;
mod chat;
mod check;
mod children;
mod clock;
mod closed_files;
mod code;
mod config_edits;
mod confine;
mod convert;
mod descriptors;
mod displaced_database;
mod embeddings;
mod fake;
mod floods;
mod full_disk;
mod half_open;
mod hostile_results;
mod import_command;
mod in_process;
mod isolated_gateway;
mod keys;
mod large_answers;
mod live_drain;
mod login;
mod lost_database;
mod memory;
mod memory_command;
mod memory_limit;
mod memory_shares;
mod no_commands;
mod one_server;
mod operator_commands;
mod programs;
mod read_only_disk;
mod refused_access;
mod refused_requests;
mod reload;
mod revocation;
mod revoked_config;
mod running;
mod running_gateway;
mod serving;
mod sessions;
mod shutdown;
mod telemetry;
mod terminal;
mod tls;
mod tool_trust_command;
mod under_attack;
mod unsigned_webhooks;
mod usage;
mod waiting_memory;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// What one run left behind.
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs the program in `folder`, with no environment but `variables`.
fn tollgate_with(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(tollgate_testkit::coverage_profile())
        .envs(variables.iter().copied())
        .output()
        .expect("the program starts");
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

/// The same with something on its standard input.
fn run_with_input(folder: &Path, arguments: &[&str], input: &str) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(tollgate_testkit::coverage_profile())
        // No gateway of somebody else's.
        .env("TOLLGATE_LISTEN", "127.0.0.1:0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    if let Some(mut stdin) = child.stdin.take() {
        // One that only looks at its arguments may be gone already.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().expect("it ends");
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

fn tollgate(folder: &Path, arguments: &[&str]) -> Run {
    tollgate_with(folder, arguments, &[])
}
