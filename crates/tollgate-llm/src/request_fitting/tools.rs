//! Tools and the tool choice.

use serde_json::Value;

use super::{RequestFitting, schema};
use crate::conversation::{ChatTool, Function, ToolChoice};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::openai_common::{AllowedTools, strict_of};
use crate::model_capabilities::Feature;

impl RequestFitting {
    pub(super) fn fit_tools(&mut self) -> Result<(), LlmError> {
        if self.request.tools.is_empty() {
            return Ok(());
        }
        if self.dialect == Dialect::OpenAiChat && !self.takes.takes(Feature::ChatTools) {
            let message = format!(
                "`{}` takes no tools in Chat Completions: set `api: responses` for this model in \
                 the config",
                self.request.model
            );
            return Err(LlmError::invalid("tools", message));
        }
        self.fit_allowed_tools();
        self.fit_tool_choice();
        let mut changed = Vec::new();
        for tool in &mut self.request.tools {
            if let ChatTool::Function(function) = tool {
                changed.extend(fit_function(function, self.dialect));
            }
        }
        self.changes.append(&mut changed);
        Ok(())
    }

    /// A choice among some of the tools, for providers that cannot say it: only those are offered.
    fn fit_allowed_tools(&mut self) {
        let ToolChoice::Opaque { dialect, value } = &self.request.tool_choice else { return };
        let (own, dialect) = (self.dialect, *dialect);
        let openai = |dialect| matches!(dialect, Dialect::OpenAiChat | Dialect::OpenAiResponses);
        if dialect == own || (openai(dialect) && openai(own)) {
            return;
        }
        let Some(allowed) = AllowedTools::read(dialect, value) else { return };
        let names: Vec<String> = allowed.names().map(str::to_owned).collect();
        let choice = if allowed.is_required() { ToolChoice::Required } else { ToolChoice::Auto };
        self.request.tools.retain(|tool| match tool {
            ChatTool::Function(function) => names.contains(&function.name),
            ChatTool::Hosted { .. } => false,
        });
        self.request.tool_choice = choice;
    }

    fn fit_tool_choice(&mut self) {
        if self.dialect != Dialect::Anthropic {
            return;
        }
        let enabled = self.request.extra.get(self.dialect, "thinking");
        let enabled = enabled.is_some_and(|thinking| thinking["type"] == "enabled");
        if self.takes.takes(Feature::ForcedToolChoice) && !enabled {
            return;
        }
        let instruction = match &self.request.tool_choice {
            ToolChoice::Required => "Answer with a tool call, not with text.".to_owned(),
            ToolChoice::Named(name) => {
                format!("Answer with a call of the tool `{name}`, not with text.")
            }
            _ => return,
        };
        self.request.tool_choice = ToolChoice::Auto;
        self.instruct(&instruction);
        self.report("`tool_choice`: the model cannot be forced; sent as an instruction");
    }
}

/// Returns what was changed.
fn fit_function(function: &mut Function, dialect: Dialect) -> Option<String> {
    let parameters = function.parameters.as_mut()?;
    match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses => {
            set_object_type(parameters);
            let strict = function.extra.get(Dialect::Anthropic, "strict");
            if strict == Some(&Value::Bool(true)) && !schema::is_strict(parameters) {
                function.extra.take(Dialect::Anthropic, "strict");
                let name = &function.name;
                return Some(format!("`strict` of the tool `{name}`: its schema is not closed"));
            }
            None
        }
        Dialect::Gemini => {
            *parameters = schema::bare_references(parameters);
            None
        }
        Dialect::Anthropic => fit_claude_function(function),
    }
}

fn fit_claude_function(function: &mut Function) -> Option<String> {
    let strict = strict_of(function) == Some(true);
    let parameters = function.parameters.as_mut()?;
    let mut change = None;
    if let Some(flat) = schema::flatten_alternatives(parameters) {
        *parameters = flat.schema;
        if let Some(note) = flat.note {
            let description = function.description.take().unwrap_or_default();
            function.description = Some(format!("{description}\n\n{note}").trim().to_owned());
        }
        let name = &function.name;
        change = Some(format!("alternatives in the schema of the tool `{name}`: sent as words"));
    }
    if strict {
        *parameters = schema::close(parameters);
    }
    set_object_type(parameters);
    change
}

/// The arguments of a call are an object in every dialect.
fn set_object_type(parameters: &mut Value) {
    if let Value::Object(schema) = parameters
        && !schema.is_empty()
        && schema.get("type").is_none_or(|kind| kind != "object")
    {
        schema.insert("type".to_owned(), "object".into());
    }
}
