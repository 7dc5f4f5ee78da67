//! Predicates on single nodes of a config file.

use super::diagnostic::Problems;
use super::expand;
use super::table::{KeyKind, TextKind};
use super::yaml_tree::{ConfigYamlData, ConfigYamlNode};

pub(super) fn hide(node: &ConfigYamlNode, problems: &mut Problems) {
    match &node.data {
        ConfigYamlData::Scalar { .. } => problems.hide(node.at),
        ConfigYamlData::List(items) => items.iter().for_each(|item| hide(item, problems)),
        ConfigYamlData::Map(pairs) => pairs.iter().for_each(|pair| hide(&pair.value, problems)),
    }
}

pub(super) fn is_reference(node: &ConfigYamlNode) -> bool {
    match &node.data {
        ConfigYamlData::Scalar { text, .. } => expand::is_reference(text),
        ConfigYamlData::List(_) | ConfigYamlData::Map(_) => false,
    }
}

/// Whether a name suggests a secret value.
pub fn sounds_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    ["token", "secret", "key", "pass", "auth", "credential"].iter().any(|word| name.contains(word))
}

pub(super) fn kind_of(text: TextKind) -> &'static KeyKind {
    match text {
        TextKind::Plain => &KeyKind::Text(TextKind::Plain),
        TextKind::Prose => &KeyKind::Text(TextKind::Prose),
        TextKind::Secret => &KeyKind::Text(TextKind::Secret),
    }
}

pub(super) fn is_word(node: &ConfigYamlNode, word: &str) -> bool {
    matches!(&node.data, ConfigYamlData::Scalar { text, .. } if text == word)
}
