//! Computes the text splices of an edit from the layout of the text. The caller parses the result
//! again, so a shape that is not supported is refused there.

use std::ops::Range;

use serde_json::{Map, Value};

use super::layout::{LayoutForm, LayoutNode, LayoutPair, LayoutShape};
use super::yaml::{self, QuoteStyle, YamlStyle};

/// A range to remove, and the text to insert there.
pub(super) type TextSplice = (Range<usize>, String);

/// Why an edit cannot be made in this text.
pub(super) struct UnsupportedYamlError(pub String);

pub(super) struct YamlEditor<'a> {
    text: &'a str,
    root: Option<&'a LayoutNode>,
    /// The section of named entries that is edited.
    section: &'static str,
    line: &'static str,
}

impl<'a> YamlEditor<'a> {
    pub(super) fn new(text: &'a str, root: Option<&'a LayoutNode>, section: &'static str) -> Self {
        let line = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { text, root, section, line }
    }

    pub(super) fn add(
        &self,
        name: &str,
        server: &Map<String, Value>,
    ) -> Result<TextSplice, UnsupportedYamlError> {
        let Some(root) = self.root.filter(|root| !root.is_empty()) else {
            return Ok(self.at_the_end(name, server));
        };
        let Some(pair) = root.pair(self.section) else {
            return match root.shape {
                LayoutShape::Map(LayoutForm::Block, _) => Ok(self.at_the_end(name, server)),
                _ => self.within_braces(root, self.section, &entry(name, server)),
            };
        };
        let servers = &pair.value;
        match &servers.shape {
            LayoutShape::Map(LayoutForm::Block, pairs) if !pairs.is_empty() => {
                Ok(self.beside(pairs, name, server))
            }
            LayoutShape::List(LayoutForm::Block, items) if !items.is_empty() => {
                self.beside_items(items, name, server)
            }
            LayoutShape::Map(LayoutForm::Flow, pairs) if !pairs.is_empty() => {
                self.within_braces(servers, name, &Value::Object(server.clone()))
            }
            LayoutShape::List(LayoutForm::Flow, items) if !items.is_empty() => {
                let at = items.last().map_or(servers.to, |item| item.to);
                let item = yaml::flow(&with_name(name, server), self.quotes(at, servers));
                Ok((at..at, format!(", {item}")))
            }
            LayoutShape::Alias(_) => {
                Err(UnsupportedYamlError(format!("`{}` is an alias", self.section)))
            }
            _ => self.where_nothing_is(root, pair, name, server),
        }
    }

    pub(super) fn remove(&self, name: &str) -> Result<TextSplice, UnsupportedYamlError> {
        let servers = self.root.and_then(|root| root.pair(self.section)).map(|pair| &pair.value);
        match servers.map(|servers| &servers.shape) {
            Some(LayoutShape::Map(form, pairs)) => self.without(*form, pairs, name),
            Some(LayoutShape::List(form, items)) => {
                let at = items.iter().position(|item| is_called(item, name));
                let at = at.ok_or_else(|| odd_server(name))?;
                match form {
                    LayoutForm::Block => {
                        let dash = self.dash(&items[at]).ok_or_else(|| odd_server(name))?;
                        Ok((self.lines(dash, items[at].to), String::new()))
                    }
                    LayoutForm::Flow => {
                        let places: Vec<_> = items.iter().map(|it| it.from..it.to).collect();
                        Ok((apart(self.text, &places, at), String::new()))
                    }
                }
            }
            _ => Err(odd_server(name)),
        }
    }

    /// `None` removes the key.
    pub(super) fn set(
        &self,
        name: &str,
        key: &str,
        to: Option<&Value>,
    ) -> Result<TextSplice, UnsupportedYamlError> {
        let server = self.server(name)?;
        let LayoutShape::Map(form, pairs) = &server.1.shape else {
            return match (to, server.1.is_empty(), server.0) {
                (Some(value), true, Some(pair)) => Ok(self.first_key(pair, key, value)),
                _ => Err(UnsupportedYamlError(format!(
                    "`{}.{name}` is not written as a map",
                    self.section
                ))),
            };
        };
        let typed = pairs.iter().find(|pair| pair.key == key);
        match (typed, to) {
            (Some(_), None) => self.without(*form, pairs, key),
            (Some(typed), Some(value)) => match self.longer(&typed.value, value) {
                Some(splice) => Ok(splice),
                None => self.replace_value(typed, *form, value),
            },
            (None, Some(value)) if *form == LayoutForm::Flow => {
                self.within_braces(server.1, key, value)
            }
            (None, Some(value)) => {
                let last = pairs.last().ok_or_else(|| odd_server(name))?;
                let column = self.column(last.from);
                let style = YamlStyle { step: self.step(), line: self.line };
                let end = self.line_end(last.to());
                let pair = yaml::pair(key, value, column, style);
                Ok(self.after_line(end, &format!("{:column$}{pair}", "")))
            }
            (None, None) => Err(UnsupportedYamlError(format!(
                "`{}.{name}` has no `{key}` of its own",
                self.section
            ))),
        }
    }

    /// The entry of a server, with its key if it has one.
    fn server(
        &self,
        name: &str,
    ) -> Result<(Option<&'a LayoutPair>, &'a LayoutNode), UnsupportedYamlError> {
        let servers = self.root.and_then(|root| root.pair(self.section)).map(|pair| &pair.value);
        let found = match servers.map(|servers| &servers.shape) {
            Some(LayoutShape::Map(_, pairs)) => {
                pairs.iter().find(|pair| pair.key == name).map(|pair| (Some(pair), &pair.value))
            }
            Some(LayoutShape::List(_, items)) => {
                items.iter().find(|item| is_called(item, name)).map(|item| (None, item))
            }
            _ => None,
        };
        found.ok_or_else(|| odd_server(name))
    }

    /// Adds a new section at the end.
    fn at_the_end(&self, name: &str, server: &Map<String, Value>) -> TextSplice {
        let style = YamlStyle { step: 2, line: self.line };
        let servers = Map::from_iter([(self.section.to_owned(), entry(name, server))]);
        let block = yaml::block(&servers, 0, style);
        let text = self.text;
        let line = self.line;
        let gap = match text {
            "" => String::new(),
            text if text.ends_with("\n\n") || text.ends_with("\n\r\n") => String::new(),
            text if text.ends_with('\n') => line.to_owned(),
            _ => format!("{line}{line}"),
        };
        (text.len()..text.len(), format!("{gap}{block}{line}"))
    }

    /// Adds an entry below the last server, in the form of the others.
    fn beside(&self, pairs: &[LayoutPair], name: &str, server: &Map<String, Value>) -> TextSplice {
        let first = &pairs[0];
        let last = &pairs[pairs.len() - 1];
        let column = self.column(first.from);
        let inner = pairs.iter().find_map(|pair| match &pair.value.shape {
            LayoutShape::Map(LayoutForm::Block, inner) => {
                inner.first().map(|it| self.column(it.from))
            }
            _ => None,
        });
        let step = inner.map_or_else(|| self.step(), |inner| inner.saturating_sub(column).max(1));
        let style = YamlStyle { step, line: self.line };
        let pair = yaml::pair(name, &Value::Object(server.clone()), column, style);
        let gap = if pairs.len() > 1 && self.is_after_blank(last.from) { self.line } else { "" };
        let end = self.past_comments(self.line_end(last.to()), column);
        self.after_line(end, &format!("{gap}{:column$}{pair}", ""))
    }

    fn beside_items(
        &self,
        items: &[LayoutNode],
        name: &str,
        server: &Map<String, Value>,
    ) -> Result<TextSplice, UnsupportedYamlError> {
        let last = &items[items.len() - 1];
        let odd = || {
            UnsupportedYamlError(format!("the list of `{}` is not one entry a line", self.section))
        };
        let dash = self.dash(last).ok_or_else(odd)?;
        let column = self.column(dash);
        let inside = (last.from - dash).max(2);
        let style = YamlStyle { step: self.step(), line: self.line };
        let Value::Object(named) = with_name(name, server) else { return Err(odd()) };
        let block = yaml::block(&named, column + inside, style);
        let block = block.trim_start_matches(' ');
        let gap = if items.len() > 1 && self.is_after_blank(dash) { self.line } else { "" };
        let end = self.past_comments(self.line_end(last.to), column);
        let pad = inside - 1;
        Ok(self.after_line(end, &format!("{gap}{:column$}-{:pad$}{block}", "", "")))
    }

    /// Adds to a section that is empty, or has empty braces.
    fn where_nothing_is(
        &self,
        root: &LayoutNode,
        pair: &LayoutPair,
        name: &str,
        server: &Map<String, Value>,
    ) -> Result<TextSplice, UnsupportedYamlError> {
        if matches!(root.shape, LayoutShape::Map(LayoutForm::Flow, _)) {
            let at = pair.colon..pair.to();
            let servers = yaml::flow(&entry(name, server), self.quotes(pair.from, root));
            return Ok((at, format!(" {servers}")));
        }
        let typed = &self.text[pair.colon..pair.to()];
        if typed.contains('\n') {
            return Err(UnsupportedYamlError(format!(
                "`{}` is empty, over several lines",
                self.section
            )));
        }
        let column = self.column(pair.from) + 2;
        let style = YamlStyle { step: 2, line: self.line };
        let Value::Object(servers) = entry(name, server) else { return Err(odd_server(name)) };
        let block = yaml::block(&servers, column, style);
        // A comment behind it stays on its line. Indented comments below it stay above the new
        // entry.
        let end = self.line_end(pair.to());
        let stored = &self.text[pair.to()..end];
        let below = self.past_comments(end, column - 1);
        let rest = &self.text[end..below];
        let line = if rest.ends_with('\n') || rest.is_empty() && stored.ends_with('\n') {
            ""
        } else {
            self.line
        };
        Ok((pair.colon..below, format!("{stored}{rest}{line}{block}{}", self.line)))
    }

    /// Adds behind the last pair of a map in braces.
    fn within_braces(
        &self,
        map: &LayoutNode,
        key: &str,
        value: &Value,
    ) -> Result<TextSplice, UnsupportedYamlError> {
        let LayoutShape::Map(LayoutForm::Flow, pairs) = &map.shape else {
            return Err(UnsupportedYamlError("the file is not a map".to_owned()));
        };
        match pairs.last() {
            Some(last) => {
                let pair = yaml::flow_pair(key, value, self.quotes(last.from, map));
                Ok((last.to()..last.to(), format!(", {pair}")))
            }
            None => {
                let pair = yaml::flow_pair(key, value, QuoteStyle::WhereNeeded);
                Ok((map.from + 1..map.from + 1, format!(" {pair} ")))
            }
        }
    }

    /// Adds the first key of a server.
    fn first_key(&self, pair: &LayoutPair, key: &str, value: &Value) -> TextSplice {
        let column = self.column(pair.from) + self.step();
        let style = YamlStyle { step: self.step(), line: self.line };
        let end = self.line_end(pair.to());
        let pair = yaml::pair(key, value, column, style);
        self.after_line(end, &format!("{:column$}{pair}", ""))
    }

    /// If a list only gets longer at its end, the existing items are kept as typed.
    fn longer(&self, typed: &LayoutNode, requested: &Value) -> Option<TextSplice> {
        let (LayoutShape::List(form, items), Value::Array(requested)) = (&typed.shape, requested)
        else {
            return None;
        };
        let last = items.last()?;
        let more = requested.get(items.len()..).filter(|more| !more.is_empty())?;
        let is_same = |(item, requested): (&LayoutNode, &Value)| matches!((&item.shape, requested), (LayoutShape::Scalar(said), Value::String(requested)) if said == requested);
        if !items.iter().zip(requested).all(is_same) {
            return None;
        }
        let more = more.iter().map(|item| yaml::flow(item, QuoteStyle::Always));
        match form {
            LayoutForm::Flow => {
                Some((last.to..last.to, more.map(|item| format!(", {item}")).collect()))
            }
            LayoutForm::Block => {
                let column = self.column(self.dash(last)?);
                let lines: Vec<String> =
                    more.map(|item| format!("{:column$}- {item}", "")).collect();
                let end = self.line_end(last.to);
                Some(self.after_line(end, &lines.join(self.line)))
            }
        }
    }

    fn replace_value(
        &self,
        typed: &LayoutPair,
        form: LayoutForm,
        value: &Value,
    ) -> Result<TextSplice, UnsupportedYamlError> {
        let old = &self.text[typed.colon..typed.to()];
        let is_comment = |line: &str| line.trim_start().starts_with('#') || line.contains(" #");
        // A comment behind a one-line value is not part of it.
        if old.contains('\n') && old.lines().any(is_comment) {
            return Err(UnsupportedYamlError(format!("comments in `{}` would be lost", typed.key)));
        }
        let column = self.column(typed.from);
        let style = YamlStyle { step: self.step(), line: self.line };
        let written = match form {
            LayoutForm::Block => yaml::pair(&typed.key, value, column, style),
            LayoutForm::Flow => yaml::flow_pair(&typed.key, value, QuoteStyle::WhereNeeded),
        };
        Ok((typed.from..typed.to(), written))
    }

    /// Removes a pair from a map.
    fn without(
        &self,
        form: LayoutForm,
        pairs: &[LayoutPair],
        key: &str,
    ) -> Result<TextSplice, UnsupportedYamlError> {
        let at = pairs.iter().position(|pair| pair.key == key);
        let at = at.ok_or_else(|| {
            UnsupportedYamlError(format!("`{key}` is not at the expected position"))
        })?;
        let pair = &pairs[at];
        if form == LayoutForm::Flow {
            let places: Vec<_> = pairs.iter().map(|pair| pair.from..pair.to()).collect();
            return Ok((apart(self.text, &places, at), String::new()));
        }
        let before = self.text[..pair.from].rsplit('\n').next().unwrap_or_default();
        if before.trim().is_empty() {
            return Ok((self.lines(pair.from, pair.to()), String::new()));
        }
        // Behind a dash, the next key moves up to it.
        let next = pairs
            .get(at + 1)
            .ok_or_else(|| UnsupportedYamlError(format!("`{key}` has no value")))?;
        Ok((pair.from..next.from, String::new()))
    }

    /// Inserts behind the line that ends at `end`.
    fn after_line(&self, end: usize, lines: &str) -> TextSplice {
        if self.text[..end].ends_with('\n') {
            (end..end, format!("{lines}{}", self.line))
        } else {
            (end..end, format!("{}{lines}{}", self.line, self.line))
        }
    }

    /// The whole lines from one position to another.
    fn lines(&self, from: usize, to: usize) -> Range<usize> {
        let start = self.text[..from].rfind('\n').map_or(0, |at| at + 1);
        start..self.line_end(to)
    }

    fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |end| at + end + 1)
    }

    /// Comments indented at least to `column` belong to the text above them.
    fn past_comments(&self, mut end: usize, column: usize) -> usize {
        let mut after = end;
        while after < self.text.len() {
            let next = self.line_end(after);
            let line = &self.text[after..next];
            let bare = line.trim_start_matches(' ');
            if bare.starts_with('#') && line.len() - bare.len() >= column.max(1) {
                end = next;
            } else if !line.trim().is_empty() {
                break;
            }
            after = next;
        }
        end
    }

    fn is_after_blank(&self, at: usize) -> bool {
        let start = self.text[..at].rfind('\n').map_or(0, |at| at + 1);
        let before = self.text[..start].lines().rev();
        let above = before.map(str::trim).find(|line| !line.starts_with('#'));
        above.is_some_and(str::is_empty)
    }

    /// Number of characters before it on its line.
    fn column(&self, at: usize) -> usize {
        let start = self.text[..at].rfind('\n').map_or(0, |at| at + 1);
        self.text[start..at].chars().count()
    }

    /// Indentation of the file, taken from its first nested block.
    fn step(&self) -> usize {
        let nested = |node: &LayoutNode| match &node.shape {
            LayoutShape::Map(LayoutForm::Block, pairs) => {
                pairs.iter().find_map(|pair| match &pair.value.shape {
                    LayoutShape::Map(LayoutForm::Block, inner) => {
                        inner.first().map(|it| self.column(it.from))
                    }
                    _ => None,
                })
            }
            _ => None,
        };
        self.root.and_then(nested).filter(|step| *step > 0).unwrap_or(2)
    }

    /// The dash of an item in a block list.
    fn dash(&self, item: &LayoutNode) -> Option<usize> {
        let before = self.text[..item.from].trim_end_matches([' ', '\t']);
        before.ends_with('-').then(|| before.len() - 1)
    }

    /// Keys are quoted if the file quotes its keys, as JSON does.
    fn quotes(&self, at: usize, map: &LayoutNode) -> QuoteStyle {
        let key = match &map.shape {
            LayoutShape::Map(_, pairs) => pairs.first().map_or(at, |pair| pair.from),
            LayoutShape::List(_, items) => items.first().map_or(at, |it| match &it.shape {
                LayoutShape::Map(_, pairs) => pairs.first().map_or(at, |pair| pair.from),
                _ => at,
            }),
            LayoutShape::Scalar(_) | LayoutShape::Alias(_) => at,
        };
        if self.text[key..].starts_with('"') { QuoteStyle::Always } else { QuoteStyle::WhereNeeded }
    }
}

/// One member of a flow collection, with its comma.
fn apart(text: &str, places: &[Range<usize>], at: usize) -> Range<usize> {
    let own = places[at].clone();
    let rest = &text[own.end..];
    let bare = rest.trim_start();
    match (bare.starts_with(','), at.checked_sub(1)) {
        (true, _) => {
            let after = bare[1..].trim_start_matches(' ');
            own.start..text.len() - after.len()
        }
        // Keep the comma if a comment follows it.
        (false, Some(previous)) if text[places[previous].end..own.start].contains('#') => own,
        (false, Some(previous)) => places[previous].end..own.end,
        (false, None) => own,
    }
}

fn entry(name: &str, server: &Map<String, Value>) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), Value::Object(server.clone()))]))
}

fn with_name(name: &str, server: &Map<String, Value>) -> Value {
    let name = [("name".to_owned(), Value::from(name))];
    let rest = server.iter().map(|(key, value)| (key.clone(), value.clone()));
    Value::Object(name.into_iter().chain(rest).collect())
}

fn is_called(item: &LayoutNode, name: &str) -> bool {
    item.pair("name")
        .is_some_and(|pair| matches!(&pair.value.shape, LayoutShape::Scalar(said) if said == name))
}

fn odd_server(name: &str) -> UnsupportedYamlError {
    UnsupportedYamlError(format!("the entry of `{name}` is not at the expected position"))
}
