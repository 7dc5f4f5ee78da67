//! Names of tools: rewritten where the provider's rule is stricter than the client's, the same way
//! in every request, so that a provider's prompt cache stays valid.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::{RequestFitting, ToolNames};
use crate::conversation::{ChatMessage, ChatTool, PartContent, ToolChoice};
use crate::format::names::{self, NameRule};

impl RequestFitting<'_> {
    pub(super) fn fit_tool_names(&mut self) -> ToolNames {
        let rule = names::rule(self.dialect);
        let unfit: HashSet<String> = self
            .tool_names()
            .filter(|name| !name.is_empty() && !rule.fits(name))
            .map(str::to_owned)
            .collect();
        if unfit.is_empty() {
            return ToolNames::default();
        }
        let fitted: HashMap<&str, String> =
            unfit.iter().map(|name| (name.as_str(), fit_name(name, rule))).collect();
        let rename = |name: &mut String| {
            if let Some(fitted) = fitted.get(name.as_str()) {
                name.clone_from(fitted);
            }
        };
        let request = self.edit();
        for tool in &mut request.tools {
            if let ChatTool::Function(function) = tool {
                rename(&mut function.name);
            }
        }
        match &mut request.tool_choice {
            ToolChoice::Named(name) => rename(name),
            ToolChoice::Opaque { value, .. } => rename_in_choice(value, &fitted),
            ToolChoice::Unsaid | ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => {}
        }
        let messages = std::mem::take(&mut request.messages).into_iter();
        request.messages = messages
            .map(|message| {
                let has_unfit = names_in(&message).any(|name| fitted.contains_key(name));
                let mut message = message;
                if has_unfit {
                    for part in &mut Arc::make_mut(&mut message).parts {
                        match &mut part.content {
                            PartContent::Call(call) => rename(&mut call.name),
                            PartContent::Result(result) => {
                                if let Some(name) = &mut result.name {
                                    rename(name);
                                }
                            }
                            _ => {}
                        }
                    }
                }
                message
            })
            .collect();
        let back = fitted.into_iter().map(|(own, fitted)| (fitted, own.to_owned()));
        ToolNames(back.collect())
    }

    fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.request.client_tools().chain(self.request.messages.iter().flat_map(|it| names_in(it)))
    }
}

fn names_in(message: &ChatMessage) -> impl Iterator<Item = &str> {
    message.parts.iter().filter_map(|part| match &part.content {
        PartContent::Call(call) => Some(call.name.as_str()),
        PartContent::Result(result) => result.name.as_deref(),
        _ => None,
    })
}

/// Choices that only one dialect has contain names at several places.
fn rename_in_choice(value: &mut Value, fitted: &HashMap<&str, String>) {
    match value {
        Value::String(name) => {
            if let Some(fitted) = fitted.get(name.as_str()) {
                name.clone_from(fitted);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|it| rename_in_choice(it, fitted)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|it| rename_in_choice(it, fitted));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The hash distinguishes names that differ only in what is replaced or cut off.
fn fit_name(name: &str, rule: NameRule) -> String {
    let hash = super::call_ids::hash(name);
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let mut fitted: String = name.chars().map(plain).collect();
    if !fitted.starts_with(rule.first) {
        fitted.insert(0, '_');
    }
    fitted.truncate(rule.most - 9);
    format!("{fitted}_{:08x}", hash & 0xffff_ffff)
}
