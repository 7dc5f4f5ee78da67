//! What is found by which words, and what packs change.

use std::collections::BTreeMap;
use std::fs;

use super::RuleBook;
use crate::builtin::scratch::ScratchDir;

/// The ids that come first for a question.
fn check(query: &str, expected: &[&str]) {
    let book = RuleBook::builtin();
    let found: Vec<&str> =
        book.search(query, None, expected.len()).iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(found, expected, "{query}");
}

#[test]
fn every_shipped_rule_is_whole() {
    let book = RuleBook::builtin();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for rule in &book.rules {
        *counts.entry(&rule.category).or_default() += 1;
        assert_eq!(rule.id.split_once('-').unwrap().0, rule.category, "{}", rule.id);
        assert_eq!(rule.pack.system, "dnd5e");
        assert_eq!(rule.pack.license.as_deref(), Some("CC-BY-4.0"));
        assert!(rule.pack.source.contains("Wizards of the Coast"), "{}", rule.id);
        let sentences = rule.text.matches(". ").count() + 1;
        assert!((2..=6).contains(&sentences), "{}: {sentences} sentences", rule.id);
        assert!(rule.text.ends_with('.'), "{}", rule.id);
        assert!(rule.text.len() < 900, "{}: {} bytes", rule.id, rule.text.len());
    }
    assert_eq!(counts["condition"], 15);
    assert!(book.rules.len() >= 130, "{counts:?}");
    assert!(counts["combat"] >= 35 && counts["spell"] >= 45 && counts["general"] >= 35);
    assert_eq!(book.by_id.len(), book.rules.len(), "ids differ");
}

#[test]
fn rules_that_are_in_no_srd_are_not_there() {
    let book = RuleBook::builtin();
    for rule in &book.rules {
        let text = format!("{} {}", rule.name, rule.text).to_lowercase();
        for name in ["flanking", "bigby", "tasha", "melf", "mordenkainen", "leomund", "otiluke"] {
            assert!(!text.contains(name), "{}", rule.id);
        }
    }
}

#[test]
fn every_rule_is_found_first_by_its_own_name() {
    let book = RuleBook::builtin();
    for rule in &book.rules {
        let found = book.search(&rule.name, None, 1);
        assert_eq!(found[0].name, rule.name, "{}", rule.id);
    }
}

#[test]
fn names_within_a_question_go_first() {
    check("what does it mean to be grappled?", &["condition-grappled"]);
    check("how do I grapple an ogre", &["combat-grapple"]);
    check("how does an opportunity attack work", &["combat-opportunity-attack"]);
    check("attack of opportunity", &["combat-opportunity-attack"]);
    check("fireball damage", &["spell-fireball"]);
    check("HEALING WORD", &["spell-healing-word"]);
    check("can I dash as a bonus action", &["combat-bonus-action", "combat-dash"]);
    check("death saves", &["combat-death-saving-throw"]);
    check("temp hp", &["combat-temporary-hit-points"]);
}

#[test]
fn what_is_not_named_is_found_by_its_text() {
    check("burns everybody within 20 feet of a point", &["spell-fireball"]);
    check("how long can I hold my breath", &["general-suffocation"]);
    check("damage from falling off a cliff", &["general-falling"]);
}

#[test]
fn typos_are_forgiven() {
    check("firebal", &["spell-fireball"]);
    check("fierball", &["spell-fireball"]);
    check("invisable", &["condition-invisible"]);
    check("oportunity atack", &["combat-opportunity-attack"]);
    check("exaustion", &["condition-exhaustion"]);
    check("paralysed", &["condition-paralyzed"]);
}

#[test]
fn a_rule_is_known_by_its_id_or_its_name() {
    let book = RuleBook::builtin();
    for requested in ["condition-blinded", "Condition_Blinded", "conditionblinded", "Blinded"] {
        assert_eq!(book.rule(requested).unwrap().id, "condition-blinded", "{requested}");
    }
    // There is a spell and a kind of sight.
    for requested in ["Darkvision", "", "-", "flanking", "\u{0}", "🎲"] {
        assert_eq!(book.rule(requested).map(|rule| &rule.id), None, "{requested}");
    }
}

#[test]
fn packs_add_rules_and_may_replace_those_of_their_system() {
    let scratch = ScratchDir::new();
    let write = |name: &str, text: &str| fs::write(scratch.path().join(name), text).unwrap();
    write(
        "house.yaml",
        "system: dnd5e\nsource: our table\nrules:\n\
         - {id: condition-blinded, name: Blinded, category: condition, text: With us it hurts.}\n\
         - {id: combat-flanking, name: Flanking, text: Two on one.}\n\
         - {id: combat-flanking, name: Again, text: Two on two.}\n",
    );
    write(
        "pf2e.json",
        r#"{"system": "pf2e", "rules": [
            {"id": "condition-blinded", "name": "Blinded", "text": "Other game."},
            {"id": "pf2e-blinded", "name": "Blinded", "text": "You cannot see."}]}"#,
    );
    let (book, flaws) = RuleBook::with_directory(scratch.path());
    assert_eq!(book.systems().into_iter().collect::<Vec<_>>(), ["dnd5e", "pf2e"]);
    assert_eq!(book.rule("condition-blinded").unwrap().text, "With us it hurts.");
    assert_eq!(book.rule("combat-flanking").unwrap().pack.source, "our table");
    let found = book.search("blinded", Some("pf2e"), 5);
    assert_eq!(found.iter().map(|rule| &*rule.id).collect::<Vec<_>>(), ["pf2e-blinded"]);
    assert!(book.search("fireball", Some("pf2e"), 5).is_empty());
    let lines: Vec<String> = flaws.iter().map(ToString::to_string).collect();
    assert!(
        lines[0].ends_with(
            "house.yaml`, line 6: duplicate id `combat-flanking`, already in `house.yaml`, line 5"
        ),
        "{lines:?}"
    );
    assert!(
        lines[1].ends_with(
            "pf2e.json`, line 2: the id `condition-blinded` is already used by a rule of `dnd5e`; \
             use `pf2e-condition-blinded`"
        ),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 2);
    assert_eq!(RuleBook::builtin().rule("condition-blinded").unwrap().pack.system, "dnd5e");
    assert!(RuleBook::builtin().rule("combat-flanking").is_none());
}
