//! Arguments of `tollgate import`.

use clap::Args;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
pub struct ImportArgs {
    /// A file, a program such as `cursor` or `codex`, a command line or URL in quotes, or `-` for
    /// standard input [default: all programs found]
    #[arg(value_name = "FILE|CLIENT")]
    pub source: Option<String>,
    /// Programs to search for, comma-separated
    #[arg(long, value_name = "CLIENTS", value_delimiter = ',', conflicts_with = "source")]
    pub from: Vec<String>,
    /// Only these servers, comma-separated
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Name for a server without a name
    #[arg(long, value_name = "NAME", requires = "source")]
    pub name: Option<String>,
    /// Replace servers with an existing name
    #[arg(long, group = "clash")]
    pub overwrite: bool,
    /// Skip servers with an existing name
    #[arg(long, group = "clash")]
    pub skip: bool,
    /// Rename servers with an existing name
    #[arg(long, group = "clash")]
    pub rename: bool,
    /// Write secrets to the config file
    #[arg(long)]
    pub inline: bool,
    /// Show what would change, without changing it
    #[arg(long)]
    pub dry_run: bool,
}
