//! `tollgate`: reads the command line, runs one command, says how it went by the exit code.

use std::process::ExitCode;

use clap::Parser as _;
use tollgate::cli::Cli;
use tollgate::commands;
use tollgate::config::Process;
use tollgate::output::Output;

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
