//! One entry of a random table: its text, with the dice and tables in it. `{2d6} wolves` rolls the
//! dice, `{taverns}` rolls on that table; everything else is text.

use super::expression::Expression;
use super::parse;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableEntry {
    pub weight: u32,
    pieces: Vec<TableEntryPiece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TableEntryPiece {
    Text(String),
    Dice {
        notation: String,
        expression: Expression,
    },
    /// The name of a table, which may not exist.
    Table(String),
    /// In braces, but neither dice nor a table name.
    Neither(String),
}

impl TableEntry {
    pub fn new(weight: u32, text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text.trim();
        while let Some(BracedText { before, inside, after }) = find_braces(rest) {
            if !before.is_empty() {
                pieces.push(TableEntryPiece::Text(before.to_owned()));
            }
            pieces.push(piece(inside));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(TableEntryPiece::Text(rest.to_owned()));
        }
        Self { weight, pieces }
    }

    pub(super) fn pieces(&self) -> &[TableEntryPiece] {
        &self.pieces
    }
}

/// The text before, in and after the first pair of braces.
struct BracedText<'t> {
    before: &'t str,
    inside: &'t str,
    after: &'t str,
}

fn find_braces(text: &str) -> Option<BracedText<'_>> {
    let (before, rest) = text.split_once('{')?;
    let (inside, after) = rest.split_once('}')?;
    Some(BracedText { before, inside, after })
}

fn piece(inside: &str) -> TableEntryPiece {
    let text = inside.trim();
    // A table may be called `d6`: dice notation wins.
    match parse::parse(text) {
        Ok(expression) => TableEntryPiece::Dice { notation: text.to_owned(), expression },
        Err(_) if !text.is_empty() && text.bytes().all(is_table_name_byte) => {
            TableEntryPiece::Table(text.to_owned())
        }
        Err(_) => TableEntryPiece::Neither(inside.to_owned()),
    }
}

/// Whether it may stand in the name of a table.
pub(super) fn is_table_name_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
}

#[cfg(test)]
mod tests;
