//! YAML as a tree with the position of every value. Limits depth, number of values, and expansion
//! of aliases. `read` knows the keys.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::diagnostic::{Problems, SourceSpan};
use super::syntax;

/// Nesting limit of lists and maps. The config itself needs eight.
const MAX_YAML_DEPTH: usize = 64;
/// Limit on the values of a file, after aliases are expanded.
const MAX_YAML_VALUES: usize = 100_000;

#[derive(Debug, Clone)]
pub(super) struct ConfigYamlNode {
    /// A map or list inside a map has the position of its key.
    pub at: SourceSpan,
    pub data: ConfigYamlData,
}

#[derive(Debug, Clone)]
pub(super) enum ConfigYamlData {
    Scalar { text: String, style: ConfigScalarStyle },
    List(Vec<ConfigYamlNode>),
    Map(Vec<ConfigYamlPair>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigScalarStyle {
    Plain,
    /// Quoted, or a block scalar: always a string.
    Quoted,
}

#[derive(Debug, Clone)]
pub(super) struct ConfigYamlPair {
    pub key: String,
    pub key_at: SourceSpan,
    pub value: ConfigYamlNode,
}

impl ConfigYamlNode {
    /// `~`, `null` or nothing at all.
    pub(super) fn is_null(&self) -> bool {
        match &self.data {
            ConfigYamlData::Scalar { text, style: ConfigScalarStyle::Plain } => {
                matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL")
            }
            ConfigYamlData::Scalar { .. } | ConfigYamlData::List(_) | ConfigYamlData::Map(_) => {
                false
            }
        }
    }

    fn values(&self) -> usize {
        1 + match &self.data {
            ConfigYamlData::Scalar { .. } => 0,
            ConfigYamlData::List(items) => items.iter().map(Self::values).sum(),
            ConfigYamlData::Map(pairs) => pairs.iter().map(|pair| pair.value.values()).sum(),
        }
    }

    fn depth(&self) -> usize {
        1 + match &self.data {
            ConfigYamlData::Scalar { .. } => 0,
            ConfigYamlData::List(items) => items.iter().map(Self::depth).max().unwrap_or(0),
            ConfigYamlData::Map(pairs) => {
                pairs.iter().map(|pair| pair.value.depth()).max().unwrap_or(0)
            }
        }
    }
}

/// The only document of `text`. `None` when it is empty or invalid.
pub(super) fn parse(text: &str, problems: &mut Problems) -> Option<ConfigYamlNode> {
    let mut builder = ConfigYamlBuilder {
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
                Err(AlreadyReportedError)
            }
        };
        if going.is_err() {
            return None;
        }
    }
    builder.root
}

/// The problem was reported. Parsing stops.
struct AlreadyReportedError;

struct ConfigYamlBuilder<'a> {
    problems: &'a mut Problems,
    open: Vec<OpenConfigNode>,
    anchors: HashMap<usize, ConfigYamlNode>,
    values: usize,
    documents: usize,
    root: Option<ConfigYamlNode>,
}

/// A list or map that is not complete yet.
struct OpenConfigNode {
    at: SourceSpan,
    anchor: usize,
    items: OpenConfigItems,
}

enum OpenConfigItems {
    List(Vec<ConfigYamlNode>),
    Map {
        pairs: Vec<ConfigYamlPair>,
        merged: Vec<ConfigYamlNode>,
        key: Option<(String, SourceSpan)>,
    },
}

impl ConfigYamlBuilder<'_> {
    fn take(&mut self, event: Event<'_>, at: SourceSpan) -> Result<(), AlreadyReportedError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.no_tag(tag.as_deref(), at)?;
                let style = match style {
                    ScalarStyle::Plain => ConfigScalarStyle::Plain,
                    _ => ConfigScalarStyle::Quoted,
                };
                let node = ConfigYamlNode {
                    at,
                    data: ConfigYamlData::Scalar { text: text.into_owned(), style },
                };
                self.finish_node(node, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                self.no_tag(tag.as_deref(), at)?;
                self.begin(OpenConfigNode { at, anchor, items: OpenConfigItems::List(Vec::new()) })
            }
            Event::MappingStart(anchor, tag) => {
                self.no_tag(tag.as_deref(), at)?;
                let items =
                    OpenConfigItems::Map { pairs: Vec::new(), merged: Vec::new(), key: None };
                self.begin(OpenConfigNode { at, anchor, items })
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self.open.pop().expect("the parser pairs starts and ends");
                let anchor = open.anchor;
                let node = self.close(open);
                self.finish_node(node, anchor)
            }
            Event::Alias(anchor) => self.alias(anchor, at),
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.problems
                        .error(at, "", "a second document begins here")
                        .help("a config is one document: remove the `---`");
                    return Err(AlreadyReportedError);
                }
                Ok(())
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn begin(&mut self, open: OpenConfigNode) -> Result<(), AlreadyReportedError> {
        if self.open.len() >= MAX_YAML_DEPTH {
            return self.too_deep(open.at);
        }
        self.open.push(open);
        Ok(())
    }

    fn alias(&mut self, anchor: usize, at: SourceSpan) -> Result<(), AlreadyReportedError> {
        let Some(node) = self.anchors.get(&anchor) else {
            self.problems.error(at, "", "this alias is recursive");
            return Err(AlreadyReportedError);
        };
        let values = node.values();
        let depth = node.depth();
        let node = node.clone();
        if self.open.len() + depth > MAX_YAML_DEPTH {
            return self.too_deep(at);
        }
        self.count(values - 1, at)?;
        self.finish_node(node, 0)
    }

    /// Adds a complete value to the open collection.
    fn finish_node(
        &mut self,
        node: ConfigYamlNode,
        anchor: usize,
    ) -> Result<(), AlreadyReportedError> {
        self.count(1, node.at)?;
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(node),
            Some(OpenConfigItems::List(items)) => items.push(node),
            Some(OpenConfigItems::Map { pairs, merged, key }) => match key.take() {
                None => match node.data {
                    ConfigYamlData::Scalar { text, .. } => *key = Some((text, node.at)),
                    ConfigYamlData::List(_) | ConfigYamlData::Map(_) => {
                        self.problems.error(node.at, "", "a list or map cannot be a key");
                        return Err(AlreadyReportedError);
                    }
                },
                Some((name, _)) if name == "<<" => merged.push(node),
                Some((name, key_at)) => {
                    let value = beside_key(node, key_at);
                    pairs.push(ConfigYamlPair { key: name, key_at, value });
                }
            },
        }
        Ok(())
    }

    fn close(&mut self, open: OpenConfigNode) -> ConfigYamlNode {
        let data = match open.items {
            OpenConfigItems::List(items) => ConfigYamlData::List(items),
            OpenConfigItems::Map { pairs, merged, .. } => {
                ConfigYamlData::Map(self.pairs(pairs, merged))
            }
        };
        ConfigYamlNode { at: open.at, data }
    }

    /// The pairs of one map: unique keys, plus the merged pairs of `<<` for keys that the map
    /// lacks.
    fn pairs(
        &mut self,
        typed: Vec<ConfigYamlPair>,
        merged: Vec<ConfigYamlNode>,
    ) -> Vec<ConfigYamlPair> {
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut pairs = Vec::with_capacity(typed.len());
        for pair in typed {
            match seen.get(&pair.key) {
                Some(line) => {
                    let message = format!("duplicate key `{}`", pair.key);
                    let help = format!("it is first on line {line}; remove one of them");
                    self.problems.error(pair.key_at, &pair.key, message).help(help);
                }
                None => {
                    seen.insert(pair.key.clone(), pair.key_at.line);
                    pairs.push(pair);
                }
            }
        }
        let sources = merged.into_iter().flat_map(|node| match node.data {
            ConfigYamlData::List(items) => items,
            ConfigYamlData::Map(_) | ConfigYamlData::Scalar { .. } => vec![node],
        });
        for source in sources {
            let ConfigYamlData::Map(more) = source.data else {
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

    fn count(&mut self, more: usize, at: SourceSpan) -> Result<(), AlreadyReportedError> {
        self.values += more;
        if self.values <= MAX_YAML_VALUES {
            return Ok(());
        }
        self.problems
            .error(at, "", format!("the file contains more than {MAX_YAML_VALUES} values"))
            .help("aliases count as often as they are used");
        Err(AlreadyReportedError)
    }

    fn no_tag(&mut self, tag: Option<&Tag>, at: SourceSpan) -> Result<(), AlreadyReportedError> {
        if tag.is_none() {
            return Ok(());
        }
        self.problems
            .error(at, "", "tags such as `!!str` are not supported")
            .help("remove the tag; quote the value to make it a text");
        Err(AlreadyReportedError)
    }

    fn too_deep(&mut self, at: SourceSpan) -> Result<(), AlreadyReportedError> {
        let message = format!("lists and maps nest deeper than {MAX_YAML_DEPTH}");
        self.problems.error(at, "", message);
        Err(AlreadyReportedError)
    }
}

fn beside_key(mut node: ConfigYamlNode, key_at: SourceSpan) -> ConfigYamlNode {
    let is_scalar = matches!(node.data, ConfigYamlData::Scalar { .. });
    if !is_scalar
        || node.is_null()
            && (node.at.line, node.at.column) == (node.at.end_line, node.at.end_column)
    {
        node.at = key_at;
    }
    node
}

fn place(span: saphyr_parser::Span) -> SourceSpan {
    SourceSpan {
        line: span.start.line(),
        column: span.start.col() + 1,
        end_line: span.end.line(),
        end_column: span.end.col() + 1,
    }
}
