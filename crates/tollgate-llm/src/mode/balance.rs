//! Finds the end of a JSON value in text that is still coming. Does not check the value.

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Balance {
    depth: u32,
    place: Place,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// Before the value, or between its parts.
    #[default]
    Outside,
    /// In a number, `true`, `false` or `null`.
    Bare,
    Text,
    Escape,
}

/// Where a letter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Inside,
    /// It is the last one of the value.
    Last,
    /// It does not belong to the value any more.
    Behind,
}

impl Balance {
    pub(super) fn read(&mut self, letter: char) -> Step {
        match self.place {
            Place::Escape => self.place = Place::Text,
            Place::Text => match letter {
                '\\' => self.place = Place::Escape,
                '"' => return self.ended(),
                _ => {}
            },
            Place::Bare if self.depth == 0 => {
                if letter.is_whitespace() || matches!(letter, ',' | '}' | ']') {
                    return Step::Behind;
                }
            }
            Place::Outside | Place::Bare => match letter {
                '"' => self.place = Place::Text,
                '{' | '[' => self.depth += 1,
                '}' | ']' if self.depth == 0 => return Step::Behind,
                '}' | ']' => {
                    self.depth -= 1;
                    return self.ended();
                }
                _ if letter.is_whitespace() => {}
                _ => self.place = Place::Bare,
            },
        }
        Step::Inside
    }

    fn ended(&mut self) -> Step {
        self.place = Place::Outside;
        if self.depth == 0 { Step::Last } else { Step::Inside }
    }
}
