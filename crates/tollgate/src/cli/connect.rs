//! Arguments of `tollgate connect`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
pub struct ConnectArgs {
    /// A program such as `cursor` or `codex`, or an SDK such as `openai-python` [default: list them]
    pub client: Option<String>,
    /// Whose tools [default: those of the agent that a key stands for]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The key to write; without one, `TOLLGATE_KEY` stands where it belongs
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Where the gateway is reached [default: what the config says]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Put it into the program's file, beside what is there
    #[arg(long)]
    pub write: bool,
    /// The file [default: the program's own]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// With `--write`: show what would change, and change nothing
    #[arg(long, requires = "write")]
    pub dry_run: bool,
}
