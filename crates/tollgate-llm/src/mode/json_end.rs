//! Scans streamed text for the end of a JSON value. Does not validate the value.

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct JsonEndScanner {
    depth: u32,
    place: JsonScanPosition,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum JsonScanPosition {
    /// Before the value, or between its tokens.
    #[default]
    Outside,
    /// In a number, `true`, `false` or `null`.
    Bare,
    Text,
    Escape,
}

/// Position of a character relative to the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonScanStep {
    Inside,
    /// The last character of the value.
    Last,
    /// After the value.
    Behind,
}

impl JsonEndScanner {
    pub(super) fn read(&mut self, letter: char) -> JsonScanStep {
        match self.place {
            JsonScanPosition::Escape => self.place = JsonScanPosition::Text,
            JsonScanPosition::Text => match letter {
                '\\' => self.place = JsonScanPosition::Escape,
                '"' => return self.end_value(),
                _ => {}
            },
            JsonScanPosition::Bare if self.depth == 0 => {
                if letter.is_whitespace() || matches!(letter, ',' | '}' | ']') {
                    return JsonScanStep::Behind;
                }
            }
            JsonScanPosition::Outside | JsonScanPosition::Bare => match letter {
                '"' => self.place = JsonScanPosition::Text,
                '{' | '[' => self.depth += 1,
                '}' | ']' if self.depth == 0 => return JsonScanStep::Behind,
                '}' | ']' => {
                    self.depth -= 1;
                    return self.end_value();
                }
                _ if letter.is_whitespace() => {}
                _ => self.place = JsonScanPosition::Bare,
            },
        }
        JsonScanStep::Inside
    }

    fn end_value(&mut self) -> JsonScanStep {
        self.place = JsonScanPosition::Outside;
        if self.depth == 0 { JsonScanStep::Last } else { JsonScanStep::Inside }
    }
}
