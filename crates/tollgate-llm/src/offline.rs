//! The model that is built in: no key, no network, always the same answer to the same words. It
//! knows a handful of intents, says what it is, and never pretends to know more.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::conversation::{Part, Request, Response, Stop, Usage};
use crate::delta::{self, Delta};
use crate::extra::Extra;

/// What it says to `request`.
pub fn answer(request: &Request, wall: SystemTime) -> Response {
    let created = wall.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Response {
        id: "offline-1".to_owned(),
        model: "offline".to_owned(),
        created,
        parts: vec![Part::text(format!(
            "I am Tollgate's offline model. You said: {}",
            request.utterance()
        ))],
        stop: Stop::End,
        usage: Usage::default(),
        extra: Extra::none(),
    }
}

/// An answer as it is spoken: word by word.
pub fn steps(response: &Response) -> Vec<Delta> {
    delta::steps(response)
}
