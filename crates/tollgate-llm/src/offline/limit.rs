//! Keeps an answer within what the request allows.

use super::count::CHARACTERS;
use super::wish::Wish;
use crate::conversation::{Options, Parallel, Stop};

/// The text up to the first of the client's stop texts, or to the last token that is allowed.
pub(super) fn text(text: String, options: &Options) -> (String, Stop) {
    let stops = options.stop.iter().filter(|stop| !stop.is_empty());
    let first = stops.filter_map(|stop| text.find(stop.as_str()).map(|at| (at, stop))).min();
    let (mut text, mut stop) = match first {
        Some((at, stop)) => (text[..at].to_owned(), Stop::Sequence(Some(stop.clone()))),
        None => (text, Stop::End),
    };
    let most = options.max_output.map(|tokens| tokens.saturating_mul(CHARACTERS));
    let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        stop = Stop::Length;
    }
    (text, stop)
}

/// One call only, if the client cannot take several.
pub(super) fn calls(wishes: &mut Vec<Wish>, options: &Options) {
    if options.parallel_calls == Some(Parallel::Forbidden) {
        wishes.truncate(1);
    }
}
