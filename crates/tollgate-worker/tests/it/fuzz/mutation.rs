//! Programs with mistakes: bytes flipped, words put in, parts taken out or doubled.

use super::grammar::Dice;

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "(", ")", "[", "]", "{", "}", ":", ",", "\n", "    ", " ", "\t", "\r", "\0", "'", "\"", "'''",
    "\"\"\"", "\\", "#", "=", "==", "*", "**", "//", "<<", "f'", "b'", "r'", "{{", "}}", "0x",
    "0b", "1e", "1_000", "..", "...", "->", "@", ";", "lambda", "def", "for", "in", "not", "if",
    "else", "elif", "return", "load", "import", "while", "class", "is", "\u{feff}", "\u{200b}",
    "é", "😀", "\\x", "\\u", "\\U0010ffff", "%s", "%(a)s", "{0}", "{a!r}",
];

pub(crate) fn mutate(text: &str, dice: &mut Dice) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=dice.below(6) {
        let at = dice.below(bytes.len());
        let end = (at + dice.below(20)).min(bytes.len());
        match dice.below(6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << dice.below(8),
            1 if !bytes.is_empty() => drop(bytes.drain(at..end)),
            2 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            3 if !bytes.is_empty() => {
                let to = dice.below(bytes.len());
                bytes.swap(at, to);
            }
            _ => drop(bytes.splice(at..at, dice.pick(WORDS).bytes())),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
