//! Generates short strings that match a regular expression, for common syntax: literals, classes,
//! groups, alternatives, repetitions.
//!
//! Other syntax yields nothing or a wrong guess; the caller checks every string against the
//! pattern.

use super::MAX_TEXT_CHARS;

mod class;
mod parse;
mod piece;

use piece::{PatternPiece, PatternSequence};

/// Maximum total bytes of all samples of one pattern.
const ALL_SAMPLES: usize = 64 * 1024;

/// Up to `wanted` distinct strings, at least `least` characters long if possible.
pub(super) fn samples(pattern: &str, requested: usize, least: usize) -> Vec<String> {
    let Some(alternatives) = parse::read(pattern) else { return Vec::new() };
    let mut samples = Vec::new();
    let mut size = 0;
    for pick in 0..requested {
        let Some(sample) = long_enough(&alternatives, pick, least) else { continue };
        let missing = least.saturating_sub(sample.chars().count());
        size += sample.len() + missing;
        if missing > 0 {
            let more = "a".repeat(missing);
            samples.extend([format!("{sample}{more}"), format!("{more}{sample}")]);
        } else if !samples.contains(&sample) {
            samples.push(sample);
        }
        if size > ALL_SAMPLES {
            break;
        }
    }
    samples
}

/// The literal prefix of a pattern, up to the first metacharacter.
pub(super) fn literal_prefix(pattern: &str) -> String {
    let text = pattern.strip_prefix('^').unwrap_or(pattern);
    text.chars().take_while(|it| !"\\^$.|?*+()[]{}".contains(*it)).collect()
}

/// The shortest sample that is long enough, else the shortest of all. More repetitions never
/// shorten it, so their number is found by binary search.
fn long_enough(alternatives: &[PatternSequence], pick: usize, least: usize) -> Option<String> {
    let sample = |extra| {
        let mut text = String::new();
        PatternSampler { pick, extra }.one_of(alternatives, &mut text)?;
        Some(text)
    };
    let is_long = |text: &String| text.chars().count() >= least;
    let shortest = sample(0)?;
    if is_long(&shortest) {
        return Some(shortest);
    }
    let mut short = 0;
    let mut long = least;
    let Some(mut best) = sample(long).filter(is_long) else { return Some(shortest) };
    while long - short > 1 {
        let middle = short.midpoint(long);
        match sample(middle).filter(is_long) {
            Some(text) => (long, best) = (middle, text),
            None => short = middle,
        }
    }
    Some(best)
}

struct PatternSampler {
    /// Selects the alternative, and the character of a class.
    pick: usize,
    /// Repetitions beyond the minimum, where more are allowed.
    extra: usize,
}

impl PatternSampler {
    fn one_of(&self, alternatives: &[PatternSequence], text: &mut String) -> Option<()> {
        let sequence = alternatives.get(self.pick % alternatives.len().max(1))?;
        sequence.iter().try_for_each(|piece| self.write(piece, text))
    }

    /// `None` if it gets too long or is impossible.
    fn write(&self, piece: &PatternPiece, text: &mut String) -> Option<()> {
        match piece {
            PatternPiece::OneOf(chars) => text.push(*chars.get(self.pick % chars.len().max(1))?),
            PatternPiece::Group(alternatives) => self.one_of(alternatives, text)?,
            PatternPiece::Repeat { piece, least, most } => {
                let more = least.saturating_add(self.extra);
                for _ in 0..most.map_or(more, |most| more.min(most.max(*least))) {
                    let before = text.len();
                    self.write(piece, text)?;
                    if text.len() == before {
                        break;
                    }
                }
            }
            PatternPiece::Edge => {}
        }
        (text.len() <= MAX_TEXT_CHARS).then_some(())
    }
}

#[cfg(test)]
mod tests;
