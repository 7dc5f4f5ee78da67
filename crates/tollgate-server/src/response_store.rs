//! Store for the Responses API (`previous_response_id`): keeps conversations for a while, per
//! principal, so that a client can continue one by its id.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value;
use tollgate_core::text::truncate_chars;
use tollgate_core::turn::Principal;
use tollgate_llm::agent::CompletionOutcome;
use tollgate_llm::conversation::{ChatMessage, ChatRequest, MessageList, MessagePart};
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::LlmError;
use tollgate_mcp::memory_budget;

use crate::api_error::MAX_ECHOED_CHARS;

const DIALECT: Dialect = Dialect::OpenAiResponses;
/// Memory limit for all conversations. Beyond it, the oldest of the principal with the most are
/// evicted.
const MAX_BYTES: usize = 64 << 20;
/// Divisor of the memory limit, for all conversations together.
const SHARE_OF_MEMORY: u64 = 16;
/// Fixed cost of a conversation beside its text.
const OVERHEAD_BYTES: usize = 256;
/// Limit on one conversation.
const MAX_CONVERSATION_BYTES: usize = 4 << 20;
/// The same with the answer and the input as they were sent.
const MAX_STORED_BYTES: usize = 3 * MAX_CONVERSATION_BYTES;
const CONVERSATION_TTL: Duration = Duration::from_secs(60 * 60);

pub(crate) struct ResponseStore {
    state: Mutex<ResponseStoreState>,
}

#[derive(Default)]
struct ResponseStoreState {
    by_principal: HashMap<Principal, PrincipalResponses>,
    bytes: usize,
}

#[derive(Default)]
struct PrincipalResponses {
    by_id: HashMap<String, Arc<StoredConversation>>,
    /// Oldest first.
    order: VecDeque<String>,
    bytes: usize,
}

struct StoredConversation {
    messages: MessageList,
    response: Arc<StoredResponse>,
    /// Approximate.
    bytes: usize,
    since: Instant,
}

/// A response as its client got it, and what it answered.
#[derive(Default)]
pub(crate) struct StoredResponse {
    /// JSON.
    pub(crate) answer: String,
    /// The field `input` of the request.
    pub(crate) input: Value,
}

impl ResponseStoreState {
    fn insert(&mut self, principal: Principal, id: String, thread: Arc<StoredConversation>) {
        let bytes = thread.bytes + OVERHEAD_BYTES;
        self.bytes += bytes;
        let own = self.by_principal.entry(principal).or_default();
        own.bytes += bytes;
        own.order.push_back(id.clone());
        own.by_id.insert(id, thread);
        let share = memory_budget::share_of_memory_limit(SHARE_OF_MEMORY);
        let most = MAX_BYTES.min(share.unwrap_or(MAX_BYTES));
        while self.bytes > most && self.forget_one() {}
    }

    /// Evicts from the principal with the most, so that one key cannot evict another's
    /// conversations.
    fn forget_one(&mut self) -> bool {
        let most = self.by_principal.iter().max_by_key(|(_, own)| own.bytes);
        let Some(principal) = most.map(|(principal, _)| principal.clone()) else { return false };
        self.forget_oldest(&principal)
    }

    fn forget_oldest(&mut self, principal: &Principal) -> bool {
        let Some(own) = self.by_principal.get_mut(principal) else { return false };
        let oldest = own.order.pop_front().and_then(|id| own.by_id.remove(&id));
        let bytes = oldest.as_ref().map_or(0, |thread| thread.bytes + OVERHEAD_BYTES);
        own.bytes -= bytes;
        self.bytes -= bytes;
        if own.by_id.is_empty() {
            self.by_principal.remove(principal);
        }
        oldest.is_some()
    }

    fn remove(&mut self, principal: &Principal, id: &str) -> bool {
        let Some(own) = self.by_principal.get_mut(principal) else { return false };
        let Some(removed) = own.by_id.remove(id) else { return false };
        own.order.retain(|kept| kept != id);
        let bytes = removed.bytes + OVERHEAD_BYTES;
        own.bytes -= bytes;
        self.bytes -= bytes;
        if own.by_id.is_empty() {
            self.by_principal.remove(principal);
        }
        true
    }

    /// Removes expired conversations of one principal.
    fn expire(&mut self, principal: &Principal, now: Instant) {
        let is_old = |own: &PrincipalResponses| {
            let oldest = own.order.front().and_then(|id| own.by_id.get(id));
            oldest.is_some_and(|it| now.saturating_duration_since(it.since) >= CONVERSATION_TTL)
        };
        while self.by_principal.get(principal).is_some_and(is_old) {
            self.forget_oldest(principal);
        }
    }
}

/// A conversation that is to be kept when it has got its answer.
pub(crate) struct PendingStoredResponse {
    /// Of the answer: no two conversations have one.
    id: String,
    principal: Principal,
    /// `None`: too large to store.
    messages: Option<MessageList>,
    /// The field `input` of the request.
    input: Value,
    since: Instant,
    threads: Arc<ResponseStore>,
}

impl ResponseStore {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::default() }
    }

    /// Puts what went before into a request that names it. `None`: the answer is not to be kept.
    pub(crate) fn resume(
        self: &Arc<Self>,
        principal: &Principal,
        now: Instant,
        request: &mut ChatRequest,
    ) -> Result<Option<PendingStoredResponse>, LlmError> {
        let before = match request.extra.take(DIALECT, "previous_response_id") {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) => Some(self.find(principal, &id, now)?),
            Some(_) => {
                let at = "previous_response_id";
                return Err(LlmError::invalid(at, format!("`{at}` must be a string")));
            }
        };
        // Instructions apply to one answer only. They are the leading system message.
        let leading = request.leading_system_messages();
        if let Some(before) = before {
            let own = request.messages.split_off(leading);
            request.messages.extend(before.messages.iter().cloned());
            request.messages.extend(own);
        }
        if request.options.store == Some(false) {
            return Ok(None);
        }
        // Do not copy a conversation that is too large to store.
        let history = &request.messages[leading..];
        let messages = (bytes_of(history) <= MAX_CONVERSATION_BYTES).then(|| history.into());
        let id = format!("resp_{:032x}", rand::random::<u128>());
        let principal = principal.clone();
        let threads = Arc::clone(self);
        let input = Value::Null;
        Ok(Some(PendingStoredResponse { id, principal, messages, input, since: now, threads }))
    }

    /// Whether the gateway has this response of the principal.
    pub(crate) fn has(&self, principal: &Principal, id: &str, now: Instant) -> bool {
        self.find(principal, id, now).is_ok()
    }

    /// A response of the principal.
    pub(crate) fn find_response(
        &self,
        principal: &Principal,
        id: &str,
        now: Instant,
    ) -> Option<Arc<StoredResponse>> {
        self.find(principal, id, now).ok().map(|found| Arc::clone(&found.response))
    }

    /// Forgets a response of the principal, and with it the conversation that it ends. Whether it
    /// was there.
    pub(crate) fn remove(&self, principal: &Principal, id: &str, now: Instant) -> bool {
        let mut kept = self.state.lock();
        kept.expire(principal, now);
        kept.remove(principal, id)
    }

    fn find(
        &self,
        principal: &Principal,
        id: &str,
        now: Instant,
    ) -> Result<Arc<StoredConversation>, LlmError> {
        let shown = truncate_chars(id, MAX_ECHOED_CHARS);
        let mut state = self.state.lock();
        state.expire(principal, now);
        let own = state.by_principal.get(principal);
        own.and_then(|own| own.by_id.get(id).cloned()).ok_or_else(|| {
            let message = format!(
                "the response `{shown}` does not exist or belongs to another key; send the whole \
                 conversation as `input`"
            );
            LlmError::invalid("previous_response_id", message)
        })
    }
}

impl PendingStoredResponse {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Keeps the input of the request as well. It is not copied if the conversation is too large.
    #[must_use]
    pub(crate) fn with_input(self, input: impl FnOnce() -> Value) -> Self {
        let input = if self.messages.is_some() { input() } else { Value::Null };
        Self { input, ..self }
    }

    /// What is too large is not kept; going on from it is refused then. `encoded` is the answer in
    /// the client's form.
    pub(crate) fn keep(self, answer: &CompletionOutcome, encoded: &str) {
        let Self { id, principal, messages, input, since, threads } = self;
        let Some(mut messages) = messages else { return };
        match &answer.report {
            Some(report) if !report.history.is_empty() => {
                messages.extend(report.history.iter().cloned())
            }
            Some(_) | None => messages.push(answer.response.clone().into_message()),
        }
        let input_bytes = if input.is_null() { 0 } else { input.to_string().len() };
        let conversation = bytes_of(&messages);
        let bytes = conversation + encoded.len() + input_bytes;
        if conversation <= MAX_CONVERSATION_BYTES && bytes <= MAX_STORED_BYTES {
            let response = Arc::new(StoredResponse { answer: encoded.to_owned(), input });
            let thread = Arc::new(StoredConversation { messages, response, bytes, since });
            let mut state = threads.state.lock();
            state.expire(&principal, since);
            state.insert(principal, id, thread);
        }
    }
}

fn bytes_of(messages: &[Arc<ChatMessage>]) -> usize {
    messages.iter().flat_map(|message| &message.parts).map(MessagePart::bytes).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tollgate_core::turn::Principal;
    use tollgate_engine::clock::{Clock, SystemClock};

    use super::{
        CONVERSATION_TTL, MAX_BYTES, MAX_CONVERSATION_BYTES, MessageList, ResponseStoreState,
        StoredConversation,
    };

    #[test]
    fn s_13_one_key_does_not_crowd_out_the_answers_of_another() {
        let mut state = ResponseStoreState::default();
        let now = SystemClock.now();
        let thread = |bytes| {
            let messages = MessageList::default();
            let response = Arc::default();
            Arc::new(StoredConversation { messages, response, bytes, since: now })
        };
        let honest = Principal::from_name("honest");
        let greedy = Principal::from_name("greedy");
        state.insert(honest.clone(), "mine".to_owned(), thread(1_000));
        for number in 0..100 {
            state.insert(greedy.clone(), number.to_string(), thread(MAX_CONVERSATION_BYTES));
        }
        assert!(state.bytes <= MAX_BYTES);
        assert!(state.by_principal[&honest].by_id.contains_key("mine"));
        let own = &state.by_principal[&greedy];
        assert!(own.by_id.contains_key("99") && !own.by_id.contains_key("0"), "the oldest go");
        state.expire(&greedy, now + CONVERSATION_TTL - Duration::from_secs(1));
        assert!(state.by_principal.contains_key(&greedy));
        state.expire(&greedy, now + CONVERSATION_TTL);
        assert!(!state.by_principal.contains_key(&greedy));
        assert_eq!(state.by_principal.len(), 1);
    }

    #[test]
    fn a_removed_response_frees_its_memory_and_is_gone_for_its_owner_alone() {
        let mut kept = ResponseStoreState::default();
        let now = SystemClock.now();
        let thread = || {
            let messages = MessageList::default();
            Arc::new(StoredConversation {
                messages,
                response: Arc::default(),
                bytes: 10,
                since: now,
            })
        };
        let ada = Principal::from_name("ada");
        let bob = Principal::from_name("bob");
        kept.insert(ada.clone(), "one".to_owned(), thread());
        kept.insert(ada.clone(), "two".to_owned(), thread());
        assert!(!kept.remove(&bob, "one"), "another's");
        assert!(kept.remove(&ada, "one"));
        assert!(!kept.remove(&ada, "one"), "twice");
        assert_eq!(kept.by_principal[&ada].order, ["two"]);
        assert!(kept.remove(&ada, "two"));
        assert_eq!((kept.bytes, kept.by_principal.len()), (0, 0));
    }
}
