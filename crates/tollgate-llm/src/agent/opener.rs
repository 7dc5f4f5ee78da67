//! The first round of a sentence cascade: a fast model speaks the first sentence while the strong
//! one works. The strong model is heard as it is if it is the faster one, or if all it wants is
//! tools; what it says blindly, not knowing the opener, is thrown away and asked for again.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::stream::StreamExt;

use super::asking::{self, Answer, Asking, Heard};
use super::mouth::Mouth;
use super::offer::Offer;
use crate::cascade::{self, End, FirstSentence};
use crate::conversation::{Content, Delivery, Part, Response, ToolChoice};
use crate::delta::{Delta, Opening};
use crate::extra::Extra;
use crate::failure::Failure;
use crate::provider::Model;

/// Tokens of an opener, at most.
const LONGEST: u64 = 80;

/// How a first round begins.
pub(super) enum Opened {
    /// The strong model was faster, or the opener had nothing to say.
    Alone {
        /// What the strong model said so far.
        heard: Vec<Heard>,
        rest: Answer,
    },
    /// This was said; the strong model wants tools, and said nothing.
    Said { opener: String, heard: Vec<Heard> },
    /// This was said; the strong model has to be asked again.
    Blind { opener: String },
}

/// The question to the fast model, made of the one to the strong one.
pub(super) fn question(strong: &Asking, model: &Arc<Model>) -> Asking {
    let mut request = strong.request.clone();
    request.messages.push(cascade::to_opener());
    request.tools.clear();
    request.tool_choice = ToolChoice::Unsaid;
    request.options.parallel_calls = None;
    request.options.output = None;
    request.options.max_output = Some(LONGEST);
    request.delivery = Delivery::Streamed;
    Asking {
        clock: Arc::clone(&strong.clock),
        models: vec![Arc::clone(model)],
        offer: Offer::theirs(),
        request,
        until: strong.until,
        follow: strong.follow.clone(),
        voice: None,
    }
}

/// An opener is the first that was said. Thoughts stay before it: some providers want them first.
pub(super) fn put_before(response: &mut Response, opener: String) {
    let is_thought = |part: &&Part| matches!(part.content, Content::Thinking { .. });
    let thoughts = response.parts.iter().take_while(is_thought).count();
    response.parts.insert(thoughts, Part::text(opener));
}

/// Hears both until it is clear who goes on. `model` is what the client is told of.
pub(super) async fn open(
    mouth: &mut Mouth,
    (fast, mut strong): (Asking, Answer),
    model: &str,
) -> Result<Opened, Failure> {
    let mut fast = asking::ask(fast);
    let mut opening = Spoken::new(model);
    let mut heard = Vec::new();
    let mut words = Words::default();
    // What the strong model says from here on is of no use, or there is nothing more.
    let mut is_over = false;
    loop {
        let next = tokio::select! {
            // Who is ready at the same time as the opener goes first: it needs none.
            biased;
            next = strong.next(), if !is_over => Next::Strong(next.transpose()?),
            next = fast.next() => Next::Fast(next),
        };
        match next {
            Next::Strong(next) => {
                is_over = next.as_ref().is_none_or(|next| words.are_in(next));
                heard.extend(next);
                if is_over && opening.said().is_empty() {
                    return Ok(Opened::Alone { heard, rest: strong });
                }
            }
            Next::Fast(next) => {
                if opening.hear(next, mouth).await == End::Reached {
                    break;
                }
            }
        }
    }
    let opener = opening.said().to_owned();
    if opener.is_empty() {
        return Ok(Opened::Alone { heard, rest: strong });
    }
    while !is_over {
        let next = strong.next().await.transpose()?;
        is_over = next.as_ref().is_none_or(|next| words.are_in(next));
        heard.extend(next);
    }
    Ok(match words.were_said {
        true => Opened::Blind { opener },
        false => Opened::Said { opener, heard },
    })
}

enum Next {
    Strong(Option<Heard>),
    Fast(Option<Result<Heard, Failure>>),
}

/// Finds words in an answer. A model that has thoughts or wants tools has said nothing yet.
#[derive(Default)]
struct Words {
    parts: HashSet<usize>,
    were_said: bool,
}

impl Words {
    fn are_in(&mut self, heard: &Heard) -> bool {
        match heard {
            Heard::Delta(Delta::Open { index, opening, .. }) => {
                if matches!(opening, Opening::Text | Opening::Refusal) {
                    self.parts.insert(*index);
                }
                false
            }
            Heard::Delta(Delta::Grow { index, text, .. }) => {
                let is_said = self.parts.contains(index) && !text.trim().is_empty();
                self.were_said |= is_said;
                is_said
            }
            Heard::Delta(_) | Heard::Reached(_) => false,
        }
    }
}

/// The opener as it is said to the client.
struct Spoken<'m> {
    sentence: FirstSentence,
    words: Words,
    model: &'m str,
    id: String,
    /// The client's part that it is said in.
    part: Option<usize>,
}

impl<'m> Spoken<'m> {
    fn new(model: &'m str) -> Self {
        let (sentence, words) = (FirstSentence::default(), Words::default());
        Self { sentence, words, model, id: String::new(), part: None }
    }

    fn said(&self) -> &str {
        self.sentence.said()
    }

    /// Says what there is to say of one step more.
    async fn hear(&mut self, next: Option<Result<Heard, Failure>>, mouth: &mut Mouth) -> End {
        // Whoever opens may fail: the strong model is there.
        let Some(Ok(next)) = next else {
            self.close(mouth).await;
            return End::Reached;
        };
        if let Heard::Delta(Delta::Start { id, .. }) = &next {
            self.id.clone_from(id);
        }
        let is_said = self.words.are_in(&next);
        let Heard::Delta(Delta::Grow { text, .. }) = next else { return End::Open };
        if !is_said && self.said().is_empty() {
            return End::Open;
        }
        let heard = self.sentence.hear(&text);
        if !heard.text.is_empty() {
            let (part, mut steps) = self.begun(mouth);
            steps.extend(mouth.relay().grow_words(part, heard.text));
            mouth.give(steps).await;
        }
        if heard.end == End::Reached {
            self.close(mouth).await;
        }
        heard.end
    }

    /// The part, and what has to be said before its first word.
    fn begun(&mut self, mouth: &mut Mouth) -> (usize, Vec<Delta>) {
        if let Some(part) = self.part {
            return (part, Vec::new());
        }
        let (id, model) = (self.id.clone(), self.model.to_owned());
        let start = Delta::Start { id, model, created: 0, extra: Extra::none() };
        let mut steps: Vec<Delta> = mouth.relay().begin(start).into_iter().collect();
        let (part, open) = mouth.relay().open_words();
        steps.push(open);
        self.part = Some(part);
        (part, steps)
    }

    async fn close(&mut self, mouth: &mut Mouth) {
        if let Some(index) = self.part.take() {
            mouth.give(vec![Delta::Close { index }]).await;
        }
    }
}
