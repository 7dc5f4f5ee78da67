//! `tollgate`: reads the command line, runs one command, says how it went by the exit code.

use std::process::ExitCode;

use clap::Parser as _;
use tollgate::cli::Cli;
use tollgate::commands;
use tollgate::config::Process;
use tollgate::output::Output;

fn main() -> ExitCode {
    // A child of the gateway begins as this program, and is to cost nothing.
    if let Some(failed) = tollgate_engine::confine::if_asked() {
        return failed;
    }
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
