//! Arguments of `tollgate servers add`, `remove`, `enable` and `disable`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum ChangeServersCommand {
    /// Put a server into the config
    Add(Box<AddServerArgs>),
    /// Take a server out of the config
    Remove(ServerNameArgs),
    /// Run a server of the config again
    Enable(ServerNameArgs),
    /// Keep a server in the config without running it
    Disable(ServerNameArgs),
}

#[derive(Debug, Args)]
pub struct ServerNameArgs {
    /// Of a server, as `servers list` shows it
    pub name: String,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
pub struct AddServerArgs {
    /// What to call it: its tools are NAME_tool. Without any argument you are asked
    pub name: Option<String>,
    /// The program and its arguments, split like a shell does; or give them after `--`
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["url", "words"])]
    pub command: Option<String>,
    /// Where it is reached
    #[arg(long, value_name = "URL", conflicts_with = "words")]
    pub url: Option<String>,
    /// A server of the MCP registry, as `servers search` names it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["command", "url", "words", "env", "header", "token", "cwd"])]
    pub from_registry: Option<String>,
    /// With `--from-registry`: which way to have it [default: the first]
    #[arg(long, value_name = "KIND", requires = "from_registry", value_parser = ["npm", "pypi", "oci", "nuget", "remote"])]
    pub choice: Option<String>,
    /// With `--from-registry`: do not ask before it is saved
    #[arg(long, requires = "from_registry")]
    pub yes: bool,
    /// How it is reached [default: what `--command` or `--url` says]
    #[arg(long, value_parser = ["stdio", "streamable-http", "sse"])]
    pub transport: Option<String>,
    /// A variable for the program; may be given more than once
    #[arg(long, value_name = "K=V", conflicts_with = "url")]
    pub env: Vec<String>,
    /// Where the program runs
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub cwd: Option<String>,
    /// A header for every request; may be given more than once
    #[arg(long, value_name = "K=V", conflicts_with_all = ["command", "words"])]
    pub header: Vec<String>,
    /// A bearer token; better as '${NAME}' than itself
    #[arg(long, conflicts_with_all = ["command", "words"])]
    pub token: Option<String>,
    /// Believe what its tools say of themselves
    #[arg(long)]
    pub trusted: bool,
    /// When it is started
    #[arg(long, value_parser = ["eager", "lazy"])]
    pub start: Option<String>,
    /// Let these agents see its tools
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub agents: Vec<String>,
    /// Write secrets into the file itself
    #[arg(long)]
    pub inline: bool,
    /// Do not try whether it answers
    #[arg(long)]
    pub no_test: bool,
    /// Show what would change, and change nothing
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
