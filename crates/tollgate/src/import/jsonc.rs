//! Parser for JSON with comments and trailing commas, as used in settings files. Nesting is
//! limited. A duplicate key is an error, because only one of them could win.

use serde_json::{Map, Value};

use super::ImportError;

const MAX_JSON_DEPTH: usize = 64;

pub(super) fn parse(text: &str) -> Result<Value, ImportError> {
    let mut reader = JsoncReader { text, at: 0, depth: 0 };
    let value = reader.value()?;
    reader.skip()?;
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.wrong("something follows the end")),
    }
}

struct JsoncReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl JsoncReader<'_> {
    fn value(&mut self) -> Result<Value, ImportError> {
        self.skip()?;
        match self.peek() {
            Some('{') => self.read_nested(Self::map),
            Some('[') => self.read_nested(Self::list),
            Some('"') => self.string().map(Value::String),
            Some(_) => self.word(),
            None => Err(self.wrong("it ends unexpectedly")),
        }
    }

    fn read_nested(
        &mut self,
        read: fn(&mut Self) -> Result<Value, ImportError>,
    ) -> Result<Value, ImportError> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_JSON_DEPTH {
            return Err(self.wrong(&format!("it is nested deeper than {MAX_JSON_DEPTH} levels")));
        }
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn map(&mut self) -> Result<Value, ImportError> {
        let mut map = Map::new();
        while !self.ends_with('}', map.len())? {
            if self.peek() != Some('"') {
                return Err(self.wrong("a key in double quotes is missing"));
            }
            let key = self.string()?;
            self.skip()?;
            self.expect(':')?;
            if map.contains_key(&key) {
                let key = super::collector::shorten_name(&key);
                return Err(self.wrong(&format!("duplicate key `{key}`")));
            }
            let value = self.value()?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }

    fn list(&mut self) -> Result<Value, ImportError> {
        let mut list = Vec::new();
        while !self.ends_with(']', list.len())? {
            list.push(self.value()?);
        }
        Ok(Value::Array(list))
    }

    /// Whether this is the end. Consumes the comma before the next member, and a trailing comma.
    fn ends_with(&mut self, end: char, before: usize) -> Result<bool, ImportError> {
        self.skip()?;
        if before > 0 && self.peek() != Some(end) {
            self.expect(',')?;
            self.skip()?;
        }
        let ended = self.peek() == Some(end);
        if ended {
            self.at += 1;
        }
        Ok(ended)
    }

    fn string(&mut self) -> Result<String, ImportError> {
        let rest = &self.text[self.at..];
        let mut escaped = false;
        let end = rest.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let Some((end, _)) = end else { return Err(self.wrong("a string is not closed")) };
        let read = serde_json::from_str(&rest[..=end]);
        let text = read.map_err(|_| self.wrong("this is not a JSON string"))?;
        self.at += end + 1;
        Ok(text)
    }

    fn word(&mut self) -> Result<Value, ImportError> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| c.is_whitespace() || ",]}:/\"".contains(c));
        let word = &rest[..end.unwrap_or(rest.len())];
        match serde_json::from_str(word) {
            Ok(value) => {
                self.at += word.len();
                Ok(value)
            }
            Err(_) => Err(self.wrong("this is not JSON")),
        }
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<(), ImportError> {
        loop {
            let rest = &self.text[self.at..];
            let bare = rest.trim_start();
            self.at += rest.len() - bare.len();
            if bare.starts_with("//") {
                self.at += bare.find('\n').unwrap_or(bare.len());
            } else if bare.starts_with("/*") {
                let end = bare.find("*/").ok_or_else(|| self.wrong("a comment is not closed"))?;
                self.at += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), ImportError> {
        if self.peek() == Some(wanted) {
            self.at += wanted.len_utf8();
            return Ok(());
        }
        Err(self.wrong(&format!("`{wanted}` is missing")))
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn wrong(&self, why: &str) -> ImportError {
        let before = &self.text[..self.at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        ImportError::Syntax(format!("line {line}, column {column}: {why}"))
    }
}
