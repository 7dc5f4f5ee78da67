//! Texts of the offline model: results of calls, and simple statements about itself.

use serde_json::Value;
use tollgate_core::text::truncate_chars;

use super::intent::{self, Intent};
use crate::conversation::{CallEnd, CallResult, ChatRequest, MessagePart};

const SELF_DESCRIPTION: &str =
    "I am Tollgate's offline model: a handful of built-in rules, and no language model.";
const ABILITIES: &str =
    "I can roll dice, look up rules and search memory, if I am given tools for that.";

/// Maximum characters quoted from a result or from the user.
const MAX_RESULT_CHARS: usize = 2_000;
const MAX_ECHO_CHARS: usize = 200;
/// Maximum number of tools that are named.
const MAX_NAMED_TOOLS: usize = 8;

/// The messages of the results.
pub(super) fn results(results: &[&CallResult]) -> String {
    let spoken: Vec<String> = results.iter().map(|result| describe_result(result)).collect();
    spoken.join("\n")
}

fn describe_result(result: &CallResult) -> String {
    let texts: Vec<&str> = result.parts.iter().filter_map(MessagePart::as_text).collect();
    let text = texts.join(" ");
    let message = match message(&text).trim() {
        "" => "it came back without words".to_owned(),
        message => truncate_chars(message, MAX_RESULT_CHARS),
    };
    match result.end {
        CallEnd::Well => message,
        CallEnd::Failed => format!("That did not work: {message}"),
    }
}

/// The message field of a JSON result; otherwise the text itself.
fn message(text: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str(text) else { return text.to_owned() };
    let answer = ["message", "text", "result", "error"].iter().find_map(|key| fields.get(*key));
    match answer.and_then(Value::as_str) {
        Some(answer) => answer.to_owned(),
        None => text.to_owned(),
    }
}

/// Answer when there is nothing to call.
pub(super) fn talk(request: &ChatRequest, utterance: &str) -> String {
    let lower = utterance.trim().to_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| begins_with(&lower, word));
    if lower.is_empty() {
        return format!("{SELF_DESCRIPTION} You said nothing that I can read. {ABILITIES}");
    }
    if let Some(intent) = intent::read(utterance).first() {
        return format!("{SELF_DESCRIPTION} {}", missing(intent));
    }
    if begins(&["thanks", "thank you"]) {
        return "You are welcome.".to_owned();
    }
    if begins(&["bye", "goodbye", "farewell"]) {
        return "Goodbye.".to_owned();
    }
    if begins(&["hello", "hi", "hey", "greetings", "well met", "good morning", "good evening"]) {
        return format!("Hello! {SELF_DESCRIPTION} {ABILITIES}");
    }
    let asks = ["who are you", "what are you", "what can you do", "what do you do", "help"];
    if asks.iter().any(|question| lower.contains(question)) {
        return format!("{SELF_DESCRIPTION} {ABILITIES}{}", describe_tools(request));
    }
    let echo = truncate_chars(utterance.trim(), MAX_ECHO_CHARS);
    format!("{SELF_DESCRIPTION} I do not know what to answer to “{echo}”. {ABILITIES}")
}

fn begins_with(text: &str, word: &str) -> bool {
    let rest = text.strip_prefix(word);
    rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

fn missing(intent: &Intent) -> String {
    match intent {
        Intent::Roll(notation) => {
            format!("To roll {notation} I would need a tool like `roll`, and I have none.")
        }
        Intent::Find { what, .. } => {
            let what = truncate_chars(what, MAX_ECHO_CHARS);
            format!("To look up “{what}” I would need a tool for it, and I have none.")
        }
    }
}

fn describe_tools(request: &ChatRequest) -> String {
    let mut names: Vec<String> = request.client_tools().map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(MAX_NAMED_TOOLS);
    names.truncate(MAX_NAMED_TOOLS);
    match (names.is_empty(), more) {
        (true, _) => " None are offered here.".to_owned(),
        (false, 0) => format!(" Offered here: {}.", names.join(", ")),
        (false, more) => format!(" Offered here: {} and {more} more.", names.join(", ")),
    }
}
