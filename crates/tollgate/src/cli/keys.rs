//! Arguments of `tollgate keys`.

use clap::{Args, Subcommand, value_parser};

const RIGHTS: [&str; 6] = ["execute", "override_tier", "approve", "observe", "any_model", "admin"];

#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// List all keys, their rights and their last use
    List,
    /// Create a key and print it, only once
    #[command(visible_alias = "add")]
    Create(CreateKeyArgs),
    /// Revoke a key and end its sessions and calls
    Revoke {
        /// Name of a key, as shown by `keys list`
        name: String,
    },
    /// Allow access from this machine without a key again, after all keys are revoked or lost
    Open,
    /// Rotate the secret of a key and print it, only once
    Rotate {
        /// Name of a key, as shown by `keys list`
        name: String,
        /// How long the old secret remains valid, in seconds
        #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = value_parser!(u32).range(..=2_592_000))]
        grace: u32,
    },
}

#[derive(Debug, Args)]
pub struct CreateKeyArgs {
    /// Name of its holder
    pub name: String,
    /// Its role [default: caller]
    #[arg(long, value_parser = ["admin", "operator", "caller"])]
    pub role: Option<String>,
    /// Agents that it may use, comma-separated [default: every agent]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub agents: Option<Vec<String>>,
    /// Rights, comma-separated [default: those of the role]
    #[arg(long, value_name = "RIGHTS", value_delimiter = ',', value_parser = RIGHTS)]
    pub rights: Option<Vec<String>>,
    /// Tools that it may use: names and globs, comma-separated [default: the tools of its agents]
    #[arg(long, value_name = "GLOBS", value_delimiter = ',')]
    pub tools: Option<Vec<String>>,
    /// Rate limit of its calls [default: none]
    #[arg(long, value_name = "N/UNIT")]
    pub rate: Option<String>,
    /// Limit of its use of models, like `60 requests/min` or `5 USD/day`; may be repeated [default:
    /// those of every key]
    #[arg(long = "model-limit", value_name = "LIMIT")]
    pub model_limits: Option<Vec<String>>,
    /// Limit of its concurrent calls [default: the limit for every key]
    #[arg(long, value_name = "N")]
    pub concurrent: Option<u32>,
    /// Tenant whose memory it uses; other tenants' memory is not accessible [default: none]
    #[arg(long, value_name = "NAME")]
    pub tenant: Option<String>,
    /// Expiry: `2027-01-31`, `2027-01-31T12:00:00Z`, or from now `90d`, `12h`, `30min` [default:
    /// never]
    #[arg(long, value_name = "WHEN")]
    pub expires: Option<String>,
}
