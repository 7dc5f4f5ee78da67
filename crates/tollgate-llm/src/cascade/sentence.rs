//! Detects the end of the first sentence in streamed text. A full stop is recognized only by what
//! follows it, so the end is reported one character late; nothing after it is emitted.

/// Characters after which a sentence ends at the next word boundary.
const LONG_SENTENCE_CHARS: usize = 240;
/// Characters after which it ends in any case.
const MAX_SENTENCE_CHARS: usize = 280;

/// Abbreviations whose dot does not end a sentence, in lower case, without the dot.
const ABBREVIATIONS: &[&str] = &[
    "al", "approx", "bspw", "bzw", "ca", "dept", "dr", "e.g", "etc", "evtl", "fig", "fr", "ggf",
    "hr", "i.e", "inc", "jr", "ltd", "mr", "mrs", "ms", "no", "nr", "prof", "sr", "st", "str",
    "u.a", "usw", "vgl", "vs", "z.b", "d.h",
];

#[derive(Debug, Clone, Default)]
pub struct FirstSentence {
    text: String,
    letters: usize,
    state: SentenceState,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum SentenceState {
    #[default]
    Going,
    /// After a full stop and closing quotes and brackets.
    Stopped(StopMark),
    /// After that, and this whitespace.
    Blank(String),
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopMark {
    /// Of a script in which the mark is unambiguous.
    Sure,
    Likely,
}

/// Text that may be emitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentenceChunk {
    pub text: String,
    pub end: SentenceEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentenceEnd {
    /// The sentence continues, or this is not known yet.
    Open,
    /// The sentence is over; further text is ignored.
    Reached,
}

impl FirstSentence {
    pub fn hear(&mut self, more: &str) -> SentenceChunk {
        let from = self.text.len();
        more.chars().for_each(|letter| self.letter(letter));
        let end = if self.state == SentenceState::Ended {
            SentenceEnd::Reached
        } else {
            SentenceEnd::Open
        };
        SentenceChunk { text: self.text[from..].to_owned(), end }
    }

    /// The whole sentence so far.
    pub fn text(&self) -> &str {
        &self.text
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
        let is_begun = !self.text.trim().is_empty();
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
            (StopMark::Likely, blank) if blank.is_whitespace() => {
                if is_own_dot(&self.text) {
                    self.in_sentence(letter)
                } else {
                    SentenceState::Blank(blank.to_string())
                }
            }
            (StopMark::Likely, _) => self.in_sentence(letter),
        }
    }

    /// A sentence does not begin with a lower-case letter: `"Really?" she asked`.
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
        self.text.push(letter);
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
fn is_own_dot(text: &str) -> bool {
    let Some(rest) = text.strip_suffix('.') else { return false };
    let word = rest.rsplit(|letter: char| letter.is_whitespace() || letter == '(').next();
    let word = word.unwrap_or_default();
    let mut letters = word.chars();
    match (letters.next(), letters.next()) {
        (Some(only), None) => only.is_alphanumeric() && only != 'I',
        (Some(one), Some(two)) if word.len() == 2 && one.is_ascii_digit() => two.is_ascii_digit(),
        _ => ABBREVIATIONS.contains(&word.to_lowercase().as_str()),
    }
}
