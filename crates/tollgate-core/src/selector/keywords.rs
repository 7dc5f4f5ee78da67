//! The lists of keywords: those built in, and what operators add to them or put in their place.

use std::collections::HashSet;
use std::sync::Arc;

use super::fold::{self, Form};
use super::{CallsFor, Keyword, builtin};
use crate::text;

/// How much of a keyword a reason repeats.
const SHOWN: usize = 60;

/// Words and phrases that ask for more time, in any case and spacing. An agent's are added to the
/// installation's; in both lists, deep wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keywords {
    pub deep: Vec<String>,
    pub standard: Vec<String>,
    pub builtin: Builtin,
    /// Which of the built-in lists; none named: as the installation says, else all.
    pub languages: Vec<Language>,
}

/// What becomes of the built-in words. It is enough that one list replaces them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Builtin {
    #[default]
    Kept,
    Replaced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    German,
    English,
}

impl Language {
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
    !fold::fold(keyword, Form::Final).trim().is_empty()
}

/// Every keyword once, with its folded form first. Those that cannot be heard are left out.
pub(super) fn collect(lists: &[&Keywords]) -> Vec<(String, Keyword)> {
    let mut collected = Collected::default();
    for list in lists {
        collected.add(CallsFor::Deep, list.deep.iter().map(String::as_str));
    }
    let languages = languages(lists);
    for language in languages {
        collected.add(CallsFor::Deep, builtin::deep(*language));
    }
    for list in lists {
        collected.add(CallsFor::Standard, list.standard.iter().map(String::as_str));
    }
    for language in languages {
        collected.add(CallsFor::Standard, builtin::standard(*language));
    }
    collected.keywords
}

fn languages<'k>(lists: &[&'k Keywords]) -> &'k [Language] {
    if lists.iter().any(|list| list.builtin == Builtin::Replaced) {
        return &[];
    }
    let named = lists.iter().rev().find(|list| !list.languages.is_empty());
    named.map_or(&Language::ALL, |list| &list.languages)
}

#[derive(Default)]
struct Collected {
    keywords: Vec<(String, Keyword)>,
    known: HashSet<String>,
}

impl Collected {
    fn add<'k>(&mut self, calls_for: CallsFor, keywords: impl Iterator<Item = &'k str>) {
        for keyword in keywords.filter(|keyword| is_matchable(keyword)) {
            let folded = fold::fold(keyword, Form::Final);
            if self.known.insert(folded.clone()) {
                self.keywords.push((folded, Keyword { calls_for, text: shown(keyword) }));
            }
        }
    }
}

/// On one line, for it may end up in a header.
fn shown(keyword: &str) -> Arc<str> {
    let words: Vec<&str> = keyword
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    text::shortened(&words.join(" "), SHOWN).into()
}
