//! What the offline model says: the results of calls, and plain talk about itself.

use serde_json::Value;
use tollgate_core::text::shortened;

use super::intent::{self, Intent};
use crate::conversation::{CallEnd, CallResult, Part, Request};

const ABOUT: &str =
    "I am Tollgate's offline model: a handful of built-in rules, and no language model.";
const CAN: &str = "I can roll dice, look up rules and search memory, if I am given tools for that.";

/// Characters of a result, and of what was said, that are repeated.
const LONGEST_RESULT: usize = 2_000;
const LONGEST_ECHO: usize = 200;
/// Tools that are worth naming.
const MOST_TOOLS: usize = 8;

/// The messages of what came back.
pub(super) fn results(results: &[&CallResult]) -> String {
    let spoken: Vec<String> = results.iter().map(|result| spoken(result)).collect();
    spoken.join("\n")
}

fn spoken(result: &CallResult) -> String {
    let texts: Vec<&str> = result.parts.iter().filter_map(Part::as_text).collect();
    let text = texts.join(" ");
    let message = match message(&text).trim() {
        "" => "it came back without words".to_owned(),
        message => shortened(message, LONGEST_RESULT),
    };
    match result.end {
        CallEnd::Well => message,
        CallEnd::Failed => format!("That did not work: {message}"),
    }
}

/// What is meant to be said of a result that is JSON; else the text itself.
fn message(text: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str(text) else { return text.to_owned() };
    let said = ["message", "text", "result", "error"].iter().find_map(|key| fields.get(*key));
    match said.and_then(Value::as_str) {
        Some(said) => said.to_owned(),
        None => text.to_owned(),
    }
}

/// Something to say when there is nothing to call.
pub(super) fn talk(request: &Request, utterance: &str) -> String {
    let lower = utterance.trim().to_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| begins_with(&lower, word));
    if lower.is_empty() {
        return format!("{ABOUT} You said nothing that I can read. {CAN}");
    }
    if let Some(intent) = intent::read(utterance).first() {
        return format!("{ABOUT} {}", missing(intent));
    }
    if begins(&["thanks", "thank you"]) {
        return "You are welcome.".to_owned();
    }
    if begins(&["bye", "goodbye", "farewell"]) {
        return "Goodbye.".to_owned();
    }
    if begins(&["hello", "hi", "hey", "greetings", "well met", "good morning", "good evening"]) {
        return format!("Hello! {ABOUT} {CAN}");
    }
    let asks = ["who are you", "what are you", "what can you do", "what do you do", "help"];
    if asks.iter().any(|question| lower.contains(question)) {
        return format!("{ABOUT} {CAN}{}", offered(request));
    }
    let echo = shortened(utterance.trim(), LONGEST_ECHO);
    format!("{ABOUT} I do not know what to answer to “{echo}”. {CAN}")
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
            let what = shortened(what, LONGEST_ECHO);
            format!("To look up “{what}” I would need a tool for it, and I have none.")
        }
    }
}

fn offered(request: &Request) -> String {
    let mut names: Vec<String> = request.client_tools().map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(MOST_TOOLS);
    names.truncate(MOST_TOOLS);
    match (names.is_empty(), more) {
        (true, _) => " None are offered here.".to_owned(),
        (false, 0) => format!(" Offered here: {}.", names.join(", ")),
        (false, more) => format!(" Offered here: {} and {more} more.", names.join(", ")),
    }
}
