//! Finds characters that people do not see and models read, and takes them out.
//! What a script or an emoji needs to be written at all is left alone.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::finding::FindingKind;

/// `text` without hidden characters, and the kinds that were found (sorted, each once).
pub fn clean(text: &str) -> (Cow<'_, str>, Vec<FindingKind>) {
    if is_plain(text) {
        return (Cow::Borrowed(text), Vec::new());
    }
    let letters: Vec<char> = text.chars().collect();
    let around = Around { rtl: letters.iter().any(|c| is_rtl(*c)), letters: &letters };
    let mut kinds = Vec::new();
    let mut kept = String::with_capacity(text.len());
    for (at, letter) in letters.iter().enumerate() {
        match around.hidden(at) {
            Some(kind) => kinds.push(kind),
            None => kept.push(*letter),
        }
    }
    if kinds.is_empty() {
        return (Cow::Borrowed(text), kinds);
    }
    kinds.sort_unstable();
    kinds.dedup();
    (Cow::Owned(kept), kinds)
}

/// The text with everything in it that people do not see, or that moves what they see, as escapes.
pub fn visible(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    escaped(text, is_unseen)
}

/// The text with all but ASCII as escapes: two that look the same are not any more.
pub fn ascii(text: &str) -> String {
    escaped(text, |c| !c.is_ascii() || c.is_ascii_control())
}

fn escaped(text: &str, escapes: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match escapes(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    out
}

/// In no context visible by itself.
pub(crate) fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}')
        || matches!(c, '\u{e0000}'..='\u{e0fff}')
        || is_invisible(c)
        || is_selector(c)
        || is_private(c)
}

/// Printable ASCII and line breaks only: most texts, settled without looking at characters.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r'))
}

struct Around<'a> {
    letters: &'a [char],
    rtl: bool,
}

impl Around<'_> {
    fn hidden(&self, at: usize) -> Option<FindingKind> {
        let (kind, fine) = match self.letters[at] {
            '\n' | '\t' | '\r' => return None,
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => (FindingKind::Control, false),
            '\u{200e}' | '\u{200f}' | '\u{61c}' => (FindingKind::Bidi, self.rtl && self.alone(at)),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' => (FindingKind::Bidi, false),
            '\u{200d}' => (FindingKind::ZeroWidth, self.joins_emoji(at) || self.shapes(at)),
            '\u{200c}' => (FindingKind::ZeroWidth, self.shapes(at)),
            '\u{200b}' => (FindingKind::ZeroWidth, self.alone(at) && self.between(at, is_unspaced)),
            '\u{ad}' => {
                (FindingKind::ZeroWidth, self.alone(at) && self.between(at, char::is_alphabetic))
            }
            '\u{34f}' => (FindingKind::ZeroWidth, self.before(at).is_some_and(is_combining)),
            '\u{115f}' | '\u{1160}' => (FindingKind::ZeroWidth, self.beside(at, is_jamo)),
            c if is_invisible(c) => (FindingKind::ZeroWidth, false),
            c if is_selector(c) => (FindingKind::VariationSelector, self.selects(at)),
            '\u{e0000}'..='\u{e0fff}' => (FindingKind::Tag, self.is_flag(at)),
            c if is_private(c) => (FindingKind::PrivateUse, false),
            _ => return None,
        };
        (!fine).then_some(kind)
    }

    fn before(&self, at: usize) -> Option<char> {
        at.checked_sub(1).map(|at| self.letters[at])
    }

    fn after(&self, at: usize) -> Option<char> {
        self.letters.get(at + 1).copied()
    }

    /// One invisible character can be orthography; a run of them is a message.
    fn alone(&self, at: usize) -> bool {
        !self.beside(at, |c| {
            matches!(c, '\u{200b}'..='\u{200f}' | '\u{61c}' | '\u{ad}') || is_invisible(c)
        })
    }

    fn beside(&self, at: usize, fits: impl Fn(char) -> bool) -> bool {
        self.before(at).is_some_and(&fits) || self.after(at).is_some_and(&fits)
    }

    fn between(&self, at: usize, fits: impl Fn(char) -> bool) -> bool {
        self.before(at).is_some_and(&fits) && self.after(at).is_some_and(&fits)
    }

    /// A joiner or non-joiner in a script whose letters change shape.
    fn shapes(&self, at: usize) -> bool {
        self.alone(at) && self.before(at).is_some_and(is_joining)
    }

    fn joins_emoji(&self, at: usize) -> bool {
        let before = self.before(at).is_some_and(|c| c == '\u{fe0f}' || is_pictograph(c));
        before && self.after(at).is_some_and(is_pictograph)
    }

    fn selects(&self, at: usize) -> bool {
        if self.after(at).is_some_and(is_selector) {
            return false;
        }
        let Some(before) = self.before(at) else { return false };
        match self.letters[at] {
            '\u{fe0e}' | '\u{fe0f}' => {
                is_pictograph(before)
                    || (matches!(before, '0'..='9' | '#' | '*')
                        && self.after(at) == Some('\u{20e3}'))
            }
            '\u{180b}'..='\u{180f}' => matches!(before, '\u{1800}'..='\u{18af}'),
            '\u{fe00}'..='\u{fe02}' => is_ideograph(before) || is_in(MATH_AND_MYANMAR, before),
            '\u{e0100}'..='\u{e01ef}' => is_ideograph(before),
            _ => false,
        }
    }

    /// Part of one of the three flags that are written with tags: a black flag and six of them.
    fn is_flag(&self, at: usize) -> bool {
        const TAGS: usize = 6;
        let is_tag = |c: &char| matches!(c, '\u{e0000}'..='\u{e0fff}');
        // No further back than a flag is long, or a run of tags would be walked once for each.
        let from = at.saturating_sub(TAGS);
        let start = self.letters[from..at].iter().rposition(|c| !is_tag(c)).map(|it| from + it);
        let Some(start) = start.filter(|at| self.letters[*at] == '\u{1f3f4}') else { return false };
        let tags = self.letters[start + 1..].iter().take_while(|c| is_tag(c)).take(TAGS + 1);
        let spelled: String =
            tags.filter_map(|c| char::from_u32(u32::from(*c) - 0xe_0000)).collect();
        matches!(spelled.as_str(), "gbeng\u{7f}" | "gbsct\u{7f}" | "gbwls\u{7f}")
    }
}

type Ranges = &'static [RangeInclusive<char>];

fn is_in(ranges: Ranges, c: char) -> bool {
    ranges.iter().any(|range| range.contains(&c))
}

const INVISIBLE: Ranges = &[
    '\u{2060}'..='\u{2065}',
    '\u{feff}'..='\u{feff}',
    '\u{180e}'..='\u{180e}',
    '\u{3164}'..='\u{3164}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{17b4}'..='\u{17b5}',
    '\u{fff9}'..='\u{fffb}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
];

const SELECTORS: Ranges = &[
    '\u{fe00}'..='\u{fe0f}',
    '\u{e0100}'..='\u{e01ef}',
    '\u{180b}'..='\u{180d}',
    '\u{180f}'..='\u{180f}',
];

const PRIVATE: Ranges =
    &['\u{e000}'..='\u{f8ff}', '\u{fdd0}'..='\u{fdef}', '\u{f0000}'..='\u{10ffff}'];

const RTL: Ranges = &[
    '\u{590}'..='\u{8ff}',
    '\u{fb1d}'..='\u{fdcf}',
    '\u{fe70}'..='\u{fefc}',
    '\u{10800}'..='\u{10fff}',
    '\u{1e800}'..='\u{1efff}',
];

/// Scripts whose letters join: Arabic and its kin, the Indic family, Mongolian, Adlam.
const JOINING: Ranges = &[
    '\u{600}'..='\u{8ff}',
    '\u{900}'..='\u{dff}',
    '\u{f00}'..='\u{fff}',
    '\u{1000}'..='\u{109f}',
    '\u{1780}'..='\u{18af}',
    '\u{1900}'..='\u{1cff}',
    '\u{a800}'..='\u{abff}',
    '\u{fb50}'..='\u{fdcf}',
    '\u{fe70}'..='\u{fefc}',
    '\u{11000}'..='\u{11fff}',
    '\u{1e900}'..='\u{1e95f}',
];

/// Scripts without spaces between words: Thai, Lao, Tibetan, Myanmar, Khmer, kana, ideographs.
const UNSPACED: Ranges = &[
    '\u{e00}'..='\u{fff}',
    '\u{1000}'..='\u{109f}',
    '\u{1780}'..='\u{17ff}',
    '\u{1950}'..='\u{1adf}',
    '\u{3040}'..='\u{30ff}',
    '\u{3400}'..='\u{9fff}',
];

const PICTOGRAPHS: Ranges = &[
    '\u{a9}'..='\u{a9}',
    '\u{ae}'..='\u{ae}',
    '\u{203c}'..='\u{203c}',
    '\u{2049}'..='\u{2049}',
    '\u{2122}'..='\u{2122}',
    '\u{2139}'..='\u{2139}',
    '\u{2190}'..='\u{21ff}',
    '\u{2300}'..='\u{23ff}',
    '\u{24c2}'..='\u{24c2}',
    '\u{25a0}'..='\u{27bf}',
    '\u{2900}'..='\u{297f}',
    '\u{2b00}'..='\u{2bff}',
    '\u{3030}'..='\u{3030}',
    '\u{303d}'..='\u{303d}',
    '\u{3297}'..='\u{3299}',
    '\u{1f000}'..='\u{1faff}',
];

const IDEOGRAPHS: Ranges = &[
    '\u{3001}'..='\u{3002}',
    '\u{3400}'..='\u{4dbf}',
    '\u{4e00}'..='\u{9fff}',
    '\u{f900}'..='\u{faff}',
    '\u{ff01}'..='\u{ff1f}',
    '\u{20000}'..='\u{3ffff}',
];

const MATH_AND_MYANMAR: Ranges = &[
    '\u{2190}'..='\u{22ff}',
    '\u{2a00}'..='\u{2aff}',
    '\u{1000}'..='\u{109f}',
    '\u{a840}'..='\u{a87f}',
];

fn is_invisible(c: char) -> bool {
    is_in(INVISIBLE, c)
}

fn is_selector(c: char) -> bool {
    is_in(SELECTORS, c)
}

/// Private use, and code points that are no characters.
fn is_private(c: char) -> bool {
    is_in(PRIVATE, c) || u32::from(c) & 0xfffe == 0xfffe
}

fn is_rtl(c: char) -> bool {
    is_in(RTL, c) && c != '\u{61c}'
}

fn is_joining(c: char) -> bool {
    is_in(JOINING, c)
}

fn is_unspaced(c: char) -> bool {
    is_in(UNSPACED, c)
}

fn is_pictograph(c: char) -> bool {
    is_in(PICTOGRAPHS, c)
}

fn is_ideograph(c: char) -> bool {
    is_in(IDEOGRAPHS, c)
}

fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}')
}

fn is_jamo(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115e}' | '\u{1161}'..='\u{11ff}' | '\u{a960}'..='\u{a97c}' | '\u{d7b0}'..='\u{d7fb}')
}
