//! Matches intents to offered tools, and fills in the arguments.

use serde_json::{Map, Value};
use tollgate_core::probe;
use tollgate_core::schema::Schema;

use super::intent::{self, Intent, LookupTopic};
use crate::conversation::{ChatRequest, ChatTool, Function};

/// Words of an utterance that are compared with tool descriptions.
const MAX_COMPARED_WORDS: usize = 64;

/// A call to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OfflineCall {
    pub(super) name: String,
    pub(super) arguments: String,
}

/// Names of tools for a purpose, best first, and a word from their descriptions.
struct ToolPurpose {
    names: &'static [&'static str],
    describing: &'static [&'static str],
    /// Names of the argument that takes the topic.
    argument: &'static [&'static str],
}

const ROLL_PURPOSE: ToolPurpose = ToolPurpose {
    names: &["roll", "roll_dice", "dice_roll", "roll_die"],
    describing: &["dice"],
    argument: &["expression", "notation", "dice", "formula", "roll"],
};
const QUERY_ARGUMENT_NAMES: &[&str] =
    &["query", "q", "text", "topic", "name", "question", "search"];

impl LookupTopic {
    fn purpose(self) -> ToolPurpose {
        let (names, describing): (&[&str], &[&str]) = match self {
            Self::Rules => (&["search_rules", "lookup_rule", "find_rule", "rules"], &["rule"]),
            Self::Sessions => {
                (&["search_sessions", "search_facts", "search_memory"], &["session", "transcript"])
            }
            Self::Entities => (
                &["query_entities", "search_facts", "search_memory", "search_sessions"],
                &["entities", "memory"],
            ),
            Self::Facts => (
                &["search_facts", "search_memory", "query_entities", "search_sessions"],
                &["memory", "facts"],
            ),
        };
        ToolPurpose { names, describing, argument: QUERY_ARGUMENT_NAMES }
    }
}

impl OfflineCall {
    fn new(function: &Function, arguments: Map<String, Value>) -> Self {
        let arguments = Value::Object(arguments).to_string();
        Self { name: function.name.clone(), arguments }
    }
}

/// One call per intent, if a matching tool was offered.
pub(super) fn call_fitting_tools(request: &ChatRequest, utterance: &str) -> Vec<OfflineCall> {
    let intents = intent::read(utterance);
    let wishes = intents.iter().filter_map(|intent| of_intent(request, intent));
    let mut wishes: Vec<OfflineCall> = wishes.collect();
    wishes.dedup();
    wishes
}

/// A call of this tool, regardless of the utterance.
pub(super) fn call_named_tool(
    request: &ChatRequest,
    utterance: &str,
    name: &str,
) -> Vec<OfflineCall> {
    let wished = call_fitting_tools(request, utterance).into_iter().find(|wish| wish.name == name);
    let function = || functions(request).find(|function| function.name == name);
    wished
        .or_else(|| function().map(|function| call_with_minimal_arguments(function, utterance)))
        .into_iter()
        .collect()
}

/// Matching calls, or else a call of the tool whose description shares most words with the
/// utterance.
pub(super) fn call_any_tool(request: &ChatRequest, utterance: &str) -> Vec<OfflineCall> {
    let wishes = call_fitting_tools(request, utterance);
    if !wishes.is_empty() {
        return wishes;
    }
    let words: Vec<String> = words(utterance).take(MAX_COMPARED_WORDS).collect();
    let common = |function: &Function| {
        let described = function.description.as_deref().unwrap_or_default();
        let own: Vec<String> = self::words(&function.name).chain(self::words(described)).collect();
        words.iter().filter(|word| own.contains(word)).count()
    };
    // The first of equal maxima: `max_by_key` alone would return the last.
    let best = functions(request).rev().max_by_key(|function| common(function));
    best.map(|function| call_with_minimal_arguments(function, utterance)).into_iter().collect()
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2);
    words.map(str::to_lowercase)
}

fn functions(request: &ChatRequest) -> impl DoubleEndedIterator<Item = &Function> {
    request.tools.iter().filter_map(|tool| match tool {
        ChatTool::Function(function) => Some(function),
        ChatTool::Hosted { .. } => None,
    })
}

fn of_intent(request: &ChatRequest, intent: &Intent) -> Option<OfflineCall> {
    let (purpose, value) = match intent {
        Intent::Roll(notation) => (ROLL_PURPOSE, notation),
        Intent::Find { about, what } => (about.purpose(), what),
    };
    let by_name = purpose.names.iter().flat_map(|name| {
        functions(request).filter(move |function| is_called(&function.name, name))
    });
    let described = functions(request).filter(|function| {
        let description = function.description.as_deref().unwrap_or_default().to_lowercase();
        purpose.describing.iter().any(|word| description.contains(word))
    });
    by_name.chain(described).find_map(|function| {
        let key = argument(function, purpose.argument)?;
        Some(OfflineCall::new(function, fill_arguments(function, Some((key, value)))?))
    })
}

/// Ignores any prefix that a gateway puts before tool names.
fn is_called(name: &str, requested: &str) -> bool {
    let Some(prefix) = name.strip_suffix(requested) else { return false };
    prefix.is_empty() || prefix.ends_with(|c: char| !c.is_alphanumeric())
}

/// The text argument: one of these names, or the first required string.
fn argument<'f>(function: &'f Function, names: &[&str]) -> Option<&'f str> {
    let parameters = function.parameters.as_ref()?;
    let properties = parameters.get("properties")?.as_object()?;
    let takes_words = |key: &str| {
        let property = properties.get(key);
        property.is_some_and(|it| it.get("enum").is_none() && is_text(it.get("type")))
    };
    let known = properties.keys().find(|key| names.contains(&key.as_str()) && takes_words(key));
    let needed = || {
        let required = parameters.get("required")?.as_array()?;
        required.iter().filter_map(Value::as_str).find(|key| takes_words(key))
    };
    known.map(String::as_str).or_else(needed)
}

fn is_text(kind: Option<&Value>) -> bool {
    match kind {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        _ => false,
    }
}

/// Minimal arguments that the tool accepts, with the utterance as the text argument.
fn call_with_minimal_arguments(function: &Function, utterance: &str) -> OfflineCall {
    let key = argument(function, QUERY_ARGUMENT_NAMES);
    let argument = key.filter(|_| !utterance.is_empty()).map(|key| (key, utterance));
    let arguments = argument.and_then(|argument| fill_arguments(function, Some(argument)));
    OfflineCall::new(
        function,
        arguments.or_else(|| fill_arguments(function, None)).unwrap_or_default(),
    )
}

/// Minimal arguments that the tool accepts, with one given. `None`: the tool does not accept it.
fn fill_arguments(function: &Function, given: Option<(&str, &str)>) -> Option<Map<String, Value>> {
    let mut arguments = Map::new();
    let Some(schema) = &function.parameters else { return Some(arguments) };
    let compiled = Schema::compile(schema).ok()?;
    if let Ok(Value::Object(least)) = probe::arguments(schema, &compiled) {
        arguments = least;
    }
    if let Some((key, value)) = given {
        arguments.insert(key.to_owned(), value.into());
    }
    let arguments = Value::Object(arguments);
    compiled.check(&arguments).ok()?;
    match arguments {
        Value::Object(arguments) => Some(arguments),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
