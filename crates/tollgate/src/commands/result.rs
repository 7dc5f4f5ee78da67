//! `tollgate result HANDLE`: what a call left behind a handle.

use serde_json::Value;
use tollgate_core::call::Status;

use crate::cli::Page;
use crate::config::Config;
use crate::failure::Failure;
use crate::gateway::{Gateway, Remote};
use crate::output::{Form, Output, clean, span};

pub(super) async fn run(page: &Page, config: &Config, output: Output) -> Result<(), Failure> {
    // A gateway of this process would have made no call yet.
    let Some(remote) = Remote::find(config).await else {
        let why = format!(
            "no gateway runs at {}, and a result stays with the one that made the call",
            config.listen
        );
        return Err(Failure::failed(why));
    };
    let answer = Gateway::Remote(Box::new(remote)).result(&page.handle, page.page).await?;
    match output.form {
        Form::Json => output.json(&answer),
        Form::Text => print(&answer, output),
    }
    if is_good(&answer) { Ok(()) } else { Err(Failure::Said) }
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
            output.note(&format!("page {page} of {pages}; the next: --page {next}"));
        }
        (Some(page), Some(pages), None) if pages > 1 => {
            output.note(&format!("page {page} of {pages}, the last"));
        }
        _ => {}
    }
}

/// It is there, and the call went well.
fn is_good(answer: &Value) -> bool {
    [Status::Ok, Status::NoResults].iter().any(|status| answer["outcome"] == status.as_str())
}
