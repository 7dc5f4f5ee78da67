//! Packs as people write them.

use std::fs;

use super::{pack, read_directory};
use crate::builtin::document::yaml;
use crate::builtin::scratch::ScratchDir;

const GOOD: &str = "\
system: pf2e
license: ORC
rules:
  - id: off-guard
    name: Off-guard
    category: condition
    also: [flat-footed]
    text: |
      You have a penalty of 2 to armor class.
  - id: stride
    name: Stride
    text: You move up to your speed.
";

/// What is told of a pack that has something wrong in it.
fn check(text: &str, expected: &str) {
    let lines = match yaml(text).and_then(|node| pack(&node, "it.yaml")) {
        Ok((_, wrong)) => wrong,
        Err(wrong) => vec![wrong],
    };
    let lines = lines.iter().map(|wrong| match wrong.line {
        Some(line) => format!("{line}: {}", wrong.problem),
        None => wrong.problem.clone(),
    });
    assert_eq!(lines.collect::<Vec<_>>().join("; "), expected, "{text}");
}

#[test]
fn a_pack_has_a_system_and_rules() {
    let (rules, wrong) = pack(&yaml(GOOD).unwrap(), "it.yaml").unwrap();
    assert_eq!(wrong, []);
    let (line, first) = &rules[0];
    assert_eq!((*line, first.id.as_str(), first.name.as_str()), (4, "off-guard", "Off-guard"));
    assert_eq!(first.also, ["flat-footed"]);
    assert_eq!(first.text, "You have a penalty of 2 to armor class.");
    assert_eq!(first.pack.source, "ORC");
    assert_eq!(rules[1].1.category, "general");
}

#[test]
fn a_pack_without_license_is_known_by_its_file() {
    let (rules, _) =
        pack(&yaml("system: a\nrules: [{id: b, name: c, text: d}]").unwrap(), "my.yaml").unwrap();
    assert_eq!(rules[0].1.pack.source, "my.yaml");
    assert_eq!(rules[0].1.pack.license, None);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    check("rules: []", "`system` is missing: the game whose rules these are");
    check("system: a", "it has no `rules`");
    check(
        "system: A b\nrules: []",
        "1: `system` may only have the characters a-z, 0-9, `-` and `_`",
    );
    check("system: a\nrules: b", "2: `rules` must be a list");
    check("system: a\nrule: b", "2: unknown key `rule`; did you mean `rules`?");
    check(
        "- a",
        "1: a map is expected here, with the keys `system`, `license`, `source`, `category`, \
         `rules`",
    );
}

#[test]
fn a_wrong_rule_leaves_the_others() {
    let text = "system: a\nrules:\n  - id: one\n    name: One\n  - id: two\n    name: Two\n    text: x\n  - 7\n  - {id: Three!, name: a, text: b}\n  - {name: a, text: b}\n";
    check(
        text,
        "3: `text` is missing; 8: a map is expected here, with the keys `id`, `name`, `also`, \
         `category`, `text`; 9: `id` may only have the characters a-z, 0-9, `-` and `_`; 10: `id` \
         is missing",
    );
    let (rules, _) = pack(&yaml(text).unwrap(), "").unwrap();
    assert_eq!(rules.len(), 1);
    let names = ["x"; 33].join(", ");
    check(
        &format!("system: a\nrules:\n- {{id: a, name: a, text: a, also: [{names}]}}"),
        "3: `also` has more than 32 names",
    );
}

#[test]
fn a_directory_gives_all_packs_and_tells_what_it_leaves_out() {
    let scratch = ScratchDir::new();
    let write = |name: &str, text: &str| fs::write(scratch.path().join(name), text).unwrap();
    write("b.yaml", GOOD);
    write("a.json", r#"{"system": "a", "rules": [{"id": "x", "name": "X", "text": "t"}]}"#);
    write("c.yml", "system: [");
    write("notes.md", "no pack");
    write("large.yaml", &"#".repeat(1_048_577));
    let (rules, flaws) = read_directory(scratch.path());
    let ids: Vec<&str> = rules.iter().map(|(_, (_, rule))| rule.id.as_str()).collect();
    assert_eq!(ids, ["x", "off-guard", "stride"]);
    let lines: Vec<String> = flaws.iter().map(ToString::to_string).collect();
    assert!(lines[0].contains("c.yml`, line 2: this is not YAML: "), "{lines:?}");
    assert!(lines[1].ends_with("large.yaml`: it is larger than 1048576 bytes"), "{lines:?}");
    assert_eq!(lines.len(), 2);
    assert_eq!(read_directory(&scratch.path().join("nowhere")).1.len(), 1);
}
