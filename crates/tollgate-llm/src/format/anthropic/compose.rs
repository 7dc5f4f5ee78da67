//! Writes messages: system prompts to the front, one message for each turn, results first and in
//! the order of their calls. Used for requests and for the history that clients keep.

use serde_json::{Map, Value};

use crate::conversation::{Call, Content, Message, Part, Role};
use crate::dialect::Dialect;
use crate::format::turns::{in_order, unanswered};

use super::writing::Writing;

const OWN: Dialect = Dialect::Anthropic;

/// The messages of a request.
#[derive(Debug, Default)]
pub(super) struct Composed {
    /// What stands before the conversation.
    pub(super) system: Vec<Value>,
    pub(super) messages: Vec<Value>,
}

pub(super) fn compose(messages: &[Message], writing: &mut Writing) -> Composed {
    let mut composer =
        Composer { writing, system: Vec::new(), turns: Vec::new(), held: Vec::new() };
    for (index, message) in messages.iter().enumerate() {
        composer.add(message, format!("messages[{index}]"));
    }
    composer.finish()
}

/// As clients keep it. What Anthropic has no word for is left out.
pub(super) fn history(messages: &[Message]) -> Value {
    let mut writing = Writing::for_client();
    let Composed { system, mut messages } = compose(messages, &mut writing);
    if !system.is_empty() {
        let mut message = Map::new();
        message.insert("role".to_owned(), "system".into());
        message.insert("content".to_owned(), system.into());
        messages.insert(0, message.into());
    }
    messages.into()
}

struct Composer<'w> {
    writing: &'w mut Writing,
    system: Vec<Value>,
    turns: Vec<Turn>,
    /// System messages in the midst of the conversation that wait for a place where they may stand:
    /// behind a turn of the user.
    held: Vec<(Vec<Value>, Map<String, Value>)>,
}

/// Consecutive messages of one role.
struct Turn {
    role: Role,
    /// The ids of the calls that were made in it.
    calls: Vec<String>,
    results: Vec<(String, Value)>,
    blocks: Vec<Value>,
    extra: Map<String, Value>,
    at: String,
}

impl Composer<'_> {
    fn add(&mut self, message: &Message, at: String) {
        let mut turn = Turn::new(message.role, at);
        for (index, part) in message.parts.iter().enumerate() {
            self.part(&mut turn, part, index);
        }
        message.extra.write_into(OWN, &mut turn.extra);
        match message.role {
            Role::System | Role::Developer if self.turns.is_empty() => {
                self.system.append(&mut turn.blocks);
            }
            Role::System | Role::Developer => self.held.push((turn.blocks, turn.extra)),
            Role::User | Role::Assistant => self.take_turn(turn),
        }
    }

    fn part(&mut self, turn: &mut Turn, part: &Part, index: usize) {
        let at = format!("{}.content[{index}]", turn.at);
        let Some(block) = self.writing.block(part, &at) else { return };
        match &part.content {
            Content::Result(result) => turn.results.push((result.call_id.clone(), block)),
            Content::Call(Call { id, .. }) => {
                turn.calls.push(id.clone());
                turn.blocks.push(block);
            }
            _ => turn.blocks.push(block),
        }
    }

    fn take_turn(&mut self, turn: Turn) {
        if turn.blocks.is_empty() && turn.results.is_empty() {
            return;
        }
        if turn.role == Role::Assistant {
            self.let_in();
        }
        match self.turns.last_mut() {
            Some(last) if last.role == turn.role => last.join(turn),
            _ => self.turns.push(turn),
        }
    }

    /// System messages, if the last turn is one that they may follow.
    fn let_in(&mut self) {
        if self.turns.last().is_none_or(|last| last.role != Role::User) || self.held.is_empty() {
            return;
        }
        let mut turn = Turn::new(Role::System, String::new());
        for (mut blocks, extra) in self.held.drain(..) {
            turn.blocks.append(&mut blocks);
            turn.extra.extend(extra);
        }
        self.turns.push(turn);
    }

    fn finish(mut self) -> Composed {
        self.let_in();
        if !self.held.is_empty() {
            let mut turn = Turn::new(Role::User, String::new());
            turn.blocks = self.held.drain(..).flat_map(|(blocks, _)| blocks).collect();
            self.writing
                .ledger
                .lose("a system message behind the last answer is sent as the user's");
            self.turns.push(turn);
        }
        let mut made: Vec<String> = Vec::new();
        let mut messages = Vec::with_capacity(self.turns.len());
        let last = self.turns.len().saturating_sub(1);
        for (index, mut turn) in self.turns.into_iter().enumerate() {
            match turn.role {
                Role::System | Role::Developer => {}
                Role::User => {
                    let ordered = in_order(std::mem::take(&mut turn.results), &made, &turn.at);
                    self.writing.ledger.allow(ordered.fault.map_or(Ok(()), Err));
                    turn.blocks.splice(0..0, ordered.results);
                    made.clear();
                }
                Role::Assistant => made = std::mem::take(&mut turn.calls),
            }
            if index == last && !made.is_empty() {
                self.writing.ledger.allow::<()>(Err(unanswered(&made[0], &turn.at)));
            }
            messages.push(turn.json());
        }
        Composed { system: self.system, messages }
    }
}

impl Turn {
    fn new(role: Role, at: String) -> Self {
        let (calls, results, blocks) = (Vec::new(), Vec::new(), Vec::new());
        Self { role, calls, results, blocks, extra: Map::new(), at }
    }

    fn join(&mut self, mut later: Self) {
        self.calls.append(&mut later.calls);
        self.results.append(&mut later.results);
        self.blocks.append(&mut later.blocks);
        self.extra.extend(later.extra);
    }

    fn json(self) -> Value {
        let role = match self.role {
            Role::System | Role::Developer => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let mut message = Map::new();
        message.insert("role".to_owned(), role.into());
        message.insert("content".to_owned(), content(self.blocks));
        for (key, value) in self.extra {
            message.entry(key).or_insert(value);
        }
        message.into()
    }
}

/// One plain text is as good as a list with it.
pub(super) fn content(mut blocks: Vec<Value>) -> Value {
    let plain = |block: &Value| {
        block["type"] == "text" && block.as_object().is_some_and(|block| block.len() == 2)
    };
    if blocks.len() == 1 && plain(&blocks[0]) {
        return blocks[0]["text"].take();
    }
    blocks.into()
}
