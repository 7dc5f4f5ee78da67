//! `tollgate`: parses the command line, runs one command, and sets the exit code.

use std::process::ExitCode;

use clap::Parser as _;
use tollgate::cli::{self, Cli};
use tollgate::commands;
use tollgate::output::Output;
use tollgate::process_memory;
use tollgate_config::ProcessEnvironment;

/// Returns freed memory to the system soon and by itself: memory that the process holds counts
/// against its limit (docs/adr/0001-allocator.md).
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // A child process of the gateway starts as this program. Handle it first, at no cost.
    if let Some(failed) = tollgate_engine::confine::run_if_launcher() {
        return failed;
    }
    process_memory::keep_private();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return cli::explain(&error, &ProcessEnvironment),
    };
    let output = Output::new(cli.form(), &ProcessEnvironment);
    match commands::run(cli, output, &ProcessEnvironment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            failure.exit_code()
        }
    }
}
