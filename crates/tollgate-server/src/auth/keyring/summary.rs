//! A key as shown to people: everything but the secret.

use std::collections::HashMap;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::date;
use tollgate_core::glob::Glob;
use tollgate_store::keys::StoredKey;

use super::{ApiKey, Right};

use crate::wire_schema::{KeyOriginWord, RightWord, RoleWord, Time};

#[derive(Debug, Clone, JsonSchema, Serialize)]
#[schemars(rename = "Key")]
pub struct KeySummary {
    pub name: String,
    /// `config`, or `made` for a key created by command.
    #[schemars(with = "KeyOriginWord")]
    origin: &'static str,
    #[schemars(with = "RoleWord")]
    role: String,
    /// `null`: all of them
    agents: Option<Vec<String>>,
    #[schemars(with = "Vec<RightWord>")]
    rights: Vec<String>,
    /// `null`: no restriction
    tools: Option<Vec<String>>,
    rate_limit: Option<String>,
    /// `null`: those of every key
    model_limits: Option<Vec<String>>,
    concurrent: Option<u32>,
    tenant: Option<String>,
    #[schemars(with = "Option<Time>")]
    made: Option<String>,
    #[schemars(with = "Option<Time>")]
    expires: Option<String>,
    #[schemars(with = "Option<Time>")]
    last_used: Option<String>,
    /// Until then the previous secret is valid as well.
    #[schemars(with = "Option<Time>")]
    former_until: Option<String>,
    #[schemars(with = "Option<Time>")]
    revoked: Option<String>,
}

impl KeySummary {
    pub fn from_config(key: &ApiKey) -> Self {
        let owned = |text: &str| text.to_owned();
        let globs = |globs: &Vec<Glob>| globs.iter().map(|glob| owned(glob.as_str())).collect();
        Self {
            name: key.name.clone(),
            origin: "config",
            role: key.role.as_str().to_owned(),
            agents: key.agents.as_ref().map(|it| it.iter().map(|it| owned(it.as_str())).collect()),
            rights: key.rights.iter().map(Right::as_str).map(owned).collect(),
            tools: key.grant.tools.as_ref().map(globs),
            rate_limit: key.grant.rate_limit.map(|limit| limit.to_string()),
            model_limits: key
                .grant
                .model_limits
                .as_ref()
                .map(|limits| limits.iter().map(ToString::to_string).collect()),
            concurrent: key.grant.concurrent,
            tenant: key.grant.tenant.as_ref().map(|tenant| owned(tenant.as_str())),
            made: None,
            expires: key.expires.map(date::format_rfc3339),
            last_used: None,
            former_until: None,
            revoked: None,
        }
    }

    pub fn from_stored(key: &StoredKey) -> Self {
        Self {
            name: key.name.clone(),
            origin: "made",
            role: key.role.clone(),
            agents: key.agents.clone(),
            rights: key.rights.clone(),
            tools: key.tools.clone(),
            rate_limit: key.rate_limit.clone(),
            model_limits: key.model_limits.clone(),
            concurrent: key.concurrent,
            tenant: key.tenant.clone(),
            made: Some(date::format_rfc3339(key.made)),
            expires: key.expires.map(date::format_rfc3339),
            last_used: key.used.map(date::format_rfc3339),
            former_until: key.secret.former.map(|(_, until)| date::format_rfc3339(until)),
            revoked: key.revoked.map(date::format_rfc3339),
        }
    }

    pub(in crate::auth) fn with_use(mut self, used: &HashMap<String, SystemTime>) -> Self {
        if let Some(when) = used.get(&self.name).filter(|_| self.revoked.is_none()) {
            self.last_used = Some(date::format_rfc3339(*when));
        }
        self
    }
}
