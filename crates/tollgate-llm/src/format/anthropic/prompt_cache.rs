//! Marks up to which a request is cached. The order of the cache is tools, system prompt, messages.
//!
//! A client's own marks go first; those of the gateway fill the rest, so that the rounds of an agent
//! find its tools, its prompt and the conversation so far. Pure; used by the request writer.

use serde_json::{Map, Value, json};

use crate::dialect::Dialect;
use crate::extra::Extra;

use super::thought_binding::THOUGHT_KINDS;

/// The field, in Anthropic's dialect and where clients of Chat Completions put it for Claude.
pub(super) const MARK_KEY: &str = "cache_control";
/// The API refuses more.
const MAX_MARKS: usize = 4;

/// Writes the mark of a client that speaks Chat Completions. On tools, clients put it beside the
/// `function` or into it.
pub(super) fn carry_mark(extra: &Extra, block: &mut Map<String, Value>) {
    let beside = extra.get(Dialect::OpenAiChat, MARK_KEY);
    let inside = || extra.get(Dialect::OpenAiChat, "function")?.get(MARK_KEY);
    if let Some(mark @ Value::Object(_)) = beside.or_else(inside) {
        block.entry(MARK_KEY).or_insert_with(|| mark.clone());
    }
}

/// Removes marks that are too many. Returns how many: the last ones stay, because they cover the
/// longest beginning.
pub(super) fn remove_excess_marks(body: &mut Map<String, Value>) -> usize {
    let excess = count_marks(body).saturating_sub(MAX_MARKS);
    let mut left = excess;
    for block in blocks(body) {
        if left > 0 && block.shift_remove(MARK_KEY).is_some() {
            left -= 1;
        }
    }
    excess
}

/// Where the part of the conversation ends that the next round begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StableEnd {
    LastBlock,
    /// The last block is a note for this round only.
    BeforeLastBlock,
}

/// Marks the end of the prompt with the tools before it, and the end of the conversation.
pub(super) fn mark_prefix(body: &mut Map<String, Value>, stable_end: StableEnd) {
    // One mark for all: the client decided where it lies.
    if body.contains_key(MARK_KEY) {
        return;
    }
    let mut free = MAX_MARKS.saturating_sub(count_marks(body));
    for place in ["messages", "system", "tools"] {
        if free == 0 {
            return;
        }
        // The prompt's mark covers the tools as well.
        if place == "tools" && body.contains_key("system") {
            return;
        }
        let Some(block) = last_block(body, place, stable_end) else { continue };
        if !block.contains_key(MARK_KEY) {
            block.insert(MARK_KEY.to_owned(), json!({"type": "ephemeral"}));
            free -= 1;
        }
    }
}

fn count_marks(body: &mut Map<String, Value>) -> usize {
    let own = usize::from(body.contains_key(MARK_KEY));
    own + blocks(body).filter(|block| block.contains_key(MARK_KEY)).count()
}

/// All blocks that may have a mark, in the order of the cache.
fn blocks(body: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let mut found: Vec<&mut Map<String, Value>> = Vec::new();
    let mut tools = None;
    let mut system = None;
    let mut messages = None;
    for (key, value) in body.iter_mut() {
        match key.as_str() {
            "tools" => tools = value.as_array_mut(),
            "system" => system = value.as_array_mut(),
            "messages" => messages = value.as_array_mut(),
            _ => {}
        }
    }
    found.extend(tools.into_iter().flatten().filter_map(Value::as_object_mut));
    found.extend(system.into_iter().flatten().filter_map(Value::as_object_mut));
    let contents = messages.into_iter().flatten().filter_map(|it| it["content"].as_array_mut());
    found.extend(contents.flatten().filter_map(Value::as_object_mut));
    found.into_iter()
}

/// The last block that takes a mark.
fn last_block<'b>(
    body: &'b mut Map<String, Value>,
    place: &str,
    stable_end: StableEnd,
) -> Option<&'b mut Map<String, Value>> {
    let value = body.get_mut(place)?;
    if place != "messages" {
        return blocks_of(value)?
            .iter_mut()
            .rev()
            .filter_map(Value::as_object_mut)
            .find(takes_mark);
    }
    let messages = value.as_array_mut()?.iter_mut().rev();
    let contents = messages.filter_map(|message| message.get_mut("content"));
    let blocks = contents.filter_map(blocks_of).flat_map(|blocks| blocks.iter_mut().rev());
    let mut blocks = blocks.filter_map(Value::as_object_mut).filter(takes_mark);
    match stable_end {
        StableEnd::LastBlock => blocks.next(),
        StableEnd::BeforeLastBlock => blocks.nth(1),
    }
}

/// A text that is no list yet becomes one.
fn blocks_of(content: &mut Value) -> Option<&mut Vec<Value>> {
    if let Value::String(text) = content {
        if text.is_empty() {
            return None;
        }
        *content = json!([{"type": "text", "text": text}]);
    }
    content.as_array_mut()
}

fn takes_mark(block: &&mut Map<String, Value>) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    !kind.is_some_and(|kind| THOUGHT_KINDS.contains(&kind))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MARK_KEY, StableEnd, mark_prefix, remove_excess_marks};

    fn marked(mut body: Value) -> Value {
        mark_prefix(body.as_object_mut().unwrap(), StableEnd::LastBlock);
        body
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn mark(mut block: Value) -> Value {
        block[MARK_KEY] = json!({"type": "ephemeral"});
        block
    }

    #[test]
    fn the_prompt_and_the_conversation_are_marked_at_their_ends() {
        let messages = json!([{"role": "user", "content": "hello"}]);
        let body = json!({"tools": [{"name": "a"}], "system": "be kind", "messages": messages});
        assert_eq!(
            marked(body),
            json!({"tools": [{"name": "a"}], "system": [mark(text("be kind"))],
                   "messages": [{"role": "user", "content": [mark(text("hello"))]}]})
        );
    }

    #[test]
    fn without_a_prompt_the_last_tool_is_marked() {
        let body = json!({"tools": [{"name": "a"}, {"name": "b"}], "messages": []});
        assert_eq!(marked(body)["tools"], json!([{"name": "a"}, mark(json!({"name": "b"}))]));
    }

    #[test]
    fn thoughts_take_no_mark_and_the_marks_of_a_client_stay() {
        let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
        let content = json!([text("a"), thought]);
        let body = json!({"messages": [{"role": "assistant", "content": content}]});
        let thought = body["messages"][0]["content"][1].clone();
        assert_eq!(marked(body)["messages"][0]["content"], json!([mark(text("a")), thought]));
        let whole = json!({"cache_control": {"type": "ephemeral"}, "system": "be kind"});
        assert_eq!(marked(whole.clone()), whole);
        let four = json!({"system": [mark(text("a")), mark(text("b")), mark(text("c")),
                                     mark(text("d")), text("e")]});
        assert_eq!(marked(four.clone()), four, "the API refuses a fifth");
    }

    #[test]
    fn a_note_for_one_round_is_behind_the_mark() {
        let marked = |messages: Value| {
            let mut body = json!({ "messages": messages });
            mark_prefix(body.as_object_mut().unwrap(), StableEnd::BeforeLastBlock);
            body["messages"].take()
        };
        let question = json!({"role": "user", "content": [mark(text("hello"))]});
        let note = json!({"role": "system", "content": "be brief"});
        assert_eq!(
            marked(json!([{"role": "user", "content": "hello"}, note]))[0],
            question,
            "a message of its own"
        );
        let both = json!([{"role": "user", "content": [text("hello"), text("be brief")]}]);
        assert_eq!(
            marked(both),
            json!([{"role": "user", "content": [mark(text("hello")), text("be brief")]}])
        );
        let alone = json!([{"role": "user", "content": [text("be brief")]}]);
        assert_eq!(marked(alone.clone()), alone, "the prompt has the only mark");
    }

    #[test]
    fn of_too_many_marks_the_last_stay() {
        let system: Vec<Value> = (0..6).map(|at| mark(text(&at.to_string()))).collect();
        let mut body = json!({ "system": system });
        assert_eq!(remove_excess_marks(body.as_object_mut().unwrap()), 2);
        let left = body["system"].as_array().unwrap().iter().map(|it| it.get(MARK_KEY).is_some());
        assert_eq!(left.collect::<Vec<_>>(), [false, false, true, true, true, true]);
    }
}
