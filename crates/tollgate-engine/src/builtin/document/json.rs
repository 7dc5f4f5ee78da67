//! JSON as a tree of values with lines. The parser reports lines only for errors; the line of a
//! value follows from the position of its text in the document.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

use super::{
    DocumentData, DocumentLineError, DocumentNode, MAX_KEYS, MAX_NESTING_DEPTH, quote_excerpt,
};

pub(super) fn read(text: &str) -> Result<DocumentNode, DocumentLineError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| {
        DocumentLineError::at(error.line(), format!("this is not JSON: {}", without_place(&error)))
    })?;
    let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at);
    LineIndex { text, breaks: breaks.collect() }.node(raw, 0)
}

/// The parser's message without the line, which is reported separately.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ").map_or(text.clone(), |at| text[..at].to_owned())
}

struct LineIndex<'t> {
    text: &'t str,
    /// Positions of the line breaks.
    breaks: Vec<usize>,
}

impl LineIndex<'_> {
    /// The line on which a part of the text begins.
    fn line(&self, part: &str) -> usize {
        let at = part.as_ptr().addr() - self.text.as_ptr().addr();
        self.breaks.partition_point(|line_break| *line_break < at) + 1
    }

    fn node(&self, raw: &RawValue, depth: usize) -> Result<DocumentNode, DocumentLineError> {
        let text = raw.get();
        let line = self.line(raw.get());
        if depth > MAX_NESTING_DEPTH {
            return Err(DocumentLineError::at(
                line,
                format!("lists and maps nest deeper than {MAX_NESTING_DEPTH}"),
            ));
        }
        let refused = |error: serde_json::Error| DocumentLineError::at(line, without_place(&error));
        let data = match text.as_bytes().first() {
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text).map_err(refused)?;
                let nodes = items.into_iter().map(|item| self.node(item, depth + 1));
                DocumentData::List(nodes.collect::<Result<_, _>>()?)
            }
            Some(b'{') => {
                let pairs: JsonPairs<'_> = serde_json::from_str(text).map_err(refused)?;
                DocumentData::Map(self.pairs(pairs, depth)?)
            }
            Some(b'"') => DocumentData::Scalar(serde_json::from_str(text).map_err(refused)?),
            _ if text == "null" => DocumentData::Nothing,
            _ => DocumentData::Scalar(text.to_owned()),
        };
        Ok(DocumentNode { line, data })
    }

    fn pairs(
        &self,
        pairs: JsonPairs<'_>,
        depth: usize,
    ) -> Result<Vec<(String, DocumentNode)>, DocumentLineError> {
        let mut nodes: Vec<(String, DocumentNode)> = Vec::with_capacity(pairs.0.len());
        for (key, value) in pairs.0 {
            let node = self.node(value, depth + 1)?;
            if nodes.iter().any(|(known, _)| *known == key) {
                let problem = format!("duplicate key `{}`", quote_excerpt(&key));
                return Err(DocumentLineError::at(node.line, problem));
            }
            nodes.push((key, node));
        }
        Ok(nodes)
    }
}

/// An object as written, including duplicate keys.
struct JsonPairs<'t>(Vec<(String, &'t RawValue)>);

impl<'de> Deserialize<'de> for JsonPairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(JsonPairsVisitor)
    }
}

struct JsonPairsVisitor;

impl<'de> Visitor<'de> for JsonPairsVisitor {
    type Value = JsonPairs<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonPairs<'de>, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            if pairs.len() == MAX_KEYS {
                return Err(de::Error::custom(format!("there are more than {MAX_KEYS} keys")));
            }
            pairs.push(pair);
        }
        Ok(JsonPairs(pairs))
    }
}
