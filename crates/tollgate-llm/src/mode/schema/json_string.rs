//! Decodes a JSON string incrementally, character by character.

/// State after the opening quote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct JsonStringDecoder {
    place: JsonStringState,
    /// The high surrogate of a pair.
    high: Option<u16>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum JsonStringState {
    #[default]
    Plain,
    Escape,
    /// In a `\u` escape, with this many digits read.
    Code {
        value: u16,
        digits: u8,
    },
}

/// Result of one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecodedChar {
    Letter(char),
    Nothing,
    /// The closing quote.
    End,
}

impl JsonStringDecoder {
    pub(super) fn read(&mut self, letter: char) -> DecodedChar {
        match std::mem::take(&mut self.place) {
            JsonStringState::Plain => match letter {
                '"' => DecodedChar::End,
                '\\' => {
                    self.place = JsonStringState::Escape;
                    DecodedChar::Nothing
                }
                other => DecodedChar::Letter(other),
            },
            JsonStringState::Escape => self.read_escape(letter),
            JsonStringState::Code { value, digits } => self.digit(letter, value, digits),
        }
    }

    fn read_escape(&mut self, letter: char) -> DecodedChar {
        DecodedChar::Letter(match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                self.place = JsonStringState::Code { value: 0, digits: 0 };
                return DecodedChar::Nothing;
            }
            other => other,
        })
    }

    fn digit(&mut self, letter: char, value: u16, digits: u8) -> DecodedChar {
        // Invalid escape, but the text must end somewhere. An unpaired surrogate is dropped.
        let Some(digit) = letter.to_digit(16) else {
            self.high = None;
            return if letter == '"' { DecodedChar::End } else { DecodedChar::Letter(letter) };
        };
        let value = value << 4 | digit as u16;
        if digits < 3 {
            self.place = JsonStringState::Code { value, digits: digits + 1 };
            return DecodedChar::Nothing;
        }
        match (self.high.take(), value) {
            (None, 0xd800..0xdc00) => {
                self.high = Some(value);
                DecodedChar::Nothing
            }
            (high, low) => {
                let units = high.into_iter().chain([low]);
                let letter = char::decode_utf16(units).next().and_then(Result::ok);
                DecodedChar::Letter(letter.unwrap_or(char::REPLACEMENT_CHARACTER))
            }
        }
    }
}
