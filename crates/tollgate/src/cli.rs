//! The command line, as typed. What the words mean is for `commands`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::config;
use crate::output::Form;

/// An MCP host and gateway: tools for AI models, under a latency budget.
///
/// Without a command: `serve`.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub options: Options,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Clone, Args)]
pub struct Options {
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
pub enum Command {
    /// Run the gateway
    Serve,
    /// Check a config without starting anything
    Check(Check),
    /// List the tools that an agent sees
    Tools(View),
    /// Call one tool
    Call(Call),
    /// Look at the MCP servers behind the gateway
    #[command(subcommand)]
    Servers(Servers),
    /// Speak MCP on standard input and output, for desktop clients
    Mcp(Mcp),
    /// Print a completion script for a shell
    Completions { shell: Shell },
    /// Print the reference of all config keys
    #[command(hide = true)]
    Manual,
    /// The client role of the MCP conformance suite
    #[command(hide = true)]
    ConformanceClient { url: String },
}

#[derive(Debug, Args)]
pub struct Check {
    /// The file to check [default: what `serve` would read]
    pub file: Option<PathBuf>,
    /// Print the JSON Schema of the config
    #[arg(long)]
    pub schema: bool,
}

#[derive(Debug, Args)]
pub struct View {
    /// Whose tools [default: the default agent's]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The latency budget [default: the agent's ceiling]
    #[arg(long, value_name = "TIER", value_parser = ["fast", "standard", "deep"])]
    pub tier: Option<String>,
}

#[derive(Debug, Args)]
pub struct Call {
    /// The tool, by the name that `tools` shows
    pub name: String,
    /// Arguments as `key=value`, or all of them as one JSON object
    pub arguments: Vec<String>,
    #[command(flatten)]
    pub view: View,
}

#[derive(Debug, Subcommand)]
pub enum Servers {
    /// All servers and how they are
    List,
    /// Ask one server whether it answers; one that is down is started for it
    Test { name: String },
}

#[derive(Debug, Args)]
pub struct Mcp {
    /// Whose tools [default: the default agent's]
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
}

impl Cli {
    pub fn form(&self) -> Form {
        if self.options.json { Form::Json } else { Form::Text }
    }
}

impl Options {
    /// What they say about the config. An empty variable counts as unset.
    pub fn request(&self) -> config::Request {
        let path = |path: &Option<PathBuf>| path.clone().filter(|it| !it.as_os_str().is_empty());
        config::Request {
            file: path(&self.config),
            listen: self.listen.clone().filter(|text| !text.is_empty()),
            data: path(&self.data),
        }
    }
}
