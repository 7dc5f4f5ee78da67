//! Table of characters that are invisible to people but read by models, for definitions and
//! results: their kinds, and the scripts in which some of them are orthography.

use std::ops::RangeInclusive;

use unicode_normalization::char::is_combining_mark;

pub(super) type CharRanges = &'static [RangeInclusive<char>];

pub(super) fn is_in(ranges: CharRanges, c: char) -> bool {
    ranges.iter().any(|range| range.contains(&c))
}

const INVISIBLE: CharRanges = &[
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

const SELECTORS: CharRanges = &[
    '\u{fe00}'..='\u{fe0f}',
    '\u{e0100}'..='\u{e01ef}',
    '\u{180b}'..='\u{180d}',
    '\u{180f}'..='\u{180f}',
];

const PRIVATE: CharRanges =
    &['\u{e000}'..='\u{f8ff}', '\u{fdd0}'..='\u{fdef}', '\u{f0000}'..='\u{10ffff}'];

const RTL: CharRanges = &[
    '\u{590}'..='\u{8ff}',
    '\u{fb1d}'..='\u{fdcf}',
    '\u{fe70}'..='\u{fefc}',
    '\u{10800}'..='\u{10fff}',
    '\u{1e800}'..='\u{1efff}',
];

/// Scripts with joining letters: Arabic and related ones, Indic scripts, Mongolian, Adlam.
const JOINING: CharRanges = &[
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
const UNSPACED_SCRIPTS: CharRanges = &[
    '\u{e00}'..='\u{fff}',
    '\u{1000}'..='\u{109f}',
    '\u{1780}'..='\u{17ff}',
    '\u{1950}'..='\u{1adf}',
    '\u{3040}'..='\u{30ff}',
    '\u{3400}'..='\u{9fff}',
];

const PICTOGRAPHS: CharRanges = &[
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

const IDEOGRAPHS: CharRanges = &[
    '\u{3001}'..='\u{3002}',
    '\u{3400}'..='\u{4dbf}',
    '\u{4e00}'..='\u{9fff}',
    '\u{f900}'..='\u{faff}',
    '\u{ff01}'..='\u{ff1f}',
    '\u{20000}'..='\u{3ffff}',
];

pub(super) const MATH_AND_MYANMAR: CharRanges = &[
    '\u{2190}'..='\u{22ff}',
    '\u{2a00}'..='\u{2aff}',
    '\u{1000}'..='\u{109f}',
    '\u{a840}'..='\u{a87f}',
];

pub(super) fn is_invisible(c: char) -> bool {
    is_in(INVISIBLE, c)
}

pub(super) fn is_selector(c: char) -> bool {
    is_in(SELECTORS, c)
}

/// Private use, and noncharacters.
pub(super) fn is_private(c: char) -> bool {
    is_in(PRIVATE, c) || u32::from(c) & 0xfffe == 0xfffe
}

pub(super) fn is_rtl(c: char) -> bool {
    is_in(RTL, c) && c != '\u{61c}'
}

pub(super) fn is_joining(c: char) -> bool {
    is_in(JOINING, c)
}

pub(super) fn is_unspaced(c: char) -> bool {
    is_in(UNSPACED_SCRIPTS, c)
}

pub(super) fn is_pictograph(c: char) -> bool {
    is_in(PICTOGRAPHS, c)
}

pub(super) fn is_ideograph(c: char) -> bool {
    is_in(IDEOGRAPHS, c)
}

pub(super) fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}')
}

pub(super) fn is_jamo(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115e}' | '\u{1161}'..='\u{11ff}' | '\u{a960}'..='\u{a97c}' | '\u{d7b0}'..='\u{d7fb}')
}

/// Whether it is a combining mark.
pub(super) fn is_mark(c: char) -> bool {
    c >= '\u{300}' && is_combining_mark(c)
}

/// For the first byte of a UTF-8 character: how many bytes can be skipped because no hidden,
/// combining or control character begins with it; or [`SUSPECT`].
///
/// Most text is skipped by this table alone. Everything that [`super::clean`] removes begins with a
/// suspect byte; a test checks both against each other.
pub(super) const LEADS: [u8; 256] = leads();

pub(super) const SUSPECT: u8 = 0;

const fn leads() -> [u8; 256] {
    let mut table = [SUSPECT; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte {
            0x09 | 0x0a | 0x0d | 0x20..=0x7e => 1,
            0xc3..=0xcb | 0xce..=0xd1 | 0xd3..=0xd5 | 0xda => 2,
            0xe4..=0xe9 | 0xeb..=0xed => 3,
            _ => SUSPECT,
        };
        byte += 1;
    }
    table
}
