//! Takes text for a call where it is one: `{"name": …, "arguments": …}` that names a tool which was
//! offered, bare on lines of its own, in a fence, or between `<tool_call>` tags, alone or in a list.
//!
//! In a stream only what may still become a call is held back, and never much of it. All other text
//! goes through as it came.

use std::collections::HashSet;

use super::balance::{Balance, Step};
use super::writing::Writing;
use crate::conversation::{Request, ToolChoice};
use crate::delta::{Delta, Opening};
use crate::extra::Extra;

mod call;
mod place;

use call::{calls, may_be_call};
use place::{Before, FENCE, OPENING, State, Wrap};

/// Bytes that are held back at most.
const LIMIT: usize = 32 * 1024;

#[derive(Debug, Clone)]
pub(super) struct Reader {
    writing: Writing,
    offered: HashSet<String>,
    /// The part of text that is being read.
    source: Option<Source>,
    state: State,
    /// Text that may still become a call, with what was said beside it.
    held: Vec<(String, Extra)>,
    held_bytes: usize,
    /// The same of the step that is being read.
    now: String,
    /// Of what is held, the JSON: of each value its text.
    json: Vec<String>,
}

/// A part of text as it came.
#[derive(Debug, Clone)]
struct Source {
    index: usize,
    /// For the first part that becomes of it.
    extra: Extra,
    became: Became,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Became {
    Nothing,
    Something,
}

impl Reader {
    /// `None`: there is nothing to call, or the answer is to be JSON of the client's own.
    pub(super) fn new(request: &Request) -> Option<Self> {
        let offered: HashSet<String> = request.client_tools().map(str::to_owned).collect();
        let is_free = request.options.output.is_none();
        let may_call = request.tool_choice != ToolChoice::None && !offered.is_empty();
        (is_free && may_call).then(|| Self {
            writing: Writing::new(request),
            offered,
            source: None,
            state: State::Line(Before::Blanks),
            held: Vec::new(),
            held_bytes: 0,
            now: String::new(),
            json: Vec::new(),
        })
    }

    pub(super) fn read(&mut self, delta: Delta) -> Vec<Delta> {
        let own = self.source.as_ref().map(|source| source.index);
        match delta {
            Delta::Open { index, opening: Opening::Text, extra } if own.is_none() => {
                self.source = Some(Source { index, extra, became: Became::Nothing });
            }
            Delta::Grow { index, text, extra } if own == Some(index) => self.grow(&text, extra),
            Delta::Extra { index, extra } if own == Some(index) => self.extra(extra),
            Delta::Close { index } if own == Some(index) => self.finish(),
            Delta::End { .. } => {
                self.finish();
                self.writing.pass(delta);
            }
            other => self.writing.pass(other),
        }
        self.writing.take()
    }

    fn grow(&mut self, text: &str, extra: Extra) {
        if self.state == State::Line(Before::Text) && !text.contains(['\n', '<']) {
            self.say(text);
        } else {
            text.chars().for_each(|letter| self.letter(letter));
        }
        let now = std::mem::take(&mut self.now);
        if self.writing.is_pending() {
            self.writing.flush(extra);
            self.hold(now, Extra::none());
        } else {
            self.hold(now, extra);
        }
    }

    fn hold(&mut self, text: String, extra: Extra) {
        if !text.is_empty() || !extra.is_empty() {
            self.held_bytes += text.len();
            self.held.push((text, extra));
        }
    }

    fn is_too_much(&self) -> bool {
        self.held_bytes + self.now.len() > LIMIT
    }

    fn extra(&mut self, extra: Extra) {
        match &mut self.source {
            Some(source) if source.became == Became::Nothing => source.extra.merge(extra),
            _ => self.writing.extra(extra),
        }
    }

    fn letter(&mut self, letter: char) {
        let state = std::mem::replace(&mut self.state, State::Line(Before::Text));
        self.state = match state {
            State::Line(before) => self.in_line(before, letter),
            State::Tag(begun) => self.in_tag(begun, letter),
            State::Fence(line) => self.in_fence(line, letter),
            State::Json(wrap, balance) => self.in_json(wrap, balance, letter),
            State::Behind(wrap, begun) => self.behind(wrap, begun, letter),
            State::OtherJson(mut balance) => {
                self.say_letter(letter);
                match balance.read(letter) {
                    Step::Inside => State::OtherJson(balance),
                    Step::Last | Step::Behind => State::Line(Before::Text),
                }
            }
            State::OtherFence(mut line) => {
                self.say_letter(letter);
                if letter == '\n' {
                    line.clear();
                } else {
                    line.push(letter);
                }
                match line.trim_start().starts_with(FENCE) {
                    true => State::Line(Before::Text),
                    false => State::OtherFence(line),
                }
            }
        };
    }

    fn in_line(&mut self, before: Before, letter: char) -> State {
        match (before, letter) {
            (Before::Text, '\n') => {
                self.now.push(letter);
                State::Line(Before::Blanks)
            }
            (Before::Blanks, blank) if blank.is_whitespace() => {
                self.now.push(letter);
                if self.is_too_much() {
                    self.release();
                }
                State::Line(Before::Blanks)
            }
            (Before::Blanks, '{' | '[') => {
                self.json = vec![String::new()];
                self.in_json(Wrap::Bare, Balance::default(), letter)
            }
            (Before::Blanks, '`') => {
                self.now.push(letter);
                State::Fence(letter.to_string())
            }
            (_, '<') => {
                self.now.push(letter);
                State::Tag(letter.to_string())
            }
            _ => {
                self.release();
                self.say_letter(letter);
                State::Line(Before::Text)
            }
        }
    }

    fn in_tag(&mut self, mut begun: String, letter: char) -> State {
        begun.push(letter);
        if !OPENING.starts_with(&begun) {
            self.release();
            return self.in_line(Before::Text, letter);
        }
        self.now.push(letter);
        if begun != OPENING {
            return State::Tag(begun);
        }
        self.json = vec![String::new()];
        State::Json(Wrap::Tag, Balance::default())
    }

    fn in_fence(&mut self, mut line: String, letter: char) -> State {
        let is_whole = line.len() >= FENCE.len();
        let language = line.get(FENCE.len()..).unwrap_or_default().trim();
        let may_hold = is_whole && ["", "json", "tool_call", "tool_code"].contains(&language);
        match letter {
            '\n' | '{' | '[' if may_hold => {
                self.json = vec![String::new()];
                self.in_json(Wrap::Fence, Balance::default(), letter)
            }
            '\n' if is_whole => {
                self.release();
                self.say_letter(letter);
                State::OtherFence(String::new())
            }
            '`' if !is_whole => {
                self.now.push(letter);
                line.push(letter);
                State::Fence(line)
            }
            letter if is_whole && line.len() < 32 && letter != '`' => {
                self.now.push(letter);
                line.push(letter);
                State::Fence(line)
            }
            _ => {
                self.release();
                self.in_line(Before::Text, letter)
            }
        }
    }

    fn in_json(&mut self, wrap: Wrap, mut balance: Balance, letter: char) -> State {
        self.now.push(letter);
        let Some(json) = self.json.last_mut() else { return State::Line(Before::Text) };
        json.push(letter);
        let step = balance.read(letter);
        if !may_be_call(json) || self.is_too_much() {
            self.release();
            return match wrap {
                Wrap::Bare => State::OtherJson(balance),
                Wrap::Fence => State::OtherFence(String::new()),
                Wrap::Tag => State::Line(Before::Text),
            };
        }
        match step {
            Step::Last => State::Behind(wrap, String::new()),
            Step::Inside | Step::Behind => State::Json(wrap, balance),
        }
    }

    fn behind(&mut self, wrap: Wrap, mut begun: String, letter: char) -> State {
        begun.push(letter);
        if begun == wrap.end() {
            self.now.push(letter);
            return self.decide(wrap);
        }
        let is_first = begun.len() == letter.len_utf8();
        if wrap.end().starts_with(&begun) {
            self.now.push(letter);
            return State::Behind(wrap, begun);
        }
        match (letter, wrap) {
            (blank, _) if is_first && blank.is_whitespace() => {
                self.now.push(letter);
                State::Behind(wrap, String::new())
            }
            (',', Wrap::Fence | Wrap::Tag) if is_first => {
                self.now.push(letter);
                State::Behind(wrap, String::new())
            }
            ('{' | '[', Wrap::Fence | Wrap::Tag) if is_first => {
                self.json.push(String::new());
                self.in_json(wrap, Balance::default(), letter)
            }
            (_, Wrap::Fence) => {
                self.release();
                self.say_letter(letter);
                State::OtherFence(String::new())
            }
            (_, Wrap::Bare | Wrap::Tag) => {
                self.release();
                self.in_line(Before::Text, letter)
            }
        }
    }

    /// What was held is whole: it is a call, or text after all.
    fn decide(&mut self, wrap: Wrap) -> State {
        let written = self.json.iter().map(|json| calls(json, &self.offered));
        let Some(written) = written.collect::<Option<Vec<_>>>() else {
            self.release();
            return State::Line(match wrap {
                Wrap::Bare => Before::Blanks,
                Wrap::Fence | Wrap::Tag => Before::Text,
            });
        };
        self.forget();
        for (name, arguments) in written.into_iter().flatten() {
            self.writing.call(&name);
            self.writing.argue(&arguments);
            self.writing.close();
        }
        self.came();
        State::Line(Before::Blanks)
    }

    fn finish(&mut self) {
        if self.source.is_none() {
            return;
        }
        let state = std::mem::replace(&mut self.state, State::Line(Before::Blanks));
        if let State::Behind(wrap, _) = state {
            self.decide(wrap);
        }
        let is_blank = self.held.iter().all(|(text, _)| text.trim().is_empty());
        let became = self.source.as_ref().map(|source| source.became);
        if is_blank && became == Some(Became::Something) && !self.writing.is_open() {
            self.forget();
        }
        self.release();
        if self.source.as_ref().is_some_and(|source| source.became == Became::Nothing) {
            self.open();
        }
        self.writing.close();
        self.source = None;
    }

    fn forget(&mut self) {
        self.held.clear();
        self.held_bytes = 0;
        self.now.clear();
    }

    /// It is text after all.
    fn release(&mut self) {
        self.held_bytes = 0;
        for (text, extra) in std::mem::take(&mut self.held) {
            self.say(&text);
            self.writing.flush(extra);
        }
        let now = std::mem::take(&mut self.now);
        if !now.is_empty() {
            self.say(&now);
        }
    }

    fn say(&mut self, text: &str) {
        self.open();
        self.writing.say(text);
    }

    fn say_letter(&mut self, letter: char) {
        self.say(letter.encode_utf8(&mut [0; 4]));
    }

    fn open(&mut self) {
        let extra = self.source.as_mut().map(|source| std::mem::take(&mut source.extra));
        self.writing.text(extra.unwrap_or_default());
        self.came();
    }

    fn came(&mut self) {
        if let Some(source) = &mut self.source {
            source.became = Became::Something;
        }
    }
}

#[cfg(test)]
mod tests;
