//! Starlark's words, as far as they nest: strings and comments are passed over, brackets are paired,
//! holes of f-strings are looked into. Where the language would refuse the text it stops, because
//! an interpreter reads no further either.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'s> {
    /// A new line of the program, and how far in it begins.
    Line {
        column: usize,
    },
    Word(&'s str),
    /// A number, or a string as a whole.
    Literal,
    Open,
    /// The `{` of an f-string.
    Hole,
    /// Of either.
    Close,
    Comma,
    Semicolon,
    Colon,
    /// Two operands become one, or one becomes another.
    Operator,
    /// `=`, and what is none of the others.
    Other,
    Tab,
    /// Not ASCII, outside of a string.
    Odd(char),
}

pub(super) struct Lexer<'s> {
    source: &'s str,
    at: usize,
    open: Vec<Open>,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    LineStart,
    Code,
    /// In the text of an f-string.
    Text(Quote),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// By what it is closed.
    Bracket(u8),
    Hole(Quote),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Quote {
    mark: u8,
    /// 1 or 3 of them.
    marks: usize,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Self { source, at: 0, open: Vec::new(), place: Place::LineStart }
    }

    /// The next one, and where it begins. `None` at the end, or where nothing can follow.
    pub(super) fn next(&mut self) -> Option<(usize, Token<'s>)> {
        match self.place {
            Place::LineStart => self.line(),
            Place::Code => self.code(),
            Place::Text(quote) => self.text(quote),
        }
    }

    /// Lines without code are no lines.
    fn line(&mut self) -> Option<(usize, Token<'s>)> {
        loop {
            let start = self.at;
            self.skip(|byte| byte == b' ' || byte == b'\t' || byte == b'\r');
            match self.peek()? {
                b'\n' => self.at += 1,
                b'#' => self.skip(|byte| byte != b'\n'),
                _ => {
                    self.place = Place::Code;
                    let blank = &self.source[start..self.at];
                    let column = blank.bytes().filter(|byte| *byte != b'\r').count();
                    return Some(match blank.find('\t') {
                        Some(tab) => (start + tab, Token::Tab),
                        None => (self.at, Token::Line { column }),
                    });
                }
            }
        }
    }

    fn code(&mut self) -> Option<(usize, Token<'s>)> {
        loop {
            let at = self.at;
            match self.peek()? {
                b' ' | b'\r' => self.at += 1,
                b'\n' => {
                    self.at += 1;
                    if self.open.is_empty() {
                        self.place = Place::LineStart;
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

    fn token(&mut self, byte: u8) -> Option<Token<'s>> {
        if byte.is_ascii_alphabetic() || byte == b'_' {
            return self.word();
        }
        if byte.is_ascii_digit() || (byte == b'.' && self.byte(1).is_some_and(is_digit)) {
            self.number();
            return Some(Token::Literal);
        }
        match byte {
            b'"' | b'\'' => self.string(),
            b'(' => Some(self.opened(b')')),
            b'[' => Some(self.opened(b']')),
            b'{' => Some(self.opened(b'}')),
            b')' | b']' | b'}' => self.closed(byte),
            b'\t' => Some(Token::Tab),
            b',' => Some(self.one(Token::Comma)),
            b';' => Some(self.one(Token::Semicolon)),
            b':' => Some(self.one(Token::Colon)),
            _ if byte.is_ascii() => Some(self.symbol()),
            _ => self.rest().chars().next().map(Token::Odd),
        }
    }

    fn word(&mut self) -> Option<Token<'s>> {
        let start = self.at;
        self.skip(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let word = &self.source[start..self.at];
        let quoted = matches!(self.peek(), Some(b'"' | b'\''));
        match word {
            "r" | "b" | "br" | "rb" if quoted => self.string(),
            "f" | "fr" if quoted => {
                let quote = self.quote()?;
                self.place = Place::Text(quote);
                self.text(quote).map(|(_, token)| token)
            }
            _ => Some(Token::Word(word)),
        }
    }

    /// As far as one number goes: in `1if` the `if` is a word.
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

    fn symbol(&mut self) -> Token<'s> {
        const LONG: [&str; 17] = [
            "//=", "<<=", ">>=", "//", "<<", ">>", "==", "!=", "<=", ">=", "->", "+=", "-=", "*=",
            "/=", "%=", "**",
        ];
        let long = LONG.iter().find(|it| self.rest().starts_with(**it));
        let byte = self.peek();
        self.at += long.map_or(1, |it| it.len());
        match byte {
            Some(b'=') if long.is_none() => Token::Other,
            Some(
                b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'&' | b'|' | b'^'
                | b'~' | b'.',
            ) => Token::Operator,
            _ => Token::Other,
        }
    }

    fn opened(&mut self, closing: u8) -> Token<'s> {
        self.open.push(Open::Bracket(closing));
        self.one(Token::Open)
    }

    fn closed(&mut self, byte: u8) -> Option<Token<'s>> {
        match self.open.pop()? {
            Open::Bracket(expected) if expected == byte => {}
            Open::Hole(quote) if byte == b'}' => self.place = Place::Text(quote),
            Open::Bracket(_) | Open::Hole(_) => return None,
        }
        Some(self.one(Token::Close))
    }

    /// From an opening quote to the closing one; an unfinished string is the end.
    fn string(&mut self) -> Option<Token<'s>> {
        let quote = self.quote()?;
        loop {
            match self.peek()? {
                b'\\' => self.escape(),
                b'\n' if quote.marks == 1 => return None,
                _ if self.closes(quote) => return Some(Token::Literal),
                _ => self.at += 1,
            }
        }
    }

    /// The text of an f-string: up to its next hole, or to its end.
    fn text(&mut self, quote: Quote) -> Option<(usize, Token<'s>)> {
        loop {
            let at = self.at;
            match (self.peek()?, self.byte(1)) {
                (b'{', Some(b'{')) | (b'}', Some(b'}')) => self.at += 2,
                (b'{', _) => {
                    self.place = Place::Code;
                    self.open.push(Open::Hole(quote));
                    return Some((at, self.one(Token::Hole)));
                }
                (b'}', _) => return None,
                (b'\\', _) => self.escape(),
                (b'\n', _) if quote.marks == 1 => return None,
                _ if self.closes(quote) => {
                    self.place = Place::Code;
                    return Some((at, Token::Literal));
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

    /// A backslash and what it stands before. Of longer escapes the rest is plain text.
    fn escape(&mut self) {
        self.at += 1;
        let windows = self.rest().starts_with("\r\n");
        let next = self.rest().chars().next().map_or(0, char::len_utf8);
        self.at += if windows { 2 } else { next };
    }

    fn one(&mut self, token: Token<'s>) -> Token<'s> {
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
