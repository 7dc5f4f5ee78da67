//! Arguments of `tollgate sessions`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct SessionsArgs {
    #[command(subcommand)]
    pub command: Option<SessionsCommand>,
}

#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// Those that are held [what happens without a command]
    List,
    /// End one
    Close {
        /// As `sessions list` shows it
        id: String,
    },
    /// Insist on a latency budget for one
    Tier {
        /// As `sessions list` shows it
        id: String,
        /// `auto`: what is said decides again
        #[arg(value_parser = ["fast", "standard", "deep", "auto"])]
        tier: String,
    },
}
