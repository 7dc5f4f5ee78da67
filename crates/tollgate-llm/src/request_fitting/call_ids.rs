//! Ids of calls: shortened where the provider has a limit, and made unique. Models count them from 0
//! in every turn, or invent them; providers refuse an id that was used before, and those that take
//! it confuse its results.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::RequestFitting;
use crate::conversation::{ChatMessage, PartContent};

impl RequestFitting<'_> {
    pub(super) fn fit_call_ids(&mut self) {
        let most = self.takes.max_call_id;
        if fits(&self.request.messages, most) {
            return;
        }
        let mut renamed = CallIds { most, used: HashSet::new(), latest: HashMap::new() };
        let messages = &mut self.edit().messages;
        *messages = std::mem::take(messages)
            .into_iter()
            .map(|mut message| {
                if ids_in(&message).next().is_some() {
                    renamed.rename_in(Arc::make_mut(&mut message));
                }
                message
            })
            .collect();
    }
}

fn fits(messages: &[Arc<ChatMessage>], most: usize) -> bool {
    let mut seen = HashSet::new();
    let mut ids = messages.iter().flat_map(|message| ids_in(message));
    ids.all(|it| it.id.chars().count() <= most && (!it.is_call || seen.insert(it.id)))
}

/// The id of a call or of a result.
struct UsedCallId<'m> {
    id: &'m str,
    is_call: bool,
}

struct CallIds {
    most: usize,
    used: HashSet<String>,
    /// The new id of the latest call with an id.
    latest: HashMap<String, String>,
}

impl CallIds {
    fn rename_in(&mut self, message: &mut ChatMessage) {
        for part in &mut message.parts {
            match &mut part.content {
                PartContent::Call(call) => {
                    let new = self.next(&call.id);
                    self.latest.insert(std::mem::replace(&mut call.id, new.clone()), new);
                }
                PartContent::Result(result) => match self.latest.get(&result.call_id) {
                    Some(new) => result.call_id.clone_from(new),
                    None => result.call_id = shorten(&result.call_id, self.most),
                },
                _ => {}
            }
        }
    }

    fn next(&mut self, id: &str) -> String {
        let short = shorten(id, self.most);
        let mut new = short.clone();
        let mut number = 1;
        while !self.used.insert(new.clone()) {
            number += 1;
            new = shorten(&format!("{short}_{number}"), self.most);
        }
        new
    }
}

fn ids_in(message: &ChatMessage) -> impl Iterator<Item = UsedCallId<'_>> {
    message.parts.iter().filter_map(|part| match &part.content {
        PartContent::Call(call) => Some(UsedCallId { id: &call.id, is_call: true }),
        PartContent::Result(result) => Some(UsedCallId { id: &result.call_id, is_call: false }),
        _ => None,
    })
}

/// The hash distinguishes ids that are equal up to the cut.
fn shorten(id: &str, most: usize) -> String {
    if id.chars().count() <= most {
        return id.to_owned();
    }
    let head: String = id.chars().take(most - 17).collect();
    format!("{head}_{:016x}", hash(id))
}

/// FNV-1a: the same in every process, so that a provider's prompt cache stays valid.
pub(super) fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}
