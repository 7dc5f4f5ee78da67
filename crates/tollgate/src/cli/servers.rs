//! Arguments of `tollgate servers add`, `remove`, `enable` and `disable`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum ChangeServersCommand {
    /// Add a server to the config
    Add(Box<AddServerArgs>),
    /// Remove a server from the config
    Remove(ServerNameArgs),
    /// Enable a server of the config
    Enable(ServerNameArgs),
    /// Disable a server of the config
    Disable(ServerNameArgs),
}

#[derive(Debug, Args)]
pub struct ServerNameArgs {
    /// Name of a server, as shown by `servers list`
    pub name: String,
    /// Show what would change, without changing it
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
pub struct AddServerArgs {
    /// Its name: its tools are NAME_tool. Without any argument the command is interactive
    pub name: Option<String>,
    /// The program and its arguments, split like in a shell; or give them after `--`
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["url", "words"])]
    pub command: Option<String>,
    /// Its URL
    #[arg(long, value_name = "URL", conflicts_with = "words")]
    pub url: Option<String>,
    /// A server of the MCP registry, as shown by `servers search`
    #[arg(long, value_name = "NAME", conflicts_with_all = ["command", "url", "words", "env", "header", "token", "cwd"])]
    pub from_registry: Option<String>,
    /// With `--from-registry`: the package or endpoint [default: the first]
    #[arg(long, value_name = "KIND", requires = "from_registry", value_parser = ["npm", "pypi", "oci", "nuget", "remote"])]
    pub choice: Option<String>,
    /// With `--from-registry`: do not ask for confirmation
    #[arg(long, requires = "from_registry")]
    pub yes: bool,
    /// Its transport [default: from `--command` or `--url`]
    #[arg(long, value_parser = ["stdio", "streamable-http", "sse"])]
    pub transport: Option<String>,
    /// An environment variable for the program; repeatable
    #[arg(long, value_name = "K=V", conflicts_with = "url")]
    pub env: Vec<String>,
    /// Working directory of the program
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub cwd: Option<String>,
    /// A header for every request; repeatable
    #[arg(long, value_name = "K=V", conflicts_with_all = ["command", "words"])]
    pub header: Vec<String>,
    /// A bearer token; preferably a reference like '${NAME}'
    #[arg(long, conflicts_with_all = ["command", "words"])]
    pub token: Option<String>,
    /// Trust the annotations and results of its tools
    #[arg(long)]
    pub trusted: bool,
    /// When to start it
    #[arg(long, value_parser = ["eager", "lazy"])]
    pub start: Option<String>,
    /// Agents that may use its tools
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub agents: Vec<String>,
    /// Write secrets to the config file
    #[arg(long)]
    pub inline: bool,
    /// Do not test the connection
    #[arg(long)]
    pub no_test: bool,
    /// Show what would change, without changing it
    #[arg(long)]
    pub dry_run: bool,
    /// The program and its arguments
    #[arg(last = true, value_name = "PROGRAM")]
    pub words: Vec<String>,
}

impl AddServerArgs {
    /// No arguments were given: run the interactive wizard.
    pub fn is_bare(&self) -> bool {
        self.name.is_none()
            && self.from_registry.is_none()
            && self.command.is_none()
            && self.url.is_none()
            && self.words.is_empty()
    }
}
