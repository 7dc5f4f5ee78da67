//! A small campaign; `cargo run --release --example fuzz -- COUNT` is a large one.

use std::process::Command;

#[path = "fuzz/campaign.rs"]
mod campaign;

/// What a child runs: first and count.
const PART: &str = "TOLLGATE_FUZZ";
const COUNT: u64 = 2000;

/// In a child this is the whole test; elsewhere it does nothing.
#[test]
fn child() {
    let Some(part) = std::env::var_os(PART) else { return };
    let part = part.into_string().expect("two numbers");
    let (first, count) = part.split_once(' ').expect("two numbers");
    campaign::child(first.parse().expect("a number"), count.parse().expect("a number"));
}

#[test]
fn random_programs_end_as_they_should() {
    let start = |first: u64, count: u64| {
        let mut command = Command::new(std::env::current_exe().expect("a test is a file"));
        command.args(["--exact", "fuzz::child", "--nocapture", "--test-threads=1"]);
        command.env_clear().env(PART, format!("{first} {count}"));
        command
    };
    let tally = campaign::campaign(0, COUNT, &start);
    assert_eq!(tally.outcomes.values().sum::<u64>(), COUNT);
    let found: Vec<_> = tally.findings.iter().take(3).collect();
    assert!(found.is_empty(), "{found:?}\n{}", campaign::source(number(found[0])));
    // Most of them must be right enough to find anything.
    assert!(tally.outcomes["done"] > COUNT / 50, "{:?}", tally.outcomes);
}

fn number(finding: &str) -> u64 {
    finding.split(':').next().and_then(|it| it.parse().ok()).expect("a number")
}
