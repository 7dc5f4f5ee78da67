//! YAML as a tree in which every value knows where it stands. Bounded: depth, number of values,
//! what aliases may unfold to. Knows nothing of keys and their meaning; `read` does.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::diagnostic::{Problems, Span};
use super::syntax;

/// How deep lists and maps may nest; the config itself needs eight.
const DEEPEST: usize = 64;
/// How many values a file may hold, after aliases are unfolded.
const MOST_VALUES: usize = 100_000;

#[derive(Debug, Clone)]
pub(super) struct Node {
    /// A map or list in a map stands where its key stands.
    pub at: Span,
    pub data: Data,
}

#[derive(Debug, Clone)]
pub(super) enum Data {
    Scalar { text: String, style: Style },
    List(Vec<Node>),
    Map(Vec<Pair>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    /// In quotes, or a block: a text and nothing else.
    Quoted,
}

#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub key: String,
    pub key_at: Span,
    pub value: Node,
}

impl Node {
    /// `~`, `null` or nothing at all.
    pub(super) fn is_null(&self) -> bool {
        match &self.data {
            Data::Scalar { text, style: Style::Plain } => {
                matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL")
            }
            Data::Scalar { .. } | Data::List(_) | Data::Map(_) => false,
        }
    }

    fn values(&self) -> usize {
        1 + match &self.data {
            Data::Scalar { .. } => 0,
            Data::List(items) => items.iter().map(Self::values).sum(),
            Data::Map(pairs) => pairs.iter().map(|pair| pair.value.values()).sum(),
        }
    }

    fn depth(&self) -> usize {
        1 + match &self.data {
            Data::Scalar { .. } => 0,
            Data::List(items) => items.iter().map(Self::depth).max().unwrap_or(0),
            Data::Map(pairs) => pairs.iter().map(|pair| pair.value.depth()).max().unwrap_or(0),
        }
    }
}

/// The one document of `text`; `None` when there is nothing in it, or nothing that can be read.
pub(super) fn parse(text: &str, problems: &mut Problems) -> Option<Node> {
    let mut builder = Builder {
        problems,
        open: Vec::new(),
        anchors: HashMap::new(),
        values: 0,
        documents: 0,
        root: None,
    };
    for event in Parser::new_from_str(text) {
        let going = match event {
            Ok((event, span)) => builder.take(event, place(span)),
            Err(error) => {
                syntax::report(text, &error, builder.problems);
                Err(Stop)
            }
        };
        if going.is_err() {
            return None;
        }
    }
    builder.root
}

/// The problem was reported; reading on makes no sense.
struct Stop;

struct Builder<'a> {
    problems: &'a mut Problems,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    values: usize,
    documents: usize,
    root: Option<Node>,
}

/// A list or map whose end has not come yet.
struct Open {
    at: Span,
    anchor: usize,
    items: Items,
}

enum Items {
    List(Vec<Node>),
    Map { pairs: Vec<Pair>, merged: Vec<Node>, key: Option<(String, Span)> },
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, at: Span) -> Result<(), Stop> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.no_tag(tag.as_deref(), at)?;
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    _ => Style::Quoted,
                };
                let node = Node { at, data: Data::Scalar { text: text.into_owned(), style } };
                self.done(node, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                self.no_tag(tag.as_deref(), at)?;
                self.begin(Open { at, anchor, items: Items::List(Vec::new()) })
            }
            Event::MappingStart(anchor, tag) => {
                self.no_tag(tag.as_deref(), at)?;
                let items = Items::Map { pairs: Vec::new(), merged: Vec::new(), key: None };
                self.begin(Open { at, anchor, items })
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self.open.pop().expect("the parser pairs starts and ends");
                let anchor = open.anchor;
                let node = self.close(open);
                self.done(node, anchor)
            }
            Event::Alias(anchor) => self.alias(anchor, at),
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.problems
                        .error(at, "", "a second document begins here")
                        .help("a config is one document: take the `---` out");
                    return Err(Stop);
                }
                Ok(())
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn begin(&mut self, open: Open) -> Result<(), Stop> {
        if self.open.len() >= DEEPEST {
            return self.too_deep(open.at);
        }
        self.open.push(open);
        Ok(())
    }

    fn alias(&mut self, anchor: usize, at: Span) -> Result<(), Stop> {
        let Some(node) = self.anchors.get(&anchor) else {
            self.problems.error(at, "", "this alias stands inside what it refers to");
            return Err(Stop);
        };
        let (values, depth) = (node.values(), node.depth());
        let node = node.clone();
        if self.open.len() + depth > DEEPEST {
            return self.too_deep(at);
        }
        self.count(values - 1, at)?;
        self.done(node, 0)
    }

    /// A value is complete: it belongs to whatever is open.
    fn done(&mut self, node: Node, anchor: usize) -> Result<(), Stop> {
        self.count(1, node.at)?;
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(node),
            Some(Items::List(items)) => items.push(node),
            Some(Items::Map { pairs, merged, key }) => match key.take() {
                None => match node.data {
                    Data::Scalar { text, .. } => *key = Some((text, node.at)),
                    Data::List(_) | Data::Map(_) => {
                        self.problems.error(node.at, "", "a list or map cannot be a key");
                        return Err(Stop);
                    }
                },
                Some((name, _)) if name == "<<" => merged.push(node),
                Some((name, key_at)) => {
                    let value = beside_key(node, key_at);
                    pairs.push(Pair { key: name, key_at, value });
                }
            },
        }
        Ok(())
    }

    fn close(&mut self, open: Open) -> Node {
        let data = match open.items {
            Items::List(items) => Data::List(items),
            Items::Map { pairs, merged, .. } => Data::Map(self.pairs(pairs, merged)),
        };
        Node { at: open.at, data }
    }

    /// The pairs of one map: each key once, and what `<<` brings where the map itself is silent.
    fn pairs(&mut self, typed: Vec<Pair>, merged: Vec<Node>) -> Vec<Pair> {
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut pairs = Vec::with_capacity(typed.len());
        for pair in typed {
            match seen.get(&pair.key) {
                Some(line) => {
                    let message = format!("the key `{}` is here twice", pair.key);
                    let help = format!("it is first on line {line}; only one of them can count");
                    self.problems.error(pair.key_at, &pair.key, message).help(help);
                }
                None => {
                    seen.insert(pair.key.clone(), pair.key_at.line);
                    pairs.push(pair);
                }
            }
        }
        let sources = merged.into_iter().flat_map(|node| match node.data {
            Data::List(items) => items,
            Data::Map(_) | Data::Scalar { .. } => vec![node],
        });
        for source in sources {
            let Data::Map(more) = source.data else {
                let help = "write `<<: *name`, where `&name` marks a map";
                self.problems.error(source.at, "<<", "`<<` takes a map").help(help);
                continue;
            };
            for pair in more {
                if !seen.contains_key(&pair.key) {
                    seen.insert(pair.key.clone(), pair.key_at.line);
                    pairs.push(pair);
                }
            }
        }
        pairs
    }

    fn count(&mut self, more: usize, at: Span) -> Result<(), Stop> {
        self.values += more;
        if self.values <= MOST_VALUES {
            return Ok(());
        }
        self.problems
            .error(at, "", format!("the file holds more than {MOST_VALUES} values"))
            .help("aliases count as often as they are used");
        Err(Stop)
    }

    fn no_tag(&mut self, tag: Option<&Tag>, at: Span) -> Result<(), Stop> {
        if tag.is_none() {
            return Ok(());
        }
        self.problems
            .error(at, "", "tags such as `!!str` are not read here")
            .help("leave the tag out; quotes make a text of anything");
        Err(Stop)
    }

    fn too_deep(&mut self, at: Span) -> Result<(), Stop> {
        let message = format!("lists and maps nest deeper than {DEEPEST}");
        self.problems.error(at, "", message);
        Err(Stop)
    }
}

fn beside_key(mut node: Node, key_at: Span) -> Node {
    let is_scalar = matches!(node.data, Data::Scalar { .. });
    if !is_scalar
        || node.is_null()
            && (node.at.line, node.at.column) == (node.at.end_line, node.at.end_column)
    {
        node.at = key_at;
    }
    node
}

fn place(span: saphyr_parser::Span) -> Span {
    Span {
        line: span.start.line(),
        column: span.start.col() + 1,
        end_line: span.end.line(),
        end_column: span.end.col() + 1,
    }
}
