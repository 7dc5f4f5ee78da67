//! Config keys that this version accepts but does not implement yet: the only list of them.
//! `tollgate check` warns of them. Keys that restrict or protect are never listed here, so ignoring
//! them is safe.

use super::super::diagnostic::{Problems, SourceSpan};
use super::super::raw::SectionFields;

const TOP: &[&str] = &["redis"];

/// One warning for all keys without effect.
pub(crate) fn warn(top: &SectionFields, problems: &mut Problems) {
    let idle = idle(top);
    if let Some((at, first)) = idle.first() {
        let names: Vec<String> = idle.iter().map(|(_, key)| format!("`{key}`")).collect();
        let message = format!("not implemented in this version: {}", names.join(", "));
        problems.warning(*at, first, message).help("it can remain, but is ignored");
    }
}

fn idle(top: &SectionFields) -> Vec<(SourceSpan, &'static str)> {
    let typed = TOP.iter().filter(|key| top.has(key));
    typed.map(|key| (top.place(key), *key)).collect()
}
