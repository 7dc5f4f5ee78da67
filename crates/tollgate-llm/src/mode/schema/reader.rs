//! Decodes an answer that follows the schema of [`super`]: the reply is streamed as it grows, a
//! call becomes a call, and the JSON is hidden. Anything else is passed on as text.

use super::super::delta_writer::DeltaWriter;
use super::super::json_end::{JsonEndScanner, JsonScanStep};
use super::SchemaReplyForm;
use super::json_string::{DecodedChar, JsonStringDecoder};
use crate::delta::{PartOpening, ResponseDelta};

#[derive(Debug, Clone)]
pub(in crate::mode) struct SchemaReplyReader {
    writing: DeltaWriter,
    reply: SchemaReplyForm,
    /// The text part that is being read, by its incoming number.
    part: Option<usize>,
    state: SchemaReaderState,
    /// Text read without a result so far: emitted as text if it never has one.
    raw: String,
    /// What the part, and the current object, have produced.
    came: SchemaReplyOutput,
    object: SchemaReplyObject,
}

/// The object that is being read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SchemaReplyObject {
    came: SchemaReplyOutput,
    name: Option<String>,
    /// Arguments that arrived before the name.
    arguments: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SchemaReplyOutput {
    #[default]
    Nothing,
    Words,
    Call,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SchemaReaderState {
    /// Before an object, after one, or in surrounding text.
    Between,
    /// Inside an object, before a key or after a value.
    Object,
    Key(JsonStringDecoder, String),
    Colon(SchemaReplyField),
    Value(SchemaReplyField),
    Reply(JsonStringDecoder),
    RawReply(JsonEndScanner),
    Name(JsonStringDecoder, String),
    Arguments(JsonEndScanner),
    Other(JsonEndScanner),
    /// Not JSON of this schema.
    Verbatim,
    /// The JSON became invalid after some output: the rest is ignored.
    Spoilt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaReplyField {
    Reply,
    Name,
    Arguments,
    Other,
}

impl SchemaReplyField {
    fn of(key: &str) -> Self {
        match key {
            "reply" => Self::Reply,
            "name" => Self::Name,
            "arguments" | "parameters" => Self::Arguments,
            _ => Self::Other,
        }
    }
}

impl SchemaReplyReader {
    pub(super) fn new(writing: DeltaWriter, reply: SchemaReplyForm) -> Self {
        Self {
            writing,
            reply,
            part: None,
            state: SchemaReaderState::Between,
            raw: String::new(),
            came: SchemaReplyOutput::Nothing,
            object: SchemaReplyObject::default(),
        }
    }

    pub(in crate::mode) fn read(&mut self, delta: ResponseDelta) -> Vec<ResponseDelta> {
        match delta {
            ResponseDelta::Open { index, opening: PartOpening::Text, .. }
                if self.part.is_none() =>
            {
                self.part = Some(index);
            }
            ResponseDelta::Grow { index, text, .. } if self.part == Some(index) => {
                text.chars().for_each(|letter| self.letter(letter));
            }
            ResponseDelta::Extra { index, .. } if self.part == Some(index) => {}
            ResponseDelta::Close { index } if self.part == Some(index) => self.finish(),
            ResponseDelta::End { .. } => {
                self.finish();
                self.writing.pass(delta);
            }
            other => self.writing.pass(other),
        }
        self.writing.take()
    }

    fn letter(&mut self, letter: char) {
        self.raw.push(letter);
        let state = std::mem::replace(&mut self.state, SchemaReaderState::Verbatim);
        self.state = match state {
            SchemaReaderState::Between => match letter {
                '{' => {
                    self.object = SchemaReplyObject::default();
                    SchemaReaderState::Object
                }
                // Lists, code fences, and the language name that some models put there.
                '[' | ']' | ',' | '`' | 'j' | 's' | 'o' | 'n' => SchemaReaderState::Between,
                blank if blank.is_whitespace() => SchemaReaderState::Between,
                _ => self.give_up(),
            },
            SchemaReaderState::Object => match letter {
                '"' => SchemaReaderState::Key(JsonStringDecoder::default(), String::new()),
                '}' => self.object_ends(),
                ',' => SchemaReaderState::Object,
                blank if blank.is_whitespace() => SchemaReaderState::Object,
                _ => self.give_up(),
            },
            SchemaReaderState::Key(mut text, mut key) => match text.read(letter) {
                DecodedChar::Letter(letter) => {
                    key.push(letter);
                    SchemaReaderState::Key(text, key)
                }
                DecodedChar::Nothing => SchemaReaderState::Key(text, key),
                DecodedChar::End => SchemaReaderState::Colon(SchemaReplyField::of(&key)),
            },
            SchemaReaderState::Colon(field) => match letter {
                ':' => SchemaReaderState::Value(field),
                blank if blank.is_whitespace() => SchemaReaderState::Colon(field),
                _ => self.give_up(),
            },
            SchemaReaderState::Value(field) if letter.is_whitespace() => {
                SchemaReaderState::Value(field)
            }
            SchemaReaderState::Value(field) => self.value_begins(field, letter),
            SchemaReaderState::Verbatim => self.give_up(),
            SchemaReaderState::Spoilt => SchemaReaderState::Spoilt,
            inside => self.inside(inside, letter),
        };
    }

    fn value_begins(&mut self, field: SchemaReplyField, letter: char) -> SchemaReaderState {
        match (field, letter) {
            (SchemaReplyField::Reply, '"') if self.reply == SchemaReplyForm::Text => {
                SchemaReaderState::Reply(JsonStringDecoder::default())
            }
            (SchemaReplyField::Reply, _) => {
                self.inside(SchemaReaderState::RawReply(JsonEndScanner::default()), letter)
            }
            (SchemaReplyField::Name, '"') => {
                SchemaReaderState::Name(JsonStringDecoder::default(), String::new())
            }
            (SchemaReplyField::Arguments, _) => {
                if let Some(name) = self.object.name.take() {
                    self.call(&name);
                }
                self.inside(SchemaReaderState::Arguments(JsonEndScanner::default()), letter)
            }
            (SchemaReplyField::Name | SchemaReplyField::Other, _) => {
                self.inside(SchemaReaderState::Other(JsonEndScanner::default()), letter)
            }
        }
    }

    fn inside(&mut self, state: SchemaReaderState, letter: char) -> SchemaReaderState {
        match state {
            SchemaReaderState::Reply(mut text) => match text.read(letter) {
                DecodedChar::Letter(letter) => {
                    self.say(letter);
                    SchemaReaderState::Reply(text)
                }
                DecodedChar::Nothing => SchemaReaderState::Reply(text),
                DecodedChar::End => {
                    self.note_output(SchemaReplyOutput::Words);
                    SchemaReaderState::Object
                }
            },
            SchemaReaderState::Name(mut text, mut name) => match text.read(letter) {
                DecodedChar::Letter(letter) => {
                    name.push(letter);
                    SchemaReaderState::Name(text, name)
                }
                DecodedChar::Nothing => SchemaReaderState::Name(text, name),
                DecodedChar::End => {
                    self.object.name = Some(name);
                    SchemaReaderState::Object
                }
            },
            SchemaReaderState::RawReply(balance) => {
                self.raw_value(SchemaReaderState::RawReply, balance, letter)
            }
            SchemaReaderState::Arguments(balance) => {
                self.raw_value(SchemaReaderState::Arguments, balance, letter)
            }
            SchemaReaderState::Other(balance) => {
                self.raw_value(SchemaReaderState::Other, balance, letter)
            }
            other => other,
        }
    }

    /// A value that is copied unchanged.
    fn raw_value(
        &mut self,
        of: fn(JsonEndScanner) -> SchemaReaderState,
        mut balance: JsonEndScanner,
        letter: char,
    ) -> SchemaReaderState {
        let step = balance.read(letter);
        let state = of(balance);
        if step != JsonScanStep::Behind {
            match state {
                SchemaReaderState::RawReply(_) => self.say(letter),
                SchemaReaderState::Arguments(_) if self.object.came == SchemaReplyOutput::Call => {
                    self.writing.push_arguments(letter.encode_utf8(&mut [0; 4]));
                    self.raw.clear();
                }
                SchemaReaderState::Arguments(_) => self.object.arguments.push(letter),
                _ => {}
            }
        }
        match step {
            JsonScanStep::Inside => state,
            JsonScanStep::Behind if letter == '}' => self.object_ends(),
            JsonScanStep::Behind | JsonScanStep::Last => SchemaReaderState::Object,
        }
    }

    /// Emits a call whose arguments came first, or not at all.
    fn object_ends(&mut self) -> SchemaReaderState {
        if let Some(name) = self.object.name.take() {
            let arguments = std::mem::take(&mut self.object.arguments);
            self.call(&name);
            self.writing.push_arguments(if arguments.is_empty() { "{}" } else { &arguments });
        }
        if self.object.came == SchemaReplyOutput::Nothing {
            return self.give_up();
        }
        self.raw.clear();
        self.writing.close();
        self.object = SchemaReplyObject::default();
        SchemaReaderState::Between
    }

    /// Passes the text on unchanged, unless it has already produced output.
    fn give_up(&mut self) -> SchemaReaderState {
        if self.object.came != SchemaReplyOutput::Nothing {
            return SchemaReaderState::Spoilt;
        }
        let raw = std::mem::take(&mut self.raw);
        self.writing.say(&raw);
        self.came = SchemaReplyOutput::Words;
        SchemaReaderState::Verbatim
    }

    fn finish(&mut self) {
        if self.part.take().is_none() {
            return;
        }
        let state = std::mem::replace(&mut self.state, SchemaReaderState::Between);
        let is_around =
            state == SchemaReaderState::Between && self.came != SchemaReplyOutput::Nothing;
        let raw = std::mem::take(&mut self.raw);
        if !is_around && !raw.is_empty() && self.object.came == SchemaReplyOutput::Nothing {
            self.writing.say(&raw);
        }
        self.writing.close();
        (self.came, self.object) = (SchemaReplyOutput::Nothing, SchemaReplyObject::default());
    }

    fn call(&mut self, name: &str) {
        self.writing.call(name);
        self.note_output(SchemaReplyOutput::Call);
    }

    fn say(&mut self, letter: char) {
        self.writing.say(letter.encode_utf8(&mut [0; 4]));
        self.note_output(SchemaReplyOutput::Words);
    }

    fn note_output(&mut self, what: SchemaReplyOutput) {
        (self.came, self.object.came) = (what, what);
        self.raw.clear();
    }
}
