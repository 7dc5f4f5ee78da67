//! A lexer for Starlark, as far as nesting requires: skips strings and comments, pairs brackets,
//! and descends into the expressions in f-strings.
//!
//! Stops where the text is invalid, because an interpreter reads no further either.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceToken<'s> {
    /// A new logical line, and its indentation.
    Line {
        column: usize,
    },
    Word(&'s str),
    /// A number, or a whole string.
    Literal,
    Open,
    /// The `{` of an f-string.
    Hole,
    /// Closes a bracket or an f-string expression.
    Close,
    Comma,
    Semicolon,
    Colon,
    /// A binary or unary operator.
    Operator,
    /// `=`, and anything else.
    Other,
    Tab,
    /// Not ASCII, and outside of a string.
    Odd(char),
}

pub(super) struct SourceLexer<'s> {
    source: &'s str,
    at: usize,
    open: Vec<OpenDelimiter>,
    place: LexerState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LexerState {
    LineStart,
    Code,
    /// In the text of an f-string.
    Text(Quote),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenDelimiter {
    /// With its closing bracket.
    Bracket(u8),
    Hole(Quote),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Quote {
    mark: u8,
    /// 1 or 3.
    marks: usize,
}

impl<'s> SourceLexer<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Self { source, at: 0, open: Vec::new(), place: LexerState::LineStart }
    }

    /// The next token and its position. `None` at the end, or where the text is invalid.
    pub(super) fn next(&mut self) -> Option<(usize, SourceToken<'s>)> {
        match self.place {
            LexerState::LineStart => self.line(),
            LexerState::Code => self.code(),
            LexerState::Text(quote) => self.text(quote),
        }
    }

    /// Skips lines without code.
    fn line(&mut self) -> Option<(usize, SourceToken<'s>)> {
        loop {
            let start = self.at;
            self.skip(|byte| byte == b' ' || byte == b'\t' || byte == b'\r');
            match self.peek()? {
                b'\n' => self.at += 1,
                b'#' => self.skip(|byte| byte != b'\n'),
                _ => {
                    self.place = LexerState::Code;
                    let blank = &self.source[start..self.at];
                    let column = blank.bytes().filter(|byte| *byte != b'\r').count();
                    return Some(match blank.find('\t') {
                        Some(tab) => (start + tab, SourceToken::Tab),
                        None => (self.at, SourceToken::Line { column }),
                    });
                }
            }
        }
    }

    fn code(&mut self) -> Option<(usize, SourceToken<'s>)> {
        loop {
            let at = self.at;
            match self.peek()? {
                b' ' | b'\r' => self.at += 1,
                b'\n' => {
                    self.at += 1;
                    if self.open.is_empty() {
                        self.place = LexerState::LineStart;
                        return self.line();
                    }
                }
                b'\\' => {
                    let joined = ["\\\n", "\\\r\n"].iter().find(|it| self.rest().starts_with(**it));
                    self.at += joined?.len();
                }
                b'#' => self.skip(|byte| byte != b'\n'),
                byte => return Some((at, self.token(byte)?)),
            }
        }
    }

    fn token(&mut self, byte: u8) -> Option<SourceToken<'s>> {
        if byte.is_ascii_alphabetic() || byte == b'_' {
            return self.word();
        }
        if byte.is_ascii_digit() || (byte == b'.' && self.byte(1).is_some_and(is_digit)) {
            self.number();
            return Some(SourceToken::Literal);
        }
        match byte {
            b'"' | b'\'' => self.string(),
            b'(' => Some(self.open_bracket(b')')),
            b'[' => Some(self.open_bracket(b']')),
            b'{' => Some(self.open_bracket(b'}')),
            b')' | b']' | b'}' => self.close_bracket(byte),
            b'\t' => Some(SourceToken::Tab),
            b',' => Some(self.advance_over(SourceToken::Comma)),
            b';' => Some(self.advance_over(SourceToken::Semicolon)),
            b':' => Some(self.advance_over(SourceToken::Colon)),
            _ if byte.is_ascii() => Some(self.symbol()),
            _ => self.rest().chars().next().map(SourceToken::Odd),
        }
    }

    fn word(&mut self) -> Option<SourceToken<'s>> {
        let start = self.at;
        self.skip(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let word = &self.source[start..self.at];
        let quoted = matches!(self.peek(), Some(b'"' | b'\''));
        match word {
            "r" | "b" | "br" | "rb" if quoted => self.string(),
            "f" | "fr" if quoted => {
                let quote = self.quote()?;
                self.place = LexerState::Text(quote);
                self.text(quote).map(|(_, token)| token)
            }
            _ => Some(SourceToken::Word(word)),
        }
    }

    /// Only as far as a number goes: in `1if` the `if` is a separate word.
    fn number(&mut self) {
        let digits: Option<fn(u8) -> bool> = match (self.peek(), self.byte(1)) {
            (Some(b'0'), Some(b'x' | b'X')) => Some(|byte| byte.is_ascii_hexdigit()),
            (Some(b'0'), Some(b'o' | b'O')) => Some(|byte| matches!(byte, b'0'..=b'7')),
            (Some(b'0'), Some(b'b' | b'B')) => Some(|byte| matches!(byte, b'0' | b'1')),
            _ => None,
        };
        if let Some(digits) = digits
            && self.byte(2).is_some_and(digits)
        {
            self.at += 2;
            self.skip(digits);
            return;
        }
        self.skip(is_digit);
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.skip(is_digit);
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
            if self.byte(1 + sign).is_some_and(is_digit) {
                self.at += 1 + sign;
                self.skip(is_digit);
            }
        }
    }

    fn symbol(&mut self) -> SourceToken<'s> {
        const LONG: [&str; 17] = [
            "//=", "<<=", ">>=", "//", "<<", ">>", "==", "!=", "<=", ">=", "->", "+=", "-=", "*=",
            "/=", "%=", "**",
        ];
        let long = LONG.iter().find(|it| self.rest().starts_with(**it));
        let byte = self.peek();
        self.at += long.map_or(1, |it| it.len());
        match byte {
            Some(b'=') if long.is_none() => SourceToken::Other,
            Some(
                b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'&' | b'|' | b'^'
                | b'~' | b'.',
            ) => SourceToken::Operator,
            _ => SourceToken::Other,
        }
    }

    fn open_bracket(&mut self, closing: u8) -> SourceToken<'s> {
        self.open.push(OpenDelimiter::Bracket(closing));
        self.advance_over(SourceToken::Open)
    }

    fn close_bracket(&mut self, byte: u8) -> Option<SourceToken<'s>> {
        match self.open.pop()? {
            OpenDelimiter::Bracket(expected) if expected == byte => {}
            OpenDelimiter::Hole(quote) if byte == b'}' => self.place = LexerState::Text(quote),
            OpenDelimiter::Bracket(_) | OpenDelimiter::Hole(_) => return None,
        }
        Some(self.advance_over(SourceToken::Close))
    }

    /// From an opening quote to the closing one; `None` if it is unterminated.
    fn string(&mut self) -> Option<SourceToken<'s>> {
        let quote = self.quote()?;
        loop {
            match self.peek()? {
                b'\\' => self.escape(),
                b'\n' if quote.marks == 1 => return None,
                _ if self.closes(quote) => return Some(SourceToken::Literal),
                _ => self.at += 1,
            }
        }
    }

    /// The text of an f-string, up to its next expression or its end.
    fn text(&mut self, quote: Quote) -> Option<(usize, SourceToken<'s>)> {
        loop {
            let at = self.at;
            match (self.peek()?, self.byte(1)) {
                (b'{', Some(b'{')) | (b'}', Some(b'}')) => self.at += 2,
                (b'{', _) => {
                    self.place = LexerState::Code;
                    self.open.push(OpenDelimiter::Hole(quote));
                    return Some((at, self.advance_over(SourceToken::Hole)));
                }
                (b'}', _) => return None,
                (b'\\', _) => self.escape(),
                (b'\n', _) if quote.marks == 1 => return None,
                _ if self.closes(quote) => {
                    self.place = LexerState::Code;
                    return Some((at, SourceToken::Literal));
                }
                _ => self.at += 1,
            }
        }
    }

    fn quote(&mut self) -> Option<Quote> {
        let mark = self.peek()?;
        let triple = self.byte(1) == Some(mark) && self.byte(2) == Some(mark);
        let marks = if triple { 3 } else { 1 };
        self.at += marks;
        Some(Quote { mark, marks })
    }

    fn closes(&mut self, quote: Quote) -> bool {
        let closes = (0..quote.marks).all(|ahead| self.byte(ahead) == Some(quote.mark));
        if closes {
            self.at += quote.marks;
        }
        closes
    }

    /// A backslash and the character after it. The rest of longer escapes is plain text.
    fn escape(&mut self) {
        self.at += 1;
        let windows = self.rest().starts_with("\r\n");
        let next = self.rest().chars().next().map_or(0, char::len_utf8);
        self.at += if windows { 2 } else { next };
    }

    fn advance_over(&mut self, token: SourceToken<'s>) -> SourceToken<'s> {
        self.at += 1;
        token
    }

    fn skip(&mut self, passes: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&passes) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.byte(0)
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.source.as_bytes().get(self.at + ahead).copied()
    }

    fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}
