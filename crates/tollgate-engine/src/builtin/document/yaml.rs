//! YAML as a tree of values with lines. Tags, anchors and multiple documents are rejected: people
//! write these files by hand and do not need them.

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::{
    DocumentData, DocumentLineError, DocumentNode, MAX_KEYS, MAX_NESTING_DEPTH, quote_excerpt,
};

pub(crate) fn read(text: &str) -> Result<DocumentNode, DocumentLineError> {
    let mut builder = YamlTreeBuilder { open: Vec::new(), documents: 0, root: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let problem = format!("this is not YAML: {}", error.info());
            DocumentLineError::at(error.marker().line(), problem)
        })?;
        builder.take(event, span.start.line())?;
    }
    builder.root.ok_or_else(|| DocumentLineError::all("it is empty"))
}

struct YamlTreeBuilder {
    open: Vec<OpenCollection>,
    documents: usize,
    root: Option<DocumentNode>,
}

/// A list or map that is not closed yet.
struct OpenCollection {
    line: usize,
    items: CollectionItems,
}

enum CollectionItems {
    List(Vec<DocumentNode>),
    Map { pairs: Vec<(String, DocumentNode)>, key: Option<(String, usize)> },
}

impl YamlTreeBuilder {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), DocumentLineError> {
        match event {
            Event::Scalar(_, _, anchor, tag) if anchor != 0 || tag.is_some() => {
                Err(DocumentLineError::at(line, UNSUPPORTED_SYNTAX_MESSAGE))
            }
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag)
                if anchor != 0 || tag.is_some() =>
            {
                Err(DocumentLineError::at(line, UNSUPPORTED_SYNTAX_MESSAGE))
            }
            Event::Alias(_) => Err(DocumentLineError::at(line, UNSUPPORTED_SYNTAX_MESSAGE)),
            Event::Scalar(text, style, _, _) => {
                let is_nothing = style == ScalarStyle::Plain
                    && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let data = if is_nothing {
                    DocumentData::Nothing
                } else {
                    DocumentData::Scalar(text.into_owned())
                };
                self.push_value(DocumentNode { line, data })
            }
            Event::SequenceStart(..) => self.begin(line, CollectionItems::List(Vec::new())),
            Event::MappingStart(..) => {
                self.begin(line, CollectionItems::Map { pairs: Vec::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self.open.pop().expect("the parser pairs starts and ends");
                let data = match open.items {
                    CollectionItems::List(items) => DocumentData::List(items),
                    CollectionItems::Map { pairs, .. } => DocumentData::Map(pairs),
                };
                self.push_value(DocumentNode { line: open.line, data })
            }
            Event::DocumentStart(_) => {
                self.documents += 1;
                match self.documents {
                    1 => Ok(()),
                    _ => Err(DocumentLineError::at(
                        line,
                        "a second document begins here: only one is supported",
                    )),
                }
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn begin(&mut self, line: usize, items: CollectionItems) -> Result<(), DocumentLineError> {
        if self.open.len() >= MAX_NESTING_DEPTH {
            return Err(DocumentLineError::at(
                line,
                format!("lists and maps nest deeper than {MAX_NESTING_DEPTH}"),
            ));
        }
        self.open.push(OpenCollection { line, items });
        Ok(())
    }

    /// Adds a complete value to the innermost open collection.
    fn push_value(&mut self, node: DocumentNode) -> Result<(), DocumentLineError> {
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(node),
            Some(CollectionItems::List(items)) => items.push(node),
            Some(CollectionItems::Map { pairs, key }) => match (key.take(), node.data) {
                (None, DocumentData::Scalar(name)) => {
                    if pairs.iter().any(|(known, _)| *known == name) {
                        let problem = format!("duplicate key `{}`", quote_excerpt(&name));
                        return Err(DocumentLineError::at(node.line, problem));
                    }
                    if pairs.len() == MAX_KEYS {
                        let problem = format!("there are more than {MAX_KEYS} keys");
                        return Err(DocumentLineError::at(node.line, problem));
                    }
                    *key = Some((name, node.line));
                }
                (None, DocumentData::Nothing | DocumentData::List(_) | DocumentData::Map(_)) => {
                    return Err(DocumentLineError::at(node.line, "a key must be a text"));
                }
                (Some((name, line)), data) => pairs.push((name, DocumentNode { line, data })),
            },
        }
        Ok(())
    }
}

const UNSUPPORTED_SYNTAX_MESSAGE: &str = "anchors, aliases and tags are not supported; quote a \
                                          text that begins with `&`, `*` or `!`";
