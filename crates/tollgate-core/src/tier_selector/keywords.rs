//! The lists of keywords: those built in, and what operators add to them or put in their place.

use std::collections::HashSet;
use std::sync::Arc;

use super::fold::{self, TranscriptStage};
use super::{KeywordTier, TierKeyword, builtin};
use crate::text;

/// How much of a keyword a reason repeats.
const MAX_KEYWORD_CHARS: usize = 60;

/// Words and phrases that ask for more time, in any case and spacing. An agent's are added to the
/// installation's; in both lists, deep wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TierKeywords {
    pub deep: Vec<String>,
    pub standard: Vec<String>,
    pub builtin: BuiltinKeywords,
    /// Which of the built-in lists; none named: as the installation says, else all.
    pub languages: Vec<KeywordLanguage>,
}

/// What becomes of the built-in words. It is enough that one list replaces them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BuiltinKeywords {
    #[default]
    Kept,
    Replaced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeywordLanguage {
    German,
    English,
}

impl KeywordLanguage {
    pub const ALL: [Self; 2] = [Self::German, Self::English];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::German => "de",
            Self::English => "en",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.as_str() == text)
    }
}

/// Whether a keyword can ever be heard: it has a letter or a digit.
pub fn is_matchable(keyword: &str) -> bool {
    !fold::fold(keyword, TranscriptStage::Final).trim().is_empty()
}

/// Every keyword once, with its folded form first. Those that cannot be heard are left out.
pub(super) fn collect(lists: &[&TierKeywords]) -> Vec<(String, TierKeyword)> {
    let mut collected = KeywordCollector::default();
    for list in lists {
        collected.add(KeywordTier::Deep, list.deep.iter().map(String::as_str));
    }
    let languages = languages(lists);
    for language in languages {
        collected.add(KeywordTier::Deep, builtin::deep(*language));
    }
    for list in lists {
        collected.add(KeywordTier::Standard, list.standard.iter().map(String::as_str));
    }
    for language in languages {
        collected.add(KeywordTier::Standard, builtin::standard(*language));
    }
    collected.keywords
}

fn languages<'k>(lists: &[&'k TierKeywords]) -> &'k [KeywordLanguage] {
    if lists.iter().any(|list| list.builtin == BuiltinKeywords::Replaced) {
        return &[];
    }
    let named = lists.iter().rev().find(|list| !list.languages.is_empty());
    named.map_or(&KeywordLanguage::ALL, |list| &list.languages)
}

#[derive(Default)]
struct KeywordCollector {
    keywords: Vec<(String, TierKeyword)>,
    known: HashSet<String>,
}

impl KeywordCollector {
    fn add<'k>(&mut self, calls_for: KeywordTier, keywords: impl Iterator<Item = &'k str>) {
        for keyword in keywords.filter(|keyword| is_matchable(keyword)) {
            let folded = fold::fold(keyword, TranscriptStage::Final);
            if self.known.insert(folded.clone()) {
                self.keywords.push((folded, TierKeyword { calls_for, text: to_one_line(keyword) }));
            }
        }
    }
}

/// On one line, for it may end up in a header.
fn to_one_line(keyword: &str) -> Arc<str> {
    let words: Vec<&str> = keyword
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    text::truncate_chars(&words.join(" "), MAX_KEYWORD_CHARS).into()
}
