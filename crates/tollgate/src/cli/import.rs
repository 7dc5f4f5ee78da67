//! Arguments of `tollgate import`.

use clap::Args;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
pub struct ImportArgs {
    /// A file, a program such as `cursor` or `codex`, a command line or URL in quotes, or `-` for
    /// standard input [default: every program whose file is found]
    #[arg(value_name = "FILE|CLIENT")]
    pub source: Option<String>,
    /// Programs whose files are looked for, separated by commas
    #[arg(long, value_name = "CLIENTS", value_delimiter = ',', conflicts_with = "source")]
    pub from: Vec<String>,
    /// Only these servers, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// What to call a server that has no name
    #[arg(long, value_name = "NAME", requires = "source")]
    pub name: Option<String>,
    /// Replace servers of the same name
    #[arg(long, group = "clash")]
    pub overwrite: bool,
    /// Leave servers of the same name as they are
    #[arg(long, group = "clash")]
    pub skip: bool,
    /// Give new ones another name where there is one already
    #[arg(long, group = "clash")]
    pub rename: bool,
    /// Write secrets into the file itself
    #[arg(long)]
    pub inline: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}
