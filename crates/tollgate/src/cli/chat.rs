//! Arguments of `tollgate chat`.

use clap::Args;

use super::TIERS;

#[derive(Debug, Args)]
pub struct ChatArgs {
    /// An agent, or a model without an agent [default: the default agent]
    #[arg(value_name = "AGENT|MODEL")]
    pub agent: Option<String>,
    /// Force a latency tier [default: selected for each turn]
    #[arg(long, value_name = "TIER", value_parser = TIERS)]
    pub tier: Option<String>,
    /// Fill a placeholder of the agent's prompt and greeting
    #[arg(long = "var", value_name = "NAME=VALUE")]
    pub variables: Vec<String>,
}
