//! The `think` block of a Deepgram session: the client's, with ours merged in. It can only be
//! replaced as a whole, so the client's version is kept for our next change.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use tollgate_core::tool::ToolEffect;

use crate::realtime::events::RealtimeOffer;

/// Provider of a model, if the client does not name it.
const MODEL_PROVIDERS: &[(&str, &str)] = &[
    ("gpt-", "open_ai"),
    ("claude-", "anthropic"),
    ("gemini-", "google"),
    ("openai/gpt-oss", "groq"),
    ("anthropic/", "aws_bedrock"),
    ("think-fast", "deepgram"),
    ("phonellm", "deepgram"),
];

#[derive(Debug)]
pub(super) struct ThinkConfig {
    /// Deepgram's name of the session's model. Empty: any model that the client names.
    model: String,
    /// The client's name of it.
    requested: Option<String>,
    client: ClientThink,
    /// Names of the client's functions, now and before its last change.
    names: HashSet<String>,
    former: HashSet<String>,
    /// The version that the provider has.
    sent: Value,
}

/// The block that the client set.
#[derive(Debug)]
enum ClientThink {
    Nothing,
    /// An agent stored at Deepgram: its block is unknown here, so nothing can be merged into it.
    Elsewhere,
    /// One block or several; the later ones are fallbacks.
    Here(Value),
}

/// The client requested a model that is not the session's.
#[derive(Debug, thiserror::Error)]
#[error("the session has another model than `{model}`")]
pub(super) struct OtherModelError {
    pub(super) model: String,
}

/// A change by the client, with ours merged in.
#[derive(Debug)]
pub(super) struct MergedThink {
    pub(super) merged: Value,
    /// Models of blocks that were removed, because they are not the session's model.
    pub(super) left_out: Vec<String>,
}

impl ThinkConfig {
    pub(super) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            requested: None,
            client: ClientThink::Nothing,
            names: HashSet::new(),
            former: HashSet::new(),
            sent: Value::Null,
        }
    }

    pub(super) fn set_elsewhere(&mut self) {
        self.client = ClientThink::Elsewhere;
    }

    /// Applies a change by the client. A session has one model: fails, and changes nothing, if the
    /// client requests only others.
    pub(super) fn set(
        &mut self,
        think: Value,
        offer: &RealtimeOffer,
    ) -> Result<MergedThink, OtherModelError> {
        let query = self.requested.clone().or_else(|| model_of(&think));
        let mut left_out = Vec::new();
        let mut settled =
            |mut block: Value| match set_model(&mut block, &self.model, query.as_deref()) {
                Ok(()) => Some(block),
                Err(other) => {
                    left_out.push(other.model);
                    None
                }
            };
        let think = match think {
            Value::Array(blocks) => {
                let blocks: Vec<Value> = blocks.into_iter().filter_map(&mut settled).collect();
                (!blocks.is_empty()).then_some(Value::Array(blocks))
            }
            block => settled(block),
        };
        let Some(think) = think else {
            return Err(OtherModelError { model: left_out.pop().unwrap_or_default() });
        };
        self.requested = query;
        let names = blocks(&think).iter().flat_map(functions).filter_map(name_of).collect();
        self.former = std::mem::replace(&mut self.names, names);
        self.sent = self.merge_offer(&think, offer);
        self.client = ClientThink::Here(think);
        Ok(MergedThink { merged: self.sent.clone(), left_out })
    }

    /// The client appends to its prompt; the provider does the same by itself.
    pub(super) fn add_to_prompt(&mut self, more: &str) {
        let ClientThink::Here(think) = &mut self.client else { return };
        for block in blocks_mut(think).chain(blocks_mut(&mut self.sent)) {
            let prompt = match block.get("prompt").and_then(Value::as_str) {
                Some(before) => format!("{before}\n{more}"),
                None => more.to_owned(),
            };
            block.insert("prompt".to_owned(), prompt.into());
        }
    }

    /// The block with this offer merged in; it then counts as sent. `None` if the provider already
    /// has it, or cannot accept it.
    pub(super) fn offer_update(&mut self, offer: &RealtimeOffer) -> Option<Value> {
        let ClientThink::Here(client) = &self.client else { return None };
        let merged = self.merge_offer(client, offer);
        if merged == self.sent {
            return None;
        }
        self.sent = merged.clone();
        Some(merged)
    }

    fn merge_offer(&self, client: &Value, offer: &RealtimeOffer) -> Value {
        let mut merged = client.clone();
        for block in blocks_mut(&mut merged) {
            let own = offer.tools.iter().filter(|tool| !self.names.contains(&tool.name));
            let declared: Vec<Value> =
                own.map(|it| function_declaration(&it.definition, it.effect)).collect();
            extend(block, declared);
            if let Some(prompt) = &offer.prompt {
                let prompt = match block.get("prompt").and_then(Value::as_str) {
                    Some(theirs) if !theirs.is_empty() => format!("{prompt}\n\n{theirs}"),
                    _ => prompt.to_string(),
                };
                block.insert("prompt".to_owned(), prompt.into());
            }
        }
        merged
    }

    /// Names that the client declared are the client's. So are removed names, unless we offer them
    /// now: a model that has not processed the change yet can still call them.
    pub(super) fn is_clients(&self, name: &str, offer: &RealtimeOffer) -> bool {
        let is_offered = || offer.tools.iter().any(|tool| tool.name == name);
        self.names.contains(name)
            || matches!(self.client, ClientThink::Elsewhere)
            || (self.former.contains(name) && !is_offered())
    }
}

/// Model of the first block.
pub(super) fn model_of(think: &Value) -> Option<String> {
    let model = blocks(think).first()?.get("provider")?.get("model")?.as_str()?;
    Some(model.to_owned())
}

/// Sets the model of a block to the session's. Fails if it names another.
fn set_model(block: &mut Value, model: &str, query: Option<&str>) -> Result<(), OtherModelError> {
    let Some(block) = block.as_object_mut().filter(|_| !model.is_empty()) else { return Ok(()) };
    let provider = block.entry("provider").or_insert_with(|| json!({}));
    let Some(provider) = provider.as_object_mut() else { return Ok(()) };
    match provider.get("model").and_then(Value::as_str) {
        Some(named) if named == model => return Ok(()),
        Some(named) if Some(named) != query => {
            return Err(OtherModelError { model: named.to_owned() });
        }
        Some(_) | None => {}
    }
    let known = MODEL_PROVIDERS.iter().find(|(prefix, _)| model.starts_with(prefix));
    if let Some((_, provider_type)) = known {
        provider.insert("type".to_owned(), (*provider_type).into());
    }
    provider.insert("model".to_owned(), model.into());
    Ok(())
}

/// Declares one of our tools without an `endpoint`, so that its calls come to us. A tool with side
/// effects waits until the end of the caller's turn is certain.
fn function_declaration(definition: &Value, effect: ToolEffect) -> Value {
    let mut function = definition.as_object().cloned().unwrap_or_default();
    function.shift_remove("type");
    if effect != ToolEffect::ReadOnly {
        function.insert("defer_until_eot".to_owned(), true.into());
    }
    Value::Object(function)
}

fn extend(block: &mut Map<String, Value>, declared: Vec<Value>) {
    match block.get_mut("functions").and_then(Value::as_array_mut) {
        Some(functions) => functions.extend(declared),
        None if declared.is_empty() => {}
        None => {
            block.insert("functions".to_owned(), declared.into());
        }
    }
}

fn blocks(think: &Value) -> &[Value] {
    match think {
        Value::Array(blocks) => blocks,
        _ => std::slice::from_ref(think),
    }
}

fn blocks_mut(think: &mut Value) -> impl Iterator<Item = &mut Map<String, Value>> {
    let blocks = match think {
        Value::Array(blocks) => blocks.as_mut_slice(),
        _ => std::slice::from_mut(think),
    };
    blocks.iter_mut().filter_map(Value::as_object_mut)
}

fn functions(block: &Value) -> impl Iterator<Item = &Value> {
    block.get("functions").and_then(Value::as_array).into_iter().flatten()
}

fn name_of(function: &Value) -> Option<String> {
    function.get("name").and_then(Value::as_str).map(str::to_owned)
}
