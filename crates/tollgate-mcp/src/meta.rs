//! The `_meta` of modern requests and results: its keys, parsing and writing them.

use serde_json::value::RawValue;
use tollgate_core::json::{self, Object};
use tollgate_core::trace::{self, Trace, TraceHeaders};

use crate::Revision;
use crate::error_code::{self, JsonRpcError};

pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
pub const PROGRESS_TOKEN: &str = "progressToken";
/// The extension that allows a server to answer a call with a task.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Per-hop keys, which a gateway must not forward unchanged.
const HOP_KEYS: &[&str] = &[
    PROTOCOL_VERSION,
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    PROGRESS_TOKEN,
    SUBSCRIPTION_ID,
];

/// What a client reports about itself: sent with every modern request, stored per legacy session.
/// Display-only and untrusted: behaviour and permissions never depend on `info`.
#[derive(Debug, Clone, Default)]
pub struct ClientFacts {
    pub capabilities: Option<Box<RawValue>>,
    pub info: Option<Box<RawValue>>,
    pub log_level: Option<String>,
}

impl ClientFacts {
    /// Whether the client can be asked anything while it waits.
    pub fn can_answer(&self) -> bool {
        let questions = ["elicitation", "sampling", "roots"];
        self.declared_capabilities()
            .is_some_and(|all| questions.iter().any(|name| all.contains(name)))
    }

    pub fn has_extension(&self, id: &str) -> bool {
        let extends = |all: Object<'_>| all.object("extensions").is_some_and(|it| it.contains(id));
        self.declared_capabilities().is_some_and(extends)
    }

    pub fn capability(&self, name: &str) -> Option<Box<RawValue>> {
        self.declared_capabilities()?.get(name).map(ToOwned::to_owned)
    }

    /// The capabilities, if any: most clients declare none, and need no parsing.
    pub(crate) fn declared_capabilities(&self) -> Option<Object<'_>> {
        let text = self.capabilities.as_deref()?.get();
        if text == "{}" {
            return None;
        }
        Object::parse(text).ok()
    }
}

/// The `_meta` of a modern request.
#[derive(Debug, Clone)]
pub struct RequestMeta {
    pub revision: String,
    pub client: ClientFacts,
    pub progress_token: Option<Box<RawValue>>,
}

/// The version key in `params`, which marks a modern request.
pub fn version_of(params: Option<&RawValue>) -> Option<String> {
    let params = Object::parse(params?.get()).ok()?;
    let meta = params.object("_meta")?;
    meta.string(PROTOCOL_VERSION).map(std::borrow::Cow::into_owned)
}

impl RequestMeta {
    /// Parses the required keys; the error names the missing or invalid one.
    pub fn read(meta: &Object<'_>) -> Result<Self, JsonRpcError> {
        let missing = |key: &str, what: &str| {
            let message = format!("`_meta` must have `{key}` ({what})");
            JsonRpcError::new(error_code::INVALID_PARAMS, message)
        };
        let revision = meta
            .string(PROTOCOL_VERSION)
            .ok_or_else(|| missing(PROTOCOL_VERSION, "the protocol revision, a string"))?
            .into_owned();
        let capabilities = meta
            .get(CLIENT_CAPABILITIES)
            .filter(|raw| raw.get().starts_with('{'))
            .ok_or_else(|| missing(CLIENT_CAPABILITIES, "an object, `{}` if there are none"))?
            .to_owned();
        Ok(Self {
            revision,
            client: ClientFacts {
                capabilities: Some(capabilities),
                info: meta.get(CLIENT_INFO).map(ToOwned::to_owned),
                log_level: meta.string(LOG_LEVEL).map(std::borrow::Cow::into_owned),
            },
            progress_token: progress_token(meta)?,
        })
    }
}

/// The token for progress notifications; a string or an integer.
pub fn progress_token(meta: &Object<'_>) -> Result<Option<Box<RawValue>>, JsonRpcError> {
    match meta.get(PROGRESS_TOKEN) {
        None => Ok(None),
        Some(raw) if crate::envelope::JsonRpcId::parse(raw).is_ok() => Ok(Some(raw.to_owned())),
        Some(_) => Err(JsonRpcError::new(
            error_code::INVALID_PARAMS,
            "`_meta.progressToken` must be a string or an integer",
        )),
    }
}

/// Removes the keys of the client's hop and keeps the rest (traces, vendor keys).
pub fn strip_hop_keys(meta: &mut Object<'_>) {
    for key in HOP_KEYS {
        meta.remove(key);
    }
}

/// Removes and returns the trace context of the caller's request, which belongs to this hop.
pub fn take_trace(meta: &mut Object<'_>) -> Option<Trace> {
    let [parent, state, baggage] = trace::KEYS.map(|key| meta.remove(key));
    let text = |raw: &Option<std::borrow::Cow<'_, RawValue>>| {
        raw.as_ref().and_then(|raw| json::string(raw)).map(std::borrow::Cow::into_owned)
    };
    let parent = text(&parent);
    let state = text(&state);
    let baggage = text(&baggage);
    Trace::read(TraceHeaders {
        parent: parent.as_deref(),
        state: state.as_deref(),
        baggage: baggage.as_deref(),
    })
}

/// Writes the trace context of a request.
pub(crate) fn trace(meta: &mut Object<'_>, trace: &Trace) {
    for (key, value) in trace.fields() {
        meta.set_string(key, &value);
    }
}

/// Adds the keys of a modern upstream request.
pub fn stamp(meta: &mut Object<'_>, revision: Revision, client: &ClientFacts) {
    meta.set_string(PROTOCOL_VERSION, revision.as_str());
    let capabilities = client.capabilities.clone();
    meta.set(CLIENT_CAPABILITIES, capabilities.unwrap_or_else(|| json::raw("{}".to_owned())));
    if let Some(info) = &client.info {
        meta.set(CLIENT_INFO, info.clone());
    }
    if let Some(level) = &client.log_level {
        meta.set_string(LOG_LEVEL, level);
    }
}

#[cfg(test)]
mod tests;
