//! Reads an answer that is JSON by the schema of [`super`]: the reply is given out as it grows, a
//! call becomes a call, and nobody sees the JSON. What is no such JSON is text as it is.

use super::super::balance::{Balance, Step};
use super::super::writing::Writing;
use super::Reply;
use super::text::{Read, Text};
use crate::delta::{Delta, Opening};

#[derive(Debug, Clone)]
pub(in crate::mode) struct Reader {
    writing: Writing,
    reply: Reply,
    /// The part of text that is being read, by the number under which it came.
    part: Option<usize>,
    state: State,
    /// What was read and led to nothing yet: it is text if it never does.
    raw: String,
    /// What came of the part, and of the object that is being read.
    came: Came,
    object: Object,
}

/// The object that is being read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Object {
    came: Came,
    name: Option<String>,
    /// That came before the name.
    arguments: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Came {
    #[default]
    Nothing,
    Words,
    Call,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// Before an object, behind one, or in what stands around.
    Between,
    /// Inside an object, before a key or behind a value.
    Object,
    Key(Text, String),
    Colon(Field),
    Value(Field),
    Reply(Text),
    RawReply(Balance),
    Name(Text, String),
    Arguments(Balance),
    Other(Balance),
    /// It is no such JSON.
    Verbatim,
    /// It was, and is no more: there is nothing more to be had from it.
    Spoilt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Reply,
    Name,
    Arguments,
    Other,
}

impl Field {
    fn of(key: &str) -> Self {
        match key {
            "reply" => Self::Reply,
            "name" => Self::Name,
            "arguments" | "parameters" => Self::Arguments,
            _ => Self::Other,
        }
    }
}

impl Reader {
    pub(super) fn new(writing: Writing, reply: Reply) -> Self {
        Self {
            writing,
            reply,
            part: None,
            state: State::Between,
            raw: String::new(),
            came: Came::Nothing,
            object: Object::default(),
        }
    }

    pub(in crate::mode) fn read(&mut self, delta: Delta) -> Vec<Delta> {
        match delta {
            Delta::Open { index, opening: Opening::Text, .. } if self.part.is_none() => {
                self.part = Some(index);
            }
            Delta::Grow { index, text, .. } if self.part == Some(index) => {
                text.chars().for_each(|letter| self.letter(letter));
            }
            Delta::Extra { index, .. } if self.part == Some(index) => {}
            Delta::Close { index } if self.part == Some(index) => self.finish(),
            Delta::End { .. } => {
                self.finish();
                self.writing.pass(delta);
            }
            other => self.writing.pass(other),
        }
        self.writing.take()
    }

    fn letter(&mut self, letter: char) {
        self.raw.push(letter);
        let state = std::mem::replace(&mut self.state, State::Verbatim);
        self.state = match state {
            State::Between => match letter {
                '{' => {
                    self.object = Object::default();
                    State::Object
                }
                // Lists, fences, and the name of the language that some put there.
                '[' | ']' | ',' | '`' | 'j' | 's' | 'o' | 'n' => State::Between,
                blank if blank.is_whitespace() => State::Between,
                _ => self.give_up(),
            },
            State::Object => match letter {
                '"' => State::Key(Text::default(), String::new()),
                '}' => self.object_ends(),
                ',' => State::Object,
                blank if blank.is_whitespace() => State::Object,
                _ => self.give_up(),
            },
            State::Key(mut text, mut key) => match text.read(letter) {
                Read::Letter(letter) => {
                    key.push(letter);
                    State::Key(text, key)
                }
                Read::Nothing => State::Key(text, key),
                Read::End => State::Colon(Field::of(&key)),
            },
            State::Colon(field) => match letter {
                ':' => State::Value(field),
                blank if blank.is_whitespace() => State::Colon(field),
                _ => self.give_up(),
            },
            State::Value(field) if letter.is_whitespace() => State::Value(field),
            State::Value(field) => self.value_begins(field, letter),
            State::Verbatim => self.give_up(),
            State::Spoilt => State::Spoilt,
            inside => self.inside(inside, letter),
        };
    }

    fn value_begins(&mut self, field: Field, letter: char) -> State {
        match (field, letter) {
            (Field::Reply, '"') if self.reply == Reply::Text => State::Reply(Text::default()),
            (Field::Reply, _) => self.inside(State::RawReply(Balance::default()), letter),
            (Field::Name, '"') => State::Name(Text::default(), String::new()),
            (Field::Arguments, _) => {
                if let Some(name) = self.object.name.take() {
                    self.call(&name);
                }
                self.inside(State::Arguments(Balance::default()), letter)
            }
            (Field::Name | Field::Other, _) => {
                self.inside(State::Other(Balance::default()), letter)
            }
        }
    }

    fn inside(&mut self, state: State, letter: char) -> State {
        match state {
            State::Reply(mut text) => match text.read(letter) {
                Read::Letter(letter) => {
                    self.say(letter);
                    State::Reply(text)
                }
                Read::Nothing => State::Reply(text),
                Read::End => {
                    self.came(Came::Words);
                    State::Object
                }
            },
            State::Name(mut text, mut name) => match text.read(letter) {
                Read::Letter(letter) => {
                    name.push(letter);
                    State::Name(text, name)
                }
                Read::Nothing => State::Name(text, name),
                Read::End => {
                    self.object.name = Some(name);
                    State::Object
                }
            },
            State::RawReply(balance) => self.raw_value(State::RawReply, balance, letter),
            State::Arguments(balance) => self.raw_value(State::Arguments, balance, letter),
            State::Other(balance) => self.raw_value(State::Other, balance, letter),
            other => other,
        }
    }

    /// A value that is taken as it stands.
    fn raw_value(&mut self, of: fn(Balance) -> State, mut balance: Balance, letter: char) -> State {
        let step = balance.read(letter);
        let state = of(balance);
        if step != Step::Behind {
            match state {
                State::RawReply(_) => self.say(letter),
                State::Arguments(_) if self.object.came == Came::Call => {
                    self.writing.argue(letter.encode_utf8(&mut [0; 4]));
                    self.raw.clear();
                }
                State::Arguments(_) => self.object.arguments.push(letter),
                _ => {}
            }
        }
        match step {
            Step::Inside => state,
            Step::Behind if letter == '}' => self.object_ends(),
            Step::Behind | Step::Last => State::Object,
        }
    }

    /// A call whose arguments came first, or not at all, is made here.
    fn object_ends(&mut self) -> State {
        if let Some(name) = self.object.name.take() {
            let arguments = std::mem::take(&mut self.object.arguments);
            self.call(&name);
            self.writing.argue(if arguments.is_empty() { "{}" } else { &arguments });
        }
        if self.object.came == Came::Nothing {
            return self.give_up();
        }
        self.raw.clear();
        self.writing.close();
        self.object = Object::default();
        State::Between
    }

    /// It is text as it is, unless something came of it already.
    fn give_up(&mut self) -> State {
        if self.object.came != Came::Nothing {
            return State::Spoilt;
        }
        let raw = std::mem::take(&mut self.raw);
        self.writing.say(&raw);
        self.came = Came::Words;
        State::Verbatim
    }

    fn finish(&mut self) {
        if self.part.take().is_none() {
            return;
        }
        let state = std::mem::replace(&mut self.state, State::Between);
        let is_around = state == State::Between && self.came != Came::Nothing;
        let raw = std::mem::take(&mut self.raw);
        if !is_around && !raw.is_empty() && self.object.came == Came::Nothing {
            self.writing.say(&raw);
        }
        self.writing.close();
        (self.came, self.object) = (Came::Nothing, Object::default());
    }

    fn call(&mut self, name: &str) {
        self.writing.call(name);
        self.came(Came::Call);
    }

    fn say(&mut self, letter: char) {
        self.writing.say(letter.encode_utf8(&mut [0; 4]));
        self.came(Came::Words);
    }

    fn came(&mut self, what: Came) {
        (self.came, self.object.came) = (what, what);
        self.raw.clear();
    }
}
