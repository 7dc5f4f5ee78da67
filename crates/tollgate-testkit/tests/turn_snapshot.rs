//! One config per turn: the stages of a call read the snapshot that their turn carries. A reload in the middle of a call must
//! not loosen its rules, so nothing on its way asks the registry for the current ones.

use std::collections::BTreeMap;

use tollgate_testkit::{RepositoryFile, sources};

/// Which files of the engine may read the current generation, how often, and why.
const READERS: &[(&str, usize, &str)] = &[
    ("calibration/background.rs", 2, "probes are no calls of a turn"),
    ("calibration/prober.rs", 1, "a probe begins here, and carries what it reads"),
    ("gate/code.rs", 1, "a reload compares the settings of the sandbox"),
    ("gate/figures.rs", 4, "figures for operators"),
    ("gate/inspect.rs", 6, "what operators are shown"),
    ("gate/recheck.rs", 1, "a tool that was taken away while its call waited"),
    ("gate/tier_choice.rs", 1, "the tier is chosen before the turn begins"),
    ("gate/trial.rs", 1, "an operator tries a server, in no turn"),
    ("gate/turn_lease.rs", 4, "turns begin here, and what is taken away ends them"),
];

#[test]
fn stages_of_a_call_read_the_snapshot_of_their_turn() {
    let folder = "crates/tollgate-engine/src/";
    let mut found = BTreeMap::new();
    for RepositoryFile { path, text } in sources(folder, ".rs") {
        let inside = path.strip_prefix(folder).expect("it was found there").to_owned();
        // The registry reads itself.
        let is_read = !inside.starts_with("registry") && !inside.contains("tests");
        let count = current_reads(&text);
        if is_read && count > 0 {
            found.insert(inside, count);
        }
    }
    let listed: BTreeMap<String, usize> =
        READERS.iter().map(|(file, count, _)| ((*file).to_owned(), *count)).collect();
    assert_eq!(
        found, listed,
        "found (left) and listed: a stage of a call takes rules from `turn.policy` and tools from `turn.view`"
    );
}

/// How often a file asks for the current generation, however the call is broken into lines.
fn current_reads(text: &str) -> usize {
    let shipped = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let uncommented = shipped.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code: String = uncommented.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect();
    code.matches("registry.current()").count()
}

#[test]
fn reads_are_counted() {
    assert_eq!(
        current_reads("let a = self\n    .registry\n    .current();\n// registry.current()"),
        1
    );
    assert_eq!(current_reads("registry.current().a; gate.registry.current()"), 2);
    assert_eq!(current_reads("#[cfg(test)]\nmod tests { registry.current() }"), 0);
}
