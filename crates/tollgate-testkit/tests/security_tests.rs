//! `docs/security-tests.md` lists every id of the threat model and every test that tries one.
//!
//! The name of such a test begins with its ids: `s_21_…`, `b_hh_18_…`, `s_09_b_hh_01_to_06_…`,
//! `b_jr_12_and_13_…`. The table of tests at the end of the document is generated:
//! `TOLLGATE_UPDATE_DOCS=1 cargo test -p tollgate-testkit --test security_tests`.

use std::collections::BTreeSet;
use std::fmt;

use tollgate_testkit::{root, sources};

const DOCUMENT: &str = "docs/security-tests.md";
const TESTS: &str = "## Tests\n";
const UNTESTED: &str = "## Without a test\n";
const UPDATE: &str = "TOLLGATE_UPDATE_DOCS";

/// Groups of ids in the order of the document, and how many ids each has.
const GROUPS: [(&str, usize); 17] = [
    ("s", 37),
    ("r", 39),
    ("jr", 30),
    ("hh", 20),
    ("ch", 13),
    ("ws", 13),
    ("io", 13),
    ("cf", 12),
    ("sc", 13),
    ("re", 12),
    ("st", 15),
    ("di", 9),
    ("fp", 14),
    ("oa", 9),
    ("se", 10),
    ("fe", 5),
    ("me", 6),
];

/// A group by its place in [`GROUPS`], and a number in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Id {
    group: usize,
    number: usize,
}

impl Id {
    fn new(group: &str, number: usize) -> Option<Self> {
        let group = GROUPS.iter().position(|(name, _)| *name == group)?;
        Some(Self { group, number })
    }

    fn all() -> BTreeSet<Self> {
        let groups = GROUPS.iter().enumerate();
        groups
            .flat_map(|(group, (_, most))| (1..=*most).map(move |number| Self { group, number }))
            .collect()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match GROUPS[self.group].0 {
            name @ ("s" | "r") => write!(out, "{}-{:02}", name.to_uppercase(), self.number),
            name => write!(out, "B-{} {}", name.to_uppercase(), self.number),
        }
    }
}

/// A test, and one of the ids it tries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    id: Id,
    test: String,
    file: String,
}

/// The ids that a name begins with.
fn ids(name: &str) -> Vec<Id> {
    let words: Vec<&str> = name.split('_').collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok());
    let mut found: Vec<Id> = Vec::new();
    let mut at = 0;
    loop {
        let (group, number_at) = match words.get(at) {
            Some(&"b") => (words.get(at + 1).copied(), at + 2),
            Some(&word) if word == "s" || word == "r" => (Some(word), at + 1),
            _ => (None, at),
        };
        let begins = group.zip(number(number_at)).and_then(|(group, it)| Id::new(group, it));
        if let Some(id) = begins {
            found.push(id);
            at = number_at + 1;
            continue;
        }
        let Some(last) = found.last().copied() else { return found };
        match (words.get(at).copied(), number(at), number(at + 1)) {
            (Some("to"), _, Some(until)) => {
                found.extend((last.number + 1..=until).map(|number| Id { number, ..last }));
                at += 2;
            }
            (Some("and"), _, Some(number)) => {
                found.push(Id { number, ..last });
                at += 2;
            }
            (_, Some(number), _) => {
                found.push(Id { number, ..last });
                at += 1;
            }
            _ => return found,
        }
    }
}

/// The name of a test on this line of a Rust or Python file.
fn test_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rust = line.split_once("fn ").filter(|(before, _)| {
        before.split_whitespace().all(|word| word == "async" || word.starts_with("pub"))
    });
    let rest = rust.map(|(_, rest)| rest).or_else(|| line.strip_prefix("def test_"))?;
    let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')?;
    Some(&rest[..end])
}

/// Looks as if it should begin with an id.
fn seems_to_have_an_id(name: &str) -> bool {
    GROUPS[2..].iter().any(|(group, _)| name.starts_with(&format!("b_{group}_")))
}

fn tests() -> Vec<Row> {
    let mut rows = Vec::new();
    for source in sources("crates", ".rs").into_iter().chain(sources("interop", ".py")) {
        for name in source.text.lines().filter_map(test_name) {
            let ids = ids(name);
            assert!(
                !ids.is_empty() || !seems_to_have_an_id(name),
                "{}: `{name}` has a group and no number",
                source.path
            );
            for id in ids {
                assert!(Id::all().contains(&id), "{}: `{name}`: there is no {id}", source.path);
                rows.push(Row { id, test: name.to_owned(), file: source.path.clone() });
            }
        }
    }
    rows.sort();
    rows.dedup();
    rows
}

fn table(rows: &[Row]) -> String {
    let mut table = "\n| id | test | file |\n|---|---|---|\n".to_owned();
    for Row { id, test, file } in rows {
        table += &format!("| {id} | `{test}` | `{file}` |\n");
    }
    table
}

fn document() -> String {
    std::fs::read_to_string(root().join(DOCUMENT)).expect("the document is there")
}

#[test]
fn every_test_with_an_id_is_in_the_table() {
    let document = document();
    let (stored, listed) = document.split_once(TESTS).expect("a section of tests");
    let generated = table(&tests());
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(root().join(DOCUMENT), format!("{stored}{TESTS}{generated}"))
            .expect("the document can be written");
        return;
    }
    let known: BTreeSet<&str> = listed.lines().collect();
    let requested: BTreeSet<&str> = generated.lines().collect();
    let missing: Vec<_> = requested.difference(&known).collect();
    let stale: Vec<_> = known.difference(&requested).collect();
    assert!(
        listed == generated,
        "{DOCUMENT} is not up to date: run `{UPDATE}=1 cargo test -p tollgate-testkit --test \
         security_tests`\nmissing: {missing:#?}\nstale: {stale:#?}"
    );
}

#[test]
fn every_id_is_explained_and_has_a_test_or_a_reason_for_none() {
    let document = document();
    let (explained, _) = document.split_once(TESTS).expect("a section of tests");
    let (explained, untested) = explained.split_once(UNTESTED).expect("a section without tests");
    let rows: Vec<&str> = explained.lines().filter_map(|line| line.strip_prefix("| ")).collect();
    let tested: BTreeSet<Id> = tests().into_iter().map(|row| row.id).collect();
    for id in Id::all() {
        let begins = format!("{id} | ");
        let explanations = rows.iter().filter(|row| row.starts_with(&begins)).count();
        assert_eq!(explanations, 1, "{DOCUMENT} explains {id} so many times");
        let excuse = format!("- {id}: ");
        let is_excused = untested.lines().any(|line| line.starts_with(&excuse));
        let is_tested = tested.contains(&id);
        assert!(
            is_tested != is_excused,
            "{id} is {}, see \"Without a test\" in {DOCUMENT}",
            if is_tested { "tested after all" } else { "not tested" }
        );
    }
}

#[test]
fn ids_are_read_from_names() {
    let read = |name: &str| ids(name).iter().map(Id::to_string).collect::<Vec<_>>().join(", ");
    assert_eq!(read("s_21_a_state_counts_once"), "S-21");
    assert_eq!(read("s_09_b_hh_01_to_03_and_5_lengths"), "S-09, B-HH 1, B-HH 2, B-HH 3, B-HH 5");
    assert_eq!(read("b_se_04_05_06_marks"), "B-SE 4, B-SE 5, B-SE 6");
    assert_eq!(read("b_jr_12_and_13_keys"), "B-JR 12, B-JR 13");
    assert_eq!(read("b_io_10_b_io_12_r_15_a_server"), "B-IO 10, B-IO 12, R-15");
    assert_eq!(read("a_test_of_s_21"), "");
    assert_eq!(read("r_stands_alone"), "");
}
