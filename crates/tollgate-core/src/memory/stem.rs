//! English stemmer: strips common endings, so that `searches`, `searching` and `search` are equal.
//! Deliberately conservative because names are indexed: `Luca` is not `Lucas`, nor `Jan` `Jane`.

/// Irregular plurals.
const IRREGULAR: &[(&str, &str)] = &[
    ("children", "child"),
    ("dwarves", "dwarf"),
    ("elves", "elf"),
    ("feet", "foot"),
    ("halves", "half"),
    ("knives", "knife"),
    ("men", "man"),
    ("mice", "mouse"),
    ("shelves", "shelf"),
    ("teeth", "tooth"),
    ("thieves", "thief"),
    ("wives", "wife"),
    ("wolves", "wolf"),
    ("women", "woman"),
];

/// Not a form of `even`.
const EXCEPTIONS: &[&str] = &["evening"];

/// Stems with these endings lost an `e` together with `-ing` or `-ed`: `arriv`, `handl`.
const WANTS_E: &[&str] = &[
    "v", "c", "u", "az", "iz", "ez", "eng", "ung", "chang", "rang", "ag", "rg", "dg", "as", "es",
    "is", "os", "rs", "ns", "ps", "creat", "plet", "delet", "ecut", "put", "lut", "bl", "pl", "tl",
    "dl", "gl", "fl", "kl", "cl", "zl", "plor", "stor", "gnor", "ador", "com", "sum", "clud",
    "plod", "typ", "eus", "aus", "xcit", "nvit", "gnit",
];

/// Likewise, but only after a consonant or `u`: `shar` but not `hear`, `decid` but not `avoid`.
const WANTS_E_AFTER_CONSONANT: &[&str] =
    &["at", "ak", "ik", "ok", "id", "ad", "ir", "ar", "ur", "in", "ap", "ib"];

/// `word` is already folded. Words with other than plain letters are left unchanged.
pub(super) fn stem(word: &mut String) {
    if word.len() < 3 || !word.bytes().all(|it| it.is_ascii_lowercase()) {
        return;
    }
    if let Ok(at) = IRREGULAR.binary_search_by_key(&word.as_str(), |it| it.0) {
        IRREGULAR[at].1.clone_into(word);
        return;
    }
    if EXCEPTIONS.contains(&word.as_str()) {
        return;
    }
    plural(word);
    if ends(word, "ied", 2) {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if ends(word, "ing", 3) || ends(word, "ed", 3) && !word.ends_with("eed") {
        let ending = if word.ends_with("ing") { 3 } else { 2 };
        let rest = &word[..word.len() - ending];
        if rest.bytes().any(is_vowel) {
            word.truncate(rest.len());
            mend(word);
        }
    }
}

/// Keeps `s` after `a` and `o`: names end so (`Lucas`, `Carlos`) as often as plurals.
fn plural(word: &mut String) {
    if ends(word, "ies", 2) {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if ["ches", "shes", "sses", "xes", "zzes"].iter().any(|it| ends(word, it, 1))
        || ends(word, "oes", 3)
    {
        word.truncate(word.len() - 2);
    } else if ends(word, "s", 3)
        && !["ss", "us", "is", "as", "os"].iter().any(|it| ends(word, it, 0))
    {
        word.pop();
    }
}

/// Repairs a stem after `-ing` or `-ed`: `runn` to `run`, `bak` to `bake`.
fn mend(word: &mut String) {
    let bytes = word.as_bytes();
    let [.., before, last] = *bytes else { return };
    if before == last && !is_vowel(last) {
        if bytes.len() > 3 && !matches!(last, b'l' | b's' | b'z' | b'f') {
            word.pop();
        }
        return;
    }
    let after_consonant = |ending: &str| {
        word.strip_suffix(ending)
            .and_then(|rest| rest.bytes().next_back())
            .is_some_and(|it| !is_vowel(it) || it == b'u' && !ending.starts_with('u'))
    };
    if WANTS_E.iter().any(|it| word.ends_with(it))
        || WANTS_E_AFTER_CONSONANT.iter().any(|it| after_consonant(it))
        || is_short(bytes)
    {
        word.push('e');
    }
}

/// Ends in a single vowel between consonants: `hop`, `nam`, `writ`.
fn is_short(word: &[u8]) -> bool {
    let [rest @ .., vowel, last] = word else { return false };
    let closed = is_vowel(*vowel) && !is_vowel(*last) && !matches!(last, b'w' | b'x');
    closed && !rest.is_empty() && !rest.iter().copied().any(is_vowel)
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// Whether it has this ending with at least `before` letters in front.
fn ends(word: &str, ending: &str, before: usize) -> bool {
    word.len() >= ending.len() + before && word.ends_with(ending)
}

#[cfg(test)]
mod tests;
