//! What the config can say and this version does not do yet: the only list of it. `tollgate check`
//! warns of all of it. Nobody is less safe for it: a key that restricts or protects is never here.

use super::super::diagnostic::{Problems, SourceSpan};
use super::super::raw::SectionFields;

const TOP: &[&str] = &["redis"];

/// One warning for all keys that do nothing.
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
