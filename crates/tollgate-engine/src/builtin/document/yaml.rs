//! YAML as a tree of values with lines. What only programs need (tags, anchors, several documents)
//! is refused: these files are written by people.

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::{DEEPEST, Data, MOST_KEYS, Node, Wrong, shown};

pub(crate) fn read(text: &str) -> Result<Node, Wrong> {
    let mut builder = Builder { open: Vec::new(), documents: 0, root: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let problem = format!("this is not YAML: {}", error.info());
            Wrong::at(error.marker().line(), problem)
        })?;
        builder.take(event, span.start.line())?;
    }
    builder.root.ok_or_else(|| Wrong::all("it is empty"))
}

struct Builder {
    open: Vec<Open>,
    documents: usize,
    root: Option<Node>,
}

/// A list or map whose end has not come yet.
struct Open {
    line: usize,
    items: Items,
}

enum Items {
    List(Vec<Node>),
    Map { pairs: Vec<(String, Node)>, key: Option<(String, usize)> },
}

impl Builder {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), Wrong> {
        match event {
            Event::Scalar(_, _, anchor, tag) if anchor != 0 || tag.is_some() => {
                Err(Wrong::at(line, MARKED))
            }
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag)
                if anchor != 0 || tag.is_some() =>
            {
                Err(Wrong::at(line, MARKED))
            }
            Event::Alias(_) => Err(Wrong::at(line, MARKED)),
            Event::Scalar(text, style, _, _) => {
                let is_nothing = style == ScalarStyle::Plain
                    && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let data = if is_nothing { Data::Nothing } else { Data::Scalar(text.into_owned()) };
                self.done(Node { line, data })
            }
            Event::SequenceStart(..) => self.begin(line, Items::List(Vec::new())),
            Event::MappingStart(..) => {
                self.begin(line, Items::Map { pairs: Vec::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self.open.pop().expect("the parser pairs starts and ends");
                let data = match open.items {
                    Items::List(items) => Data::List(items),
                    Items::Map { pairs, .. } => Data::Map(pairs),
                };
                self.done(Node { line: open.line, data })
            }
            Event::DocumentStart(_) => {
                self.documents += 1;
                match self.documents {
                    1 => Ok(()),
                    _ => Err(Wrong::at(line, "a second document begins here: one is read")),
                }
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn begin(&mut self, line: usize, items: Items) -> Result<(), Wrong> {
        if self.open.len() >= DEEPEST {
            return Err(Wrong::at(line, format!("lists and maps nest deeper than {DEEPEST}")));
        }
        self.open.push(Open { line, items });
        Ok(())
    }

    /// A value is complete: it belongs to whatever is open.
    fn done(&mut self, node: Node) -> Result<(), Wrong> {
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(node),
            Some(Items::List(items)) => items.push(node),
            Some(Items::Map { pairs, key }) => match (key.take(), node.data) {
                (None, Data::Scalar(name)) => {
                    if pairs.iter().any(|(known, _)| *known == name) {
                        let problem = format!("the key `{}` is here twice", shown(&name));
                        return Err(Wrong::at(node.line, problem));
                    }
                    if pairs.len() == MOST_KEYS {
                        let problem = format!("there are more than {MOST_KEYS} keys");
                        return Err(Wrong::at(node.line, problem));
                    }
                    *key = Some((name, node.line));
                }
                (None, Data::Nothing | Data::List(_) | Data::Map(_)) => {
                    return Err(Wrong::at(node.line, "a key must be a text"));
                }
                (Some((name, line)), data) => pairs.push((name, Node { line, data })),
            },
        }
        Ok(())
    }
}

const MARKED: &str = "anchors, aliases and tags are not read here; a text that begins with `&`, `*` \
    or `!` needs quotes";
