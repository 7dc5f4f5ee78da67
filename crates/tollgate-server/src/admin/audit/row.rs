//! JSON representation of an audit row.

use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use tollgate_core::{date, digest};
use tollgate_engine::audit::AuditRow;

use crate::tier_assignment::milliseconds;
use crate::wire_schema::Time;

#[derive(JsonSchema, Serialize)]
pub(crate) struct AuditRowJson<'a> {
    pub(super) sequence: u64,
    #[schemars(with = "Time")]
    at: String,
    kind: &'a str,
    principal: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    catalog_version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'a str>,
    /// the call whose program made it
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<&'a str>,
    hash: String,
}

impl<'a> From<&'a AuditRow> for AuditRowJson<'a> {
    fn from(row: &'a AuditRow) -> Self {
        let entry = &row.entry;
        let arguments = entry.arguments.as_deref();
        Self {
            sequence: row.sequence,
            at: precise(entry.at),
            kind: &entry.kind,
            principal: &entry.principal,
            agent: entry.agent.as_deref(),
            method: entry.method.as_deref(),
            name: entry.name.as_deref(),
            server: entry.server.as_deref(),
            tool: entry.tool.as_deref(),
            outcome: &entry.outcome,
            detail: entry.detail.as_deref(),
            duration_ms: entry.duration.map(milliseconds),
            bytes: entry.bytes,
            cached: entry.cached,
            tier: entry.tier.as_deref(),
            catalog_version: entry.catalog_version,
            arguments_hash: entry.arguments_hash.as_ref().map(|hash| digest::hex(hash)),
            arguments: arguments.and_then(|text| serde_json::from_str(text).ok()),
            call: entry.call.as_deref(),
            within: entry.within.as_deref(),
            hash: digest::hex(&row.hash),
        }
    }
}

/// RFC 3339 with milliseconds.
fn precise(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let second = date::format_rfc3339(time);
    format!("{}.{:03}Z", second.trim_end_matches('Z'), since.subsec_millis())
}
