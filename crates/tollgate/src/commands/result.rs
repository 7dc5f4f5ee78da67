//! `tollgate result HANDLE`: shows the result of a call behind a handle.

use serde_json::Value;
use tollgate_config::Config;
use tollgate_core::call::CallStatus;

use crate::cli::ResultArgs;
use crate::command_error::CommandError;
use crate::gateway::{Gateway, RemoteGateway};
use crate::output::{Output, OutputFormat, clean, span};

pub(super) async fn run(
    page: &ResultArgs,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    // An in-process gateway would have no results yet.
    let Some(remote) = RemoteGateway::find(config).await else {
        let why = format!(
            "no gateway is running at {}; a result is kept only by the gateway that made the call",
            config.listen
        );
        return Err(CommandError::new(why));
    };
    let answer = Gateway::Remote(Box::new(remote)).result(&page.handle, page.page).await?;
    match output.form {
        OutputFormat::Json => output.json(&answer),
        OutputFormat::Text => print(&answer, output),
    }
    if is_good(&answer) { Ok(()) } else { Err(CommandError::AlreadyPrinted) }
}

fn print(answer: &Value, output: Output) {
    match &answer["data"] {
        Value::Null => {}
        Value::String(text) => output.line(&clean(text)),
        data => output.json(data),
    }
    if let Some(since) = answer["since_ms"].as_f64() {
        output.note(&format!("pending for {}", span(since)));
    } else if !is_good(answer) {
        let outcome = answer["outcome"].as_str().unwrap_or("?");
        output.note(&clean(&format!("the call ended with `{outcome}`")));
    }
    let number = |key: &str| answer[key].as_u64();
    match (number("page"), number("pages"), number("next")) {
        (Some(page), Some(pages), Some(next)) => {
            output.note(&format!("page {page} of {pages}; next page: --page {next}"));
        }
        (Some(page), Some(pages), None) if pages > 1 => {
            output.note(&format!("page {page} of {pages}, the last"));
        }
        _ => {}
    }
}

/// The result is available and the call succeeded.
fn is_good(answer: &Value) -> bool {
    [CallStatus::Ok, CallStatus::NoResults]
        .iter()
        .any(|status| answer["outcome"] == status.as_str())
}
