//! The model of meanings that the config names, ready to be asked.

use std::sync::Arc;

use tollgate_engine::clock::SystemClock;
use tollgate_engine::embedding::Embedder;
use tollgate_llm::provider::Models;
use tollgate_llm::settings::Embedding;
use tollgate_llm::static_model;

use super::blocking;
use crate::config::Config;
use crate::failure::Failure;

/// `None`: the memory is searched by words. A model on this machine is read here, whole.
pub async fn embedder(config: &Config) -> Result<Option<Arc<dyn Embedder>>, Failure> {
    match &config.embedding {
        None => Ok(None),
        Some(Embedding::Served(served)) => {
            let models = Models::new(&config.llm, Arc::new(SystemClock), None);
            let embedder = models.and_then(|models| models.embedder(served));
            embedder.map(Some).map_err(Failure::failed)
        }
        Some(Embedding::Local(directory)) => {
            let directory = directory.clone();
            blocking(move || static_model::open(&directory)).await.map(Some)
        }
    }
}
