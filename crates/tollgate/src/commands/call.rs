//! `tollgate call NAME k=v…`: one call, through the same gate as every other.

use serde_json::Value;
use tollgate_config::Config;
use tollgate_core::call::CallStatus;
use tollgate_core::shaping::DONE;
use tollgate_engine::caller::CacheFreshness;

use super::tools::{items, view_query};
use crate::arguments;
use crate::cli::CallArgs;
use crate::command_error::CommandError;
use crate::gateway::{Gateway, GatewayCall};
use crate::output::{Output, OutputFormat, clean, span};

pub(super) async fn run(
    call: &CallArgs,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    let gateway = Gateway::open(config).await?;
    let stays = match gateway {
        Gateway::Remote(_) => HandleLifetime::Readable,
        Gateway::Local(_) => HandleLifetime::Lost,
    };
    let outcome = ask(call, &gateway).await;
    gateway.close().await;
    let outcome = outcome?;
    match output.form {
        OutputFormat::Json => output.json(&outcome),
        OutputFormat::Text => print(&outcome, stays, output),
    }
    if is_well(&outcome) { Ok(()) } else { Err(CommandError::AlreadyPrinted) }
}

async fn ask(call: &CallArgs, gateway: &Gateway) -> Result<Value, CommandError> {
    let view = view_query(&call.view);
    let listed = gateway.tools(view).await?;
    let tool = items(&listed, "tools").iter().find(|tool| tool["name"] == call.name.as_str());
    let schema = tool.map_or(Value::Null, |tool| tool["input_schema"].clone());
    let arguments = arguments::parse(&call.arguments, &schema)?;
    let freshness = if call.no_cache { CacheFreshness::Fresh } else { CacheFreshness::Any };
    let arguments = Value::Object(arguments);
    gateway.execute(GatewayCall { name: &call.name, arguments, view, freshness }).await
}

/// Whether a result behind a handle is still available after the command.
#[derive(Clone, Copy)]
enum HandleLifetime {
    Readable,
    /// The gateway ends with the command.
    Lost,
}

/// Prints the message for people, with status and duration.
fn print(outcome: &Value, stays: HandleLifetime, output: Output) {
    let status = outcome["status"].as_str().unwrap_or("?");
    let message = clean(outcome["message"].as_str().unwrap_or_default());
    if !has_answer(outcome) {
        output.note(&format!("{status}: {message}"));
    } else if message == DONE && !outcome["data"].is_null() {
        // There is no message: the data is the answer.
        output.json(&outcome["data"]);
    } else {
        output.line(&message);
    }
    for item in items(outcome, "content").iter().filter(|item| item["type"] != "text") {
        output.line(&clean(&describe_content(item)));
    }
    if let Some(warning) = outcome["warning"].as_str() {
        output.note(&clean(&format!("note: {warning}")));
    }
    // The location of the result is printed below.
    let hint = outcome["retry_hint"].as_str().filter(|_| outcome["handle"].is_null());
    if let Some(hint) = hint {
        output.note(&clean(hint));
    }
    let cached = if outcome["cached"] == true { ", from the cache" } else { "" };
    match outcome["duration_ms"].as_f64() {
        Some(took) if took >= 1.0 => output.note(&format!("{status} in {}{cached}", span(took))),
        Some(_) if has_answer(outcome) => {
            output.note(&format!("{status} in less than 1 ms{cached}"));
        }
        _ => {}
    }
    let what = if outcome["truncated"] == true { "full result" } else { "the result" };
    match (outcome["handle"].as_str(), stays) {
        (None, _) => {}
        (Some(handle), HandleLifetime::Readable) => {
            output.note(&clean(&format!("{what}: tollgate result {handle}")));
        }
        (Some(_), HandleLifetime::Lost) => {
            output.note(&format!("{what}: only kept by a running gateway (`tollgate serve`)"));
        }
    }
}

/// Describes non-text content in one line: type and size, or URL.
fn describe_content(item: &Value) -> String {
    let text = |of: &Value, key: &str| of[key].as_str().unwrap_or("?").to_owned();
    let kind = text(item, "type");
    match kind.as_str() {
        "image" | "audio" => {
            format!("[{}, {}]", text(item, "mimeType"), size(decoded_len(&item["data"])))
        }
        "resource" => {
            let resource = &item["resource"];
            let length = resource["text"].as_str().map(str::len);
            let length = length.unwrap_or_else(|| decoded_len(&resource["blob"]));
            let kind = text(resource, "mimeType");
            format!("[{kind}, {}] {}", size(length), text(resource, "uri"))
        }
        "resource_link" => text(item, "uri"),
        _ => format!("[{kind}]"),
    }
}

/// Number of bytes encoded as Base64.
fn decoded_len(data: &Value) -> usize {
    let data = data.as_str().unwrap_or_default().trim_end_matches('=');
    data.len() / 4 * 3 + data.len() % 4 * 3 / 4
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{} MB", bytes.div_ceil(1_000_000)),
    }
}

fn has_answer(outcome: &Value) -> bool {
    [CallStatus::Ok, CallStatus::NoResults]
        .iter()
        .any(|status| outcome["status"] == status.as_str())
}

/// A result that comes later is not a failure.
fn is_well(outcome: &Value) -> bool {
    has_answer(outcome) || outcome["status"] == CallStatus::Pending.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{decoded_len, size};

    #[test]
    fn sizes_are_those_of_what_is_encoded() {
        for (data, expected) in [("", 0), ("QQ==", 1), ("QUI=", 2), ("QUJD", 3), ("QUJDRA", 4)] {
            assert_eq!(decoded_len(&json!(data)), expected, "{data}");
        }
        for (bytes, expected) in [(999, "999 B"), (11_500, "12 kB"), (2_000_000, "2 MB")] {
            assert_eq!(size(bytes), expected);
        }
    }
}
