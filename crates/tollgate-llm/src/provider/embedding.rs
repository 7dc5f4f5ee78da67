//! A model of meanings at a provider: sends texts in portions, tries again where that makes sense,
//! and believes no vector that it has not looked at. Made by [`super::Models`].

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Uri, header};
use serde_json::Value;
use tokio::time::{timeout, timeout_at};
use tollgate_core::digest::{Sum, hex};
use tollgate_core::text::Span;
use tollgate_engine::clock::Clock;
use tollgate_engine::embedding::{EmbedError, Embedder, Embedding, Purpose};

use super::address;
use super::ask_error::AskError;
use super::endpoint::ACCEPT_JSON;
use super::label::Label;
use super::opened::{self, Expected};
use super::pause::{Tried, pause};
use super::remote::Remote;
use super::verdict;
use crate::dialect::Dialect;
use crate::embedding::{Ask, Encoding, Wire, batches};
use crate::failure::Kind;
use crate::format::{self, Format, Malformed};
use crate::settings::{ProviderKind, ServedEmbedding};

use self::missed::Missed;
use self::rest::Rest;

mod missed;
mod rest;

/// Somebody waits for the answer to a question, and can do without.
const QUESTION: Duration = Duration::from_millis(1_500);
/// A question that was given up after this was not answered, and not merely cancelled.
const SLOW: Duration = Duration::from_millis(250);
/// Bytes of a text that are sent, until a server says that it takes less.
const LONGEST: usize = 16 << 10;
/// A text is not cut below this.
const SHORTEST: usize = 512;
/// Larger answers are not read.
const ANSWER_LIMIT: usize = 16 << 20;

pub(super) struct Served {
    remote: Arc<Remote>,
    settings: ServedEmbedding,
    name: String,
    wire: Wire,
    format: &'static dyn Format,
    url: Uri,
    label: Label,
    clock: Arc<dyn Clock>,
    /// Bytes of a text that the server takes, as far as is known.
    longest: AtomicUsize,
    /// The server takes no `base64`.
    plain: AtomicBool,
    /// Numbers of a vector, since the first one came.
    dimensions: OnceLock<usize>,
    rest: Rest,
}

impl Served {
    pub(super) fn new(
        settings: &ServedEmbedding,
        remote: Arc<Remote>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        let ServedEmbedding { provider, model, .. } = settings;
        let (wire, dialect) = match remote.settings.kind {
            ProviderKind::OpenAi => (Wire::OpenAi, Dialect::OpenAiChat),
            ProviderKind::Gemini => (Wire::Gemini, Dialect::Gemini),
            ProviderKind::Anthropic | ProviderKind::Deepgram | ProviderKind::Offline => {
                return Err(without(provider));
            }
        };
        let url = address::embeddings(&remote.base, dialect, model)
            .map_err(|why| format!("embedding model `{model}`: {why}"))?;
        Ok(Self {
            name: name(settings),
            wire,
            format: format::of(dialect),
            url,
            label: Label::new(&remote.settings, model),
            settings: settings.clone(),
            remote,
            clock,
            longest: AtomicUsize::new(LONGEST),
            plain: AtomicBool::new(false),
            dimensions: OnceLock::new(),
            rest: Rest::default(),
        })
    }

    /// As they are sent: with the prefix that the model wants, and not longer than is taken.
    fn prepared(&self, texts: &[String], purpose: Purpose) -> Vec<String> {
        let prefix = match purpose {
            Purpose::Passage => &self.settings.passage_prefix,
            Purpose::Question => &self.settings.question_prefix,
        };
        let longest = self.longest.load(Ordering::Relaxed);
        let cut = |text: &String| format!("{prefix}{}", &text[..text.floor_char_boundary(longest)]);
        texts.iter().map(cut).collect()
    }

    /// One request, and again as often as the provider's settings say.
    async fn portion(
        &self,
        texts: &[String],
        purpose: Purpose,
        until: Option<Instant>,
    ) -> Result<Vec<Embedding>, Missed> {
        let mut failed = 0;
        loop {
            let missed = match self.attempt(texts, purpose).await {
                Ok(vectors) => return Ok(vectors),
                Err(missed) => missed,
            };
            if self.learned(&missed, texts) {
                continue;
            }
            let Missed::Asked(error) = &missed else { return Err(missed) };
            failed += 1;
            let left = until.map(|until| until.saturating_duration_since(self.clock.now()));
            let tried = Tried { failed, retries: self.remote.settings.retries, left };
            match pause(error.again, tried, rand::random()) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(missed),
            }
        }
    }

    async fn attempt(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Embedding>, Missed> {
        let encoding = match self.plain.load(Ordering::Relaxed) {
            true => Encoding::Float,
            false => Encoding::Base64,
        };
        let texts = self.prepared(texts, purpose);
        let ServedEmbedding { model, dimensions, .. } = &self.settings;
        let ask = Ask { model, texts: &texts, purpose, dimensions: *dimensions, encoding };
        let body = Bytes::from(self.wire.write(&ask).to_string());
        let _slot = self.remote.slot().await.map_err(AskError::other_model)?;
        let limit = self.remote.settings.patience.answer;
        let answered = timeout(limit, self.send(body)).await;
        let bytes = answered.unwrap_or_else(|_| Err(verdict::silent(&self.label, limit)))?;
        let body = serde_json::from_slice::<Value>(&bytes)
            .map_err(|error| Malformed(format!("it is no JSON: {error}")))?;
        if body.get("error").is_some_and(Value::is_object) {
            return Err(opened::said_instead(&bytes, self.format, &self.label).into());
        }
        self.vectors(self.wire.read(&body, texts.len())?)
    }

    async fn send(&self, body: Bytes) -> Result<Bytes, AskError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, ACCEPT_JSON);
        let response = self.remote.post(&self.url, headers, body).await;
        let response = response.map_err(|failed| verdict::unsent(&self.label, &failed))?;
        let about = (self.format, &self.label);
        let expected = (Expected::Json, self.clock.wall());
        let response = opened::opened(response, about, expected).await?;
        opened::whole(response, ANSWER_LIMIT, &self.label).await
    }

    /// Vectors of one size, the one that was asked for and that all others had.
    fn vectors(&self, vectors: Vec<Vec<f32>>) -> Result<Vec<Embedding>, Missed> {
        let asked = self.settings.dimensions.and_then(|it| usize::try_from(it).ok());
        let mut made = Vec::with_capacity(vectors.len());
        for vector in vectors {
            let found = vector.len();
            let vector = Embedding::of(vector).map_err(|why| Malformed(why.to_string()))?;
            if let Some(asked) = asked.filter(|asked| *asked != found) {
                let why = format!(
                    "vectors have {found} numbers where {asked} were asked for: \
                     set `dimensions` to {found}, or leave it out"
                );
                return Err(Malformed(why).into());
            }
            let usual = *self.dimensions.get_or_init(|| found);
            if usual != found {
                let why = format!("a vector has {found} numbers where others had {usual}");
                return Err(Malformed(why).into());
            }
            made.push(vector);
        }
        Ok(made)
    }

    /// Whether what a server cannot take is now known, and it can be asked again at once.
    fn learned(&self, missed: &Missed, texts: &[String]) -> bool {
        let Missed::Asked(error) = missed else { return false };
        let failure = &error.failure;
        if failure.kind == Kind::Invalid && failure.message.contains("encoding_format") {
            return !self.plain.swap(true, Ordering::Relaxed);
        }
        // Several texts may be too many: whoever asked finds that out by sending fewer.
        let [text] = texts else { return false };
        let longest = self.longest.load(Ordering::Relaxed).min(text.len());
        let is_too_long = missed::is_too_long(failure) && longest / 2 >= SHORTEST;
        if is_too_long {
            self.longest.fetch_min(longest / 2, Ordering::Relaxed);
        }
        is_too_long
    }

    /// Not waited for longer than [`QUESTION`], and not at all while nothing answers.
    async fn question(&self, texts: &[String]) -> Result<Vec<Embedding>, EmbedError> {
        let now = self.clock.now();
        self.rest.check(now)?;
        let until = now + QUESTION;
        let mut waiting = Waiting { served: self, since: now, answered: false };
        let asked = self.all(texts, Purpose::Question, Some(until));
        let asked = timeout_at(until.into(), asked).await.unwrap_or_else(|_| {
            let what = format!("did not answer within {}", Span(QUESTION));
            Err(EmbedError::away(self.label.of_model(&what)))
        });
        waiting.answered = true;
        if let Err(EmbedError::Away { why, again }) = &asked {
            self.rest.begin(self.clock.now(), why, *again);
        }
        asked
    }

    async fn all(
        &self,
        texts: &[String],
        purpose: Purpose,
        until: Option<Instant>,
    ) -> Result<Vec<Embedding>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for portion in batches(texts) {
            let asked = self.portion(&texts[portion], purpose, until).await;
            vectors.extend(asked.map_err(|missed| missed.told(&self.label))?);
        }
        self.rest.end();
        Ok(vectors)
    }
}

/// A question on its way. Whoever asked may give it up sooner than it is given up here.
struct Waiting<'s> {
    served: &'s Served,
    since: Instant,
    answered: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Served { clock, rest, label, .. } = self.served;
        let now = clock.now();
        let waited = now.saturating_duration_since(self.since);
        if !self.answered && waited >= SLOW {
            let what = format!("did not answer within {}", Span(waited));
            rest.missed(now, &label.of_model(&what));
        }
    }
}

#[async_trait]
impl Embedder for Served {
    fn model(&self) -> &str {
        &self.name
    }

    async fn embed(
        &self,
        texts: &[String],
        purpose: Purpose,
    ) -> Result<Vec<Embedding>, EmbedError> {
        if texts.iter().any(|text| text.trim().is_empty()) {
            return Err(EmbedError::Unusable("an empty text has no meaning".to_owned()));
        }
        match purpose {
            Purpose::Passage => self.all(texts, purpose, None).await,
            Purpose::Question => self.question(texts).await,
        }
    }
}

/// What vectors depend on, so that others are not taken for these.
fn name(settings: &ServedEmbedding) -> String {
    let ServedEmbedding { provider, model, dimensions, passage_prefix, .. } = settings;
    let mut name = format!("{provider}/{model}");
    if let Some(dimensions) = dimensions {
        name.push_str(&format!("/{dimensions}"));
    }
    if !passage_prefix.is_empty() {
        let sum = Sum::default().with(passage_prefix).finish();
        name.push_str(&format!("+{}", hex(&sum[..4])));
    }
    name
}

/// Said of providers that have no such models.
pub(super) fn without(provider: &str) -> String {
    format!(
        "provider `{provider}` has no embeddings: name one of kind `openai` or `gemini`, \
         or a model in a directory"
    )
}
