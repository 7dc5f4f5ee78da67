//! Tables as people write them.

use std::fs;

use super::{DocumentLineError, read_directory, read_list};
use crate::builtin::dice::tables::{RandomTable, RandomTables};
use crate::builtin::document;
use crate::builtin::scratch::ScratchDir;

/// What each roll gives.
fn describe_rows(table: &RandomTable) -> Vec<String> {
    let found =
        |roll: u32| RandomTables::of(table.clone()).roll("it", &mut |_| roll).unwrap().result;
    (1..=table.sides()).map(found).collect()
}

fn read_lines(text: &str) -> Result<RandomTable, DocumentLineError> {
    super::read_lines(text).map(|(table, _)| table)
}

fn read_yaml(text: &str) -> Result<RandomTable, DocumentLineError> {
    document::yaml(text).and_then(|node| read_list(&node)).map(|(table, _)| table)
}

fn describe(wrong: DocumentLineError) -> String {
    match wrong.line {
        Some(line) => format!("line {line}: {}", wrong.problem),
        None => wrong.problem,
    }
}

#[test]
fn lines_without_ranges_are_equally_likely() {
    let table = read_lines("# taverns\nThe Broken Oar\n\n  The Owl: an inn \n").unwrap();
    assert_eq!(describe_rows(&table), ["The Broken Oar", "The Owl: an inn"]);
}

#[test]
fn lines_with_ranges_are_as_likely_as_their_range() {
    let table = read_lines("1-2: rain\n3: 5: snow\n").unwrap();
    assert_eq!(describe_rows(&table), ["rain", "rain", "5: snow"]);
}

#[test]
fn ranges_must_cover_every_roll_once() {
    for (text, problem) in [
        ("1-2: a\n4: b", "line 2: the range must start at 3"),
        ("1-2: a\n2: b", "line 2: the range must start at 3"),
        ("0: a", "line 1: the range must start at 1"),
        ("1: a\nb", "line 2: the range is missing, but other lines have one"),
        ("1-4294967295: a", "line 1: the range must start at 1"),
        ("", "a table has 1 to 1000 entries"),
        ("1:", "line 1: an entry must have 1 to 2000 bytes of text"),
    ] {
        assert_eq!(describe(read_lines(text).unwrap_err()), problem, "{text}");
    }
    assert!(read_lines(&"x\n".repeat(1_001)).is_err());
}

#[test]
fn percentile_tables_end_with_00() {
    let table = read_lines("\u{feff}01–98: rain\n99-00: snow\n").unwrap();
    assert_eq!(table.sides(), 100);
    assert_eq!(describe_rows(&table)[97..], ["rain", "snow", "snow"]);
}

#[test]
fn lists_hold_texts_with_or_without_weight() {
    let table = read_yaml("- a\n- { text: b, weight: 2 }\n- { text: c }\n- 7\n").unwrap();
    assert_eq!(describe_rows(&table), ["a", "b", "b", "c", "7"]);
    for (text, problem) in [
        ("{}", "line 1: a table is a list of entries"),
        ("[]", "a table has 1 to 1000 entries"),
        ("- a\n- [b]", "line 2: `text` must be a text"),
        ("- { text: a, weight: x }", "line 1: `weight` must be a whole number"),
        ("- { text: a, weight: 0 }", "every weight must be at least 1 and within limits"),
        ("- a\n- { txet: a }", "line 2: unknown key `txet`; did you mean `text`?"),
        ("- { weight: 1 }", "line 1: `text` is missing"),
    ] {
        assert_eq!(describe(read_yaml(text).unwrap_err()), problem, "{text}");
    }
}

#[test]
fn a_directory_adds_tables_and_reports_what_it_leaves_out() {
    let scratch = ScratchDir::new();
    let write = |name: &str, text: &str| fs::write(scratch.path().join(name), text).unwrap();
    write("taverns.txt", "The Broken Oar\n");
    write("taverns.json", r#"["The Owl"]"#);
    write("weather.yaml", "- rain in {taverns}\n- '{2d} drops'\n- '{nowhere}'\n");
    write("wild_magic.txt", "nothing happens\n");
    write("notes.md", "not a table");
    write("Bad Name.txt", "x\n");
    write("empty.txt", "");
    write("huge.txt", &"x\n".repeat(200_000));
    fs::create_dir(scratch.path().join("folder.txt")).unwrap();

    let (tables, flaws) = RandomTables::with_directory(scratch.path());
    let names: Vec<&str> = tables.names().collect();
    assert_eq!(names, ["random_encounter", "taverns", "treasure_hoard", "weather", "wild_magic"]);
    assert_eq!(describe_rows(tables.get("taverns").unwrap()), ["The Owl"]);
    assert_eq!(describe_rows(tables.get("wild_magic").unwrap()), ["nothing happens"]);
    let folder = format!("`{}/", scratch.path().display());
    let lines: Vec<String> =
        flaws.iter().map(|flaw| flaw.to_string().replace(&folder, "")).collect();
    assert_eq!(
        lines,
        [
            "Bad Name.txt`: its name must be at most 64 characters out of a-z, 0-9 and `_`",
            "empty.txt`: a table has 1 to 1000 entries",
            "folder.txt`: it is not a regular file",
            "huge.txt`: it is larger than 262144 bytes",
            "taverns.txt`: there is already a table `taverns`",
            "weather.yaml`, line 2: `{2d}` is neither dice nor a table; it is used literally",
            "weather.yaml`, line 3: `{nowhere}` is neither dice nor a table; it is used literally",
        ]
    );
}

#[test]
fn a_directory_that_is_not_there_is_reported() {
    let scratch = ScratchDir::new();
    let (tables, flaws) = read_directory(&scratch.path().join("nowhere"));
    assert!(tables.is_empty());
    assert_eq!(flaws.len(), 1);
}
