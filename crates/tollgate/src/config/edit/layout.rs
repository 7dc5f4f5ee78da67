//! Where everything of a YAML text stands, in bytes: what a change of the text needs to know and
//! a reader of its values does not. Only for texts that `tree` could read: it has the bounds.

use saphyr_parser::{Event, Parser, ScalarStyle};

#[derive(Debug, Clone)]
pub(in crate::config) struct Node {
    /// The first byte; of a block, that of its first key or dash.
    pub from: usize,
    /// Behind the last byte that is not blank.
    pub to: usize,
    /// 0: nobody refers to it.
    pub anchor: usize,
    pub shape: Shape,
}

#[derive(Debug, Clone)]
pub(in crate::config) enum Shape {
    /// What it says, quotes and escapes undone.
    Scalar(String),
    /// Stands for the node with this anchor.
    Alias(usize),
    List(Form, Vec<Node>),
    Map(Form, Vec<Pair>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) enum Form {
    /// By lines and indentation.
    Block,
    /// In brackets or braces.
    Flow,
}

#[derive(Debug, Clone)]
pub(in crate::config) struct Pair {
    pub key: String,
    pub from: usize,
    /// Behind the colon; behind the key where there is none.
    pub colon: usize,
    pub value: Node,
}

impl Pair {
    /// Behind the last byte of it.
    pub(in crate::config) fn to(&self) -> usize {
        self.value.to.max(self.colon)
    }
}

impl Node {
    pub(in crate::config) fn pair(&self, key: &str) -> Option<&Pair> {
        match &self.shape {
            Shape::Map(_, pairs) => pairs.iter().find(|pair| pair.key == key),
            Shape::Scalar(_) | Shape::Alias(_) | Shape::List(..) => None,
        }
    }

    /// Nothing was typed there.
    pub(in crate::config) fn is_empty(&self) -> bool {
        self.from == self.to
    }
}

/// The one document of `text`; `None` when there is nothing in it.
pub(in crate::config) fn parse(text: &str) -> Option<Node> {
    let mut builder = Builder { text, offsets: offsets(text), open: Vec::new(), root: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.ok()?;
        builder.take(event, (span.start.index(), span.end.index()));
    }
    builder.root
}

/// The place of every character in bytes, and that of the end: the parser counts characters.
fn offsets(text: &str) -> Vec<usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()]).collect()
}

struct Builder<'a> {
    text: &'a str,
    offsets: Vec<usize>,
    open: Vec<Open>,
    root: Option<Node>,
}

struct Open {
    from: usize,
    anchor: usize,
    form: Form,
    items: Items,
}

enum Items {
    List(Vec<Node>),
    Map(Vec<Pair>, Option<(String, usize, usize)>),
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, (start, end): (usize, usize)) {
        let (start, end) = (self.byte(start), self.byte(end));
        match event {
            Event::Scalar(said, style, anchor, _) => {
                let start = self.past_anchor(start, anchor);
                let to = match style {
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => self.unquoted(start),
                    _ => start + self.text[start..end.max(start)].trim_end().len(),
                };
                let is_bare = style == ScalarStyle::Plain && said.is_empty();
                let (from, to) = if is_bare { (start, start) } else { (start, to) };
                self.done(Node { from, to, anchor, shape: Shape::Scalar(said.into_owned()) });
            }
            Event::Alias(anchor) => {
                let to = start + self.text[start..end].trim_end().len();
                self.done(Node { from: start, to, anchor: 0, shape: Shape::Alias(anchor) });
            }
            Event::SequenceStart(anchor, _) => {
                let (from, form) = self.opened(self.past_anchor(start, anchor), '[');
                self.open.push(Open { from, anchor, form, items: Items::List(Vec::new()) });
            }
            Event::MappingStart(anchor, _) => {
                let (from, form) = self.opened(self.past_anchor(start, anchor), '{');
                self.open.push(Open { from, anchor, form, items: Items::Map(Vec::new(), None) });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(start),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
    }

    /// What is anchored is said to begin with its anchor.
    fn past_anchor(&self, start: usize, anchor: usize) -> usize {
        if anchor == 0 || !self.text[start..].starts_with('&') {
            return start;
        }
        let word = self.text[start..].find(char::is_whitespace).unwrap_or(0);
        let rest = &self.text[start + word..];
        start + word + (rest.len() - rest.trim_start().len())
    }

    /// Behind the closing quote: the parser takes in blanks and comments that follow it.
    fn unquoted(&self, start: usize) -> usize {
        let mut rest = self.text[start..].char_indices();
        let quote = rest.next().map_or('"', |(_, quote)| quote);
        while let Some((at, c)) = rest.next() {
            if c == '\\' && quote == '"' {
                rest.next();
            } else if c == quote {
                let is_doubled = quote == '\'' && self.text[start + at + 1..].starts_with('\'');
                if !is_doubled {
                    return start + at + 1;
                }
                rest.next();
            }
        }
        self.text.len()
    }

    fn opened(&self, from: usize, bracket: char) -> (usize, Form) {
        match self.text[from..].starts_with(bracket) {
            true => (from, Form::Flow),
            false => (from, Form::Block),
        }
    }

    /// A bracket is one byte; what the parser says of the end takes in comments behind it.
    fn close(&mut self, bracket: usize) {
        let Some(open) = self.open.pop() else { return };
        let (last, shape) = match open.items {
            Items::List(items) => (items.last().map(|it| it.to), Shape::List(open.form, items)),
            Items::Map(pairs, _) => (pairs.last().map(Pair::to), Shape::Map(open.form, pairs)),
        };
        let to = match open.form {
            Form::Flow => (bracket + 1).min(self.text.len()),
            Form::Block => last.unwrap_or(open.from),
        };
        self.done(Node { from: open.from, to, anchor: open.anchor, shape });
    }

    fn done(&mut self, mut node: Node) {
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(node),
            Some(Items::List(items)) => items.push(node),
            Some(Items::Map(pairs, key)) => match key.take() {
                None => {
                    let said = match node.shape {
                        Shape::Scalar(said) => said,
                        Shape::Alias(_) | Shape::List(..) | Shape::Map(..) => String::new(),
                    };
                    *key = Some((said, node.from, node.to));
                }
                Some((key, from, to)) => {
                    let rest = &self.text[to..];
                    let blank = rest.len() - rest.trim_start().len();
                    let colon = if rest[blank..].starts_with(':') { to + blank + 1 } else { to };
                    if node.is_empty() {
                        (node.from, node.to) = (colon, colon);
                    }
                    pairs.push(Pair { key, from, colon, value: node });
                }
            },
        }
    }

    fn byte(&self, character: usize) -> usize {
        self.offsets.get(character).copied().unwrap_or(self.text.len())
    }
}
