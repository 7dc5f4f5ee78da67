//! Full documentation of one tool, which a model reads before it writes a call.

use std::fmt::Write as _;

use serde_json::Value;

use super::constraint_notes::remark;
use super::literal::literal;
use super::parameters::{DeclaredParameters, ParameterNeed};
use super::schema_layers::{SchemaLayers, SchemaRoot};
use super::signature::{ReturnTypeOrigin, SEEN_TYPE_NOTE, SignatureWriter};
use super::type_detail::TypeDetail;
use super::{CodeModeApi, CodeModeTool, ShapeLookup, UnknownNameError, comment_text};
use crate::nearest::nearest;
use crate::probe;
use crate::text::truncate_chars;

/// Maximum characters of a description line, and of a parameter's description.
const LINE: usize = 500;
const PARAMETER: usize = 600;
const MAX_DOC_LINES: usize = 80;
/// Maximum characters of an example.
const EXAMPLE: usize = 600;

impl CodeModeApi {
    /// Signature, full description, parameters, result and example of one tool.
    pub fn docs(
        &self,
        server: &str,
        tool: &str,
        seen: ShapeLookup<'_>,
    ) -> Result<String, UnknownNameError> {
        let place = self.find(server, tool)?;
        let entry = &self.entries[place];
        let spelled = self.qualified_name(place);
        let mut writer = SignatureWriter::new(TypeDetail::Full, seen);
        let signature = writer.signature(entry);
        let mut out = format!("{}\n", signature.whole(&spelled));
        for line in description_lines(entry) {
            comment(&mut out, &line);
        }
        parameters(&mut out, entry);
        match signature.origin {
            ReturnTypeOrigin::Promised => {
                comment(&mut out, &format!("Returns {}", signature.returns))
            }
            ReturnTypeOrigin::Seen => {
                comment(&mut out, &format!("Returns {}; {SEEN_TYPE_NOTE}", signature.returns))
            }
            ReturnTypeOrigin::Unknown => {
                comment(&mut out, "Returns data of unknown shape: print a small part of it first");
            }
        }
        writer.classes.write_new(&mut out);
        comment(&mut out, "Example:");
        writeln!(out, "result = {}", example(entry, &spelled)).expect("a string takes all");
        Ok(out)
    }

    fn find(&self, server: &str, tool: &str) -> Result<usize, UnknownNameError> {
        // Accept `github.get_issue`, or the exposed name of the tool.
        let tool = tool.trim().trim_end_matches("()");
        if let Some(place) = self.by_exposed.get(tool) {
            return Ok(*place);
        }
        let Some(at) = self.find_server(server.trim()) else {
            return Err(self.no_server(server));
        };
        let own = tool.rsplit_once('.').map_or(tool, |(_, own)| own);
        let found = self.find_tool(at, tool).or_else(|| self.find_tool(at, own));
        found.ok_or_else(|| self.no_tool(at, tool))
    }

    fn no_server(&self, server: &str) -> UnknownNameError {
        let all: Vec<&str> = self.servers.iter().map(|it| it.identifier.as_str()).collect();
        let near = nearest(server, all.iter().copied());
        let hint = match near.first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are: {}", few(&all)),
        };
        UnknownNameError::Server { name: truncate_chars(server, 80), hint }
    }

    fn no_tool(&self, server: usize, tool: &str) -> UnknownNameError {
        let server = &self.servers[server];
        let all = self.entries[server.tools.clone()].iter().map(|it| it.identifier.as_str());
        let all: Vec<&str> = all.collect();
        let near = nearest(tool, all.iter().copied());
        let hint = if near.is_empty() {
            format!("it has: {}", few(&all))
        } else {
            format!("did you mean `{}`?", near.join("` or `"))
        };
        let name = truncate_chars(tool, 80);
        UnknownNameError::Tool { server: server.identifier.clone(), name, hint }
    }
}

fn few(all: &[&str]) -> String {
    const MAX_LISTED_NAMES: usize = 30;
    let named = all.iter().take(MAX_LISTED_NAMES).copied().collect::<Vec<_>>().join(", ");
    match all.len().checked_sub(MAX_LISTED_NAMES) {
        Some(more @ 1..) => format!("{named} and {more} more"),
        _ => named,
    }
}

/// A line contains no line break, so it cannot escape the comment.
fn comment(out: &mut String, line: &str) {
    if line.is_empty() {
        out.push_str("#\n");
    } else {
        writeln!(out, "# {line}").expect("a string takes all");
    }
}

/// The description by lines; blank lines only between others.
fn description_lines(entry: &CodeModeTool) -> Vec<String> {
    let text = entry.tool.description.as_deref().unwrap_or_default();
    let mut lines: Vec<String> = Vec::new();
    for line in text.split(['\n', '\r', '\u{2028}', '\u{2029}', '\u{85}']) {
        let line = comment_text::line(line, LINE);
        if !(line.is_empty() && lines.last().is_none_or(String::is_empty)) {
            lines.push(line);
        }
    }
    if lines.len() > MAX_DOC_LINES {
        lines.truncate(MAX_DOC_LINES);
        lines.push("…".to_owned());
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn parameters(out: &mut String, entry: &CodeModeTool) {
    let root = SchemaRoot::new(&entry.tool.definition.input_schema);
    let declared = DeclaredParameters::of(&root);
    if declared.fields.is_empty() {
        return;
    }
    comment(out, "Parameters:");
    for (field, parameter) in declared.fields.iter().zip(entry.parameters().all()) {
        let layers = SchemaLayers::of(&root, field.schema);
        let text = layers.text("description").map(|it| comment_text::line(it, PARAMETER));
        let need = (field.need == ParameterNeed::Optional).then(|| "optional".to_owned());
        let remark = remark(&layers, TypeDetail::Full);
        let all: Vec<String> = [text, remark, need].into_iter().flatten().collect();
        let all: Vec<String> = all.into_iter().filter(|it| !it.is_empty()).collect();
        let colon = if all.is_empty() { "" } else { ": " };
        comment(out, &format!("  {}{colon}{}", parameter.identifier, all.join("; ")));
    }
}

/// An example call that satisfies the schema, if one can be generated.
fn example(entry: &CodeModeTool, spelled: &str) -> String {
    let schema = &entry.tool.definition.input_schema;
    let made = probe::arguments(schema, &entry.tool.input).ok();
    let required = entry.parameters().all().iter().filter(|it| it.need == ParameterNeed::Required);
    let given: Vec<String> = match made.as_ref().and_then(Value::as_object) {
        Some(made) => {
            let spelled = |name: &str| {
                entry.parameters().find(name).map_or(name.to_owned(), |it| it.identifier.clone())
            };
            made.iter()
                .map(|(name, value)| format!("{}={}", spelled(name), literal(value)))
                .collect()
        }
        None => required.map(|it| format!("{}=...", it.identifier)).collect(),
    };
    truncate_chars(&format!("{spelled}({})", given.join(", ")), EXAMPLE)
}
