//! Encodes messages: system prompts first, one message per turn, results first and in the order of
//! their calls. Used for requests and for the history that clients keep.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::conversation::{ChatMessage, ChatRole, FunctionCall, MessagePart, PartContent};
use crate::dialect::Dialect;
use crate::format::result_order::{in_order, missing_result_error};

use super::part_writer::{AnthropicBlockWriter, content};
use super::prompt_cache;

const OWN: Dialect = Dialect::Anthropic;

/// The messages of a request.
#[derive(Debug, Default)]
pub(super) struct AnthropicMessages {
    /// System prompts before the conversation.
    pub(super) system: Vec<Value>,
    pub(super) messages: Vec<Value>,
}

pub(super) fn compose(
    messages: &[Arc<ChatMessage>],
    writing: &mut AnthropicBlockWriter,
) -> AnthropicMessages {
    let mut composer =
        AnthropicComposer { writing, system: Vec::new(), turns: Vec::new(), held: Vec::new() };
    for (index, message) in messages.iter().enumerate() {
        composer.add(message, format!("messages[{index}]"));
    }
    composer.finish()
}

/// The history as clients keep it. Parts that Anthropic cannot express are omitted.
pub(super) fn history(messages: &[Arc<ChatMessage>]) -> Value {
    let mut writing = AnthropicBlockWriter::for_client();
    let AnthropicMessages { system, mut messages } = compose(messages, &mut writing);
    if !system.is_empty() {
        let mut message = Map::new();
        message.insert("role".to_owned(), "system".into());
        message.insert("content".to_owned(), system.into());
        messages.insert(0, message.into());
    }
    messages.into()
}

struct AnthropicComposer<'w> {
    writing: &'w mut AnthropicBlockWriter,
    system: Vec<Value>,
    turns: Vec<AnthropicTurn>,
    /// System messages within the conversation, held until a position where they are allowed: after
    /// a user turn.
    held: Vec<(Vec<Value>, Map<String, Value>)>,
}

/// Consecutive messages of one role.
struct AnthropicTurn {
    role: ChatRole,
    /// Ids of the calls made in this turn.
    calls: Vec<String>,
    results: Vec<(String, Value)>,
    blocks: Vec<Value>,
    /// The calls, for a provider: it takes nothing behind them.
    uses: Vec<Value>,
    extra: Map<String, Value>,
    at: String,
}

impl AnthropicComposer<'_> {
    fn add(&mut self, message: &ChatMessage, at: String) {
        let mut turn = AnthropicTurn::new(message.role, at);
        for (index, part) in message.parts.iter().enumerate() {
            self.part(&mut turn, part, index);
        }
        message.extra.write_into(OWN, &mut turn.extra);
        // Clients of Chat Completions put the mark of a message beside its content, too.
        let result = turn.results.last_mut().map(|(_, block)| block);
        if let Some(Value::Object(block)) = turn.blocks.last_mut().or(result) {
            prompt_cache::carry_mark(&message.extra, block);
        }
        match message.role {
            ChatRole::System | ChatRole::Developer if self.turns.is_empty() => {
                self.system.append(&mut turn.blocks);
            }
            ChatRole::System | ChatRole::Developer => self.held.push((turn.blocks, turn.extra)),
            ChatRole::User | ChatRole::Assistant => self.take_turn(turn),
        }
    }

    fn part(&mut self, turn: &mut AnthropicTurn, part: &MessagePart, index: usize) {
        let at = format!("{}.content[{index}]", turn.at);
        let Some(block) = self.writing.block(part, &at) else { return };
        match &part.content {
            PartContent::Result(result) => turn.results.push((result.call_id.clone(), block)),
            PartContent::Call(FunctionCall { id, .. }) => {
                turn.calls.push(id.clone());
                if self.writing.ledger.is_for_client() {
                    turn.blocks.push(block);
                } else {
                    turn.uses.push(block);
                }
            }
            _ => turn.blocks.push(block),
        }
    }

    fn take_turn(&mut self, turn: AnthropicTurn) {
        if turn.blocks.is_empty() && turn.uses.is_empty() && turn.results.is_empty() {
            return;
        }
        if turn.role == ChatRole::Assistant {
            self.let_in();
        }
        match self.turns.last_mut() {
            Some(last) if last.role == turn.role => last.join(turn),
            _ => self.turns.push(turn),
        }
    }

    /// Inserts held system messages if the last turn allows it.
    fn let_in(&mut self) {
        if self.turns.last().is_none_or(|last| last.role != ChatRole::User) || self.held.is_empty()
        {
            return;
        }
        let mut turn = AnthropicTurn::new(ChatRole::System, String::new());
        for (mut blocks, extra) in self.held.drain(..) {
            turn.blocks.append(&mut blocks);
            turn.extra.extend(extra);
        }
        self.turns.push(turn);
    }

    fn finish(mut self) -> AnthropicMessages {
        self.let_in();
        if !self.held.is_empty() {
            let mut turn = AnthropicTurn::new(ChatRole::User, String::new());
            turn.blocks = self.held.drain(..).flat_map(|(blocks, _)| blocks).collect();
            self.writing
                .ledger
                .lose("a system message after the last answer is sent as a user message");
            self.turns.push(turn);
        }
        let mut made: Vec<String> = Vec::new();
        let mut messages = Vec::with_capacity(self.turns.len());
        let last = self.turns.len().saturating_sub(1);
        for (index, mut turn) in self.turns.into_iter().enumerate() {
            match turn.role {
                ChatRole::System | ChatRole::Developer => {}
                ChatRole::User => {
                    let ordered = in_order(std::mem::take(&mut turn.results), &made, &turn.at);
                    self.writing.ledger.allow(ordered.fault.map_or(Ok(()), Err));
                    turn.blocks.splice(0..0, ordered.results);
                    made.clear();
                }
                ChatRole::Assistant => made = std::mem::take(&mut turn.calls),
            }
            if index == last && !made.is_empty() {
                self.writing.ledger.allow::<()>(Err(missing_result_error(&made[0], &turn.at)));
            }
            messages.push(turn.json());
        }
        AnthropicMessages { system: self.system, messages }
    }
}

impl AnthropicTurn {
    fn new(role: ChatRole, at: String) -> Self {
        let calls = Vec::new();
        let results = Vec::new();
        let blocks = Vec::new();
        let uses = Vec::new();
        Self { role, calls, results, blocks, uses, extra: Map::new(), at }
    }

    fn join(&mut self, mut later: Self) {
        self.calls.append(&mut later.calls);
        self.results.append(&mut later.results);
        self.blocks.append(&mut later.blocks);
        self.uses.append(&mut later.uses);
        self.extra.extend(later.extra);
    }

    fn json(mut self) -> Value {
        self.blocks.append(&mut self.uses);
        let role = match self.role {
            ChatRole::System | ChatRole::Developer => "system",
            ChatRole::User => "user",
            ChatRole::Assistant => "assistant",
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
