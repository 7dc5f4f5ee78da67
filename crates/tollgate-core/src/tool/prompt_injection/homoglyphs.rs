//! Homoglyphs: words written in look-alike letters of another script.

use super::phrases::TextPosition;
use crate::confusables::{self, LetterScript};

/// Greek letters may follow these in formulas.
const FUNCTIONS: &[&str] = &["sin", "cos", "tan", "cot", "log", "exp", "max", "min", "arg"];
/// This many letters of a mathematical alphabet count as a word.
const MIN_STYLED_LETTERS: usize = 4;

/// The first word that imitates another.
pub(super) fn twin(text: &str, position: TextPosition) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    if let Some(styled) = find_styled_run(text) {
        return Some(styled);
    }
    let is_name = position == TextPosition::Name;
    if is_name && text.chars().all(|c| !c.is_alphabetic() || confusables::latin(c).is_some()) {
        return text.chars().any(|c| is_foreign(LetterScript::of(c))).then(|| text.to_owned());
    }
    let around = SurroundingScript::of(text);
    words(text).find(|word| is_twin(word, around)).map(str::to_owned)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty() && !word.is_ascii())
}

/// The script of the surrounding text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SurroundingScript {
    /// Some letter can only be of another alphabet: the text is in that language.
    Foreign,
    Latin,
}

impl SurroundingScript {
    fn of(text: &str) -> Self {
        let is_telling =
            |c: char| is_foreign(LetterScript::of(c)) && confusables::latin(c).is_none();
        if text.chars().any(is_telling) { Self::Foreign } else { Self::Latin }
    }
}

fn is_foreign(script: LetterScript) -> bool {
    matches!(
        script,
        LetterScript::Greek
            | LetterScript::Cyrillic
            | LetterScript::Armenian
            | LetterScript::Cherokee
    )
}

fn is_twin(word: &str, around: SurroundingScript) -> bool {
    let scripts: Vec<LetterScript> = word.chars().map(LetterScript::of).collect();
    let latin = scripts.iter().filter(|it| **it == LetterScript::Latin).count();
    let foreign = scripts.iter().filter(|it| is_foreign(**it)).count();
    let all_look_latin = word.chars().all(|c| confusables::latin(c).is_some());
    if foreign == 0 {
        return false;
    }
    if latin == 0 {
        // A word of its own script; suspicious if alone in a Latin text and made of look-alikes
        // only.
        let is_greek = scripts.contains(&LetterScript::Greek);
        return !is_greek && around == SurroundingScript::Latin && all_look_latin && foreign >= 3;
    }
    if scripts.contains(&LetterScript::Greek) {
        let plain: String = word.chars().filter(char::is_ascii).collect();
        return latin >= 3 && all_look_latin && !FUNCTIONS.contains(&plain.as_str());
    }
    // An abbreviation with an ending (`SMSка`) changes its script once, a disguise anywhere.
    let changes = scripts.windows(2).filter(|pair| pair[0] != pair[1]).count();
    changes > 1 || around == SurroundingScript::Latin
}

/// A run of letters from mathematical, circled or squared alphabets.
fn find_styled_run(text: &str) -> Option<String> {
    let mut run = String::new();
    for c in text.chars() {
        let is_styled = matches!(
            c,
            '\u{1d400}'..='\u{1d7ff}' | '\u{24b6}'..='\u{24e9}' | '\u{1f130}'..='\u{1f189}'
        );
        if is_styled {
            run.push(c)
        } else {
            run.clear()
        }
        if run.chars().count() >= MIN_STYLED_LETTERS {
            return Some(run);
        }
    }
    None
}
