//! Request to create a key: its permissions, parsed and validated.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use tollgate_core::date;
use tollgate_core::id::AgentId;
use tollgate_core::memory::MemoryName;
use tollgate_core::model_usage::ModelLimit;
use tollgate_core::rate::RateLimit;
use tollgate_core::text::truncate_chars;
use tollgate_store::keys::{KeySecrets, StoredKey};

use super::{KeyRole, Right, Rights};
use crate::api_error::{ApiError, MAX_ECHOED_CHARS};
use crate::fields::{BodyFields, bad};

/// Maximum time during which two secrets of a key are valid.
pub const MAX_GRACE: Duration = Duration::from_secs(30 * 86_400);
const MAX_NAME_LEN: usize = 64;
const MAX_GLOBS: usize = 256;
const MAX_GLOB_LEN: usize = 256;
const MAX_CONCURRENT_CALLS: u32 = 1_000_000;
const MAX_MODEL_LIMITS: usize = 15;
const KEYS: &[&str] = &[
    "name",
    "role",
    "agents",
    "rights",
    "tools",
    "rate_limit",
    "model_limits",
    "concurrent",
    "tenant",
    "expires",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRequest {
    pub name: String,
    pub role: KeyRole,
    /// `None`: every agent. Never empty.
    pub agents: Option<Vec<AgentId>>,
    rights: Rights,
    tools: Option<Vec<String>>,
    rate_limit: Option<RateLimit>,
    model_limits: Option<Vec<ModelLimit>>,
    concurrent: Option<u32>,
    tenant: Option<MemoryName>,
    expires: Option<SystemTime>,
}

/// Says what is wrong with a request for a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidKeyRequestError(Cow<'static, str>);

impl KeyRequest {
    /// Parses the JSON of a request.
    pub fn parse(json: &[u8], now: SystemTime) -> Result<Self, InvalidKeyRequestError> {
        Self::read(json, now).map_err(|problem| InvalidKeyRequestError(problem.detail))
    }

    pub(crate) fn read(json: &[u8], now: SystemTime) -> Result<Self, ApiError> {
        let fields = BodyFields::read(json, KEYS)?;
        let role = match fields.text("role")? {
            None => KeyRole::Caller,
            Some(text) => KeyRole::parse(&text)
                .ok_or_else(|| one_of("role", KeyRole::ALL.map(KeyRole::as_str)))?,
        };
        let rights = fields.texts("rights")?.map(|names| rights(&names)).transpose()?;
        Ok(Self {
            name: name(fields.needed_text("name")?)?,
            role,
            agents: fields.texts("agents")?.map(|names| agents(&names)).transpose()?,
            rights: role.rights(rights),
            tools: fields.texts("tools")?.map(globs).transpose()?,
            rate_limit: fields.text("rate_limit")?.map(|text| rate_limit(&text)).transpose()?,
            model_limits: fields.texts("model_limits")?.map(|it| model_limits(&it)).transpose()?,
            concurrent: fields.count("concurrent")?.map(concurrent).transpose()?,
            tenant: fields.text("tenant")?.map(|text| tenant(&text)).transpose()?,
            expires: fields.text("expires")?.map(|text| expires(&text, now)).transpose()?,
        })
    }

    pub(super) fn to_stored(&self, fingerprint: [u8; 32], now: SystemTime) -> StoredKey {
        let owned = |text: &str| text.to_owned();
        StoredKey {
            name: self.name.clone(),
            secret: KeySecrets { fingerprint, former: None },
            role: self.role.as_str().to_owned(),
            agents: self
                .agents
                .as_deref()
                .map(|it| it.iter().map(|it| owned(it.as_str())).collect()),
            rights: self.rights.iter().map(|right| owned(right.as_str())).collect(),
            tools: self.tools.clone(),
            rate_limit: self.rate_limit.map(|limit| limit.to_string()),
            model_limits: self
                .model_limits
                .as_ref()
                .map(|limits| limits.iter().map(ToString::to_string).collect()),
            concurrent: self.concurrent,
            tenant: self.tenant.as_ref().map(|tenant| owned(tenant.as_str())),
            made: now,
            expires: self.expires,
            used: None,
            revoked: None,
        }
    }
}

/// Names appear in paths, logs and the audit ledger.
fn name(text: String) -> Result<String, ApiError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    let is_name =
        text.chars().all(is_plain) && text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if is_name && text.len() <= MAX_NAME_LEN {
        return Ok(text);
    }
    Err(bad(format!(
        "`name` has up to {MAX_NAME_LEN} letters, digits, `-`, `_`, `.` and `@`, with a letter or \
         digit first"
    )))
}

fn rights(names: &[String]) -> Result<Rights, ApiError> {
    let right = |name: &String| {
        Right::parse(name).ok_or_else(|| one_of("rights", Right::ALL.map(Right::as_str)))
    };
    names.iter().map(right).collect()
}

fn agents(names: &[String]) -> Result<Vec<AgentId>, ApiError> {
    if names.is_empty() {
        return Err(bad(
            "a key without agents is useless; omit `agents` to allow every agent".to_owned()
        ));
    }
    let agent = |name: &String| {
        AgentId::parse(name).map_err(|_| {
            bad(format!("`{}` is not the name of an agent", truncate_chars(name, MAX_ECHOED_CHARS)))
        })
    };
    names.iter().map(agent).collect()
}

fn globs(globs: Vec<String>) -> Result<Vec<String>, ApiError> {
    let is_glob = |glob: &String| {
        !glob.is_empty() && glob.len() <= MAX_GLOB_LEN && !glob.contains(char::is_control)
    };
    if globs.len() <= MAX_GLOBS && globs.iter().all(is_glob) {
        return Ok(globs);
    }
    Err(bad(format!("`tools` are up to {MAX_GLOBS} names or globs, like `roll` or `files_*`")))
}

fn rate_limit(text: &str) -> Result<RateLimit, ApiError> {
    let wrong = || {
        bad("`rate_limit` is a number from 1 to 1000000, then `/s`, `/min`, `/h` or `/day`"
            .to_owned())
    };
    RateLimit::parse(text).ok_or_else(wrong)
}

fn model_limits(texts: &[String]) -> Result<Vec<ModelLimit>, ApiError> {
    let wrong = || {
        bad("`model_limits` are like `60 requests/min`, `200000 tokens/day` or `5 USD/day`"
            .to_owned())
    };
    if texts.len() > MAX_MODEL_LIMITS {
        return Err(wrong());
    }
    texts.iter().map(|text| ModelLimit::parse(text).ok_or_else(wrong)).collect()
}

fn concurrent(count: u32) -> Result<u32, ApiError> {
    let wrong = || bad(format!("`concurrent` is a number from 1 to {MAX_CONCURRENT_CALLS}"));
    Some(count).filter(|count| (1..=MAX_CONCURRENT_CALLS).contains(count)).ok_or_else(wrong)
}

fn tenant(text: &str) -> Result<MemoryName, ApiError> {
    MemoryName::parse(text).map_err(|error| bad(format!("`tenant`: {error}")))
}

fn expires(text: &str, now: SystemTime) -> Result<SystemTime, ApiError> {
    let when = date::parse(text).ok_or_else(|| {
        bad("`expires` is like `2027-01-31` or `2027-01-31T12:00:00Z`".to_owned())
    })?;
    if when <= now {
        return Err(bad(format!("`expires` is in the past: {}", date::format_rfc3339(when))));
    }
    Ok(when)
}

fn one_of<const N: usize>(key: &str, known: [&str; N]) -> ApiError {
    bad(format!("`{key}` is one of {}", known.join(", ")))
}
