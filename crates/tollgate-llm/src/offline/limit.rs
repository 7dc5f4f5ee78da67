//! Applies the request's output limits to an answer.

use super::count::CHARS_PER_TOKEN;
use super::tool_matching::OfflineCall;
use crate::conversation::{GenerationOptions, ParallelCalls, StopReason};

/// Text up to the client's first stop sequence or the token limit.
pub(super) fn text(text: String, options: &GenerationOptions) -> (String, StopReason) {
    let stops = options.stop.iter().filter(|stop| !stop.is_empty());
    let first = stops.filter_map(|stop| text.find(stop.as_str()).map(|at| (at, stop))).min();
    let (mut text, mut stop) = match first {
        Some((at, stop)) => (text[..at].to_owned(), StopReason::Sequence(Some(stop.clone()))),
        None => (text, StopReason::End),
    };
    let most = options.max_output.map(|tokens| tokens.saturating_mul(CHARS_PER_TOKEN));
    let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        stop = StopReason::Length;
    }
    (text, stop)
}

/// Keeps only one call if the client does not accept parallel calls.
pub(super) fn calls(wishes: &mut Vec<OfflineCall>, options: &GenerationOptions) {
    if options.parallel_calls == Some(ParallelCalls::Forbidden) {
        wishes.truncate(1);
    }
}
