//! Tables as people write them.

use std::fs;

use super::{read_directory, read_json, read_lines};
use crate::builtin::dice::tables::{Table, Tables};
use crate::builtin::scratch::Scratch;

fn shown(table: &Table) -> Vec<&str> {
    (1..=table.sides()).map(|roll| table.entry(roll)).collect()
}

#[test]
fn lines_without_ranges_are_equally_likely() {
    let table = read_lines("# taverns\nThe Broken Oar\n\n  The Owl: an inn \n").unwrap();
    assert_eq!(shown(&table), ["The Broken Oar", "The Owl: an inn"]);
}

#[test]
fn lines_with_ranges_are_as_likely_as_their_range() {
    let table = read_lines("1-2: rain\n3: 5: snow\n").unwrap();
    assert_eq!(shown(&table), ["rain", "rain", "5: snow"]);
}

#[test]
fn ranges_must_cover_every_roll_once() {
    for (text, problem) in [
        ("1-2: a\n4: b", "line 2: the range must start at 3"),
        ("1-2: a\n2: b", "line 2: the range must start at 3"),
        ("0: a", "line 1: the range must start at 1"),
        ("1: a\nb", "line 2 has no range, though other lines have one"),
        ("1-4294967295: a", "line 1: the range must start at 1"),
        ("", "a table has 1 to 1000 entries"),
        ("1:", "entry 1 must have 1 to 2000 bytes of text"),
    ] {
        assert_eq!(read_lines(text).unwrap_err(), problem, "{text}");
    }
    assert!(read_lines(&"x\n".repeat(1_001)).is_err());
}

#[test]
fn json_entries_are_texts_with_or_without_weight() {
    let table = read_json(r#"["a", {"text": "b", "weight": 2}]"#).unwrap();
    assert_eq!(shown(&table), ["a", "b", "b"]);
    for text in ["{}", "[1]", r#"[{"text": "a"}]"#, r#"[{"text": "a", "weight": 0}]"#, "[]"] {
        assert!(read_json(text).is_err(), "{text}");
    }
    assert!(read_json(&"[".repeat(100_000)).is_err());
}

#[test]
fn a_directory_adds_tables_and_reports_what_it_leaves_out() {
    let scratch = Scratch::new();
    let write = |name: &str, text: &str| fs::write(scratch.path().join(name), text).unwrap();
    write("taverns.txt", "The Broken Oar\n");
    write("taverns.json", r#"["The Owl"]"#);
    write("weather.json", r#"["rain"]"#);
    write("wild_magic.txt", "nothing happens\n");
    write("notes.md", "not a table");
    write("Bad Name.txt", "x\n");
    write("empty.txt", "");
    write("huge.txt", &"x\n".repeat(200_000));
    fs::create_dir(scratch.path().join("folder.txt")).unwrap();

    let (tables, broken) = Tables::with_directory(scratch.path());
    let names: Vec<&str> = tables.names().collect();
    assert_eq!(names, ["random_encounter", "taverns", "treasure_hoard", "weather", "wild_magic"]);
    assert_eq!(shown(tables.get("taverns").unwrap()), ["The Owl"]);
    assert_eq!(shown(tables.get("wild_magic").unwrap()), ["nothing happens"]);
    let left_out: Vec<String> = broken
        .iter()
        .map(|broken| broken.path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(left_out, ["Bad Name.txt", "empty.txt", "folder.txt", "huge.txt", "taverns.txt"]);
    assert!(broken[4].to_string().ends_with("there is already a table `taverns`"));
}

#[test]
fn a_directory_that_is_not_there_is_reported() {
    let scratch = Scratch::new();
    let (tables, broken) = read_directory(&scratch.path().join("nowhere"));
    assert!(tables.is_empty());
    assert_eq!(broken.len(), 1);
}
