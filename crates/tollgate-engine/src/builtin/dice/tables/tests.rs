//! Weighted entries and the tables that ship.

use super::{Entry, SHIPPED, Table, Tables};

fn table(weights: &[u32]) -> Option<Table> {
    let entry = |weight: &u32| Entry { weight: *weight, text: format!("of {weight}") };
    Table::new(weights.iter().map(entry).collect())
}

#[test]
fn an_entry_is_hit_by_every_roll_in_its_range() {
    let table = table(&[2, 1, 3]).unwrap();
    let hits: Vec<&str> = (1..=table.sides()).map(|roll| table.entry(roll)).collect();
    assert_eq!(hits, ["of 2", "of 2", "of 1", "of 3", "of 3", "of 3"]);
}

#[test]
fn tables_without_entries_or_with_impossible_weights_are_refused() {
    for weights in [&[][..], &[0], &[1, 0], &[u32::MAX, 1]] {
        assert_eq!(table(weights), None, "{weights:?}");
    }
}

#[test]
fn every_shipped_table_has_at_least_twenty_entries_and_no_twins() {
    let tables = Tables::shipped();
    assert_eq!(tables.names().count(), SHIPPED.len());
    for name in tables.names() {
        let table = tables.get(name).unwrap();
        let mut texts: Vec<&str> = table.entries.iter().map(|entry| &*entry.text).collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), table.entries.len(), "{name}");
        assert!(texts.len() >= 20, "{name}");
    }
}
