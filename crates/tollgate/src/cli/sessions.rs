//! Arguments of `tollgate sessions`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct SessionsArgs {
    #[command(subcommand)]
    pub command: Option<SessionsCommand>,
}

#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List open sessions (default)
    List,
    /// Close one
    Close {
        /// The id, as shown by `sessions list`
        id: String,
    },
    /// Force the latency tier of one
    Tier {
        /// The id, as shown by `sessions list`
        id: String,
        /// The tier; `auto`: automatic selection
        #[arg(value_parser = ["fast", "standard", "deep", "auto"])]
        tier: String,
    },
}
