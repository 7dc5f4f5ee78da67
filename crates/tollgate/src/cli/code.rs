//! Arguments of `tollgate code`.

use std::path::PathBuf;

use clap::Args;

use super::ViewArgs;

#[derive(Debug, Args)]
pub struct CodeArgs {
    /// The program, in Starlark; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "look")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub view: ViewArgs,
    #[command(flatten)]
    pub look: CodeLookupArgs,
}

/// What a model looks up before it writes a program.
#[derive(Debug, Args)]
#[command(next_help_heading = "Instead of a program")]
#[group(id = "look", multiple = false, conflicts_with = "file")]
pub struct CodeLookupArgs {
    /// List the files that describe the callable tools
    #[arg(long)]
    pub list: bool,
    /// Print one of the files
    #[arg(long, value_name = "NAME")]
    pub read: Option<String>,
    /// Print the documentation of one tool
    #[arg(long, value_name = "SERVER.TOOL")]
    pub docs: Option<String>,
    /// Find tools by what they do
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    pub search: Option<Vec<String>>,
}
