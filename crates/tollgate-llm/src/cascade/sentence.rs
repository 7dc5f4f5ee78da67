//! Where the first sentence of what is being said ends. A stop is known as one only by what follows,
//! so the end is told one letter late; nothing behind it is given out.

/// Letters after which a sentence ends with its next word.
const LONG_SENTENCE_CHARS: usize = 240;
/// Letters after which it ends wherever it is.
const MAX_SENTENCE_CHARS: usize = 280;

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
    state: SentenceState,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum SentenceState {
    #[default]
    Going,
    /// Behind a stop, and what closes quotes and brackets.
    Stopped(StopMark),
    /// Behind it, after these blanks.
    Blank(String),
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopMark {
    /// Of a script in which it means nothing else.
    Sure,
    Likely,
}

/// What may be given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentenceChunk {
    pub text: String,
    pub end: SentenceEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentenceEnd {
    /// The sentence goes on, or it is not known yet.
    Open,
    /// It is over; what follows is not heard.
    Reached,
}

impl FirstSentence {
    pub fn hear(&mut self, more: &str) -> SentenceChunk {
        let from = self.said.len();
        more.chars().for_each(|letter| self.letter(letter));
        let end = if self.state == SentenceState::Ended {
            SentenceEnd::Reached
        } else {
            SentenceEnd::Open
        };
        SentenceChunk { text: self.said[from..].to_owned(), end }
    }

    /// All of it so far.
    pub fn text(&self) -> &str {
        &self.said
    }

    fn letter(&mut self, letter: char) {
        let state = std::mem::replace(&mut self.state, SentenceState::Ended);
        self.state = match state {
            SentenceState::Going => self.in_sentence(letter),
            SentenceState::Stopped(stop) => self.after_stop_mark(stop, letter),
            SentenceState::Blank(blanks) => self.after_blanks(blanks, letter),
            SentenceState::Ended => SentenceState::Ended,
        };
    }

    fn in_sentence(&mut self, letter: char) -> SentenceState {
        let is_begun = !self.said.trim().is_empty();
        if letter == '\n' && is_begun {
            return SentenceState::Ended;
        }
        if self.letters >= MAX_SENTENCE_CHARS
            || (self.letters >= LONG_SENTENCE_CHARS && letter.is_whitespace())
        {
            return SentenceState::Ended;
        }
        self.push(letter);
        match letter {
            '。' | '！' | '？' | '｡' => SentenceState::Stopped(StopMark::Sure),
            '.' | '!' | '?' | '…' if is_begun => SentenceState::Stopped(StopMark::Likely),
            _ => SentenceState::Going,
        }
    }

    fn after_stop_mark(&mut self, stop: StopMark, letter: char) -> SentenceState {
        match (stop, letter) {
            (_, '.' | '!' | '?' | '…' | '。' | '！' | '？') => {
                self.push(letter);
                SentenceState::Stopped(stop)
            }
            (_, letter) if is_closing(letter) => {
                self.push(letter);
                SentenceState::Stopped(stop)
            }
            (StopMark::Sure, _) | (_, '\n') => SentenceState::Ended,
            (StopMark::Likely, blank) if blank.is_whitespace() => match is_own_dot(&self.said) {
                true => self.in_sentence(letter),
                false => SentenceState::Blank(blank.to_string()),
            },
            (StopMark::Likely, _) => self.in_sentence(letter),
        }
    }

    /// A sentence does not begin with a small letter: `"Really?" she asked`.
    fn after_blanks(&mut self, mut blanks: String, letter: char) -> SentenceState {
        if letter.is_lowercase() {
            blanks.chars().for_each(|blank| self.push(blank));
            return self.in_sentence(letter);
        }
        if letter.is_whitespace() && letter != '\n' && blanks.len() < MAX_SENTENCE_CHARS {
            blanks.push(letter);
            return SentenceState::Blank(blanks);
        }
        SentenceState::Ended
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
