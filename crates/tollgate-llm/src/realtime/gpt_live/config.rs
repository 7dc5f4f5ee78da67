//! Session configuration of GPT-Live: merges our tools and prompt into the client's configuration,
//! and removes them where the provider reports it back.
//!
//! Tools belong to the backend model that the voice model delegates to; only the backend's
//! configuration can change during the session.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::realtime::events::RealtimeOffer;

/// Who handles delegations of the voice model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum DelegationTarget {
    /// The client of the socket.
    #[default]
    Client,
    /// A model at the provider: only this one calls tools.
    Responses,
    /// Something else at the provider.
    Other,
}

#[derive(Debug, Default)]
pub(super) struct GptLiveConfig {
    pub(super) delegation: DelegationTarget,
    /// The client's own tools, as it set them last.
    tools: Vec<Value>,
    instructions: Option<String>,
    names: HashSet<String>,
    /// Names of the client's tools before its last change: calls of them may still arrive.
    former: HashSet<String>,
    /// Our tools that the provider has.
    declared: Vec<Value>,
    prompt: Option<Arc<str>>,
}

impl GptLiveConfig {
    /// Merges our part into the `session` of `session.start`.
    pub(super) fn start(&mut self, session: &mut Map<String, Value>, offer: &RealtimeOffer) {
        self.read(session);
        self.declared = self.ours(offer);
        self.prompt.clone_from(&offer.prompt);
        if let Some(prompt) = &offer.prompt {
            let theirs = session.get("instructions").and_then(Value::as_str);
            session.insert("instructions".to_owned(), join_prompts(prompt, theirs).into());
        }
        if let Some(backend) = backend_mut(session) {
            self.merge(backend);
        }
    }

    /// Merges our part into the `session` of a client's update. `false` if it concerns nothing of
    /// ours.
    pub(super) fn update(
        &mut self,
        session: &mut Map<String, Value>,
        offer: &RealtimeOffer,
    ) -> bool {
        let Some(backend) = backend_mut(session) else { return false };
        let touches = ["tools", "instructions"].iter().any(|key| backend.contains_key(*key));
        if touches {
            self.take_over(backend);
            let has_tools = backend.contains_key("tools");
            let has_instructions = backend.contains_key("instructions");
            if has_tools {
                self.declared = self.ours(offer);
            }
            self.merge(backend);
            // Omitted fields stay as the provider has them.
            if !has_tools {
                backend.shift_remove("tools");
            }
            if !has_instructions {
                backend.shift_remove("instructions");
            }
        }
        touches
    }

    /// Learns the configuration of a session that somebody else started. Tools that equal ours were
    /// left there by us.
    pub(super) fn learn(&mut self, session: &mut Map<String, Value>, offer: &RealtimeOffer) {
        let is_ours = |tool: &Value| {
            let is_same = |key: &str, ours: &Value| ours.get(key) == tool.get(key);
            let mut offered = offer.tools.iter().map(|it| &*it.definition);
            offered.any(|ours| is_same("name", ours) && is_same("description", ours))
        };
        if let Some(backend) = backend_mut(session)
            && let Some(tools) = backend.get_mut("tools").and_then(Value::as_array_mut)
        {
            tools.retain(|tool| !is_ours(tool));
        }
        self.read(session);
    }

    fn read(&mut self, session: &mut Map<String, Value>) {
        let kind = session.get("delegation").and_then(|it| it.get("type")).and_then(Value::as_str);
        self.delegation = match kind {
            None | Some("client") => DelegationTarget::Client,
            Some("responses") => DelegationTarget::Responses,
            Some(_) => DelegationTarget::Other,
        };
        if let Some(backend) = backend_mut(session) {
            self.take_over(backend);
        }
    }

    /// The `session` of an update with this offer, if the provider does not have it yet.
    pub(super) fn offer_update(&mut self, offer: &RealtimeOffer) -> Option<Value> {
        if self.delegation != DelegationTarget::Responses {
            return None;
        }
        let declared = self.ours(offer);
        let same_tools = declared == self.declared;
        let same_prompt = offer.prompt == self.prompt;
        if same_tools && same_prompt {
            return None;
        }
        self.declared = declared;
        self.prompt.clone_from(&offer.prompt);
        let mut backend = Map::new();
        self.merge(&mut backend);
        if same_tools {
            backend.shift_remove("tools");
        }
        if same_prompt {
            backend.shift_remove("instructions");
        } else {
            backend.entry("instructions").or_insert_with(|| "".into());
        }
        Some(json!({"delegation": {"type": "responses", "responses": backend}}))
    }

    /// Removes our part from a `session` for the client. `false` if there was none.
    pub(super) fn hide(&self, session: &mut Map<String, Value>) -> bool {
        let mut hidden = self.hide_prompt(session);
        if let Some(backend) = backend_mut(session) {
            hidden |= self.hide_prompt(backend);
            if let Some(tools) = backend.get_mut("tools").and_then(Value::as_array_mut) {
                let before = tools.len();
                tools.retain(|tool| {
                    let is_ours = |ours: &Value| ours.get("name") == tool.get("name");
                    tool["type"] != "function" || !self.declared.iter().any(is_ours)
                });
                hidden |= tools.len() != before;
            }
        }
        hidden
    }

    /// Names that the client declared are the client's.
    pub(super) fn is_clients(&self, name: &str) -> bool {
        let is_declared = || self.declared.iter().any(|tool| tool["name"] == name);
        self.names.contains(name) || (self.former.contains(name) && !is_declared())
    }

    fn take_over(&mut self, backend: &Map<String, Value>) {
        if let Some(tools) = backend.get("tools") {
            self.tools = tools.as_array().cloned().unwrap_or_default();
            let mut names = HashSet::new();
            collect(&self.tools, &mut names);
            self.former = std::mem::replace(&mut self.names, names);
            // Tools that the client now declares itself are no longer ours.
            let names = &self.names;
            self.declared
                .retain(|tool| !tool["name"].as_str().is_some_and(|it| names.contains(it)));
        }
        if let Some(instructions) = backend.get("instructions") {
            self.instructions = instructions.as_str().map(str::to_owned);
        }
    }

    fn merge(&self, backend: &mut Map<String, Value>) {
        if !self.tools.is_empty() || !self.declared.is_empty() || backend.contains_key("tools") {
            let tools: Vec<Value> = self.tools.iter().chain(&self.declared).cloned().collect();
            backend.insert("tools".to_owned(), tools.into());
        }
        let theirs = self.instructions.as_deref();
        let instructions = match &self.prompt {
            Some(prompt) => Some(join_prompts(prompt, theirs)),
            None => theirs.map(str::to_owned),
        };
        if let Some(instructions) = instructions {
            backend.insert("instructions".to_owned(), instructions.into());
        }
    }

    fn ours(&self, offer: &RealtimeOffer) -> Vec<Value> {
        let own = offer.tools.iter().filter(|tool| !self.names.contains(&tool.name));
        own.map(|tool| Value::clone(&tool.definition)).collect()
    }

    fn hide_prompt(&self, holder: &mut Map<String, Value>) -> bool {
        let Some(prompt) = &self.prompt else { return false };
        let Some(text) = holder.get("instructions").and_then(Value::as_str) else { return false };
        let Some(rest) = text.strip_prefix(&**prompt) else { return false };
        let theirs = rest.strip_prefix("\n\n").map_or(Value::Null, Value::from);
        holder.insert("instructions".to_owned(), theirs);
        true
    }
}

fn join_prompts(prompt: &str, theirs: Option<&str>) -> String {
    match theirs {
        Some(theirs) if !theirs.is_empty() => format!("{prompt}\n\n{theirs}"),
        _ => prompt.to_owned(),
    }
}

fn backend_mut(session: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    session.get_mut("delegation")?.get_mut("responses")?.as_object_mut()
}

/// Names of tools, including those in groups.
fn collect(tools: &[Value], names: &mut HashSet<String>) {
    for tool in tools {
        if let Some(name) = tool.get("name").and_then(Value::as_str) {
            names.insert(name.to_owned());
        }
        if let Some(grouped) = tool.get("tools").and_then(Value::as_array) {
            collect(grouped, names);
        }
    }
}
