//! Arguments of `tollgate connect`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
pub struct ConnectArgs {
    /// A program such as `cursor` or `codex`, or an SDK such as `openai-python` [default: list them]
    pub client: Option<String>,
    /// The agent [default: the agent of the key]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The key to write [default: the placeholder `TOLLGATE_KEY`]
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// URL of the gateway [default: from the config]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Add it to the program's config file
    #[arg(long)]
    pub write: bool,
    /// The file [default: the program's config file]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// With `--write`: show what would change, without changing it
    #[arg(long, requires = "write")]
    pub dry_run: bool,
}
