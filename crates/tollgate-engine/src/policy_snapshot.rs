//! What the operator decided, as far as turns depend on it: one version of the config. It is swapped
//! together with the catalogue, so that a turn never sees half of a change.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tollgate_core::agent::Agent;
use tollgate_core::budget::{Ceilings, Limits};
use tollgate_core::call::UntrustedMarking;
use tollgate_core::filter::GlobalRules;
use tollgate_core::id::{AgentId, ServerId};
use tollgate_core::mask::SecretMasker;
use tollgate_core::tier_selector::{self, TierSelector};

use crate::settings::{
    ApprovalSettings, Audit, CodeModeSettings, ContentCapture, EngineSettings,
    EngineTelemetrySettings, ResultForm, SecretSettings, Server,
};

pub(crate) struct PolicySnapshot {
    /// At least one.
    pub(crate) agents: Vec<Agent>,
    pub(crate) default_agent: AgentId,
    pub(crate) house: GlobalRules,
    pub(crate) limits: Limits,
    pub(crate) approvals: ApprovalSettings,
    pub(crate) audit: Audit,
    pub(crate) secrets: SecretSettings,
    pub(crate) code: CodeModeSettings,
    pub(crate) telemetry: EngineTelemetrySettings,
    /// Knows what is a secret.
    pub(crate) masker: Arc<SecretMasker>,
    pub(crate) ceilings: Ceilings,
    pub(crate) choosing: tier_selector::SelectorRules,
    /// One for each agent, in their order.
    selectors: Vec<TierSelector>,
    /// What kind of tools a server has.
    pub(crate) categories: HashMap<ServerId, String>,
    /// Servers whose own word on their tools counts.
    pub(crate) trusted: HashSet<ServerId>,
    /// In which form results of a server reach models, and whether they are marked there.
    pub(crate) words: HashMap<ServerId, (ResultForm, UntrustedMarking)>,
    /// Of the servers in this process.
    pub(crate) mark: UntrustedMarking,
}

impl PolicySnapshot {
    /// By what the words of others are made fit for spans, if they are to be in them.
    pub(crate) fn quoting(&self) -> Option<Arc<SecretMasker>> {
        match self.telemetry.capture {
            ContentCapture::Nothing => None,
            ContentCapture::Redacted => Some(Arc::clone(&self.masker)),
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
            house: settings.house.clone(),
            limits: settings.limits,
            approvals: settings.approvals,
            audit: settings.audit.clone(),
            secrets: settings.secrets.clone(),
            code: settings.code.clone(),
            telemetry: settings.telemetry,
            masker: Arc::new(SecretMasker::new(
                &settings.audit.redact,
                settings.secrets.patterns.clone(),
            )),
            ceilings: budget.standing.ceilings,
            choosing: tier_selector::SelectorRules { deep_interval: budget.deep_interval, ..usual },
            selectors: agents.iter().map(selector).collect(),
            trusted: settings
                .servers
                .iter()
                .filter(|server| server.trusted)
                .map(|server| server.id.clone())
                .collect(),
            words: settings
                .servers
                .iter()
                .map(|server| (server.id.clone(), (server.results, server.mark)))
                .collect(),
            mark: settings.mark,
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

#[derive(Debug, Clone, thiserror::Error)]
#[error("there is no agent `{name}`; the agents are: {}", .known.join(", "))]
pub struct UnknownAgentError {
    pub name: String,
    pub known: Vec<String>,
}
