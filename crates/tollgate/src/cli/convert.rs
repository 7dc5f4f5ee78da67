//! Arguments of `tollgate convert`.

use std::path::PathBuf;

use clap::Args;

/// The names of `tollgate_llm::tools::ToolFormat`.
const FORMATS: [&str; 7] =
    ["mcp", "openai", "openai-responses", "anthropic", "gemini", "openai-realtime", "gemini-live"];

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
pub struct ConvertArgs {
    /// The input format [default: detected]
    #[arg(long, value_name = "FORMAT", value_parser = FORMATS)]
    pub from: Option<String>,
    /// The output format
    #[arg(long, value_name = "FORMAT", value_parser = FORMATS)]
    pub to: String,
    /// A tool, a list of tools, or a server's response to `tools/list` [default: standard input]
    #[arg(value_name = "FILE|-")]
    pub file: Option<PathBuf>,
    /// For OpenAI: strict schemas, where possible
    #[arg(long, conflicts_with = "results")]
    pub strict: bool,
    /// Convert results of calls instead of definitions
    #[arg(long)]
    pub results: bool,
}

#[cfg(test)]
mod tests {
    use tollgate_llm::tools::ToolFormat;

    use super::FORMATS;

    #[test]
    fn every_form_can_be_named() {
        assert_eq!(FORMATS, ToolFormat::ALL.map(ToolFormat::as_str));
    }
}
