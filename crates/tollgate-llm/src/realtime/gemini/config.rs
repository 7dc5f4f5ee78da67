//! Session configuration of a client, with the gateway's share merged in: `setup` and
//! `contextUpdate`. Called by the state machine; independent of calls and connections.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};
use tollgate_core::json::{self, MalformedJsonError};

use super::family::GeminiFamily;
use crate::realtime::events::RealtimeOffer;

/// The client's own `setup` in its current state.
#[derive(Debug, Clone)]
pub(super) struct GeminiSessionConfig {
    setup: Map<String, Value>,
    /// Names of the functions that the client declares.
    names: HashSet<String>,
    /// Size of the longest message that it came from.
    bytes: usize,
}

/// Which side requested session resumption handles. Only the client's are shown to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResumptionOwner {
    Ours,
    Clients,
}

/// The handle in the message that opens a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpeningHandle<'a> {
    /// The client's own, if it has one.
    Clients,
    Resume(&'a str),
    /// The session cannot be resumed.
    None,
}

/// The gateway's part of a session's setup: its tools and prompt.
#[derive(Debug, Clone)]
pub(super) struct GatewayShare {
    declarations: Vec<Value>,
    prompt: Option<String>,
}

impl GeminiSessionConfig {
    pub(super) fn read(setup: &str) -> Result<Self, MalformedJsonError> {
        let bytes = setup.len();
        let mut setup = object(setup)?;
        respell(&mut setup, "systemInstruction", "system_instruction")?;
        respell(&mut setup, "sessionResumption", "session_resumption")?;
        let names = names(setup.get("tools"))?;
        Ok(Self { setup, names, bytes })
    }

    /// The setup as the client would send it now.
    pub(super) fn message(&self) -> String {
        json!({"setup": self.setup}).to_string()
    }

    /// The setup in a message; `None`: it cannot be read.
    pub(super) fn of_message(message: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(message).ok()?;
        Self::read(&message.get("setup")?.to_string()).ok()
    }

    /// Whether both differ at most in what a running session accepts: instructions and tools.
    pub(super) fn has_same_settings(&self, other: &Self) -> bool {
        let settings = |config: &Self| {
            let mut setup = config.setup.clone();
            setup.shift_remove("systemInstruction");
            setup.shift_remove("tools");
            setup
        };
        settings(self) == settings(other)
    }

    /// Whether a call by this name is for the client.
    pub(super) fn is_clients(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(super) fn resumption(&self) -> ResumptionOwner {
        match self.setup.get("sessionResumption") {
            None | Some(Value::Null) => ResumptionOwner::Ours,
            Some(_) => ResumptionOwner::Clients,
        }
    }

    /// On name conflicts the client's functions win.
    pub(super) fn share(&self, offer: &RealtimeOffer, family: GeminiFamily) -> GatewayShare {
        let ours = offer.tools.iter().filter(|tool| !self.is_clients(&tool.name));
        let declarations = ours.map(|tool| {
            let mut declaration = Value::clone(&tool.definition);
            if let (Some(fields), Some(behavior)) =
                (declaration.as_object_mut(), family.behavior(tool.delivery))
            {
                fields.insert("behavior".to_owned(), behavior.into());
            }
            declaration
        });
        let prompt = offer.prompt.as_deref().filter(|prompt| !prompt.trim().is_empty());
        GatewayShare { declarations: declarations.collect(), prompt: prompt.map(str::to_owned) }
    }

    /// The message that opens or resumes a session.
    pub(super) fn opening(
        &self,
        model: &str,
        share: &GatewayShare,
        handle: OpeningHandle<'_>,
    ) -> String {
        let mut setup = self.setup.clone();
        setup.insert("model".to_owned(), model.into());
        let tools = share.tools(setup.remove("tools"));
        if !tools.is_empty() {
            setup.insert("tools".to_owned(), tools.into());
        }
        if let Some(instruction) = share.instruction(setup.get("systemInstruction")) {
            setup.insert("systemInstruction".to_owned(), instruction);
        }
        let resumption = setup.entry("sessionResumption").or_insert_with(|| json!({}));
        if resumption.is_null() {
            *resumption = json!({});
        }
        if let Some(fields) = resumption.as_object_mut() {
            match handle {
                OpeningHandle::Clients => {}
                OpeningHandle::Resume(handle) => {
                    fields.insert("handle".to_owned(), handle.into());
                }
                OpeningHandle::None => drop(fields.shift_remove("handle")),
            }
        }
        json!({"setup": setup}).to_string()
    }

    /// Whether the session is told what the caller says.
    pub(super) fn has_transcripts(&self) -> bool {
        let key = ["inputAudioTranscription", "input_audio_transcription"];
        key.iter().any(|key| self.setup.get(*key).is_some_and(|it| !it.is_null()))
    }

    /// Approximate size.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Applies the client's own `contextUpdate`.
    pub(super) fn update(
        &mut self,
        update: &str,
    ) -> Result<GeminiContextUpdate, MalformedJsonError> {
        self.bytes = self.bytes.max(update.len());
        let mut update = object(update)?;
        respell(&mut update, "systemInstruction", "system_instruction")?;
        let mut updated =
            GeminiContextUpdate { fields: update.clone(), ..GeminiContextUpdate::default() };
        if let Some(instruction) = update.remove("systemInstruction") {
            self.setup.insert("systemInstruction".to_owned(), instruction);
            updated.instruction = SetupChange::Yes;
        }
        if let Some(Value::Object(mut wrapper)) = update.remove("tools") {
            let tools = wrapper.remove("tools").unwrap_or_else(|| json!([]));
            self.names = names(Some(&tools))?;
            self.setup.insert("tools".to_owned(), tools);
            updated.tools = SetupChange::Yes;
        }
        Ok(updated)
    }

    /// That update with the gateway's share merged in; its other fields are kept.
    pub(super) fn merge_update(
        &self,
        updated: &GeminiContextUpdate,
        share: &GatewayShare,
    ) -> String {
        let mut fields = updated.fields.clone();
        if updated.tools == SetupChange::Yes {
            fields.insert("tools".to_owned(), json!({"tools": self.tools(share)}));
        }
        if let (SetupChange::Yes, Some(instruction)) =
            (updated.instruction, self.instruction(share))
        {
            fields.insert("systemInstruction".to_owned(), instruction);
        }
        json!({"contextUpdate": fields}).to_string()
    }

    /// The gateway's own `contextUpdate`.
    pub(super) fn context_update(&self, share: &GatewayShare, prompt: SetupChange) -> String {
        let mut fields = json!({"tools": {"tools": self.tools(share)}});
        if prompt == SetupChange::Yes {
            let nothing = || json!({"parts": []});
            fields["systemInstruction"] = self.instruction(share).unwrap_or_else(nothing);
        }
        json!({"contextUpdate": fields}).to_string()
    }

    fn tools(&self, share: &GatewayShare) -> Vec<Value> {
        share.tools(self.setup.get("tools").cloned())
    }

    fn instruction(&self, share: &GatewayShare) -> Option<Value> {
        share.instruction(self.setup.get("systemInstruction"))
    }
}

/// The fields changed by a client's update.
#[derive(Debug, Clone, Default)]
pub(super) struct GeminiContextUpdate {
    fields: Map<String, Value>,
    tools: SetupChange,
    instruction: SetupChange,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SetupChange {
    Yes,
    #[default]
    No,
}

/// Hashes of a share, to detect changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ShareFingerprint {
    tools: u64,
    prompt: u64,
}

impl ShareFingerprint {
    /// The fingerprint after an update that contained only part of the other share.
    pub(super) fn after(self, updated: &GeminiContextUpdate, other: Self) -> Self {
        let carried = |changed, new, old| if changed == SetupChange::Yes { new } else { old };
        Self {
            tools: carried(updated.tools, other.tools, self.tools),
            prompt: carried(updated.instruction, other.prompt, self.prompt),
        }
    }

    pub(super) fn prompt_change(self, other: Self) -> SetupChange {
        if self.prompt == other.prompt { SetupChange::No } else { SetupChange::Yes }
    }
}

impl GatewayShare {
    pub(super) fn fingerprint(&self) -> ShareFingerprint {
        let declared: Vec<String> = self.declarations.iter().map(Value::to_string).collect();
        ShareFingerprint { tools: trace(&declared), prompt: trace(&self.prompt) }
    }

    /// The client's tools, and one more entry with the gateway's.
    fn tools(&self, clients: Option<Value>) -> Vec<Value> {
        let mut tools = match clients {
            Some(Value::Array(tools)) => tools,
            _ => Vec::new(),
        };
        if !self.declarations.is_empty() {
            tools.push(json!({"functionDeclarations": self.declarations}));
        }
        tools
    }

    /// The prompt as the first part, before the client's own: each part is a paragraph.
    fn instruction(&self, clients: Option<&Value>) -> Option<Value> {
        let clients = clients.filter(|it| !it.is_null());
        let Some(prompt) = &self.prompt else { return clients.cloned() };
        let first = json!({"text": prompt});
        let mut instruction = match clients {
            Some(Value::Object(content)) => content.clone(),
            Some(Value::String(text)) => {
                return Some(json!({"parts": [first, {"text": text}]}));
            }
            _ => Map::new(),
        };
        let mut parts = vec![first];
        if let Some(Value::Array(theirs)) = instruction.remove("parts") {
            parts.extend(theirs);
        }
        instruction.insert("parts".to_owned(), parts.into());
        Some(instruction.into())
    }
}

fn trace(it: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    it.hash(&mut hasher);
    hasher.finish()
}

fn object(text: &str) -> Result<Map<String, Value>, MalformedJsonError> {
    match json::value(text)? {
        Value::Object(fields) => Ok(fields),
        _ => Err(MalformedJsonError::NotThis("expected an object".to_owned())),
    }
}

fn respell(
    fields: &mut Map<String, Value>,
    camel: &str,
    snake: &str,
) -> Result<(), MalformedJsonError> {
    let Some(value) = fields.shift_remove(snake) else { return Ok(()) };
    match fields.insert(camel.to_owned(), value) {
        Some(_) => Err(MalformedJsonError::Duplicate { key: camel.to_owned() }),
        None => Ok(()),
    }
}

fn names(tools: Option<&Value>) -> Result<HashSet<String>, MalformedJsonError> {
    let tools = match tools {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(tools)) => tools,
        Some(_) => return Err(MalformedJsonError::NotThis("`tools` must be a list".to_owned())),
    };
    let lists = tools.iter().flat_map(|tool| {
        let spellings = ["functionDeclarations", "function_declarations"];
        spellings.into_iter().filter_map(|key| tool.get(key)?.as_array())
    });
    let names = lists.flatten().filter_map(|function| function.get("name")?.as_str());
    Ok(names.map(str::to_owned).collect())
}
