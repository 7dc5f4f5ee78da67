//! Template engine for `{placeholders}` in prompts and greetings of agents. Single pass: inserted
//! values are not expanded again, so a value cannot inject placeholders.

use std::collections::BTreeMap;

use crate::agent::Agent;

/// Maximum size of a rendered prompt.
pub const MAX_PROMPT_BYTES: usize = 256 << 10;
/// Maximum length of a placeholder's name; longer ones are not placeholders.
const MAX_NAME_LEN: usize = 64;

/// Built-in values beside `call_id` and `context_name`, unless overridden.
const BUILT_IN: &[(&str, &str)] = &[
    ("caller_name", "there"),
    ("caller_number", "unknown"),
    ("call_direction", "inbound"),
    ("campaign_id", ""),
    ("lead_id", ""),
];

/// Values of placeholders. Precedence: the request, the agent, built-in.
#[derive(Debug, Clone, Copy)]
pub struct PlaceholderValues<'a> {
    pub request: &'a BTreeMap<String, String>,
    pub agent: &'a Agent,
    /// Id of the conversation.
    pub call_id: &'a str,
}

impl<'a> PlaceholderValues<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let text = self.request.get(name).or_else(|| self.agent.persona.variables.get(name));
        text.map(String::as_str).or_else(|| match name {
            "call_id" => Some(self.call_id),
            "context_name" => Some(self.agent.id.as_str()),
            _ => BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, usual)| *usual),
        })
    }
}

/// Fills in the placeholders. Unknown placeholders and other text are kept.
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

/// The name of the placeholder at the start of `text`, brace included.
fn name(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('{')?;
    let end = inside.bytes().take(MAX_NAME_LEN + 1).position(|byte| !is_of_name(byte))?;
    (end > 0 && inside.as_bytes()[end] == b'}').then(|| &inside[..end])
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether it is a valid variable name in a request.
pub fn is_name(text: &str) -> bool {
    (1..=MAX_NAME_LEN).contains(&text.len()) && text.bytes().all(is_of_name)
}

/// Appends as much as fits, in whole characters.
fn push(out: &mut String, text: &str) {
    let room = MAX_PROMPT_BYTES.saturating_sub(out.len());
    out.push_str(&text[..text.floor_char_boundary(room)]);
}

#[cfg(test)]
mod tests;
