//! Decodes the text of a JSON string letter by letter, as it comes.

/// Behind the opening quote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Text {
    place: Place,
    /// The first half of a letter that is written as two.
    high: Option<u16>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Plain,
    Escape,
    /// So many digits were read.
    Code {
        value: u16,
        digits: u8,
    },
}

/// What a letter came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    Letter(char),
    Nothing,
    /// The closing quote.
    End,
}

impl Text {
    pub(super) fn read(&mut self, letter: char) -> Read {
        match std::mem::take(&mut self.place) {
            Place::Plain => match letter {
                '"' => Read::End,
                '\\' => {
                    self.place = Place::Escape;
                    Read::Nothing
                }
                other => Read::Letter(other),
            },
            Place::Escape => self.escaped(letter),
            Place::Code { value, digits } => self.digit(letter, value, digits),
        }
    }

    fn escaped(&mut self, letter: char) -> Read {
        Read::Letter(match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                self.place = Place::Code { value: 0, digits: 0 };
                return Read::Nothing;
            }
            other => other,
        })
    }

    fn digit(&mut self, letter: char, value: u16, digits: u8) -> Read {
        // Not valid, but the text must end somewhere. Half a letter without its other half is none.
        let Some(digit) = letter.to_digit(16) else {
            self.high = None;
            return if letter == '"' { Read::End } else { Read::Letter(letter) };
        };
        let value = value << 4 | digit as u16;
        if digits < 3 {
            self.place = Place::Code { value, digits: digits + 1 };
            return Read::Nothing;
        }
        match (self.high.take(), value) {
            (None, 0xd800..0xdc00) => {
                self.high = Some(value);
                Read::Nothing
            }
            (high, low) => {
                let units = high.into_iter().chain([low]);
                let letter = char::decode_utf16(units).next().and_then(Result::ok);
                Read::Letter(letter.unwrap_or(char::REPLACEMENT_CHARACTER))
            }
        }
    }
}
