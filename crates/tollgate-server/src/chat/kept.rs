//! Answers of the Responses API that a client may go on from by naming one
//! (`previous_response_id`): the conversation up to it, kept for a while, for one principal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde_json::Value;
use tollgate_core::text::shortened;
use tollgate_core::turn::Principal;
use tollgate_llm::agent::Answer;
use tollgate_llm::conversation::{Message, Part, Request, Role};
use tollgate_llm::dialect::Dialect;
use tollgate_llm::failure::Failure;

use crate::problem::SAID_BACK;

const DIALECT: Dialect = Dialect::OpenAiResponses;
/// Of all conversations together; what was not asked for longest goes first.
const MOST_BYTES: u64 = 64 << 20;
/// About as many conversations.
const USUAL: usize = 4_096;
/// Of one conversation.
const LARGEST: usize = 4 << 20;
const FOR: Duration = Duration::from_secs(60 * 60);

type Name = (Principal, String);

pub(crate) struct Threads {
    kept: Cache<Name, Arc<Thread>, ByBytes>,
}

struct Thread {
    messages: Vec<Message>,
    /// About as many.
    bytes: usize,
    since: Instant,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<Name, Arc<Thread>> for ByBytes {
    fn weight(&self, _: &Name, thread: &Arc<Thread>) -> u64 {
        thread.bytes as u64 + 256
    }
}

/// A conversation that is to be kept when it has got its answer.
pub(super) struct Keeping {
    /// Of the answer: no two conversations have one.
    id: String,
    principal: Principal,
    messages: Vec<Message>,
    since: Instant,
    threads: Arc<Threads>,
}

impl Threads {
    pub(crate) fn new() -> Self {
        Self { kept: Cache::with_weighter(USUAL, MOST_BYTES, ByBytes) }
    }

    /// Puts what went before into a request that names it. `None`: the answer is not to be kept.
    pub(super) fn resume(
        self: &Arc<Self>,
        (principal, now): (&Principal, Instant),
        request: &mut Request,
    ) -> Result<Option<Keeping>, Failure> {
        let store = request.extra.take(DIALECT, "store");
        let before = match request.extra.take(DIALECT, "previous_response_id") {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) => Some(self.find(principal, id, now)?),
            Some(_) => {
                let at = "previous_response_id";
                return Err(Failure::invalid(at, format!("`{at}` must be a string")));
            }
        };
        // Instructions are for one answer; they are the leading system message.
        let system = |message: &&Message| message.role == Role::System;
        let leading = request.messages.iter().take_while(system).count();
        let mut messages = before.as_ref().map_or_else(Vec::new, |it| it.messages.clone());
        messages.extend_from_slice(&request.messages[leading..]);
        request.messages.truncate(leading);
        request.messages.extend_from_slice(&messages);
        if store == Some(Value::Bool(false)) {
            return Ok(None);
        }
        let id = format!("resp_{:032x}", rand::random::<u128>());
        let (principal, threads) = (principal.clone(), Arc::clone(self));
        Ok(Some(Keeping { id, principal, messages, since: now, threads }))
    }

    fn find(
        &self,
        principal: &Principal,
        id: String,
        now: Instant,
    ) -> Result<Arc<Thread>, Failure> {
        let shown = shortened(&id, SAID_BACK);
        let found = self.kept.get(&(principal.clone(), id));
        found.filter(|it| now.saturating_duration_since(it.since) < FOR).ok_or_else(|| {
            let message = format!(
                "there is no response `{shown}` any more, or it is another key's; send the whole \
                 conversation as `input`"
            );
            Failure::invalid("previous_response_id", message)
        })
    }
}

impl Keeping {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// What is too large is not kept; going on from it is refused then.
    pub(super) fn keep(self, answer: &Answer) {
        let Self { id, principal, mut messages, since, threads } = self;
        match &answer.told {
            Some(told) if !told.history.is_empty() => messages.extend_from_slice(&told.history),
            Some(_) | None => messages.push(answer.response.clone().into_message()),
        }
        let bytes = messages.iter().flat_map(|message| &message.parts).map(Part::bytes).sum();
        if bytes <= LARGEST {
            threads.kept.insert((principal, id), Arc::new(Thread { messages, bytes, since }));
        }
    }
}
