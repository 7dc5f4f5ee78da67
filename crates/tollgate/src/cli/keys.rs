//! Arguments of `tollgate keys`.

use clap::{Args, Subcommand, value_parser};

const RIGHTS: [&str; 5] = ["execute", "override_tier", "approve", "observe", "admin"];

#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// All keys, what they may do and when they were last used
    List,
    /// Make a key and print it, this once
    #[command(visible_alias = "add")]
    Create(CreateKeyArgs),
    /// Take a key back; what it opened ends
    Revoke {
        /// Of a key, as `keys list` shows it
        name: String,
    },
    /// Let this machine in without a key again, once all keys are revoked or lost
    Open,
    /// Give a key another secret and print that, this once
    Rotate {
        /// Of a key, as `keys list` shows it
        name: String,
        /// How long the old secret lets in as well, in seconds
        #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = value_parser!(u32).range(..=2_592_000))]
        grace: u32,
    },
}

#[derive(Debug, Args)]
pub struct CreateKeyArgs {
    /// Who will hold it
    pub name: String,
    /// What it is for [default: caller]
    #[arg(long, value_parser = ["admin", "operator", "caller"])]
    pub role: Option<String>,
    /// Agents that it may speak for, separated by commas [default: every agent]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub agents: Option<Vec<String>>,
    /// Rights, separated by commas [default: those of the role]
    #[arg(long, value_name = "RIGHTS", value_delimiter = ',', value_parser = RIGHTS)]
    pub rights: Option<Vec<String>>,
    /// Tools that it may use at all, names and globs, separated by commas [default: what its agents see]
    #[arg(long, value_name = "GLOBS", value_delimiter = ',')]
    pub tools: Option<Vec<String>>,
    /// How often it may call [default: no limit of its own]
    #[arg(long, value_name = "N/UNIT")]
    pub rate: Option<String>,
    /// How many calls of it may run at once [default: as for every key]
    #[arg(long, value_name = "N")]
    pub concurrent: Option<u32>,
    /// Whose memory it is in; what other tenants remember is not there for it [default: none]
    #[arg(long, value_name = "NAME")]
    pub tenant: Option<String>,
    /// When it ends: `2027-01-31`, `2027-01-31T12:00:00Z`, or from now on `90d`, `12h`, `30min` [default: never]
    #[arg(long, value_name = "WHEN")]
    pub expires: Option<String>,
}
