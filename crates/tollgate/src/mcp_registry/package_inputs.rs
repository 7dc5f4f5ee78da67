//! Inputs of a registry package for arguments, variables and headers: literal texts, and
//! placeholders for the operator.

use serde_json::Value;

use super::RequiredVariable;
use super::untrusted_text::sanitize_text;
use crate::import::variable;

const MAX_ARGUMENTS: usize = 64;
const MAX_ARGUMENT_BYTES: usize = 2_048;

/// Fills the inputs of one server.
pub(super) struct InputFiller<'a> {
    /// The server's name here, used as prefix of variables.
    pub(super) own: &'a str,
    pub(super) needs: Vec<RequiredVariable>,
}

/// Value of an input.
pub(super) enum FilledInput {
    /// Optional, and not given.
    Nothing,
    Text(String),
}

impl InputFiller<'_> {
    /// The words of a list of arguments. `None` if one of them is not allowed.
    pub(super) fn words(&mut self, arguments: &Value) -> Option<Vec<String>> {
        let mut words = Vec::new();
        for argument in arguments.as_array().into_iter().flatten().take(MAX_ARGUMENTS) {
            let name = argument["name"].as_str();
            let is_named = argument["type"] == "named";
            let label = name.or(argument["valueHint"].as_str()).unwrap_or("argument");
            let filled = self.fill(argument, label)?;
            match (is_named, name, filled) {
                (true, Some(flag), FilledInput::Text(text)) => {
                    words.push(literal(flag)?);
                    if !text.is_empty() {
                        words.push(text);
                    }
                }
                (true, Some(flag), FilledInput::Nothing) if is_switch(argument) => {
                    words.push(literal(flag)?);
                }
                (false, _, FilledInput::Text(text)) => words.push(text),
                (_, _, FilledInput::Nothing) => {}
                (true, None, FilledInput::Text(_)) => return None,
            }
        }
        Some(words)
    }

    /// The value of an input, or a reference to it.
    pub(super) fn fill(&mut self, input: &Value, label: &str) -> Option<FilledInput> {
        if let Some(value) = input["value"].as_str() {
            return self.template(value, &input["variables"]).map(FilledInput::Text);
        }
        let is_secret = input["isSecret"] == true;
        if let Some(default) = input["default"].as_str().filter(|_| !is_secret) {
            return literal(default).map(FilledInput::Text);
        }
        match (input["isRequired"] == true, is_secret) {
            (true, _) => Some(FilledInput::Text(self.variable_reference(label, input, ""))),
            (false, true) => Some(FilledInput::Text(self.variable_reference(label, input, ":-"))),
            (false, false) => Some(FilledInput::Nothing),
        }
    }

    /// Expands a text with `{names}`, which are looked up or become variables.
    pub(super) fn template(&mut self, text: &str, variables: &Value) -> Option<String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            let inside = &rest[at + 1..];
            let end = inside.find('}').unwrap_or(0);
            let name = &inside[..end];
            let known = variables.get(&inside[..end]);
            let Some(input) = known.filter(|_| end > 0) else {
                out.push_str(&literal(&rest[..=at])?);
                rest = inside;
                continue;
            };
            out.push_str(&literal(&rest[..at])?);
            match self.fill(input, name)? {
                FilledInput::Text(text) => out.push_str(&text),
                FilledInput::Nothing => out.push_str(&self.variable_reference(name, input, ":-")),
            }
            rest = &inside[end + 1..];
        }
        out.push_str(&literal(rest)?);
        Some(out)
    }

    /// A reference to a variable that only this server uses: a name chosen by the entry could be
    /// that of a secret of the gateway.
    pub(super) fn variable_reference(
        &mut self,
        label: &str,
        input: &Value,
        otherwise: &str,
    ) -> String {
        let name = format!("{}_{}", variable(self.own), variable(label));
        if !self.needs.iter().any(|need| need.name == name) {
            let description = input["description"].as_str().map(sanitize_text).unwrap_or_default();
            let secret = input["isSecret"] == true;
            self.needs.push(RequiredVariable { name: name.clone(), description, secret });
        }
        format!("${{{name}{otherwise}}}")
    }
}

fn is_switch(argument: &Value) -> bool {
    argument["isRequired"] == true || argument["format"] == "boolean" && argument["default"] == true
}

/// An untrusted text in config syntax: `${…}` in it is escaped. `None` if it is not allowed on a
/// command line.
pub(super) fn literal(text: &str) -> Option<String> {
    let odd =
        |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (text.len() <= MAX_ARGUMENT_BYTES && !text.contains(odd)).then(|| text.replace("${", "$${"))
}
