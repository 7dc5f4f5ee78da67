//! Embeds the texts of a client's request at a provider of the other embeddings API, in batches.
//!
//! The memory has a client of its own, which may truncate texts; a client's texts are sent whole.

use bytes::Bytes;
use http::{HeaderMap, header};
use serde_json::Value;
use tokio::time::timeout;
use tollgate_engine::clock::Clock;
use tollgate_mcp::answer_budget::AnswerPermit;
use tollgate_mcp::offload::offload_if_large;

use super::{ACCEPT_JSON, MAX_RESPONSE_BYTES, ModelEndpoint, says_error};
use crate::embedding::{EmbeddingApi, EmbeddingRequest, EmbeddingTexts, VectorEncoding};
use crate::format::MalformedResponseError;
use crate::provider::ask_error::AskError;
use crate::provider::error_mapping;
use crate::provider::response_head::{self, ExpectedBody};
use crate::provider::retry_backoff::{RetryProgress, retry_delay};
use crate::provider::side_endpoint::SideEndpoint;
use crate::settings::ProviderKind;

/// Maximum texts per request: the limit of Gemini's `batchEmbedContents`.
const MAX_TEXTS_PER_REQUEST: usize = 100;

/// One vector for each text, and the memory that they take.
#[derive(Debug)]
pub struct EmbeddingVectors {
    pub vectors: Vec<Vec<f32>>,
    pub permit: AnswerPermit,
}

impl ModelEndpoint {
    pub(in crate::provider) async fn embed(
        &self,
        wanted: &EmbeddingTexts,
        clock: &dyn Clock,
    ) -> Result<EmbeddingVectors, AskError> {
        let mut vectors = Vec::with_capacity(wanted.texts.len());
        let mut permit = AnswerPermit::default();
        let mut bytes = 0;
        for texts in wanted.texts.chunks(MAX_TEXTS_PER_REQUEST) {
            let batch = self.embed_batch(texts, wanted.dimensions, clock).await?;
            bytes += batch.iter().map(|vector| size_of_val(vector.as_slice())).sum::<usize>();
            let covered = permit.cover_growing(bytes).await;
            covered.map_err(|_| error_mapping::no_room_error(&self.label))?;
            vectors.extend(batch);
        }
        Ok(EmbeddingVectors { vectors, permit })
    }

    async fn embed_batch(
        &self,
        texts: &[String],
        dimensions: Option<u32>,
        clock: &dyn Clock,
    ) -> Result<Vec<Vec<f32>>, AskError> {
        let mut failed = 0;
        loop {
            let limit = self.remote.settings.patience.answer;
            let attempt = timeout(limit, self.embed_once(texts, dimensions, clock)).await;
            let error = match attempt {
                Ok(Ok(vectors)) => return Ok(vectors),
                Ok(Err(error)) => error,
                Err(_) => error_mapping::timeout_error(&self.label, limit),
            };
            failed += 1;
            let tried = RetryProgress { failed, retries: self.retries(), left: None };
            match retry_delay(error.again, tried, rand::random()) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(error),
            }
        }
    }

    async fn embed_once(
        &self,
        texts: &[String],
        dimensions: Option<u32>,
        clock: &dyn Clock,
    ) -> Result<Vec<Vec<f32>>, AskError> {
        let (api, endpoint) = match self.remote.settings.kind {
            ProviderKind::Gemini => (EmbeddingApi::Gemini, SideEndpoint::GeminiBatchEmbed),
            ProviderKind::OpenAi
            | ProviderKind::Anthropic
            | ProviderKind::Deepgram
            | ProviderKind::Offline => (EmbeddingApi::OpenAi, SideEndpoint::Embeddings),
        };
        let encoding = VectorEncoding::Float;
        let ask = EmbeddingRequest { model: &self.id, texts, purpose: None, dimensions, encoding };
        let body = Bytes::from(api.write(&ask).to_string());
        let url = self.side_url(endpoint)?;
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, ACCEPT_JSON);
        let _slot = self.remote.slot().await.map_err(AskError::other_model)?;
        let response = self.remote.post(&url, headers, body).await;
        let response =
            response.map_err(|failed| error_mapping::send_error(&self.label, &failed))?;
        let response = self.check_head(response, ExpectedBody::Json, clock.wall()).await?;
        let answer =
            response_head::read_whole(response.into_body(), MAX_RESPONSE_BYTES, &self.label)
                .await?;
        let count = texts.len();
        let read = answer.clone();
        let vectors = offload_if_large(answer.len(), move || read_vectors(api, &read, count)).await;
        vectors.map_err(|malformed| {
            if says_error(&answer) {
                response_head::error_in_ok_response(&answer, self.format, &self.label)
            } else {
                error_mapping::malformed_error(&self.label, &malformed)
            }
        })
    }
}

fn read_vectors(
    api: EmbeddingApi,
    answer: &[u8],
    count: usize,
) -> Result<Vec<Vec<f32>>, MalformedResponseError> {
    let answer: Value = serde_json::from_slice(answer)
        .map_err(|error| MalformedResponseError(format!("it is not JSON: {error}")))?;
    let vectors = api.read(&answer, count)?;
    // JSON has no form for them, so they cannot be passed on.
    if vectors.iter().flatten().all(|number| number.is_finite()) {
        Ok(vectors)
    } else {
        Err(MalformedResponseError("an embedding contains a number that is not finite".to_owned()))
    }
}
