//! MCP front, for both protocol eras and all transports. `modern` and `legacy` interpret requests,
//! `encode` writes results, `http` and `stdio` transport the messages.

use serde_json::value::RawValue;
use tollgate_core::budget::Tier;
use tollgate_core::call::RequestKind;
use tollgate_core::filter::RequestFilter;
use tollgate_core::json::Object;
use tollgate_core::trace;

use crate::auth::Right;
use crate::error_mapping::McpRequestError;
use crate::filters;
use crate::request_context::RequestContext;

pub(crate) mod encode;
mod exchange;
mod headers;
pub(crate) mod http;
mod legacy;
mod listen;
mod method;
mod modern;
mod notifications;
mod parsed_request;
mod request_span;
pub(crate) mod stdio;

const META_AGENT: &str = "dev.tollgate/agent";
const META_TIER: &str = "dev.tollgate/tier";
const META_CONVERSATION: &str = "dev.tollgate/conversation";
const META_TURN: &str = "dev.tollgate/turn";

impl RequestContext {
    /// Reading needs no right beyond authentication. Running a tool needs `execute`.
    pub(crate) fn may(&self, kind: RequestKind) -> Result<(), McpRequestError> {
        match kind {
            RequestKind::CallTool | RequestKind::Task(_) => Ok(self.rights.need(Right::Execute)?),
            RequestKind::ReadResource | RequestKind::GetPrompt | RequestKind::Complete => Ok(()),
        }
    }

    /// Adds the settings of the request's `_meta`. Route and headers take precedence.
    fn with_wishes(mut self, meta: &Object<'_>) -> Result<Self, McpRequestError> {
        if self.agent.is_none() && meta.contains(META_AGENT) {
            let agent = meta.string(META_AGENT);
            self.agent = Some(agent.ok_or_else(|| wrong(META_AGENT, "a string"))?.into());
        }
        self.with_limits(meta)
    }

    /// Settings that may differ between requests of one session.
    fn with_limits(mut self, meta: &Object<'_>) -> Result<Self, McpRequestError> {
        if self.tier.is_none() && meta.contains(META_TIER) {
            let tier = meta.string(META_TIER).and_then(|text| Tier::parse(&text));
            self.tier = Some(tier.ok_or_else(|| wrong(META_TIER, "fast, standard or deep"))?);
        }
        let conversation = meta.string(META_CONVERSATION);
        let turn = meta.string(META_TURN);
        self.link = self.link.with_names(conversation.as_deref(), turn.as_deref());
        Ok(self.with_narrow(by_meta(meta)?))
    }
}

/// The part of a client's `_meta` that is forwarded to a server: without keys of this hop and our
/// own.
fn passed_on(meta: &mut Object<'_>) -> Option<Box<RawValue>> {
    tollgate_mcp::meta::strip_hop_keys(meta);
    for key in trace::KEYS {
        meta.remove(key);
    }
    let own = [META_AGENT, META_TIER, META_CONVERSATION, META_TURN];
    for key in own.into_iter().chain(filters::meta_keys()) {
        meta.remove(key);
    }
    (!meta.is_empty()).then(|| meta.to_raw())
}

/// The filter from `_meta`.
fn by_meta(meta: &Object<'_>) -> Result<RequestFilter, McpRequestError> {
    filters::by_meta(meta).map_err(|bad| McpRequestError::bad_params(bad.to_string()))
}

fn put_meta(params: &mut Object<'_>, meta: Option<Box<RawValue>>) {
    match meta {
        Some(meta) => params.set("_meta", meta),
        None => {
            params.remove("_meta");
        }
    }
}

fn wrong(key: &str, expected: &str) -> McpRequestError {
    McpRequestError::bad_params(format!("`_meta` has a `{key}` that is not {expected}"))
}
