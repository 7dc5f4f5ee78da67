//! `tollgate call NAME k=v…`: one call, through the same door as every other.

use serde_json::Value;
use tollgate_core::call::Status;
use tollgate_core::shaping::DONE;
use tollgate_engine::caller::Freshness;

use super::tools::{items, wanted};
use crate::arguments;
use crate::cli::Call;
use crate::config::Config;
use crate::failure::Failure;
use crate::gateway::{Gateway, Order};
use crate::output::{Form, Output, clean, span};

pub(super) async fn run(call: &Call, config: &Config, output: Output) -> Result<(), Failure> {
    let gateway = Gateway::open(config).await?;
    let stays = match gateway {
        Gateway::Remote(_) => Stays::Readable,
        Gateway::Local(_) => Stays::Lost,
    };
    let outcome = ask(call, &gateway).await;
    gateway.close().await;
    let outcome = outcome?;
    match output.form {
        Form::Json => output.json(&outcome),
        Form::Text => print(&outcome, stays, output),
    }
    if is_well(&outcome) { Ok(()) } else { Err(Failure::Said) }
}

async fn ask(call: &Call, gateway: &Gateway) -> Result<Value, Failure> {
    let view = wanted(&call.view);
    let listed = gateway.tools(view).await?;
    let tool = items(&listed, "tools").iter().find(|tool| tool["name"] == call.name.as_str());
    let schema = tool.map_or(Value::Null, |tool| tool["input_schema"].clone());
    let arguments = arguments::parse(&call.arguments, &schema)?;
    let freshness = if call.no_cache { Freshness::Fresh } else { Freshness::Any };
    let arguments = Value::Object(arguments);
    gateway.execute(Order { name: &call.name, arguments, view, freshness }).await
}

/// What becomes of a result behind a handle when the command is over.
#[derive(Clone, Copy)]
enum Stays {
    Readable,
    /// The gateway ends with the command.
    Lost,
}

/// The sentence for people; how it went beside it.
fn print(outcome: &Value, stays: Stays, output: Output) {
    let status = outcome["status"].as_str().unwrap_or("?");
    let message = clean(outcome["message"].as_str().unwrap_or_default());
    if !has_answer(outcome) {
        output.note(&format!("{status}: {message}"));
    } else if message == DONE && !outcome["data"].is_null() {
        // It has no sentence for itself: the data is the answer.
        output.json(&outcome["data"]);
    } else {
        output.line(&message);
    }
    for item in items(outcome, "content").iter().filter(|item| item["type"] != "text") {
        output.line(&clean(&named(item)));
    }
    if let Some(warning) = outcome["warning"].as_str() {
        output.note(&clean(&format!("note: {warning}")));
    }
    // Where a result is to be found is said below.
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
    let what = if outcome["truncated"] == true { "all of it" } else { "the result" };
    match (outcome["handle"].as_str(), stays) {
        (None, _) => {}
        (Some(handle), Stays::Readable) => {
            output.note(&clean(&format!("{what}: tollgate result {handle}")));
        }
        (Some(_), Stays::Lost) => {
            output.note(&format!("{what} would stay with a gateway that runs: `tollgate serve`"));
        }
    }
}

/// Content that is no text, in a line: what it is and how large, or where.
fn named(item: &Value) -> String {
    let text = |of: &Value, key: &str| of[key].as_str().unwrap_or("?").to_owned();
    let kind = text(item, "type");
    match kind.as_str() {
        "image" | "audio" => {
            format!("[{}, {}]", text(item, "mimeType"), size(decoded(&item["data"])))
        }
        "resource" => {
            let resource = &item["resource"];
            let length = resource["text"].as_str().map(str::len);
            let length = length.unwrap_or_else(|| decoded(&resource["blob"]));
            let kind = text(resource, "mimeType");
            format!("[{kind}, {}] {}", size(length), text(resource, "uri"))
        }
        "resource_link" => text(item, "uri"),
        _ => format!("[{kind}]"),
    }
}

/// Bytes behind base64.
fn decoded(data: &Value) -> usize {
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
    [Status::Ok, Status::NoResults].iter().any(|status| outcome["status"] == status.as_str())
}

/// A result that comes later is no failure.
fn is_well(outcome: &Value) -> bool {
    has_answer(outcome) || outcome["status"] == Status::Pending.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{decoded, size};

    #[test]
    fn sizes_are_those_of_what_is_encoded() {
        for (data, expected) in [("", 0), ("QQ==", 1), ("QUI=", 2), ("QUJD", 3), ("QUJDRA", 4)] {
            assert_eq!(decoded(&json!(data)), expected, "{data}");
        }
        for (bytes, expected) in [(999, "999 B"), (11_500, "12 kB"), (2_000_000, "2 MB")] {
            assert_eq!(size(bytes), expected);
        }
    }
}
