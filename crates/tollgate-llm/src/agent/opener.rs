//! First round of a sentence cascade: a fast model speaks the first sentence while the strong model
//! works.
//!
//! The strong model's answer is used as it is if it comes first, or if it contains only tool calls.
//! Text that it wrote without knowing the opener is discarded, and the model is queried again.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::stream::StreamExt;

use super::model_query::{self, ModelEvent, ModelEventStream, ModelQuery};
use super::offer::ToolOffer;
use super::response_stream::ResponseStream;
use crate::cascade::{self, FirstSentence, SentenceEnd};
use crate::conversation::{ChatResponse, MessagePart, PartContent, ResponseDelivery, ToolChoice};
use crate::delta::{PartOpening, ResponseDelta};
use crate::error::LlmError;
use crate::extra::Extra;
use crate::provider::ModelHandle;

/// Token limit of an opener.
const MAX_OPENER_TOKENS: u64 = 80;

/// Result of the race between the fast and the strong model.
pub(super) enum OpenerOutcome {
    /// The strong model was faster, or the opener was empty.
    Alone {
        /// Events of the strong model so far.
        heard: Vec<ModelEvent>,
        rest: ModelEventStream,
    },
    /// The opener was sent; the strong model calls tools and wrote no text.
    Said { opener: String, heard: Vec<ModelEvent> },
    /// The opener was sent; the strong model has to be queried again.
    Blind { opener: String },
}

/// Derives the query to the fast model from the one to the strong model.
pub(super) fn question(strong: &ModelQuery, model: &Arc<ModelHandle>) -> ModelQuery {
    let mut request = strong.request.clone();
    request.messages.push(cascade::to_opener());
    request.tools.clear();
    request.tool_choice = ToolChoice::Unsaid;
    request.options.parallel_calls = None;
    request.options.output = None;
    request.options.max_output = Some(MAX_OPENER_TOKENS);
    request.delivery = ResponseDelivery::Streamed;
    ModelQuery {
        clock: Arc::clone(&strong.clock),
        models: vec![Arc::clone(model)],
        offer: ToolOffer::theirs(),
        request,
        until: strong.until,
        follow: strong.follow.clone(),
        usage: strong.usage.clone(),
        voice: None,
    }
}

/// Inserts the opener as the first text. Thoughts stay before it: some providers require them
/// first.
pub(super) fn put_before(response: &mut ChatResponse, opener: String) {
    let is_thought = |part: &&MessagePart| matches!(part.content, PartContent::Thinking { .. });
    let thoughts = response.parts.iter().take_while(is_thought).count();
    response.parts.insert(thoughts, MessagePart::text(opener));
}

/// Reads both models until it is clear which one continues. `model` is the name that the client
/// sees.
pub(super) async fn open(
    response_stream: &mut ResponseStream,
    fast: ModelQuery,
    mut strong: ModelEventStream,
    model: &str,
) -> Result<OpenerOutcome, LlmError> {
    let mut fast = model_query::ask(fast);
    let mut opening = OpenerSpeech::new(model);
    let mut heard = Vec::new();
    let mut words = SpokenTextDetector::default();
    // Further output of the strong model is useless, or it has ended.
    let mut is_over = false;
    loop {
        let next = tokio::select! {
            // Biased: a strong model that is ready at the same time wins, because it needs no
            // opener.
            biased;
            next = strong.next(), if !is_over => OpenerRaceEvent::Strong(next.transpose()?),
            next = fast.next() => OpenerRaceEvent::Fast(next),
        };
        match next {
            OpenerRaceEvent::Strong(next) => {
                is_over = next.as_ref().is_none_or(|next| words.are_in(next));
                heard.extend(next);
                if is_over && opening.text().is_empty() {
                    return Ok(OpenerOutcome::Alone { heard, rest: strong });
                }
            }
            OpenerRaceEvent::Fast(next) => {
                if opening.hear(next, response_stream).await == SentenceEnd::Reached {
                    break;
                }
            }
        }
    }
    let opener = opening.text().to_owned();
    if opener.is_empty() {
        return Ok(OpenerOutcome::Alone { heard, rest: strong });
    }
    while !is_over {
        let next = strong.next().await.transpose()?;
        is_over = next.as_ref().is_none_or(|next| words.are_in(next));
        heard.extend(next);
    }
    Ok(if words.were_said {
        OpenerOutcome::Blind { opener }
    } else {
        OpenerOutcome::Said { opener, heard }
    })
}

enum OpenerRaceEvent {
    Strong(Option<ModelEvent>),
    Fast(Option<Result<ModelEvent, LlmError>>),
}

/// Detects text in an answer. Thoughts and tool calls do not count as text.
#[derive(Default)]
struct SpokenTextDetector {
    parts: HashSet<usize>,
    were_said: bool,
}

impl SpokenTextDetector {
    fn are_in(&mut self, heard: &ModelEvent) -> bool {
        match heard {
            ModelEvent::Delta(ResponseDelta::Open { index, opening, .. }) => {
                if matches!(opening, PartOpening::Text | PartOpening::Refusal) {
                    self.parts.insert(*index);
                }
                false
            }
            ModelEvent::Delta(ResponseDelta::Grow { index, text, .. }) => {
                let is_said = self.parts.contains(index) && !text.trim().is_empty();
                self.were_said |= is_said;
                is_said
            }
            ModelEvent::Delta(_) | ModelEvent::Reached(_) => false,
        }
    }
}

/// The opener as it is streamed to the client.
struct OpenerSpeech<'m> {
    sentence: FirstSentence,
    words: SpokenTextDetector,
    model: &'m str,
    id: String,
    /// The client's part that it is streamed in.
    part: Option<usize>,
}

impl<'m> OpenerSpeech<'m> {
    fn new(model: &'m str) -> Self {
        let sentence = FirstSentence::default();
        let words = SpokenTextDetector::default();
        Self { sentence, words, model, id: String::new(), part: None }
    }

    fn text(&self) -> &str {
        self.sentence.text()
    }

    /// Forwards one event of the opener.
    async fn hear(
        &mut self,
        next: Option<Result<ModelEvent, LlmError>>,
        response_stream: &mut ResponseStream,
    ) -> SentenceEnd {
        // The opener may fail: the strong model still answers.
        let Some(Ok(next)) = next else {
            self.close(response_stream).await;
            return SentenceEnd::Reached;
        };
        if let ModelEvent::Delta(ResponseDelta::Start { id, .. }) = &next {
            self.id.clone_from(id);
        }
        let is_said = self.words.are_in(&next);
        let ModelEvent::Delta(ResponseDelta::Grow { text, .. }) = next else {
            return SentenceEnd::Open;
        };
        if !is_said && self.text().is_empty() {
            return SentenceEnd::Open;
        }
        let heard = self.sentence.hear(&text);
        if !heard.text.is_empty() {
            let (part, mut steps) = self.open_part(response_stream);
            steps.extend(response_stream.relay().grow_words(part, heard.text));
            response_stream.give(steps).await;
        }
        if heard.end == SentenceEnd::Reached {
            self.close(response_stream).await;
        }
        heard.end
    }

    /// The part, and the deltas that must precede its first text.
    fn open_part(&mut self, response_stream: &mut ResponseStream) -> (usize, Vec<ResponseDelta>) {
        if let Some(part) = self.part {
            return (part, Vec::new());
        }
        let id = self.id.clone();
        let model = self.model.to_owned();
        let start = ResponseDelta::Start { id, model, created: 0, extra: Extra::none() };
        let mut steps: Vec<ResponseDelta> =
            response_stream.relay().begin(start).into_iter().collect();
        let (part, open) = response_stream.relay().open_words();
        steps.push(open);
        self.part = Some(part);
        (part, steps)
    }

    async fn close(&mut self, response_stream: &mut ResponseStream) {
        if let Some(index) = self.part.take() {
            response_stream.give(vec![ResponseDelta::Close { index }]).await;
        }
    }
}
