//! The opener of a sentence cascade: a fast model speaks the first sentence beside the agent's loop.
//!
//! It is spoken whenever it comes before the first text of the strong model: while that model works,
//! and while tools run. The loop polls it; the strong model's first text ends it.

use std::collections::HashSet;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::StreamExt;
use tokio::time::{sleep, timeout};

use super::model_query::{self, ModelEvent, ModelEventStream, ModelQuery};
use super::offer::ToolOffer;
use super::response_stream::ResponseStream;
use crate::cascade::{self, FirstSentence, SentenceEnd};
use crate::conversation::{ChatResponse, MessagePart, PartContent, ResponseDelivery, ToolChoice};
use crate::delta::{PartOpening, ResponseDelta};
use crate::extra::Extra;
use crate::provider::ModelHandle;

/// Token limit of an opener.
const MAX_OPENER_TOKENS: u64 = 80;
/// An opener that makes the strong model's text wait is cut off after this time without a word.
const MAX_OPENER_STALL: Duration = Duration::from_millis(250);

/// The first sentence of an answer, while a fast model says it and afterwards.
#[derive(Default)]
pub(super) struct Opener {
    /// `None`: over, or there is none.
    events: Option<ModelEventStream>,
    sentence: FirstSentence,
    words: SpokenTextDetector,
    /// Name of the model that the client sees.
    model: String,
    id: String,
    /// As the fast model's provider says, in seconds of Unix time.
    created: u64,
    /// The client's part that it is streamed in.
    part: Option<usize>,
    /// What was said, until it is in the history.
    unrecorded: Option<String>,
}

/// Derives the query to the fast model from the one to the strong model.
fn question(strong: ModelQuery, model: &Arc<ModelHandle>) -> ModelQuery {
    let mut request = strong.request;
    request.tools.clear();
    request.tool_choice = ToolChoice::Unsaid;
    request.options.parallel_calls = None;
    request.options.max_output = Some(MAX_OPENER_TOKENS);
    request.delivery = ResponseDelivery::Streamed;
    ModelQuery {
        models: vec![Arc::clone(model)],
        offer: ToolOffer::theirs(),
        request,
        aside: Some(cascade::TO_OPENER.to_owned()),
        voice: None,
        ..strong
    }
}

impl Opener {
    /// `strong` is the query that the answer begins with, `fast` the model that opens it.
    pub(super) fn ask(strong: ModelQuery, fast: &Arc<ModelHandle>, shown_model: &str) -> Self {
        let events = Some(model_query::ask(question(strong, fast)));
        Self { events, model: shown_model.to_owned(), ..Self::default() }
    }

    /// Nothing more is said.
    pub(super) fn is_over(&self) -> bool {
        self.events.is_none()
    }

    /// In the middle of the sentence.
    pub(super) fn is_speaking(&self) -> bool {
        !self.is_over() && !self.text().is_empty()
    }

    /// What the strong model has to know. `None`: nothing was said, and nothing will be.
    pub(super) fn note_to_strong(&self) -> Option<String> {
        match (self.is_over(), self.text()) {
            (false, _) => Some(cascade::TO_STRONG_AHEAD.to_owned()),
            (true, "") => None,
            (true, text) => Some(cascade::to_strong(text)),
        }
    }

    /// Inserts what was said into the history, once. Thoughts stay before it: some providers require
    /// them first.
    pub(super) fn record_in(&mut self, response: &mut ChatResponse) {
        if !self.is_over() {
            return;
        }
        let Some(text) = self.unrecorded.take() else { return };
        let is_thought = |part: &&MessagePart| matches!(part.content, PartContent::Thinking { .. });
        let thoughts = response.parts.iter().take_while(is_thought).count();
        response.parts.insert(thoughts, MessagePart::text(text));
    }

    /// Speaks while the work is done.
    pub(super) async fn speak_during<T>(
        &mut self,
        response_stream: &mut ResponseStream,
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = pin!(work);
        match self.speak_until(response_stream, work.as_mut()).await {
            Some(done) => done,
            None => work.await,
        }
    }

    /// Speaks for this time at most.
    pub(super) async fn speak_for(
        &mut self,
        response_stream: &mut ResponseStream,
        limit: Duration,
    ) {
        let _ = self.speak_until(response_stream, pin!(sleep(limit))).await;
    }

    /// `None`: the opener is over, and the other has not ended.
    async fn speak_until<T>(
        &mut self,
        response_stream: &mut ResponseStream,
        mut other: impl Future<Output = T> + Unpin,
    ) -> Option<T> {
        while let Some(events) = &mut self.events {
            let next = tokio::select! {
                // A strong model that is ready at the same time wins: it needs no opener.
                biased;
                done = &mut other => return Some(done),
                next = events.next() => next,
            };
            self.hear(next, response_stream).await;
        }
        None
    }

    /// The strong model's text begins: an opener that has not begun is dropped.
    pub(super) async fn give_way(&mut self, response_stream: &mut ResponseStream) {
        if self.is_speaking() {
            self.finish_sentence(response_stream).await;
        }
        self.events = None;
    }

    /// An opener that has begun is spoken to its end.
    pub(super) async fn finish_sentence(&mut self, response_stream: &mut ResponseStream) {
        if self.text().is_empty() {
            return;
        }
        while let Some(events) = &mut self.events {
            match timeout(MAX_OPENER_STALL, events.next()).await {
                Ok(next) => self.hear(next, response_stream).await,
                Err(_) => self.close(response_stream).await,
            }
        }
    }

    fn text(&self) -> &str {
        self.sentence.text()
    }

    /// Forwards one event of the fast model.
    async fn hear(
        &mut self,
        next: Option<Result<ModelEvent, crate::error::LlmError>>,
        response_stream: &mut ResponseStream,
    ) {
        // The opener may fail: the strong model still answers.
        let Some(Ok(next)) = next else { return self.close(response_stream).await };
        let ModelEvent::Delta(delta) = next else { return };
        if let ResponseDelta::Start { id, created, .. } = &delta {
            self.id.clone_from(id);
            self.created = *created;
        }
        let is_said = self.words.are_in(&delta);
        let ResponseDelta::Grow { text, .. } = delta else { return };
        if !is_said && self.text().is_empty() {
            return;
        }
        let complete = self.sentence.hear(&text);
        if !complete.text.is_empty() {
            let (part, mut steps) = self.open_part(response_stream);
            steps.extend(response_stream.relay().grow_words(part, complete.text));
            response_stream.give(steps).await;
        }
        if complete.end == SentenceEnd::Reached {
            self.close(response_stream).await;
        }
    }

    /// The part, and the deltas that must precede its first text.
    fn open_part(&mut self, response_stream: &mut ResponseStream) -> (usize, Vec<ResponseDelta>) {
        if let Some(part) = self.part {
            return (part, Vec::new());
        }
        let id = self.id.clone();
        let model = self.model.clone();
        let created = self.created;
        let start = ResponseDelta::Start { id, model, created, extra: Extra::none() };
        let mut steps: Vec<ResponseDelta> =
            response_stream.relay().begin(start).into_iter().collect();
        let (part, open) = response_stream.relay().open_words();
        steps.push(open);
        self.part = Some(part);
        (part, steps)
    }

    async fn close(&mut self, response_stream: &mut ResponseStream) {
        self.events = None;
        let Some(index) = self.part.take() else { return };
        response_stream.give(vec![ResponseDelta::Close { index }]).await;
        response_stream.continue_behind(self.text());
        self.unrecorded = Some(self.text().to_owned());
    }
}

/// Detects text in an answer. Thoughts and tool calls do not count as text.
#[derive(Default)]
pub(super) struct SpokenTextDetector {
    parts: HashSet<usize>,
}

impl SpokenTextDetector {
    pub(super) fn are_in(&mut self, heard: &ResponseDelta) -> bool {
        match heard {
            ResponseDelta::Open { index, opening, .. } => {
                if matches!(opening, PartOpening::Text | PartOpening::Refusal) {
                    self.parts.insert(*index);
                }
                false
            }
            ResponseDelta::Grow { index, text, .. } => {
                self.parts.contains(index) && !text.trim().is_empty()
            }
            _ => false,
        }
    }
}
