//! Where the first sentence of what is being said ends. A stop is known as one only by what follows,
//! so the end is told one letter late; nothing behind it is given out.

/// Letters after which a sentence ends with its next word.
const LONG: usize = 240;
/// Letters after which it ends wherever it is.
const LONGEST: usize = 280;

/// Words whose dot is their own, in lower case, without it.
const ABBREVIATIONS: &[&str] = &[
    "al", "approx", "bspw", "bzw", "ca", "dept", "dr", "e.g", "etc", "evtl", "fig", "fr", "ggf",
    "hr", "i.e", "inc", "jr", "ltd", "mr", "mrs", "ms", "no", "nr", "prof", "sr", "st", "str",
    "u.a", "usw", "vgl", "vs", "z.b", "d.h",
];

#[derive(Debug, Clone, Default)]
pub struct FirstSentence {
    said: String,
    letters: usize,
    state: State,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum State {
    #[default]
    Going,
    /// Behind a stop, and what closes quotes and brackets.
    Stopped(Stop),
    /// Behind it, after these blanks.
    Blank(String),
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// Of a script in which it means nothing else.
    Sure,
    Likely,
}

/// What may be given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    pub text: String,
    pub end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The sentence goes on, or it is not known yet.
    Open,
    /// It is over; what follows is not heard.
    Reached,
}

impl FirstSentence {
    pub fn hear(&mut self, more: &str) -> Heard {
        let from = self.said.len();
        more.chars().for_each(|letter| self.letter(letter));
        let end = if self.state == State::Ended { End::Reached } else { End::Open };
        Heard { text: self.said[from..].to_owned(), end }
    }

    /// All of it so far.
    pub fn said(&self) -> &str {
        &self.said
    }

    fn letter(&mut self, letter: char) {
        let state = std::mem::replace(&mut self.state, State::Ended);
        self.state = match state {
            State::Going => self.going(letter),
            State::Stopped(stop) => self.stopped(stop, letter),
            State::Blank(blanks) => self.behind(blanks, letter),
            State::Ended => State::Ended,
        };
    }

    fn going(&mut self, letter: char) -> State {
        let is_begun = !self.said.trim().is_empty();
        if letter == '\n' && is_begun {
            return State::Ended;
        }
        if self.letters >= LONGEST || (self.letters >= LONG && letter.is_whitespace()) {
            return State::Ended;
        }
        self.push(letter);
        match letter {
            '。' | '！' | '？' | '｡' => State::Stopped(Stop::Sure),
            '.' | '!' | '?' | '…' if is_begun => State::Stopped(Stop::Likely),
            _ => State::Going,
        }
    }

    fn stopped(&mut self, stop: Stop, letter: char) -> State {
        match (stop, letter) {
            (_, '.' | '!' | '?' | '…' | '。' | '！' | '？') => {
                self.push(letter);
                State::Stopped(stop)
            }
            (_, letter) if is_closing(letter) => {
                self.push(letter);
                State::Stopped(stop)
            }
            (Stop::Sure, _) | (_, '\n') => State::Ended,
            (Stop::Likely, blank) if blank.is_whitespace() => match is_own_dot(&self.said) {
                true => self.going(letter),
                false => State::Blank(blank.to_string()),
            },
            (Stop::Likely, _) => self.going(letter),
        }
    }

    /// A sentence does not begin with a small letter: `"Really?" she asked`.
    fn behind(&mut self, mut blanks: String, letter: char) -> State {
        if letter.is_lowercase() {
            blanks.chars().for_each(|blank| self.push(blank));
            return self.going(letter);
        }
        if letter.is_whitespace() && letter != '\n' && blanks.len() < LONGEST {
            blanks.push(letter);
            return State::Blank(blanks);
        }
        State::Ended
    }

    fn push(&mut self, letter: char) {
        self.said.push(letter);
        self.letters += 1;
    }
}

fn is_closing(letter: char) -> bool {
    matches!(
        letter,
        '"' | '\'' | '”' | '’' | '“' | '»' | '«' | ')' | ']' | '）' | '」' | '』' | '*'
    )
}

/// Whether the dot at the end belongs to its word: `Dr.`, `J.`, `3.`.
fn is_own_dot(said: &str) -> bool {
    let Some(rest) = said.strip_suffix('.') else { return false };
    let word = rest.rsplit(|letter: char| letter.is_whitespace() || letter == '(').next();
    let word = word.unwrap_or_default();
    let mut letters = word.chars();
    match (letters.next(), letters.next()) {
        (Some(only), None) => only.is_alphanumeric() && only != 'I',
        (Some(one), Some(two)) if word.len() == 2 && one.is_ascii_digit() => two.is_ascii_digit(),
        _ => ABBREVIATIONS.contains(&word.to_lowercase().as_str()),
    }
}
