//! Command line definition (clap). `commands` implements it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;
use tollgate_config as config;
use tollgate_server::FilterFlags;

use crate::logging;
use crate::output::OutputFormat;

pub mod chat;
pub mod code;
pub mod connect;
pub mod convert;
pub mod import;
pub mod keys;
pub mod memory;
pub mod operate;
pub mod servers;
pub mod sessions;
pub mod usage;

/// Prints the error of a command line, or the requested help, and returns the exit code.
pub fn explain(error: &clap::Error, environment: &dyn config::Environment) -> ExitCode {
    match logging::LogFormat::from_environment(environment) {
        logging::LogFormat::Json if error.use_stderr() => {
            logging::note(logging::LogFormat::Json, "ERROR", &error.to_string());
        }
        logging::LogFormat::Text | logging::LogFormat::Json => drop(error.print()),
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1))
}

const TIERS: [&str; 3] = ["fast", "standard", "deep"];

/// An MCP host and gateway: tools for AI models, under a latency budget.
///
/// Without a command: `serve`.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub options: GlobalArgs,
    #[command(subcommand)]
    pub command: Option<CliCommand>,
}

#[derive(Debug, Clone, Args)]
pub struct GlobalArgs {
    /// Config file [default: ./tollgate.yaml if it exists, else the built-in config]
    #[arg(long, short, global = true, value_name = "FILE", env = "TOLLGATE_CONFIG")]
    config: Option<PathBuf>,
    /// Address to serve on, or to find the gateway at [default: 127.0.0.1:8655]
    #[arg(long, global = true, value_name = "ADDR", env = "TOLLGATE_LISTEN")]
    listen: Option<String>,
    /// Data directory [default: ./.tollgate]
    #[arg(long, global = true, value_name = "DIR", env = "TOLLGATE_DATA")]
    data: Option<PathBuf>,
    /// Print JSON for programs instead of text for people
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Run the gateway
    Serve(ServeArgs),
    /// Check a config without starting anything
    Check(CheckArgs),
    /// List the tools of an agent, with their latency and tier
    Tools(ToolsArgs),
    /// Call one tool
    Call(CallArgs),
    /// Run a program that calls tools, as in code mode
    Code(code::CodeArgs),
    /// Read a truncated or late result
    Result(ResultArgs),
    /// Show which latency tier an utterance gets, and why
    Tier(TierArgs),
    /// Chat with an agent
    Chat(chat::ChatArgs),
    /// Convert tools or tool results to another API's format
    Convert(convert::ConvertArgs),
    /// Measure the latency of tools that have no side effects
    Calibrate(CalibrateArgs),
    /// Latency statistics of the tools, to compare and merge across installations
    #[command(subcommand)]
    Telemetry(TelemetryCommand),
    /// Show the audit trail: calls and decisions
    Audit(AuditArgs),
    /// Show what models were used for: requests, tokens and cost
    Usage(usage::UsageArgs),
    /// Manage the MCP servers behind the gateway
    #[command(subcommand)]
    Servers(ServersCommand),
    /// Import MCP servers from other programs: editors, command lines, gateways
    Import(Box<import::ImportArgs>),
    /// Show the config that another program needs to use this gateway, or write it to its file
    Connect(connect::ConnectArgs),
    /// Decide on calls awaiting approval
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// List live speech sessions, close them or change their tier
    Sessions(sessions::SessionsArgs),
    /// Create, list, revoke and rotate the keys of clients
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// The memory of agents: show, add, search, import, export, delete
    Memory(memory::MemoryArgs),
    /// Check whether the gateway can run here with its config, and suggest fixes
    Doctor(operate::DoctorArgs),
    /// Load-test a gateway
    Bench(operate::BenchArgs),
    /// Make a running gateway reload its config
    Reload,
    /// Serve MCP on standard input and output, for desktop clients
    Mcp(McpArgs),
    /// Print a completion script for a shell
    Completions { shell: Shell },
    /// Print the manual page, or write those of all commands
    Man(operate::ManArgs),
    /// Print a reference of all config keys or commands, in Markdown
    #[command(hide = true)]
    Manual {
        #[arg(value_enum, default_value = "config")]
        what: operate::ManualKind,
    },
    /// The client role of the MCP conformance suite
    #[command(hide = true)]
    ConformanceClient { url: String },
}

#[derive(Debug, Clone, Copy, Default, Args)]
pub struct ServeArgs {
    /// Serve HTTPS with a certificate signed by the local CA in the data directory
    #[arg(long)]
    pub tls: bool,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The file to check [default: the file that `serve` reads]
    pub file: Option<PathBuf>,
    /// Print the JSON Schema of the config
    #[arg(long)]
    pub schema: bool,
}

#[derive(Debug, Args)]
pub struct ViewArgs {
    /// The agent [default: the default agent]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The latency tier [default: the agent's ceiling]
    #[arg(long, value_name = "TIER", value_parser = TIERS)]
    pub tier: Option<String>,
    #[command(flatten)]
    pub filters: FilterArgs,
}

/// What is taken away from what could be seen. Lists of names and globs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters")]
pub struct FilterArgs {
    /// Only these servers: names and globs, comma-separated
    #[arg(long, value_name = "LIST")]
    include_servers: Option<Vec<String>>,
    /// Not these servers
    #[arg(long, value_name = "LIST")]
    exclude_servers: Vec<String>,
    /// Only these tools: names and globs, also as `server/tool`
    #[arg(long, value_name = "LIST")]
    include_tools: Option<Vec<String>>,
    /// Not these tools
    #[arg(long, value_name = "LIST")]
    exclude_tools: Vec<String>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
pub struct ToolsArgs {
    #[command(subcommand)]
    pub trust: Option<TrustCommand>,
    #[command(flatten)]
    pub view: ViewArgs,
    /// Rank the measured tools of each category, fastest first
    #[arg(long)]
    pub leaderboard: bool,
    /// Also show the descriptions
    #[arg(long, conflicts_with = "leaderboard")]
    pub long: bool,
    /// Show every tool, and why hidden ones are hidden
    #[arg(long, conflicts_with_all = ["leaderboard", "long"])]
    pub explain: bool,
}

/// A person's word on tools that others wrote.
#[derive(Debug, Subcommand)]
pub enum TrustCommand {
    /// List tools that are withheld until accepted, or served with a warning
    Review {
        /// Only this server's
        #[arg(long, value_name = "NAME")]
        server: Option<String>,
    },
    /// Show what changed in a tool since it was trusted, and what is suspicious
    Diff {
        /// The exposed name, or the server's name of the tool
        #[arg(value_name = "TOOL|SERVER/TOOL")]
        name: String,
    },
    /// Accept the current definitions of these tools
    Accept {
        /// The exposed name, or the server's name of the tool
        #[arg(value_name = "TOOL|SERVER/TOOL", required_unless_present = "all")]
        names: Vec<String>,
        /// All withheld tools, except rejected ones
        #[arg(long, conflicts_with = "names")]
        all: bool,
        /// With `--all`: only this server's
        #[arg(long, value_name = "NAME", requires = "all")]
        server: Option<String>,
        /// Only if the definition is still this one, as `review` shows it
        #[arg(long, value_name = "DIGITS", conflicts_with = "all")]
        hash: Option<String>,
    },
    /// Reject the current definitions of these tools
    Reject {
        /// The exposed name, or the server's name of the tool
        #[arg(value_name = "TOOL|SERVER/TOOL", required = true)]
        names: Vec<String>,
        /// Only if the definition is still this one, as `review` shows it
        #[arg(long, value_name = "DIGITS")]
        hash: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct CallArgs {
    /// The tool, as shown by `tools`
    pub name: String,
    /// Arguments as `key=value`, or all of them as one JSON object
    pub arguments: Vec<String>,
    #[command(flatten)]
    pub view: ViewArgs,
    /// Bypass the cache
    #[arg(long)]
    pub no_cache: bool,
}

#[derive(Debug, Args)]
pub struct ResultArgs {
    /// The handle from the outcome of the call
    pub handle: String,
    /// The page, from 1
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..))]
    pub page: u32,
}

#[derive(Debug, Args)]
pub struct TierArgs {
    /// The utterance
    pub utterance: String,
    /// The agent [default: the default agent]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The conversation; its earlier turns count
    #[arg(long, value_name = "ID")]
    pub conversation: Option<String>,
    /// Number of turns queued after this one
    #[arg(long, value_name = "N")]
    pub queue_depth: Option<u32>,
    /// Force a tier
    #[arg(long = "override", value_name = "TIER", value_parser = TIERS)]
    pub forced: Option<String>,
    /// The transcript is partial: its last word may be incomplete, and no turn is counted
    #[arg(long)]
    pub partial: bool,
}

#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// One server, or one tool as shown by `tools` [default: all]
    #[arg(value_name = "SERVER|TOOL")]
    pub only: Option<String>,
    /// Probes per tool [default: the minimum to be used]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=100))]
    pub times: Option<u32>,
}

#[derive(Debug, Subcommand)]
pub enum TelemetryCommand {
    /// Export the statistics of this installation: names of tools and counts, no arguments, hosts
    /// or keys
    Export(OutFileArgs),
    /// Merge several exports
    Merge {
        /// Files written by `telemetry export`
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        written: OutFileArgs,
    },
}

#[derive(Debug, Args)]
pub struct OutFileArgs {
    /// Write to this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct AuditArgs {
    #[command(subcommand)]
    pub command: Option<AuditCommand>,
    /// Rows since this time: `1h`, `7d`, `2026-11-15`, `2026-11-15T10:00:00Z`
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Rows until this time
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// By agent
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// By principal: `key:NAME`, `local`
    #[arg(long, value_name = "WHO")]
    pub principal: Option<String>,
    /// By server
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
    /// By tool name as shown by `tools`; `*` and `?` are wildcards
    #[arg(long, value_name = "GLOB")]
    pub tool: Option<String>,
    /// By outcome: `ok`, `error`, `refused`, `cancelled`
    #[arg(long, value_name = "WORD")]
    pub outcome: Option<String>,
    /// One call, by its id
    #[arg(long, value_name = "ID")]
    pub call: Option<String>,
    /// `call`, or a kind of decision: `approval`, `key`, `reload`, `pin`, `memory`
    #[arg(long, value_name = "WORD")]
    pub kind: Option<String>,
    /// The number of last rows [default: 50 in a table, else all]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// Follow: print new rows as they are written
    #[arg(long)]
    pub follow: bool,
    /// Output format [default: table, or jsonl with --json]
    #[arg(long, value_enum)]
    pub format: Option<AuditFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum AuditCommand {
    /// Check that no row was changed, removed or moved
    Verify,
    /// Acknowledge a loss of rows, so that `verify` no longer reports it
    Acknowledge,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AuditFormat {
    Table,
    Jsonl,
    Csv,
}

#[derive(Debug, Subcommand)]
pub enum ServersCommand {
    #[command(flatten)]
    Look(InspectServersCommand),
    #[command(flatten)]
    Change(servers::ChangeServersCommand),
}

#[derive(Debug, Subcommand)]
pub enum InspectServersCommand {
    /// List all servers with their state
    List,
    /// Search the MCP registry for servers
    Search {
        /// Text that their names contain
        #[arg(required = true)]
        words: Vec<String>,
        /// The cursor from the previous page
        #[arg(long, value_name = "TEXT")]
        cursor: Option<String>,
    },
    /// Ping a server; a stopped one is started first
    Test {
        /// Name of a server, as shown by `servers list`
        name: String,
    },
    /// Restart a server
    Restart {
        /// Name of a server, as shown by `servers list`
        name: String,
    },
    /// Show the last lines of a server's stderr
    Logs {
        /// Name of a server, as shown by `servers list`
        name: String,
    },
    /// Log in to a server that needs user consent (`auth: { login: true }`)
    Login {
        /// Name of a server, as shown by `servers list`
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// List pending calls
    List,
    /// Approve one call
    Approve {
        /// The id, as shown by `approvals list`
        id: String,
        /// A note that is stored with the decision
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Deny one call
    Deny {
        /// The id, as shown by `approvals list`
        id: String,
        /// A note that is sent to the caller
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Prompt on the terminal for each new call
    Watch,
}

#[derive(Debug, Args)]
pub struct McpArgs {
    /// The agent [default: the default agent]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub filters: FilterArgs,
}

impl FilterArgs {
    pub fn flags(&self) -> FilterFlags<'_> {
        FilterFlags {
            include_servers: self.include_servers.as_deref(),
            exclude_servers: &self.exclude_servers,
            include_tools: self.include_tools.as_deref(),
            exclude_tools: &self.exclude_tools,
        }
    }
}

impl Cli {
    pub fn form(&self) -> OutputFormat {
        if self.options.json { OutputFormat::Json } else { OutputFormat::Text }
    }
}

impl GlobalArgs {
    /// The config-related options. An empty environment variable counts as unset.
    pub fn request(&self) -> config::ConfigRequest {
        let path = |path: &Option<PathBuf>| path.clone().filter(|it| !it.as_os_str().is_empty());
        config::ConfigRequest {
            file: path(&self.config),
            listen: self.listen.clone().filter(|text| !text.is_empty()),
            data: path(&self.data),
            tls: false,
        }
    }
}
