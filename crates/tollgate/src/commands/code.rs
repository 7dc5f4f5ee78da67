//! `tollgate code FILE`: runs a program written by a person under the same rules as those of
//! models.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tollgate_config::Config;

use super::tools::view_query;
use crate::cli::code::{CodeArgs, CodeLookupArgs};
use crate::command_error::CommandError;
use crate::gateway::{CodeRunResult, Gateway, ToolViewQuery};
use crate::output::{Output, OutputFormat, pluralize, pretty, span};

mod failure_report;

/// Larger than any gateway accepts.
const MAX_SOURCE_BYTES: u64 = 1 << 20;

pub(super) async fn run(
    code: &CodeArgs,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    let view = view_query(&code.view);
    let Some(file) = &code.file else { return look(&code.look, view, config, output).await };
    let source = read(file).await?;
    let gateway = Gateway::open(config).await?;
    let report = gateway.code(&source, view).await;
    gateway.close().await;
    let report = report?;
    match output.form {
        OutputFormat::Json => output.raw(&format!("{}\n", pretty(&report.whole))),
        OutputFormat::Text => print(&report, file, output),
    }
    if report.error.is_none() { Ok(()) } else { Err(CommandError::AlreadyPrinted) }
}

/// Prints its output, its result, and its error.
fn print(ran: &CodeRunResult, file: &Path, output: Output) {
    output.print_program_output(&ran.prints);
    if !ran.prints.is_empty() && !ran.prints.ends_with('\n') {
        output.raw("\n");
    }
    if let Some(result) = &ran.result {
        match serde_json::from_str::<String>(result.get()) {
            Ok(text) => output.print_program_output(&format!("{text}\n")),
            Err(_) => output.print_program_output(&format!("{}\n", pretty(result.get()))),
        }
    }
    let took = span(ran.duration_ms);
    let calls = pluralize(ran.calls, "call");
    match &ran.error {
        Some(error) => {
            let name = if file == Path::new("-") {
                "standard input".into()
            } else {
                file.to_string_lossy()
            };
            output.note(&failure_report::render(error, &name));
            output.note(&format!("failed after {took}, {calls}"));
        }
        None if ran.prints.is_empty() && ran.result.is_none() => {
            output.note(&format!("ok in {took}, {calls}; it printed nothing and set no `result`"));
        }
        None => output.note(&format!("ok in {took}, {calls}")),
    }
}

/// Reading standard input may take long, and Ctrl-C must interrupt it.
async fn read(file: &Path) -> Result<String, CommandError> {
    let owned = file.to_owned();
    let reading = tokio::task::spawn_blocking(move || {
        let source: Box<dyn Read> = match owned.to_str() {
            Some("-") => Box::new(io::stdin()),
            _ => Box::new(File::open(&owned)?),
        };
        let mut bytes = Vec::new();
        source.take(MAX_SOURCE_BYTES + 1).read_to_end(&mut bytes)?;
        Ok::<_, io::Error>(bytes)
    });
    let bad = |why: &str| CommandError::Usage(format!("{}: {why}", file.display()));
    let bytes = match reading.await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => return Err(bad(&error.to_string())),
        Err(_) => return Err(bad("cannot be read")),
    };
    if bytes.len() as u64 > MAX_SOURCE_BYTES {
        return Err(bad("larger than 1 MiB, too large for a program"));
    }
    String::from_utf8(bytes).map_err(|_| bad("not UTF-8, so not a program"))
}

async fn look(
    look: &CodeLookupArgs,
    view: ToolViewQuery<'_>,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    let words = look.search.as_ref().map(|words| words.join(" "));
    let typed = [("read", &look.read), ("docs", &look.docs), ("search", &words)];
    let mut requests = typed.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?)));
    let gateway = Gateway::open(config).await?;
    let body = gateway.code_docs(requests.next(), view).await;
    gateway.close().await;
    let body = body?;
    match output.form {
        OutputFormat::Json => output.json(&body),
        OutputFormat::Text => {
            let text = body["text"].as_str().unwrap_or_default();
            output.print_program_output(&format!("{}\n", text.trim_end()));
        }
    }
    Ok(())
}
