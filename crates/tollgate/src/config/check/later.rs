//! What the config can say and this version does not do yet: the only list of it. `tollgate check`
//! warns of all of it; with what would restrict somebody, nothing starts.

use super::super::diagnostic::{Problems, Span};
use super::super::raw::Fields;

/// Without effect, but nobody is less safe for it.
const TOP: &[&str] = &["redis"];

/// Keys that restrict or protect, by their paths: to run without them would be a false promise.
pub(super) fn unenforced(top: &Fields) -> Vec<String> {
    restricting(top).into_iter().map(|(_, path)| path).collect()
}

/// One warning for each key that restricts, one for all keys that do nothing.
pub(crate) fn warn(top: &Fields, problems: &mut Problems) {
    for (at, path) in restricting(top) {
        problems
            .warning(at, &path, format!("`{path}` is not enforced by this version"))
            .help("the gateway does not start with it; take it out");
    }
    let idle = idle(top);
    if let Some((at, first)) = idle.first() {
        let names: Vec<String> = idle.iter().map(|(_, key)| format!("`{key}`")).collect();
        let message = format!("without effect in this version: {}", names.join(", "));
        problems.warning(*at, first, message).help("it may stay; nothing is done with it yet");
    }
}

fn restricting(top: &Fields) -> Vec<(Span, String)> {
    let mut found = Vec::new();
    let mut note = |fields: &Fields, key: &str| found.push((fields.place(key), fields.path(key)));
    if top.has("tls") {
        note(top, "tls");
    }
    found
}

fn idle(top: &Fields) -> Vec<(Span, &'static str)> {
    let typed = TOP.iter().filter(|key| top.has(key));
    typed.map(|key| (top.place(key), *key)).collect()
}
