//! `tollgate`: reads the command line, runs one command, says how it went by the exit code.

use std::process::ExitCode;

use clap::Parser as _;
use mimalloc::MiMalloc;
use tollgate::cli::Cli;
use tollgate::commands;
use tollgate::config::Process;
use tollgate::output::Output;

/// Cheaper on the call path than the system's allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.form(), &Process);
    match commands::run(cli, output, &Process) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            failure.exit_code()
        }
    }
}
