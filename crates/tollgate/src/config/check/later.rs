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

/// One warning for each key that restricts, one for each group of keys that do nothing.
pub(crate) fn warn(top: &Fields, problems: &mut Problems) {
    for (at, path) in restricting(top) {
        problems
            .warning(at, &path, format!("`{path}` is not enforced by this version"))
            .help("the gateway does not start with it; take it out");
    }
    for group in idle(top) {
        let Some((at, _)) = group.first() else { continue };
        let mut names: Vec<String> = group.iter().map(|(_, key)| format!("`{key}`")).collect();
        names.dedup();
        let names = names.join(", ");
        problems
            .warning(*at, group[0].1, format!("without effect in this version: {names}"))
            .help("it may stay; nothing is done with it yet");
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

/// By the kind of section, in the order of the file's tables.
fn idle(top: &Fields) -> [Vec<(Span, &'static str)>; 2] {
    let servers = top.named("servers").iter().map(|(_, server)| server);
    let agents = top.named("agents").iter().map(|(_, agent)| agent);
    let in_code = |section: &&Fields| section.flag("code_mode") == Some(true);
    let in_code = servers.chain(agents).find(in_code);
    let in_code = in_code.map(|section| (section.place("code_mode"), "code_mode"));
    let in_code = in_code.into_iter().collect();
    let mut whole = typed(&[top], TOP);
    if top.text("database").is_some_and(|text| text.value != "sqlite") {
        whole.push((top.place("database"), "database"));
    }
    [whole, in_code]
}

/// Which of the keys stand in any of the sections, and where first.
fn typed(sections: &[&Fields], keys: &[&'static str]) -> Vec<(Span, &'static str)> {
    let first = |key: &&'static str| {
        let section = sections.iter().find(|section| section.has(key))?;
        Some((section.place(key), *key))
    };
    keys.iter().filter_map(first).collect()
}
