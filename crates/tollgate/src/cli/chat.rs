//! Arguments of `tollgate chat`.

use clap::Args;

use super::TIERS;

#[derive(Debug, Args)]
pub struct ChatArgs {
    /// With whom: an agent, or a model alone [default: the default agent]
    #[arg(value_name = "AGENT|MODEL")]
    pub agent: Option<String>,
    /// Insist on a latency budget [default: as each turn needs]
    #[arg(long, value_name = "TIER", value_parser = TIERS)]
    pub tier: Option<String>,
    /// Fill a placeholder of the agent's prompt and greeting
    #[arg(long = "var", value_name = "NAME=VALUE")]
    pub variables: Vec<String>,
}
