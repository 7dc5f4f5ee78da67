//! Arguments of `tollgate usage`.

use clap::Args;

#[derive(Debug, Args)]
pub struct UsageArgs {
    /// Sum up by key, agent or model
    #[arg(long, value_name = "WHAT", default_value = "key", value_parser = ["key", "agent", "model"])]
    pub by: String,
    /// The first day, like `2027-01-31` [default: 29 days before the last]
    #[arg(long, value_name = "DAY")]
    pub from: Option<String>,
    /// The last day (UTC) [default: today]
    #[arg(long, value_name = "DAY")]
    pub to: Option<String>,
    /// Show every day
    #[arg(long)]
    pub daily: bool,
}
