//! Tools and the tool choice.

use serde_json::Value;

use super::{RequestFitting, schema};
use crate::conversation::{ChatTool, Function, ToolChoice};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::openai_common::{AllowedTools, drop_strict, strict_of};
use crate::model_capabilities::{Feature, ModelCapabilities};
use crate::tools;

impl RequestFitting<'_> {
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
        for at in 0..self.request.tools.len() {
            let ChatTool::Function(function) = &self.request.tools[at] else { continue };
            let fitted = match self.dialect {
                Dialect::OpenAiChat | Dialect::OpenAiResponses => fit_gpt_function(function),
                Dialect::Anthropic => fit_claude_function(function, self.takes),
                Dialect::Gemini => fit_gemini_function(function),
            };
            if let Some(FittedFunction { function, change }) = fitted {
                self.changes.extend(change);
                self.edit().tools[at] = ChatTool::Function(function);
            }
        }
        Ok(())
    }

    /// A choice among some of the tools, for providers that cannot say it: only those are offered.
    fn fit_allowed_tools(&mut self) {
        let ToolChoice::Opaque { dialect, value } = &self.request.tool_choice else { return };
        let own = self.dialect;
        let dialect = *dialect;
        let openai = |dialect| matches!(dialect, Dialect::OpenAiChat | Dialect::OpenAiResponses);
        if dialect == own || (openai(dialect) && openai(own)) {
            return;
        }
        let Some(allowed) = AllowedTools::read(dialect, value) else { return };
        let names: Vec<String> = allowed.names().map(str::to_owned).collect();
        let choice = if allowed.is_required() { ToolChoice::Required } else { ToolChoice::Auto };
        let request = self.edit();
        request.tools.retain(|tool| match tool {
            ChatTool::Function(function) => names.contains(&function.name),
            ChatTool::Hosted { .. } => false,
        });
        request.tool_choice = choice;
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
        self.edit().tool_choice = ToolChoice::Auto;
        self.instruct(&instruction);
        self.report("`tool_choice`: the model cannot be forced; sent as an instruction");
    }
}

/// A tool that had to be rewritten.
struct FittedFunction {
    function: Function,
    /// What the client is told.
    change: Option<String>,
}

// Each of the next three returns `None` if the tool fits as it is.

fn fit_gemini_function(function: &Function) -> Option<FittedFunction> {
    let parameters = Some(schema::bare_references(function.parameters.as_ref()?)?);
    let function = Function { parameters, ..function.clone() };
    Some(FittedFunction { function, change: None })
}

fn fit_gpt_function(function: &Function) -> Option<FittedFunction> {
    let parameters = function.parameters.as_ref()?;
    let strict = function.extra.get(Dialect::Anthropic, "strict") == Some(&Value::Bool(true));
    let is_open = strict && !schema::is_strict(parameters);
    if !is_open && has_object_type(parameters) {
        return None;
    }
    let mut function = function.clone();
    function.parameters.as_mut().map(set_object_type);
    let change = is_open.then(|| {
        drop_strict(&mut function);
        format!("`strict` of the tool `{}`: its schema is not closed", function.name)
    });
    Some(FittedFunction { function, change })
}

fn fit_claude_function(function: &Function, takes: ModelCapabilities) -> Option<FittedFunction> {
    let parameters = function.parameters.as_ref()?;
    let strict = strict_of(function) == Some(true);
    // What cannot be flattened is left for the provider to refuse.
    let flat = tools::schema::flatten_root(parameters).and_then(Result::ok);
    if flat.is_none() && !strict && has_object_type(parameters) {
        return None;
    }
    let mut function = function.clone();
    let mut parameters = parameters.clone();
    let mut change = None;
    if let Some(flat) = flat {
        parameters = flat.schema;
        if !flat.limits.is_empty() {
            let description = function.description.as_deref();
            function.description = tools::schema::limits::beside(description, &flat.limits);
            let name = &function.name;
            change =
                Some(format!("alternatives in the schema of the tool `{name}`: sent as words"));
        }
    }
    if strict && takes.takes(Feature::OutputSchema) && !schema::is_recursive(&parameters) {
        parameters = schema::close(&parameters);
    } else if strict {
        drop_strict(&mut function);
        change =
            Some(format!("`strict` of the tool `{}`: the model does not take it", function.name));
    }
    set_object_type(&mut parameters);
    function.parameters = Some(parameters);
    Some(FittedFunction { function, change })
}

/// The arguments of a call are an object in every dialect. An empty schema is left to the encoder.
fn has_object_type(parameters: &Value) -> bool {
    parameters.as_object().is_none_or(|schema| {
        schema.is_empty() || schema.get("type").is_some_and(|it| it == "object")
    })
}

fn set_object_type(parameters: &mut Value) {
    if !has_object_type(parameters) {
        parameters["type"] = "object".into();
    }
}
