//! Command line definition (clap). `commands` implements it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;
use tollgate_server::FilterFlags;

use crate::config;
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
    /// Config file [default: ./tollgate.yaml if there is one, else what is built in]
    #[arg(long, short, global = true, value_name = "FILE", env = "TOLLGATE_CONFIG")]
    config: Option<PathBuf>,
    /// Address to serve on, or to find the gateway at [default: 127.0.0.1:8655]
    #[arg(long, global = true, value_name = "ADDR", env = "TOLLGATE_LISTEN")]
    listen: Option<String>,
    /// Directory for what outlasts the process [default: ./.tollgate]
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
    /// List the tools that an agent sees, how fast they are, and why they are in their tier
    Tools(ToolsArgs),
    /// Call one tool
    Call(CallArgs),
    /// Run a program that calls tools, as models write them in code mode
    Code(code::CodeArgs),
    /// Read a result that was cut, or came after its turn was over
    Result(ResultArgs),
    /// Say which latency budget an utterance gets, and why
    Tier(TierArgs),
    /// Talk with an agent
    Chat(chat::ChatArgs),
    /// Write tools, or results of tools, in another API's format
    Convert(convert::ConvertArgs),
    /// Measure the tools that can be called without changing anything
    Calibrate(CalibrateArgs),
    /// Figures of the tools, to compare and merge across installations
    #[command(subcommand)]
    Telemetry(TelemetryCommand),
    /// Show what was called and decided, and by whom
    Audit(AuditArgs),
    /// Look at the MCP servers behind the gateway, add and remove them
    #[command(subcommand)]
    Servers(ServersCommand),
    /// Take MCP servers over from other programs: editors, command lines, gateways
    Import(Box<import::ImportArgs>),
    /// Show what another program needs to use this gateway, or write it into its file
    Connect(connect::ConnectArgs),
    /// Decide on calls that wait for a person's leave
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// Look at live speech sessions, close them, give them another tier
    Sessions(sessions::SessionsArgs),
    /// Make, list, revoke and rotate the keys of clients
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// What agents remember: look, add, search, import, export, forget
    Memory(memory::MemoryArgs),
    /// Look whether a gateway can run here as its config says, and say what to do where it cannot
    Doctor(operate::DoctorArgs),
    /// Put load on a gateway and measure how it stands
    Bench(operate::BenchArgs),
    /// Have a running gateway read its config again
    Reload,
    /// Speak MCP on standard input and output, for desktop clients
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
    /// Serve HTTPS, with a certificate that a CA of this data directory signs
    #[arg(long)]
    pub tls: bool,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The file to check [default: what `serve` would read]
    pub file: Option<PathBuf>,
    /// Print the JSON Schema of the config
    #[arg(long)]
    pub schema: bool,
}

#[derive(Debug, Args)]
pub struct ViewArgs {
    /// Whose tools [default: the default agent's]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The latency budget [default: the agent's ceiling]
    #[arg(long, value_name = "TIER", value_parser = TIERS)]
    pub tier: Option<String>,
    #[command(flatten)]
    pub filters: FilterArgs,
}

/// What is taken away from what could be seen. Lists of names and globs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters")]
pub struct FilterArgs {
    /// Only these servers: names and globs, with commas between
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
    /// Show what the tools do as well
    #[arg(long, conflicts_with = "leaderboard")]
    pub long: bool,
    /// Show every tool there is, and what keeps those out that are not seen
    #[arg(long, conflicts_with_all = ["leaderboard", "long"])]
    pub explain: bool,
}

/// A person's word on tools that others wrote.
#[derive(Debug, Subcommand)]
pub enum TrustCommand {
    /// What is withheld until somebody accepts it, or served with a note, and why
    Review {
        /// Only this server's
        #[arg(long, value_name = "NAME")]
        server: Option<String>,
    },
    /// What changed in a tool since it was trusted, and what is suspicious about it
    Diff {
        /// As agents see it, or as its server calls it
        #[arg(value_name = "TOOL|SERVER/TOOL")]
        name: String,
    },
    /// Serve the definitions that these tools have now
    Accept {
        /// As agents see it, or as its server calls it
        #[arg(value_name = "TOOL|SERVER/TOOL", required_unless_present = "all")]
        names: Vec<String>,
        /// All that wait, but those that were rejected
        #[arg(long, conflicts_with = "names")]
        all: bool,
        /// With `--all`: only this server's
        #[arg(long, value_name = "NAME", requires = "all")]
        server: Option<String>,
        /// Only if the definition is still this one, as `review` shows it
        #[arg(long, value_name = "DIGITS", conflicts_with = "all")]
        hash: Option<String>,
    },
    /// Never serve the definitions that these tools have now
    Reject {
        /// As agents see it, or as its server calls it
        #[arg(value_name = "TOOL|SERVER/TOOL", required = true)]
        names: Vec<String>,
        /// Only if the definition is still this one, as `review` shows it
        #[arg(long, value_name = "DIGITS")]
        hash: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct CallArgs {
    /// The tool, by the name that `tools` shows
    pub name: String,
    /// Arguments as `key=value`, or all of them as one JSON object
    pub arguments: Vec<String>,
    #[command(flatten)]
    pub view: ViewArgs,
    /// Ask the tool itself, even if an answer was kept
    #[arg(long)]
    pub no_cache: bool,
}

#[derive(Debug, Args)]
pub struct ResultArgs {
    /// As the outcome of the call named it
    pub handle: String,
    /// Which part of it, from 1
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..))]
    pub page: u32,
}

#[derive(Debug, Args)]
pub struct TierArgs {
    /// What was said
    pub utterance: String,
    /// To whom [default: the default agent]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// In which conversation; what went before in it counts
    #[arg(long, value_name = "ID")]
    pub conversation: Option<String>,
    /// How many turns wait behind this one
    #[arg(long, value_name = "N")]
    pub queue_depth: Option<u32>,
    /// Insist on a tier
    #[arg(long = "override", value_name = "TIER", value_parser = TIERS)]
    pub forced: Option<String>,
    /// The transcript still grows: its last word may not be whole, and no turn is counted
    #[arg(long)]
    pub partial: bool,
}

#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// One server, or one tool by the name that `tools` shows [default: all]
    #[arg(value_name = "SERVER|TOOL")]
    pub only: Option<String>,
    /// Probes of each tool [default: enough to count]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=100))]
    pub times: Option<u32>,
}

#[derive(Debug, Subcommand)]
pub enum TelemetryCommand {
    /// The figures of this installation: names of tools and counts, no arguments, hosts or keys
    Export(OutFileArgs),
    /// Several exports as one
    Merge {
        /// Written by `telemetry export`
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
    /// Rows from then on: `1h`, `7d`, `2026-11-15`, `2026-11-15T10:00:00Z`
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Rows up to then
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// Of one agent
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// By one principal: `key:NAME`, `local`
    #[arg(long, value_name = "WHO")]
    pub principal: Option<String>,
    /// To one server
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
    /// Of tools by the name that `tools` shows; `*` and `?` stand for anything
    #[arg(long, value_name = "GLOB")]
    pub tool: Option<String>,
    /// That came out so: `ok`, `error`, `refused`, `cancelled`
    #[arg(long, value_name = "WORD")]
    pub outcome: Option<String>,
    /// One call, by its id
    #[arg(long, value_name = "ID")]
    pub call: Option<String>,
    /// `call`, or a kind of decision: `approval`, `key`, `reload`, `pin`, `memory`
    #[arg(long, value_name = "WORD")]
    pub kind: Option<String>,
    /// The last so many rows [default: 50 in a table, else all]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// Go on with rows as they are written
    #[arg(long)]
    pub follow: bool,
    /// How to print them [default: table, or jsonl with --json]
    #[arg(long, value_enum)]
    pub format: Option<AuditFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum AuditCommand {
    /// Check that no row was changed, removed or moved
    Verify,
    /// Say that a loss of rows is known: `verify` reports it no more
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
    /// All servers and how they are
    List,
    /// Look for servers in the MCP registry
    Search {
        /// What their names have in them
        #[arg(required = true)]
        words: Vec<String>,
        /// The page after the one that named it
        #[arg(long, value_name = "TEXT")]
        cursor: Option<String>,
    },
    /// Ask one server whether it answers; one that is down is started for it
    Test {
        /// Of a server, as `servers list` shows it
        name: String,
    },
    /// End a server and start it again
    Restart {
        /// Of a server, as `servers list` shows it
        name: String,
    },
    /// The last lines that a server wrote to its standard error
    Logs {
        /// Of a server, as `servers list` shows it
        name: String,
    },
    /// Give consent to a server that needs a person (`auth: { login: true }`)
    Login {
        /// Of a server, as `servers list` shows it
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// The calls that wait
    List,
    /// Let one run, once, as it is
    Approve {
        /// As `approvals list` shows it
        id: String,
        /// Kept with the decision
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Refuse one
    Deny {
        /// As `approvals list` shows it
        id: String,
        /// Told to whoever called
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Stay, and ask on the terminal for each that comes
    Watch,
}

#[derive(Debug, Args)]
pub struct McpArgs {
    /// Whose tools [default: the default agent's]
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
