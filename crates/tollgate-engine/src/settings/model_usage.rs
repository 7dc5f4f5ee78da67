//! Limits on the use of models, and their prices.

use std::collections::HashMap;

use tollgate_core::id::AgentId;
use tollgate_core::model_usage::{ModelLimit, PriceList};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelUsageSettings {
    /// Limits of each key that has none of its own.
    pub per_key: Vec<ModelLimit>,
    pub agents: HashMap<AgentId, Vec<ModelLimit>>,
    /// By their names in the config.
    pub models: HashMap<String, Vec<ModelLimit>>,
    pub prices: PriceList,
}
