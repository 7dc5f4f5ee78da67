//! Arguments of the operator commands `doctor`, `bench`, `man` and `manual`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Only check whether a running gateway is ready, by the exit code, for health checks of
    /// containers
    #[arg(long)]
    pub probe: bool,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
pub struct BenchArgs {
    /// The tool, as shown by `tools` [default: only the gateway is measured]
    pub name: Option<String>,
    /// Arguments as `key=value`, or all of them as one JSON object
    pub arguments: Vec<String>,
    /// The agent [default: the default agent]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Concurrent calls
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = value_parser!(u32).range(1..=1_000))]
    pub connections: u32,
    /// Duration
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(1..=3_600))]
    pub seconds: u32,
    /// Allow cached results
    #[arg(long)]
    pub cached: bool,
    /// Call a tool even if it may have side effects
    #[arg(long)]
    pub allow_writes: bool,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write a page for every command into this directory [default: print that of `tollgate`]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ManualKind {
    /// All config keys: docs/configuration.md
    Config,
    /// All commands: docs/cli.md
    Cli,
}
