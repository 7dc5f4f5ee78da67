//! The config as typed: it matches the tables (kinds, ranges, known keys) and every value has its
//! position, but it is not validated as a whole. Built by `read`, used by `check`.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::diagnostic::SourceSpan;

/// A value and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spanned<T> {
    pub value: T,
    pub at: SourceSpan,
}

#[derive(Debug)]
pub(super) enum RawConfigValue {
    Text(String),
    Flag(bool),
    Whole(u64),
    Words(Vec<String>),
    List(Vec<RawConfigItem>),
    Table(Vec<(Spanned<String>, RawConfigItem)>),
    Section(SectionFields),
    Named(Vec<(Spanned<String>, SectionFields)>),
    Json(Json),
}

pub(super) type RawConfigItem = Spanned<RawConfigValue>;

/// The keys of one section.
#[derive(Debug)]
pub(super) struct SectionFields {
    pub at: SourceSpan,
    /// Its path in the file: `servers.files`.
    pub path: String,
    /// `None`: present but invalid, and reported already.
    pub(super) values: BTreeMap<&'static str, Option<RawConfigItem>>,
}

const DISAGREE: &str = "the table gives this key another kind";

impl SectionFields {
    /// Whether the key is present, valid or not.
    pub(super) fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// The key's path, for messages.
    pub(super) fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Position of the value, or of the section if there is none.
    pub(super) fn place(&self, key: &str) -> SourceSpan {
        self.item(key).map_or(self.at, |item| item.at)
    }

    pub(super) fn text(&self, key: &str) -> Option<Spanned<&str>> {
        self.item(key).map(|item| match &item.value {
            RawConfigValue::Text(text) => Spanned { value: text.as_str(), at: item.at },
            _ => unreachable!("{key}: {DISAGREE}"),
        })
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.item(key).map(|item| match item.value {
            RawConfigValue::Flag(flag) => flag,
            _ => unreachable!("{key}: {DISAGREE}"),
        })
    }

    pub(super) fn whole(&self, key: &str) -> Option<Spanned<u64>> {
        self.item(key).map(|item| match item.value {
            RawConfigValue::Whole(value) => Spanned { value, at: item.at },
            _ => unreachable!("{key}: {DISAGREE}"),
        })
    }

    pub(super) fn words(&self, key: &str) -> Option<Spanned<&[String]>> {
        self.item(key).map(|item| match &item.value {
            RawConfigValue::Words(words) => Spanned { value: words.as_slice(), at: item.at },
            _ => unreachable!("{key}: {DISAGREE}"),
        })
    }

    /// The strings of a list. Empty when the key is missing.
    pub(super) fn texts(&self, key: &str) -> Vec<Spanned<&str>> {
        self.items(key)
            .iter()
            .map(|item| match &item.value {
                RawConfigValue::Text(text) => Spanned { value: text.as_str(), at: item.at },
                _ => unreachable!("{key}: {DISAGREE}"),
            })
            .collect()
    }

    /// User-defined names with their strings.
    pub(super) fn table(&self, key: &str) -> Vec<(&Spanned<String>, &str)> {
        self.item(key).map_or_else(Vec::new, |item| match &item.value {
            RawConfigValue::Table(pairs) => pairs
                .iter()
                .map(|(name, item)| match &item.value {
                    RawConfigValue::Text(text) => (name, text.as_str()),
                    _ => unreachable!("{key}: {DISAGREE}"),
                })
                .collect(),
            _ => unreachable!("{key}: {DISAGREE}"),
        })
    }

    pub(super) fn section(&self, key: &str) -> Option<&Self> {
        self.item(key).map(|item| match &item.value {
            RawConfigValue::Section(fields) => fields,
            _ => unreachable!("{key}: {DISAGREE}"),
        })
    }

    /// Whether a word is used instead of the section.
    pub(super) fn is_word(&self, key: &str) -> bool {
        self.item(key).is_some_and(|item| matches!(item.value, RawConfigValue::Text(_)))
    }

    pub(super) fn named_sections(&self, key: &str) -> &[(Spanned<String>, Self)] {
        self.item(key).map_or(&[], |item| match &item.value {
            RawConfigValue::Named(entries) => entries.as_slice(),
            _ => unreachable!("{key}: {DISAGREE}"),
        })
    }

    /// The sections of a list.
    pub(super) fn entries(&self, key: &str) -> Vec<&Self> {
        self.items(key)
            .iter()
            .map(|item| match &item.value {
                RawConfigValue::Section(fields) => fields,
                _ => unreachable!("{key}: {DISAGREE}"),
            })
            .collect()
    }

    pub(super) fn json(&self, key: &str) -> Option<Spanned<&Json>> {
        self.item(key).map(|item| match &item.value {
            RawConfigValue::Json(json) => Spanned { value: json, at: item.at },
            _ => unreachable!("{key}: {DISAGREE}"),
        })
    }

    fn item(&self, key: &str) -> Option<&RawConfigItem> {
        self.values.get(key)?.as_ref()
    }

    fn items(&self, key: &str) -> &[RawConfigItem] {
        self.item(key).map_or(&[], |item| match &item.value {
            RawConfigValue::List(items) => items.as_slice(),
            _ => unreachable!("{key}: {DISAGREE}"),
        })
    }
}
