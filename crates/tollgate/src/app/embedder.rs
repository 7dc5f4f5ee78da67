//! Creates the embedding model that the config names.

use std::sync::Arc;

use tollgate_config::Config;
use tollgate_engine::clock::SystemClock;
use tollgate_engine::embedding::Embedder;
use tollgate_llm::provider::ModelRegistry;
use tollgate_llm::settings::EmbeddingSettings;
use tollgate_llm::static_model;

use super::blocking;
use crate::command_error::CommandError;

/// `None`: the memory is searched by text only. A local model is loaded completely here.
pub async fn embedder(config: &Config) -> Result<Option<Arc<dyn Embedder>>, CommandError> {
    match &config.embedding {
        None => Ok(None),
        Some(EmbeddingSettings::Served(served)) => {
            let models = ModelRegistry::new(&config.llm, Arc::new(SystemClock), None);
            let embedder = models.and_then(|models| models.embedder(served));
            embedder.map(Some).map_err(|why| CommandError::new(why.to_string()))
        }
        Some(EmbeddingSettings::Local(directory)) => {
            let directory = directory.clone();
            blocking(move || static_model::open(&directory)).await.map(Some)
        }
    }
}
