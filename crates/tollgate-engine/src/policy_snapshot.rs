//! What the operator decided, as far as turns depend on it: one version of the config. It is swapped
//! together with the catalogue, so that a turn never sees half of a change.

use std::collections::HashMap;
use std::sync::Arc;

use tollgate_core::agent::Agent;
use tollgate_core::budget::Ceilings;
use tollgate_core::call::ServerTrust;
use tollgate_core::call_policy::{
    AuditPolicy, CallPolicy, ContentCapture, ResultPolicies, ResultPolicy, SecretPolicy,
};
use tollgate_core::filter::GlobalRules;
use tollgate_core::id::{AgentId, ServerId};
use tollgate_core::mask::SecretMasker;
use tollgate_core::tier_selector::{self, TierSelector};

use crate::settings::{CodeModeSettings, EngineSettings, EngineTelemetrySettings, Server};

pub(crate) struct PolicySnapshot {
    /// At least one.
    pub(crate) agents: Vec<Agent>,
    pub(crate) default_agent: AgentId,
    pub(crate) global: GlobalRules,
    /// What the stages of a call read. Turns carry it together with the built-in servers of their
    /// catalogue.
    pub(crate) calls: CallPolicy,
    pub(crate) code: CodeModeSettings,
    pub(crate) telemetry: EngineTelemetrySettings,
    pub(crate) ceilings: Ceilings,
    pub(crate) choosing: tier_selector::SelectorRules,
    /// One for each agent, in their order.
    selectors: Vec<TierSelector>,
    /// What kind of tools a server has.
    pub(crate) categories: HashMap<ServerId, String>,
}

impl PolicySnapshot {
    /// Masks what spans quote of others; `None`: spans quote nobody.
    pub(crate) fn quoting(&self) -> Option<Arc<SecretMasker>> {
        match self.calls.capture {
            ContentCapture::Nothing => None,
            ContentCapture::Redacted => Some(Arc::clone(&self.calls.masker)),
        }
    }

    pub(crate) fn of(settings: &EngineSettings) -> Self {
        let agents = match &settings.agents[..] {
            [] => vec![Agent::implicit()],
            agents => agents.to_vec(),
        };
        let budget = &settings.budget;
        let selector = |agent: &Agent| TierSelector::new(&[&budget.keywords, &agent.keywords]);
        let usual = tier_selector::SelectorRules::default();
        let category = |server: &Server| Some((server.id.clone(), server.category.clone()?));
        Self {
            default_agent: match &settings.default_agent {
                Some(id) => id.clone(),
                None => agents[0].id.clone(),
            },
            global: settings.global.clone(),
            calls: call_policy(settings),
            code: settings.code.clone(),
            telemetry: settings.telemetry,
            ceilings: budget.standing.ceilings,
            choosing: tier_selector::SelectorRules { deep_interval: budget.deep_interval, ..usual },
            selectors: agents.iter().map(selector).collect(),
            categories: settings.servers.iter().filter_map(category).collect(),
            agents,
        }
    }

    /// Where the agent stands; without a name, the default one.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<usize, UnknownAgentError> {
        let name = name.unwrap_or_else(|| self.default_agent.as_str());
        let at = self.agents.iter().position(|agent| agent.id.as_str() == name);
        at.ok_or_else(|| UnknownAgentError {
            name: name.chars().take(64).collect(),
            known: self.agents.iter().map(|agent| agent.id.to_string()).collect(),
        })
    }

    pub(crate) fn selector(&self, agent: usize) -> &TierSelector {
        &self.selectors[agent]
    }
}

fn call_policy(settings: &EngineSettings) -> CallPolicy {
    let audit = &settings.audit;
    let secrets = &settings.secrets;
    let results = |server: &Server| {
        let trust = if server.trusted { ServerTrust::Trusted } else { ServerTrust::Untrusted };
        let policy = ResultPolicy { trust, form: server.results, mark: server.mark };
        (server.id.clone(), policy)
    };
    CallPolicy {
        limits: settings.limits,
        approvals: settings.approvals,
        audit: AuditPolicy {
            arguments: audit.arguments,
            durable: audit.durable,
            on_failure: audit.on_failure,
        },
        secrets: SecretPolicy { arguments: secrets.arguments, results: secrets.results },
        masker: Arc::new(SecretMasker::new(&audit.redact, secrets.patterns.clone())),
        results: ResultPolicies {
            configured: settings.servers.iter().map(results).collect(),
            builtin: Vec::new(),
            default_mark: settings.mark,
        },
        code: settings.code.policy(),
        capture: settings.telemetry.capture,
    }
}

#[derive(Debug, Clone, thiserror::Error)]
#[error("there is no agent `{name}`; the agents are: {}", .known.join(", "))]
pub struct UnknownAgentError {
    pub name: String,
    pub known: Vec<String>,
}
