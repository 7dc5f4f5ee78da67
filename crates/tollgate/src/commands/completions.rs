//! `tollgate completions SHELL`: prints a shell completion script.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::output::Output;

pub(super) fn run(shell: Shell, output: Output) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tollgate", &mut script);
    output.raw(&String::from_utf8_lossy(&script));
}
