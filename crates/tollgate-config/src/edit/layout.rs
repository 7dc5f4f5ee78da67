//! Layout of a YAML text: byte positions of all nodes, which edits need. Only for texts that
//! `yaml_tree` could parse: it enforces the limits.

use saphyr_parser::{Event, Parser, ScalarStyle};

#[derive(Debug, Clone)]
pub(crate) struct LayoutNode {
    /// First byte. For a block, that of its first key or dash.
    pub from: usize,
    /// Behind the last non-blank byte.
    pub to: usize,
    /// 0: no anchor.
    pub anchor: usize,
    pub shape: LayoutShape,
}

#[derive(Debug, Clone)]
pub(crate) enum LayoutShape {
    /// The value, unquoted and unescaped.
    Scalar(String),
    /// Refers to the node with this anchor.
    Alias(usize),
    List(LayoutForm, Vec<LayoutNode>),
    Map(LayoutForm, Vec<LayoutPair>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LayoutForm {
    /// By lines and indentation.
    Block,
    /// In brackets or braces.
    Flow,
}

#[derive(Debug, Clone)]
pub(crate) struct LayoutPair {
    pub key: String,
    pub from: usize,
    /// Position behind the colon, or behind the key if there is none.
    pub colon: usize,
    pub value: LayoutNode,
}

impl LayoutPair {
    /// Position behind its last byte.
    pub(crate) fn to(&self) -> usize {
        self.value.to.max(self.colon)
    }
}

impl LayoutNode {
    pub(crate) fn pair(&self, key: &str) -> Option<&LayoutPair> {
        match &self.shape {
            LayoutShape::Map(_, pairs) => pairs.iter().find(|pair| pair.key == key),
            LayoutShape::Scalar(_) | LayoutShape::Alias(_) | LayoutShape::List(..) => None,
        }
    }

    /// Nothing was written there.
    pub(crate) fn is_empty(&self) -> bool {
        self.from == self.to
    }
}

/// The only document of `text`. `None` when it is empty.
pub(crate) fn parse(text: &str) -> Option<LayoutNode> {
    let mut builder = LayoutBuilder { text, offsets: offsets(text), open: Vec::new(), root: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.ok()?;
        builder.take(event, span.start.index(), span.end.index());
    }
    builder.root
}

/// Byte offset of every character, and of the end: the parser counts characters.
fn offsets(text: &str) -> Vec<usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()]).collect()
}

/// What YAML counts as blank. Other white space, such as a form feed, is part of a plain scalar.
fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n')
}

struct LayoutBuilder<'a> {
    text: &'a str,
    offsets: Vec<usize>,
    open: Vec<OpenLayoutNode>,
    root: Option<LayoutNode>,
}

struct OpenLayoutNode {
    from: usize,
    anchor: usize,
    form: LayoutForm,
    items: OpenLayoutItems,
}

enum OpenLayoutItems {
    List(Vec<LayoutNode>),
    Map(Vec<LayoutPair>, Option<(String, usize, usize)>),
}

impl LayoutBuilder<'_> {
    fn take(&mut self, event: Event<'_>, start: usize, end: usize) {
        let start = self.byte(start);
        let end = self.byte(end);
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let start = self.past_anchor(start, anchor);
                let to = match style {
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                        self.end_of_quoted(start)
                    }
                    _ => start + self.text[start..end.max(start)].trim_end_matches(is_blank).len(),
                };
                let is_bare = style == ScalarStyle::Plain && text.is_empty();
                let (from, to) = if is_bare { (start, start) } else { (start, to) };
                self.finish_node(LayoutNode {
                    from,
                    to,
                    anchor,
                    shape: LayoutShape::Scalar(text.into_owned()),
                });
            }
            Event::Alias(anchor) => {
                let to = start + self.text[start..end].trim_end_matches(is_blank).len();
                self.finish_node(LayoutNode {
                    from: start,
                    to,
                    anchor: 0,
                    shape: LayoutShape::Alias(anchor),
                });
            }
            Event::SequenceStart(anchor, _) => {
                let (from, form) = self.collection_start(self.past_anchor(start, anchor), '[');
                self.open.push(OpenLayoutNode {
                    from,
                    anchor,
                    form,
                    items: OpenLayoutItems::List(Vec::new()),
                });
            }
            Event::MappingStart(anchor, _) => {
                let (from, form) = self.collection_start(self.past_anchor(start, anchor), '{');
                self.open.push(OpenLayoutNode {
                    from,
                    anchor,
                    form,
                    items: OpenLayoutItems::Map(Vec::new(), None),
                });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(start),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
    }

    /// The reported start of an anchored node includes its anchor.
    fn past_anchor(&self, start: usize, anchor: usize) -> usize {
        if anchor == 0 || !self.text[start..].starts_with('&') {
            return start;
        }
        let word = self.text[start..].find(is_blank).unwrap_or(0);
        let rest = &self.text[start + word..];
        start + word + (rest.len() - rest.trim_start_matches(is_blank).len())
    }

    /// Position behind the closing quote: the parser includes blanks and comments that follow it.
    fn end_of_quoted(&self, start: usize) -> usize {
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

    fn collection_start(&self, from: usize, bracket: char) -> (usize, LayoutForm) {
        if self.text[from..].starts_with(bracket) {
            (from, LayoutForm::Flow)
        } else {
            (from, LayoutForm::Block)
        }
    }

    /// A bracket is one byte. The reported end includes comments behind it.
    fn close(&mut self, bracket: usize) {
        let Some(open) = self.open.pop() else { return };
        let (last, shape) = match open.items {
            OpenLayoutItems::List(items) => {
                (items.last().map(|it| it.to), LayoutShape::List(open.form, items))
            }
            OpenLayoutItems::Map(pairs, _) => {
                (pairs.last().map(LayoutPair::to), LayoutShape::Map(open.form, pairs))
            }
        };
        let to = match open.form {
            LayoutForm::Flow => (bracket + 1).min(self.text.len()),
            LayoutForm::Block => last.unwrap_or(open.from),
        };
        self.finish_node(LayoutNode { from: open.from, to, anchor: open.anchor, shape });
    }

    fn finish_node(&mut self, mut node: LayoutNode) {
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(node),
            Some(OpenLayoutItems::List(items)) => items.push(node),
            Some(OpenLayoutItems::Map(pairs, key)) => match key.take() {
                None => {
                    let text = match node.shape {
                        LayoutShape::Scalar(text) => text,
                        LayoutShape::Alias(_) | LayoutShape::List(..) | LayoutShape::Map(..) => {
                            String::new()
                        }
                    };
                    *key = Some((text, node.from, node.to));
                }
                Some((key, from, to)) => {
                    let rest = &self.text[to..];
                    let blank = rest.len() - rest.trim_start_matches(is_blank).len();
                    let colon = if rest[blank..].starts_with(':') { to + blank + 1 } else { to };
                    if node.is_empty() {
                        (node.from, node.to) = (colon, colon);
                    }
                    pairs.push(LayoutPair { key, from, colon, value: node });
                }
            },
        }
    }

    fn byte(&self, character: usize) -> usize {
        self.offsets.get(character).copied().unwrap_or(self.text.len())
    }
}
