//! Arguments of `tollgate convert`.

use std::path::PathBuf;

use clap::Args;

/// The names of `tollgate_llm::tools::ToolFormat`.
const FORMATS: [&str; 7] =
    ["mcp", "openai", "openai-responses", "anthropic", "gemini", "openai-realtime", "gemini-live"];

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
pub struct ConvertArgs {
    /// The format that they are in [default: as they look]
    #[arg(long, value_name = "FORMAT", value_parser = FORMATS)]
    pub from: Option<String>,
    /// The format to write them in
    #[arg(long, value_name = "FORMAT", value_parser = FORMATS)]
    pub to: String,
    /// One tool, a list of them, or what a server answered to `tools/list` [default: standard input]
    #[arg(value_name = "FILE|-")]
    pub file: Option<PathBuf>,
    /// For OpenAI: bind the model to the schema, where that can be done
    #[arg(long, conflicts_with = "results")]
    pub strict: bool,
    /// They are results of calls, not definitions
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
