//! Sentence cascade: a fast model says the first sentence at once, a strong model continues.
//!
//! Contains the instructions for both models, the detection of the end of the first sentence, and
//! the removal of repetition from the continuation. Pure; the agent loop runs both models.

mod continuation;
mod sentence;

pub use continuation::Continuation;
pub use sentence::{FirstSentence, SentenceChunk, SentenceEnd};

/// Instruction for the fast model, after its other instructions.
pub const TO_OPENER: &str = "Say only the first sentence of your answer: one short sentence as it \
    is spoken, in the user's language. The rest of the answer follows by itself. You cannot look \
    anything up here: state nothing that you would have to look up, promise no result and ask \
    nothing.";

/// Instruction for the strong model while it is not known yet what the opener will be.
pub const TO_STRONG_AHEAD: &str = "While you work, a short first sentence of your answer may be \
    said to the user, in your voice. Begin with the matter itself: do not greet, and do not say \
    that you are going to look something up. Never mention this note.";

/// Instruction for the strong model: what was already said in its name.
pub fn to_strong(opener: &str) -> String {
    // A model wrote the opener; it must not be able to close the quotation.
    let opener: String = opener.chars().filter(|letter| !matches!(letter, '<' | '>')).collect();
    let opener = opener.trim();
    format!(
        "You have begun to answer already: this was said to the user, in your voice.\n\
         <said>{opener}</said>\n\
         Go on behind it in the same breath. Do not greet, do not say it again in the same or \
         other words, and do not contradict it; should it be wrong, put it right in passing. \
         Never mention this note."
    )
}

#[cfg(test)]
mod tests;
