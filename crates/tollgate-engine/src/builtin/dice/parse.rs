//! Parser for dice notation, handwritten and without recursion. Every error names the column and
//! shows a valid expression. Called by the `roll` tool.

use super::expression::{
    Dice, DiceTerm, Explosion, Expression, Faces, MAX_DICE, MAX_SIDES, Product, Selection, Sign,
};

mod modifiers;

/// Longest expression that is parsed.
pub(crate) const MAX_EXPRESSION_BYTES: usize = 256;

/// Why an expression is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("bad dice expression, column {column}: {problem}; write it like `{example}`")]
pub(crate) struct DiceParseError {
    /// In characters, from 1.
    pub(crate) column: usize,
    pub(crate) problem: String,
    pub(crate) example: &'static str,
}

pub(crate) fn parse(text: &str) -> Result<Expression, DiceParseError> {
    if text.len() > MAX_EXPRESSION_BYTES {
        let problem = format!("it has {} bytes; the limit is {MAX_EXPRESSION_BYTES}", text.len());
        return Err(DiceParseError { column: MAX_EXPRESSION_BYTES + 1, problem, example: PLAIN });
    }
    let mut reader = DiceParser { text, at: 0, dice_left: MAX_DICE };
    let products = reader.sum()?;
    Expression::new(products).ok_or_else(|| {
        let problem = format!("the total could exceed {}", i64::MAX);
        DiceParseError { column: 1, problem, example: PLAIN }
    })
}

const PLAIN: &str = "2d6+3";

struct DiceParser<'a> {
    text: &'a str,
    /// In bytes. Everything before it is ASCII, so it counts characters as well.
    at: usize,
    dice_left: u32,
}

impl DiceParser<'_> {
    fn sum(&mut self) -> Result<Vec<Product<DiceTerm>>, DiceParseError> {
        self.skip_spaces();
        if self.peek().is_none() {
            return Err(self.wrong("it is empty", PLAIN));
        }
        let mut products = vec![self.product(Sign::Plus)?];
        loop {
            let sign = match self.peek() {
                None => return Ok(products),
                Some('+') => Sign::Plus,
                Some('-') => Sign::Minus,
                Some(_) => return Err(self.syntax_error("`+`, `-`, `*` or the end")),
            };
            self.at += 1;
            products.push(self.product(sign)?);
        }
    }

    /// Leaves the parser at the next token.
    fn product(&mut self, sign: Sign) -> Result<Product<DiceTerm>, DiceParseError> {
        let mut factors = vec![self.term()?];
        while self.eat('*') {
            factors.push(self.term()?);
        }
        Ok(Product { sign, factors })
    }

    fn term(&mut self) -> Result<DiceTerm, DiceParseError> {
        self.skip_spaces();
        let start = self.at;
        if let Some(selection) = self.advantage() {
            self.take_dice(2, start)?;
            return Ok(DiceTerm::Dice(dice(2, Faces::Numbered(20), selection)));
        }
        let number = self.number()?;
        if !self.eat('d') {
            let number = number.ok_or_else(|| self.syntax_error("a number or dice"))?;
            return Ok(DiceTerm::Number(number));
        }
        let count = self.take_dice(number.unwrap_or(1), start)?;
        let faces = self.faces()?;
        self.parse_modifiers(dice(count, faces, Selection::All)).map(DiceTerm::Dice)
    }

    /// Checks a number of dice against the remaining allowance.
    fn take_dice(&mut self, count: i64, start: usize) -> Result<u32, DiceParseError> {
        if count == 0 {
            return Err(self.wrong_at(start, "there must be at least one die", "1d6"));
        }
        let allowed = u32::try_from(count).ok().filter(|count| *count <= self.dice_left);
        let Some(count) = allowed else {
            let problem = format!("more than {MAX_DICE} dice in all");
            return Err(self.wrong_at(start, problem, "10d6"));
        };
        self.dice_left -= count;
        Ok(count)
    }

    fn faces(&mut self) -> Result<Faces, DiceParseError> {
        if self.eat('%') {
            return Ok(Faces::Numbered(100));
        }
        if self.eat('f') {
            return Ok(Faces::Fate);
        }
        let start = self.at;
        let Some(sides) = self.number()? else {
            return Err(match self.peek() {
                Some(stray) if !stray.is_ascii() => self.syntax_error("the number of sides"),
                _ => self.wrong("`d` must be followed by the number of sides", "1d6"),
            });
        };
        match u32::try_from(sides) {
            Ok(sides @ 1..=MAX_SIDES) => Ok(Faces::Numbered(sides)),
            _ => {
                let problem = format!("a die has 1 to {MAX_SIDES} sides");
                Err(self.wrong_at(start, problem, "1d20"))
            }
        }
    }

    /// The next digits, if any, with the surrounding spaces.
    fn number(&mut self) -> Result<Option<i64>, DiceParseError> {
        self.skip_spaces();
        let rest = &self.text[self.at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Ok(None);
        }
        let number = rest[..digits]
            .parse()
            .map_err(|_| self.wrong(format!("this number is larger than {}", i64::MAX), PLAIN))?;
        self.at += digits;
        self.skip_spaces();
        Ok(Some(number))
    }

    /// Consumes one sign or letter, in either case, with the spaces after it.
    fn eat(&mut self, requested: char) -> bool {
        let found = self.peek().is_some_and(|next| next.eq_ignore_ascii_case(&requested));
        if found {
            self.at += requested.len_utf8();
            self.skip_spaces();
        }
        found
    }

    /// Consumes a whole word, in any case, with the spaces after it.
    fn eat_word(&mut self, requested: &str) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        let found = rest
            .get(..requested.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(requested.as_bytes()));
        if found {
            self.at += requested.len();
            self.skip_spaces();
        }
        found
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn skip_spaces(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    }

    fn syntax_error(&self, requested: &str) -> DiceParseError {
        let problem = match self.peek() {
            None => format!("it ends where {requested} is expected"),
            Some('\n' | '\r') => "one line only, one expression at a time".to_owned(),
            Some('(' | ')') => "brackets are not supported".to_owned(),
            Some('/' | '%') => format!("only `+`, `-` and `*` are supported, not {}", self.next()),
            Some(stray) if stray.is_numeric() && !stray.is_ascii() => {
                format!("{} is not one of the digits 0 to 9", self.next())
            }
            Some(stray) if !stray.is_ascii() => {
                format!("{} is not an ASCII letter or sign", self.next())
            }
            Some(_) => format!("found {} where {requested} is expected", self.next()),
        };
        self.wrong(problem, PLAIN)
    }

    fn next(&self) -> String {
        self.peek().map_or_else(String::new, |next| format!("`{}`", next.escape_debug()))
    }

    fn wrong(&self, problem: impl Into<String>, example: &'static str) -> DiceParseError {
        self.wrong_at(self.at, problem, example)
    }

    fn wrong_at(
        &self,
        at: usize,
        problem: impl Into<String>,
        example: &'static str,
    ) -> DiceParseError {
        let column = self.text[..at].chars().count() + 1;
        DiceParseError { column, problem: problem.into(), example }
    }
}

fn dice(count: u32, faces: Faces, selection: Selection) -> Dice {
    Dice { count, faces, reroll: None, explosion: Explosion::None, selection }
}

#[cfg(test)]
mod tests;
