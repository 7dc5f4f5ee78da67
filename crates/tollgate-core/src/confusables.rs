//! Confusables (homoglyphs): characters that look like others, and their scripts. Shared by names,
//! the scan of definitions and both searches, so that all agree on look-alikes.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The ASCII character that `c` is or looks like.
pub(crate) fn latin(c: char) -> Option<char> {
    static TWINS: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
        let each = LOOK_ALIKES.iter().flat_map(|(twins, to)| twins.chars().map(|c| (c, *to)));
        each.collect()
    });
    if c.is_ascii() { Some(c) } else { TWINS.get(&c).copied() }
}

/// Whether its script writes no spaces between words.
pub(crate) fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Scripts whose mixture within a word is suspicious.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LetterScript {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Cherokee,
    Other,
}

impl LetterScript {
    pub(crate) fn of(c: char) -> Self {
        match c {
            'a'..='z' | 'A'..='Z' => Self::Latin,
            '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Self::Latin,
            '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Self::Greek,
            '\u{400}'..='\u{52f}' | '\u{1c80}'..='\u{1c8f}' | '\u{2de0}'..='\u{2dff}' => {
                Self::Cyrillic
            }
            '\u{530}'..='\u{58f}' => Self::Armenian,
            '\u{13a0}'..='\u{13ff}' | '\u{ab70}'..='\u{abbf}' => Self::Cherokee,
            _ => Self::Other,
        }
    }
}

/// Characters of other scripts that look like a Latin one.
const LOOK_ALIKES: &[(&str, char)] = &[
    ("аαɑ", 'a'),
    ("ЬƄ", 'b'),
    ("сϲⅽ", 'c'),
    ("ԁⅾ", 'd'),
    ("еєҽ", 'e'),
    ("ɡց", 'g'),
    ("һհ", 'h'),
    ("іιıⅰ", 'i'),
    ("јϳ", 'j'),
    ("кκ", 'k'),
    ("ӏⅼ", 'l'),
    ("мⅿ", 'm'),
    ("пո", 'n'),
    ("оοօσ", 'o'),
    ("рρ", 'p'),
    ("ԛզ", 'q'),
    ("гᴦ", 'r'),
    ("ѕꜱ", 's'),
    ("тτ", 't'),
    ("υսᴜ", 'u'),
    ("νѵⅴ", 'v'),
    ("ԝωա", 'w'),
    ("хχⅹ", 'x'),
    ("уγү", 'y'),
    ("ᴢ", 'z'),
    ("АΑ", 'A'),
    ("ВΒ", 'B'),
    ("СϹⅭ", 'C'),
    ("ЕΕ", 'E'),
    ("НΗ", 'H'),
    ("ІΙӀⅠ", 'I'),
    ("ЈͿ", 'J'),
    ("КΚK", 'K'),
    ("МΜⅯ", 'M'),
    ("Ν", 'N'),
    ("ОΟՕ", 'O'),
    ("РΡ", 'P'),
    ("ЅՏ", 'S'),
    ("ТΤ", 'T'),
    ("ХΧⅩ", 'X'),
    ("УΥҮ", 'Y'),
    ("Ζ", 'Z'),
];
