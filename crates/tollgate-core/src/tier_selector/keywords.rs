//! Keyword lists: the built-in ones, and those that operators add or replace them with.

use std::collections::HashSet;
use std::sync::Arc;

use super::builtin::{self, KeywordLanguage};
use super::fold::{self, TranscriptStage};
use super::{KeywordTier, TierKeyword};
use crate::text;

/// Maximum characters of a keyword quoted in a reason.
const MAX_KEYWORD_CHARS: usize = 60;

/// Words and phrases that request more time, ignoring case and spacing. An agent's lists are added
/// to the global ones; a keyword in both lists is deep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TierKeywords {
    pub deep: Vec<String>,
    pub standard: Vec<String>,
    pub builtin: BuiltinKeywords,
    /// The built-in lists to use; empty: the global setting, else all.
    pub languages: Vec<KeywordLanguage>,
}

/// Whether built-in keywords are kept. One replacing list suffices to drop them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BuiltinKeywords {
    #[default]
    Included,
    Replaced,
}

/// Whether a keyword can match at all: it contains a letter or a digit.
pub fn is_matchable(keyword: &str) -> bool {
    !fold::fold(keyword, TranscriptStage::Final).trim().is_empty()
}

/// Each keyword once, with its normalized form first. Unmatchable ones are omitted.
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

/// On one line, because it may be sent in a header.
fn to_one_line(keyword: &str) -> Arc<str> {
    let words: Vec<&str> = keyword
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    text::truncate_chars(&words.join(" "), MAX_KEYWORD_CHARS).into()
}
