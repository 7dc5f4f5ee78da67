//! Weighted entries and the tables that ship.

use super::{BUILTIN_TABLES, RandomTable, RandomTables, TableEntry};

fn table(weights: &[u32]) -> Option<RandomTable> {
    let entry = |weight: &u32| TableEntry::new(*weight, &format!("of {weight}"));
    RandomTable::new(weights.iter().map(entry).collect())
}

#[test]
fn an_entry_is_hit_by_every_roll_in_its_range() {
    let table = table(&[2, 1, 3]).unwrap();
    let hits: Vec<u32> = (1..=table.sides()).map(|roll| table.entry(roll).weight).collect();
    assert_eq!(hits, [2, 2, 1, 3, 3, 3]);
}

#[test]
fn tables_without_entries_or_with_impossible_weights_are_refused() {
    for weights in [&[][..], &[0], &[1, 0], &[u32::MAX, 1]] {
        assert_eq!(table(weights), None, "{weights:?}");
    }
}

#[test]
fn every_shipped_table_has_at_least_twenty_entries_and_no_twins() {
    let tables = RandomTables::builtin();
    assert_eq!(tables.names().count(), BUILTIN_TABLES.len());
    for name in tables.names() {
        let table = tables.get(name).unwrap();
        let mut texts: Vec<String> =
            table.entries.iter().map(|entry| format!("{:?}", entry.pieces())).collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), table.entries.len(), "{name}");
        assert!(texts.len() >= 20, "{name}");
        let pieces = table.entries.iter().flat_map(TableEntry::pieces);
        assert_eq!(pieces.filter_map(|piece| tables.unknown(piece)).next(), None, "{name}");
    }
}

/// Tables of one entry each, and what comes up when all dice show their first face.
fn check(tables: &[(&str, &str)], expected: &str) {
    let table = |(name, text): &(&str, &str)| {
        ((*name).to_owned(), RandomTable::new(vec![TableEntry::new(1, text)]).unwrap())
    };
    let tables = RandomTables { by_name: tables.iter().map(table).collect() };
    assert_eq!(tables.roll("it", &mut |_| 1).unwrap().result, expected);
}

#[test]
fn dice_and_tables_in_an_entry_are_rolled() {
    check(&[("it", "{2d6+3} wolves and {1d4} cubs")], "5 wolves and 1 cubs");
    check(
        &[("it", "{inn}, {inn}"), ("inn", "The Owl ({1d8} guests)")],
        "The Owl (1 guests), The Owl (1 guests)",
    );
    check(&[("it", "{nowhere} and {so on}")], "{nowhere} and {so on}");
    let tables =
        RandomTables::of(RandomTable::new(vec![TableEntry::new(1, "{2d6} wolves")]).unwrap());
    let found = tables.roll("it", &mut |sides| sides).unwrap();
    assert_eq!(found.dice, [("2d6".to_owned(), 12)]);
    assert_eq!(tables.roll("other", &mut |_| 1), None);
}

#[test]
fn a_table_that_leads_back_to_itself_ends() {
    check(&[("it", "a{it}")], "aaaaaa…");
    let twice =
        RandomTables::of(RandomTable::new(vec![TableEntry::new(1, "x{it}{it}{it}")]).unwrap());
    let found = twice.roll("it", &mut |_| 1).unwrap();
    assert_eq!(found.result.matches('x').count(), 51);
    let dice =
        RandomTables::of(RandomTable::new(vec![TableEntry::new(1, &"{d6}".repeat(60))]).unwrap());
    assert_eq!(dice.roll("it", &mut |_| 1).unwrap().dice.len(), 50);
}
