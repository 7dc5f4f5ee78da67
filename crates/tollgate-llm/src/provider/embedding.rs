//! Remote embedding client: sends texts in batches, retries where that makes sense, and validates
//! every vector. Created by [`super::ModelRegistry`].

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Uri, header};
use serde_json::Value;
use tokio::time::{timeout, timeout_at};
use tollgate_core::digest::{DigestBuilder, hex};
use tollgate_core::text::HumanDuration;
use tollgate_engine::clock::Clock;
use tollgate_engine::embedding::{EmbedError, Embedder, Embedding, EmbeddingPurpose};

use super::ask_error::AskError;
use super::config_error::ModelConfigError;
use super::endpoint::ACCEPT_JSON;
use super::error_mapping;
use super::label::ModelLabel;
use super::remote::RemoteProvider;
use super::response_head::{self, ErrorFormat, ExpectedBody};
use super::retry_backoff::{RetryProgress, retry_delay};
use super::urls;
use crate::dialect::Dialect;
use crate::embedding::{EmbeddingApi, EmbeddingRequest, VectorEncoding, batches};
use crate::error::LlmErrorKind;
use crate::format::{self, DialectCodec, MalformedResponseError};
use crate::settings::{CloudSettings, ProviderKind, RemoteEmbeddingSettings};

use self::attempt_error::EmbedAttemptError;
use self::cooldown::EmbedCooldown;

mod attempt_error;
mod cooldown;

/// Timeout of a question: a caller waits for it, and can continue without.
const QUESTION_TIMEOUT: Duration = Duration::from_millis(1_500);
/// A question cancelled after this time counts as missed, not merely as cancelled.
const MISSED_QUESTION_AFTER: Duration = Duration::from_millis(250);
/// Maximum bytes sent per text, until a server turns out to accept less.
const MAX_TEXT_BYTES: usize = 16 << 10;
/// A text is never truncated below this.
const MIN_TEXT_BYTES: usize = 512;
/// Size limit of a response.
const MAX_RESPONSE_BYTES: usize = 16 << 20;

pub(super) struct RemoteEmbedder {
    remote: Arc<RemoteProvider>,
    settings: RemoteEmbeddingSettings,
    name: String,
    wire: EmbeddingApi,
    format: &'static dyn DialectCodec,
    url: Uri,
    label: ModelLabel,
    clock: Arc<dyn Clock>,
    /// Bytes per text that the server accepts, as learned so far.
    longest: AtomicUsize,
    /// The server does not support `base64`.
    plain: AtomicBool,
    /// Vector dimensions, set by the first vector.
    dimensions: OnceLock<usize>,
    rest: EmbedCooldown,
}

impl RemoteEmbedder {
    pub(super) fn new(
        settings: &RemoteEmbeddingSettings,
        remote: Arc<RemoteProvider>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ModelConfigError> {
        let RemoteEmbeddingSettings { provider, model, .. } = settings;
        if matches!(
            remote.settings.cloud,
            Some(CloudSettings::Vertex(_) | CloudSettings::Bedrock(_))
        ) {
            return Err(ModelConfigError::NoEmbeddings(provider.clone()));
        }
        let (wire, dialect) = match remote.settings.kind {
            ProviderKind::OpenAi => (EmbeddingApi::OpenAi, Dialect::OpenAiChat),
            ProviderKind::Gemini => (EmbeddingApi::Gemini, Dialect::Gemini),
            ProviderKind::Anthropic | ProviderKind::Deepgram | ProviderKind::Offline => {
                return Err(ModelConfigError::NoEmbeddings(provider.clone()));
            }
        };
        let url = urls::embeddings(&remote.base, dialect, model)
            .map_err(|why| ModelConfigError::EmbeddingModel { name: model.clone(), why })?;
        Ok(Self {
            name: name(settings),
            wire,
            format: format::of(dialect),
            url,
            label: remote.label(model),
            settings: settings.clone(),
            remote,
            clock,
            longest: AtomicUsize::new(MAX_TEXT_BYTES),
            plain: AtomicBool::new(false),
            dimensions: OnceLock::new(),
            rest: EmbedCooldown::default(),
        })
    }

    /// Adds the model's prefix, and truncates to the accepted length.
    fn prefix_and_truncate(&self, texts: &[String], purpose: EmbeddingPurpose) -> Vec<String> {
        let prefix = match purpose {
            EmbeddingPurpose::Passage => &self.settings.passage_prefix,
            EmbeddingPurpose::Question => &self.settings.question_prefix,
        };
        let longest = self.longest.load(Ordering::Relaxed);
        let cut = |text: &String| format!("{prefix}{}", &text[..text.floor_char_boundary(longest)]);
        texts.iter().map(cut).collect()
    }

    /// Sends one batch, with the retries of the provider's settings.
    async fn embed_batch(
        &self,
        texts: &[String],
        purpose: EmbeddingPurpose,
        until: Option<Instant>,
    ) -> Result<Vec<Embedding>, EmbedAttemptError> {
        let mut failed = 0;
        loop {
            let missed = match self.attempt(texts, purpose).await {
                Ok(vectors) => return Ok(vectors),
                Err(missed) => missed,
            };
            if self.learn_limits(&missed, texts) {
                continue;
            }
            let EmbedAttemptError::Request(error) = &missed else { return Err(missed) };
            failed += 1;
            let left = until.map(|until| until.saturating_duration_since(self.clock.now()));
            let tried = RetryProgress { failed, retries: self.remote.settings.retries, left };
            match retry_delay(error.again, tried, rand::random()) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(missed),
            }
        }
    }

    async fn attempt(
        &self,
        texts: &[String],
        purpose: EmbeddingPurpose,
    ) -> Result<Vec<Embedding>, EmbedAttemptError> {
        let encoding = if self.plain.load(Ordering::Relaxed) {
            VectorEncoding::Float
        } else {
            VectorEncoding::Base64
        };
        let texts = self.prefix_and_truncate(texts, purpose);
        let RemoteEmbeddingSettings { model, dimensions, .. } = &self.settings;
        let ask = EmbeddingRequest {
            model,
            texts: &texts,
            purpose: Some(purpose),
            dimensions: *dimensions,
            encoding,
        };
        let body = Bytes::from(self.wire.write(&ask).to_string());
        let _slot = self.remote.slot().await.map_err(AskError::other_model)?;
        let limit = self.remote.settings.patience.answer;
        let answered = timeout(limit, self.send(body)).await;
        let bytes =
            answered.unwrap_or_else(|_| Err(error_mapping::timeout_error(&self.label, limit)))?;
        let body = serde_json::from_slice::<Value>(&bytes)
            .map_err(|error| MalformedResponseError(format!("it is not JSON: {error}")))?;
        if body.get("error").is_some_and(Value::is_object) {
            return Err(
                response_head::error_in_ok_response(&bytes, self.format, &self.label).into()
            );
        }
        self.vectors(self.wire.read(&body, texts.len())?)
    }

    async fn send(&self, body: Bytes) -> Result<Bytes, AskError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, ACCEPT_JSON);
        let response = self.remote.post(&self.url, headers, body).await;
        let response =
            response.map_err(|failed| error_mapping::send_error(&self.label, &failed))?;
        let wall = self.clock.wall();
        let expected = ExpectedBody::Json;
        let errors = ErrorFormat::Dialect(self.format);
        let response =
            response_head::check_head(response, errors, &self.label, expected, wall).await?;
        response_head::read_whole(response.into_body(), MAX_RESPONSE_BYTES, &self.label).await
    }

    /// Validates the vectors: all must have the requested dimensions, and the same as earlier ones.
    fn vectors(&self, vectors: Vec<Vec<f32>>) -> Result<Vec<Embedding>, EmbedAttemptError> {
        let requested_dimensions = self.settings.dimensions.and_then(|it| usize::try_from(it).ok());
        let mut made = Vec::with_capacity(vectors.len());
        for vector in vectors {
            let found = vector.len();
            let vector =
                Embedding::of(vector).map_err(|why| MalformedResponseError(why.to_string()))?;
            if let Some(requested_dimensions) =
                requested_dimensions.filter(|requested_dimensions| *requested_dimensions != found)
            {
                let why = format!(
                    "embeddings have {found} dimensions instead of the configured {requested_dimensions}: set \
                     `dimensions` to {found}, or remove it"
                );
                return Err(MalformedResponseError(why).into());
            }
            let usual = *self.dimensions.get_or_init(|| found);
            if usual != found {
                let why =
                    format!("an embedding has {found} dimensions, but earlier ones had {usual}");
                return Err(MalformedResponseError(why).into());
            }
            made.push(vector);
        }
        Ok(made)
    }

    /// Learns a limit of the server from an error. Returns whether to retry at once.
    fn learn_limits(&self, missed: &EmbedAttemptError, texts: &[String]) -> bool {
        let EmbedAttemptError::Request(error) = missed else { return false };
        let failure = &error.failure;
        if failure.kind == LlmErrorKind::Invalid && failure.message.contains("encoding_format") {
            return !self.plain.swap(true, Ordering::Relaxed);
        }
        // With several texts, the batch may be too large: the caller finds out by sending fewer.
        let [text] = texts else { return false };
        let longest = self.longest.load(Ordering::Relaxed).min(text.len());
        let is_too_long = attempt_error::is_too_long(failure) && longest / 2 >= MIN_TEXT_BYTES;
        if is_too_long {
            self.longest.fetch_min(longest / 2, Ordering::Relaxed);
        }
        is_too_long
    }

    /// Waits at most [`QUESTION_TIMEOUT`], and fails at once during a cooldown.
    async fn question(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        let now = self.clock.now();
        self.rest.check(now)?;
        let until = now + QUESTION_TIMEOUT;
        let mut waiting = QuestionGuard { served: self, since: now, answered: false };
        let embedding = self.embed_batches(texts, EmbeddingPurpose::Question, Some(until));
        let embedding = timeout_at(until.into(), embedding).await.unwrap_or_else(|_| {
            let what = format!("did not answer within {}", HumanDuration(QUESTION_TIMEOUT));
            Err(EmbedError::away(self.label.of_model(&what)))
        });
        waiting.answered = true;
        if let Err(EmbedError::Away { why, again }) = &embedding {
            self.rest.begin(self.clock.now(), why, *again);
        }
        embedding
    }

    async fn embed_batches(
        &self,
        texts: &[String],
        purpose: EmbeddingPurpose,
        until: Option<Instant>,
    ) -> Result<Vec<Embedding>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for portion in batches(texts) {
            let batch = self.embed_batch(&texts[portion], purpose, until).await;
            vectors.extend(batch.map_err(|missed| missed.into_embed_error(&self.label))?);
        }
        self.rest.end();
        Ok(vectors)
    }
}

/// A question in flight. The caller may cancel it before its timeout.
struct QuestionGuard<'s> {
    served: &'s RemoteEmbedder,
    since: Instant,
    answered: bool,
}

impl Drop for QuestionGuard<'_> {
    fn drop(&mut self) {
        let RemoteEmbedder { clock, rest, label, .. } = self.served;
        let now = clock.now();
        let waited = now.saturating_duration_since(self.since);
        if !self.answered && waited >= MISSED_QUESTION_AFTER {
            let what = format!("did not answer within {}", HumanDuration(waited));
            rest.record_miss(now, &label.of_model(&what));
        }
    }
}

#[async_trait]
impl Embedder for RemoteEmbedder {
    fn model(&self) -> &str {
        &self.name
    }

    async fn embed(
        &self,
        texts: &[String],
        purpose: EmbeddingPurpose,
    ) -> Result<Vec<Embedding>, EmbedError> {
        if texts.iter().any(|text| text.trim().is_empty()) {
            return Err(EmbedError::Unusable("an empty text cannot be embedded".to_owned()));
        }
        match purpose {
            EmbeddingPurpose::Passage => self.embed_batches(texts, purpose, None).await,
            EmbeddingPurpose::Question => self.question(texts).await,
        }
    }
}

/// Name made of everything that vectors depend on, so that incompatible vectors are not mixed.
fn name(settings: &RemoteEmbeddingSettings) -> String {
    let RemoteEmbeddingSettings { provider, model, dimensions, passage_prefix, .. } = settings;
    let mut name = format!("{provider}/{model}");
    if let Some(dimensions) = dimensions {
        name.push_str(&format!("/{dimensions}"));
    }
    if !passage_prefix.is_empty() {
        let sum = DigestBuilder::default().with(passage_prefix).finish();
        name.push_str(&format!("+{}", hex(&sum[..4])));
    }
    name
}
