//! Removes repetition from the strong model's continuation: the opener in the same or nearly the
//! same words, or a second greeting.
//!
//! The start of the continuation is held back until that is decided, usually for a few words.

use super::sentence::{FirstSentence, SentenceEnd};

/// Words that start a greeting.
const GREETINGS: &[&str] = &[
    "bonjour",
    "greetings",
    "grüezi",
    "hallo",
    "hello",
    "hey",
    "hi",
    "hola",
    "moin",
    "servus",
    "welcome",
];
/// Greetings of two words.
const TWO_WORD_GREETINGS: &[(&str, &[&str])] = &[
    ("good", &["afternoon", "day", "evening", "morning"]),
    ("guten", &["abend", "morgen", "tag"]),
    ("well", &["met"]),
];
/// Maximum number of words in a greeting, including the name of the addressee.
const MAX_GREETING_WORDS: usize = 6;

/// Number of words after which a text counts as different.
const MIN_COMPARED_WORDS: usize = 3;

#[derive(Debug, Clone)]
pub struct Continuation {
    opener: Vec<String>,
    /// Last character of the opener.
    last: Option<char>,
    state: ContinuationState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ContinuationState {
    /// May repeat what was already said.
    Held(String),
    /// Everything held was removed; whitespace that follows is removed too.
    Cut,
    Passing,
}

impl Continuation {
    pub fn behind(opener: &str) -> Self {
        let state = if opener.trim().is_empty() {
            ContinuationState::Passing
        } else {
            ContinuationState::Held(String::new())
        };
        let opener_words = words(opener).into_iter().map(|word| word.text).collect();
        Self { opener: opener_words, last: opener.chars().next_back(), state }
    }

    /// Returns the text to emit now. Whitespace is adjusted so that it can directly follow the
    /// opener.
    pub fn hear(&mut self, more: &str) -> String {
        match std::mem::replace(&mut self.state, ContinuationState::Passing) {
            ContinuationState::Passing => more.to_owned(),
            ContinuationState::Cut => self.cut(more),
            ContinuationState::Held(mut held) => {
                held.push_str(more);
                self.judge(held, SentenceEnd::Open)
            }
        }
    }

    /// End of the input.
    pub fn finish(&mut self) -> String {
        match std::mem::replace(&mut self.state, ContinuationState::Passing) {
            ContinuationState::Held(held) => self.judge(held, SentenceEnd::Reached),
            ContinuationState::Cut | ContinuationState::Passing => String::new(),
        }
    }

    fn judge(&mut self, held: String, end: SentenceEnd) -> String {
        match self.find_repetition(&held, end) {
            Some(OpenerRepetition::Cut(length)) => self.cut(&held[length..]),
            Some(OpenerRepetition::Not) => {
                self.state = ContinuationState::Passing;
                self.join_to_opener(&held)
            }
            None => {
                self.state = ContinuationState::Held(held);
                String::new()
            }
        }
    }

    /// `None`: not decided yet.
    fn find_repetition(&self, held: &str, end: SentenceEnd) -> Option<OpenerRepetition> {
        let mut spoken = words(held);
        // The last word may be incomplete.
        if end == SentenceEnd::Open && spoken.last().is_some_and(|word| word.end == held.len()) {
            spoken.pop();
        }
        let is_over = |words: usize| end == SentenceEnd::Reached || spoken.len() > words;
        if greets(&spoken) && self.has_greeting_opener() {
            let clause = held.find([',', '.', '!', '?', ';', ':', '—', '\n', '！', '。', '，']);
            return match clause {
                Some(at) if words(&held[..at]).len() <= MAX_GREETING_WORDS => {
                    let mark = held[at..].chars().next().map_or(0, char::len_utf8);
                    Some(OpenerRepetition::Cut(at + mark))
                }
                None if end == SentenceEnd::Reached && spoken.len() <= MAX_GREETING_WORDS => {
                    Some(OpenerRepetition::Cut(held.len()))
                }
                None if !is_over(MAX_GREETING_WORDS) => None,
                _ => Some(OpenerRepetition::Not),
            };
        }
        let known =
            spoken.iter().take(MIN_COMPARED_WORDS).filter(|word| self.opener.contains(&word.text));
        let known = known.count();
        let looked_at = spoken.len().min(MIN_COMPARED_WORDS);
        if looked_at == MIN_COMPARED_WORDS && known + 1 < MIN_COMPARED_WORDS {
            return Some(OpenerRepetition::Not);
        }
        let mut sentence = FirstSentence::default();
        if sentence.hear(held).end == SentenceEnd::Reached || end == SentenceEnd::Reached {
            let length = sentence.text().len();
            return Some(if self.is_repeated(&words(sentence.text())) {
                OpenerRepetition::Cut(length)
            } else {
                OpenerRepetition::Not
            });
        }
        if spoken.len() > self.opener.len() {
            let same = spoken.iter().zip(&self.opener).all(|(word, opener)| word.text == *opener);
            return if same {
                Some(OpenerRepetition::Cut(spoken[self.opener.len()].start))
            } else {
                is_over(self.opener.len() + MIN_COMPARED_WORDS).then_some(OpenerRepetition::Not)
            };
        }
        let most = 64 + 8 * self.opener.iter().map(String::len).sum::<usize>();
        (held.len() > most).then_some(OpenerRepetition::Not)
    }

    fn has_greeting_opener(&self) -> bool {
        is_greeting(self.opener.first().map(String::as_str), self.opener.get(1).map(String::as_str))
    }

    /// At least three of four words are the opener's, in its order; or all are, and there are at
    /// least [`MIN_COMPARED_WORDS`].
    fn is_repeated(&self, words: &[TextWord]) -> bool {
        let common = common(words, &self.opener);
        let is_part = common == words.len() && words.len() >= MIN_COMPARED_WORDS;
        let longer = words.len().max(self.opener.len());
        common > 0 && (is_part || common * 4 >= longer * 3)
    }

    fn cut(&mut self, rest: &str) -> String {
        let rest = rest.trim_start();
        self.state =
            if rest.is_empty() { ContinuationState::Cut } else { ContinuationState::Passing };
        self.join_to_opener(rest)
    }

    fn join_to_opener(&self, text: &str) -> String {
        let is_apart = |letter: char| letter.is_whitespace() || is_unspaced(letter);
        let first = text.chars().next();
        match (self.last, first) {
            (Some(last), Some(first)) if !is_apart(last) && !is_apart(first) => format!(" {text}"),
            _ => text.to_owned(),
        }
    }
}

enum OpenerRepetition {
    /// This many bytes were already said.
    Cut(usize),
    Not,
}

struct TextWord {
    text: String,
    start: usize,
    end: usize,
}

/// Words in lower case. In scripts without spaces, each letter is a word.
fn words(text: &str) -> Vec<TextWord> {
    let mut words: Vec<TextWord> = Vec::new();
    for (start, letter) in text.char_indices() {
        let end = start + letter.len_utf8();
        let is_part = letter.is_alphanumeric() || matches!(letter, '\'' | '’');
        match words.last_mut().filter(|word| word.end == start && !is_unspaced(letter)) {
            Some(word) if is_part && !word.text.ends_with(is_unspaced) => {
                word.text.extend(letter.to_lowercase());
                word.end = end;
            }
            _ if letter.is_alphanumeric() => {
                words.push(TextWord { text: letter.to_lowercase().collect(), start, end });
            }
            _ => {}
        }
    }
    words
}

fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ff65}'
        | '\u{0e00}'..='\u{0e7f}')
}

fn greets(words: &[TextWord]) -> bool {
    let text = |at: usize| words.get(at).map(|word| word.text.as_str());
    is_greeting(text(0), text(1))
}

fn is_greeting(first: Option<&str>, second: Option<&str>) -> bool {
    let Some(first) = first else { return false };
    let is_pair = |(one, others): &(&str, &[&str])| {
        *one == first && second.is_some_and(|second| others.contains(&second))
    };
    GREETINGS.contains(&first) || TWO_WORD_GREETINGS.iter().any(is_pair)
}

/// Length of the longest common subsequence of words.
fn common(words: &[TextWord], opener: &[String]) -> usize {
    let mut row = vec![0; opener.len() + 1];
    for word in words {
        let mut diagonal = 0;
        for (at, other) in opener.iter().enumerate() {
            let longest = if word.text == *other { diagonal + 1 } else { row[at].max(row[at + 1]) };
            diagonal = std::mem::replace(&mut row[at + 1], longest);
        }
    }
    row[opener.len()]
}
