//! Recovers tool calls written as text: `{"name": …, "arguments": …}` that names an offered tool,
//! bare on its own lines, in a code fence, or between `<tool_call>` tags, alone or in a list.
//!
//! In a stream, only text that may still become a call is held back, up to a limit. All other text
//! passes unchanged.

use std::collections::HashSet;

use super::delta_writer::DeltaWriter;
use super::json_end::{JsonEndScanner, JsonScanStep};
use crate::conversation::{ChatRequest, ToolChoice};
use crate::delta::{PartOpening, ResponseDelta};
use crate::extra::Extra;

mod call;
mod text_state;

use call::{calls, may_be_call};
use text_state::{CALL_TAG_OPEN, CODE_FENCE, LinePrefix, TextCallState, TextCallWrapper};

/// Maximum bytes held back.
const MAX_HELD_BYTES: usize = 32 * 1024;

#[derive(Debug, Clone)]
pub(super) struct TextCallReader {
    writing: DeltaWriter,
    offered: HashSet<String>,
    /// The text part that is being read.
    source: Option<SourceTextPart>,
    state: TextCallState,
    /// Text that may still become a call, with its extra fields.
    held: Vec<(String, Extra)>,
    held_bytes: usize,
    /// The same for the current delta.
    now: String,
    /// The JSON values in the held text.
    json: Vec<String>,
}

/// An incoming text part.
#[derive(Debug, Clone)]
struct SourceTextPart {
    index: usize,
    /// For the first part produced from it.
    extra: Extra,
    became: SourceTextOutput,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceTextOutput {
    Nothing,
    Something,
}

impl TextCallReader {
    /// `None`: there is nothing to call, or the client requires its own JSON format.
    pub(super) fn new(request: &ChatRequest) -> Option<Self> {
        let offered: HashSet<String> = request.client_tools().map(str::to_owned).collect();
        let is_free = request.options.output.is_none();
        let may_call = request.tool_choice != ToolChoice::None && !offered.is_empty();
        (is_free && may_call).then(|| Self {
            writing: DeltaWriter::new(request),
            offered,
            source: None,
            state: TextCallState::Line(LinePrefix::Blanks),
            held: Vec::new(),
            held_bytes: 0,
            now: String::new(),
            json: Vec::new(),
        })
    }

    pub(super) fn read(&mut self, delta: ResponseDelta) -> Vec<ResponseDelta> {
        let own = self.source.as_ref().map(|source| source.index);
        match delta {
            ResponseDelta::Open { index, opening: PartOpening::Text, extra } if own.is_none() => {
                self.source =
                    Some(SourceTextPart { index, extra, became: SourceTextOutput::Nothing });
            }
            ResponseDelta::Grow { index, text, extra } if own == Some(index) => {
                self.grow(&text, extra)
            }
            ResponseDelta::Extra { index, extra } if own == Some(index) => self.extra(extra),
            ResponseDelta::Close { index } if own == Some(index) => self.finish(),
            ResponseDelta::End { .. } => {
                self.finish();
                self.writing.pass(delta);
            }
            other => self.writing.pass(other),
        }
        self.writing.take()
    }

    fn grow(&mut self, text: &str, extra: Extra) {
        if self.state == TextCallState::Line(LinePrefix::Text) && !text.contains(['\n', '<']) {
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
        self.held_bytes + self.now.len() > MAX_HELD_BYTES
    }

    fn extra(&mut self, extra: Extra) {
        match &mut self.source {
            Some(source) if source.became == SourceTextOutput::Nothing => source.extra.merge(extra),
            _ => self.writing.extra(extra),
        }
    }

    fn letter(&mut self, letter: char) {
        let state = std::mem::replace(&mut self.state, TextCallState::Line(LinePrefix::Text));
        self.state = match state {
            TextCallState::Line(before) => self.in_line(before, letter),
            TextCallState::Tag(begun) => self.in_tag(begun, letter),
            TextCallState::Fence(line) => self.in_fence(line, letter),
            TextCallState::Json(wrap, balance) => self.in_json(wrap, balance, letter),
            TextCallState::Behind(wrap, begun) => self.behind(wrap, begun, letter),
            TextCallState::OtherJson(mut balance) => {
                self.say_letter(letter);
                match balance.read(letter) {
                    JsonScanStep::Inside => TextCallState::OtherJson(balance),
                    JsonScanStep::Last | JsonScanStep::Behind => {
                        TextCallState::Line(LinePrefix::Text)
                    }
                }
            }
            TextCallState::OtherFence(mut line) => {
                self.say_letter(letter);
                if letter == '\n' {
                    line.clear();
                } else {
                    line.push(letter);
                }
                if line.trim_start().starts_with(CODE_FENCE) {
                    TextCallState::Line(LinePrefix::Text)
                } else {
                    TextCallState::OtherFence(line)
                }
            }
        };
    }

    fn in_line(&mut self, before: LinePrefix, letter: char) -> TextCallState {
        match (before, letter) {
            (LinePrefix::Text, '\n') => {
                self.now.push(letter);
                TextCallState::Line(LinePrefix::Blanks)
            }
            (LinePrefix::Blanks, blank) if blank.is_whitespace() => {
                self.now.push(letter);
                if self.is_too_much() {
                    self.release();
                }
                TextCallState::Line(LinePrefix::Blanks)
            }
            (LinePrefix::Blanks, '{' | '[') => {
                self.json = vec![String::new()];
                self.in_json(TextCallWrapper::Bare, JsonEndScanner::default(), letter)
            }
            (LinePrefix::Blanks, '`') => {
                self.now.push(letter);
                TextCallState::Fence(letter.to_string())
            }
            (_, '<') => {
                self.now.push(letter);
                TextCallState::Tag(letter.to_string())
            }
            _ => {
                self.release();
                self.say_letter(letter);
                TextCallState::Line(LinePrefix::Text)
            }
        }
    }

    fn in_tag(&mut self, mut begun: String, letter: char) -> TextCallState {
        begun.push(letter);
        if !CALL_TAG_OPEN.starts_with(&begun) {
            self.release();
            return self.in_line(LinePrefix::Text, letter);
        }
        self.now.push(letter);
        if begun != CALL_TAG_OPEN {
            return TextCallState::Tag(begun);
        }
        self.json = vec![String::new()];
        TextCallState::Json(TextCallWrapper::Tag, JsonEndScanner::default())
    }

    fn in_fence(&mut self, mut line: String, letter: char) -> TextCallState {
        let is_whole = line.len() >= CODE_FENCE.len();
        let language = line.get(CODE_FENCE.len()..).unwrap_or_default().trim();
        let may_hold = is_whole && ["", "json", "tool_call", "tool_code"].contains(&language);
        match letter {
            '\n' | '{' | '[' if may_hold => {
                self.json = vec![String::new()];
                self.in_json(TextCallWrapper::Fence, JsonEndScanner::default(), letter)
            }
            '\n' if is_whole => {
                self.release();
                self.say_letter(letter);
                TextCallState::OtherFence(String::new())
            }
            '`' if !is_whole => {
                self.now.push(letter);
                line.push(letter);
                TextCallState::Fence(line)
            }
            letter if is_whole && line.len() < 32 && letter != '`' => {
                self.now.push(letter);
                line.push(letter);
                TextCallState::Fence(line)
            }
            _ => {
                self.release();
                self.in_line(LinePrefix::Text, letter)
            }
        }
    }

    fn in_json(
        &mut self,
        wrap: TextCallWrapper,
        mut balance: JsonEndScanner,
        letter: char,
    ) -> TextCallState {
        self.now.push(letter);
        let Some(json) = self.json.last_mut() else { return TextCallState::Line(LinePrefix::Text) };
        json.push(letter);
        let step = balance.read(letter);
        if !may_be_call(json) || self.is_too_much() {
            self.release();
            return match wrap {
                TextCallWrapper::Bare => TextCallState::OtherJson(balance),
                TextCallWrapper::Fence => TextCallState::OtherFence(String::new()),
                TextCallWrapper::Tag => TextCallState::Line(LinePrefix::Text),
            };
        }
        match step {
            JsonScanStep::Last => TextCallState::Behind(wrap, String::new()),
            JsonScanStep::Inside | JsonScanStep::Behind => TextCallState::Json(wrap, balance),
        }
    }

    fn behind(&mut self, wrap: TextCallWrapper, mut begun: String, letter: char) -> TextCallState {
        begun.push(letter);
        if begun == wrap.end() {
            self.now.push(letter);
            return self.decide(wrap);
        }
        let is_first = begun.len() == letter.len_utf8();
        if wrap.end().starts_with(&begun) {
            self.now.push(letter);
            return TextCallState::Behind(wrap, begun);
        }
        match (letter, wrap) {
            (blank, _) if is_first && blank.is_whitespace() => {
                self.now.push(letter);
                TextCallState::Behind(wrap, String::new())
            }
            (',', TextCallWrapper::Fence | TextCallWrapper::Tag) if is_first => {
                self.now.push(letter);
                TextCallState::Behind(wrap, String::new())
            }
            ('{' | '[', TextCallWrapper::Fence | TextCallWrapper::Tag) if is_first => {
                self.json.push(String::new());
                self.in_json(wrap, JsonEndScanner::default(), letter)
            }
            (_, TextCallWrapper::Fence) => {
                self.release();
                self.say_letter(letter);
                TextCallState::OtherFence(String::new())
            }
            (_, TextCallWrapper::Bare | TextCallWrapper::Tag) => {
                self.release();
                self.in_line(LinePrefix::Text, letter)
            }
        }
    }

    /// The held text is complete: decides whether it is a call or text.
    fn decide(&mut self, wrap: TextCallWrapper) -> TextCallState {
        let written = self.json.iter().map(|json| calls(json, &self.offered));
        let Some(written) = written.collect::<Option<Vec<_>>>() else {
            self.release();
            return TextCallState::Line(match wrap {
                TextCallWrapper::Bare => LinePrefix::Blanks,
                TextCallWrapper::Fence | TextCallWrapper::Tag => LinePrefix::Text,
            });
        };
        self.forget();
        for (name, arguments) in written.into_iter().flatten() {
            self.writing.call(&name);
            self.writing.push_arguments(&arguments);
            self.writing.close();
        }
        self.mark_output();
        TextCallState::Line(LinePrefix::Blanks)
    }

    fn finish(&mut self) {
        if self.source.is_none() {
            return;
        }
        let state = std::mem::replace(&mut self.state, TextCallState::Line(LinePrefix::Blanks));
        if let TextCallState::Behind(wrap, _) = state {
            self.decide(wrap);
        }
        let is_blank = self.held.iter().all(|(text, _)| text.trim().is_empty());
        let became = self.source.as_ref().map(|source| source.became);
        if is_blank && became == Some(SourceTextOutput::Something) && !self.writing.is_open() {
            self.forget();
        }
        self.release();
        if self.source.as_ref().is_some_and(|source| source.became == SourceTextOutput::Nothing) {
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

    /// Releases the held text as text.
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
        self.mark_output();
    }

    fn mark_output(&mut self) {
        if let Some(source) = &mut self.source {
            source.became = SourceTextOutput::Something;
        }
    }
}

#[cfg(test)]
mod tests;
