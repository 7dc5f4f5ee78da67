//! `{placeholders}` in the prompts and greetings of agents. One pass: what is put in is never looked
//! at again, so no value can bring placeholders of its own, and no text can break a prompt.

use std::collections::BTreeMap;

use crate::agent::Agent;

/// No prompt is longer, whatever is put into it.
pub const MAX_PROMPT_BYTES: usize = 256 << 10;
/// Of a placeholder's name; what is longer is not one.
const LONGEST_NAME: usize = 64;

/// What is built in beside `call_id` and `context_name`, unless something else is said.
const BUILT_IN: &[(&str, &str)] = &[
    ("caller_name", "there"),
    ("caller_number", "unknown"),
    ("call_direction", "inbound"),
    ("campaign_id", ""),
    ("lead_id", ""),
];

/// What placeholders stand for, the first that knows one counts: the request, the agent, what is
/// built in.
#[derive(Debug, Clone, Copy)]
pub struct PlaceholderValues<'a> {
    pub request: &'a BTreeMap<String, String>,
    pub agent: &'a Agent,
    /// Of this one conversation.
    pub call_id: &'a str,
}

impl<'a> PlaceholderValues<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let said = self.request.get(name).or_else(|| self.agent.persona.variables.get(name));
        said.map(String::as_str).or_else(|| match name {
            "call_id" => Some(self.call_id),
            "context_name" => Some(self.agent.id.as_str()),
            _ => BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, usual)| *usual),
        })
    }
}

/// The text with its placeholders filled in. Unknown ones stay as they are, and so does everything
/// that is none.
pub fn render(template: &str, values: &PlaceholderValues<'_>) -> String {
    let mut out = String::with_capacity(template.len().min(MAX_PROMPT_BYTES));
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        push(&mut out, &rest[..open]);
        rest = &rest[open..];
        let found = name(rest).and_then(|name| Some((name, values.get(name)?)));
        match found {
            Some((name, value)) => {
                push(&mut out, value);
                rest = &rest[name.len() + 2..];
            }
            None => {
                push(&mut out, "{");
                rest = &rest[1..];
            }
        }
    }
    push(&mut out, rest);
    out
}

/// The name of a placeholder that `text` begins with, brace and all.
fn name(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('{')?;
    let end = inside.bytes().take(LONGEST_NAME + 1).position(|byte| !is_of_name(byte))?;
    (end > 0 && inside.as_bytes()[end] == b'}').then(|| &inside[..end])
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a request may give a variable of this name.
pub fn is_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(is_of_name)
}

/// As much of it as there is room for, in whole characters.
fn push(out: &mut String, text: &str) {
    let room = MAX_PROMPT_BYTES.saturating_sub(out.len());
    out.push_str(&text[..text.floor_char_boundary(room)]);
}

#[cfg(test)]
mod tests;
