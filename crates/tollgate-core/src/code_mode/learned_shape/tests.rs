use serde_json::{Value, json};

use super::LearnedShape;

fn issue(number: u32) -> Value {
    json!({"number": number, "title": format!("t{number}"), "open": true})
}

fn render_learned(learned: &LearnedShape) -> String {
    learned.shape().map_or("nothing".to_owned(), |shape| shape.render("Issue"))
}

#[test]
fn one_result_tells_nothing_nor_does_the_same_again() {
    let mut learned = LearnedShape::default();
    assert_eq!(render_learned(&learned), "nothing");
    for _ in 0..10 {
        learned.learn(&issue(1));
    }
    assert_eq!(render_learned(&learned), "nothing");
    learned.learn(&issue(2));
    let issue = "class Issue(TypedDict):\n    number: int\n    title: str\n    open: bool\nIssue";
    assert_eq!(render_learned(&learned), issue);
}

#[test]
fn once_settled_only_a_contradiction_changes_it() {
    let mut learned = LearnedShape::default();
    (0..5).for_each(|at| learned.learn(&issue(at)));
    let settled = render_learned(&learned);
    let before = learned.clone();
    for at in 0..50 {
        // New keys, and keys that come and go, contradict nothing.
        let mut result = issue(at);
        result[format!("extra{}", at % 3)] = json!(at);
        learned.learn(&result);
    }
    assert_eq!(learned, before);
    learned.learn(&json!({"number": 1, "title": null, "open": true}));
    let after = render_learned(&learned);
    assert_eq!(after, settled.replace("title: str", "title: str | None"));
    learned.learn(&issue(9));
    assert_eq!(render_learned(&learned), after);
    learned.learn(&json!({"number": 1, "title": "a"}));
    assert_eq!(render_learned(&learned), after.replace("open: bool", "open: NotRequired[bool]"));
    learned.learn(&json!("not found"));
    assert!(render_learned(&learned).ends_with("str | Issue"), "{}", render_learned(&learned));
}

#[test]
fn empty_lists_contradict_nothing() {
    let mut learned = LearnedShape::default();
    (0..5).for_each(|at| learned.learn(&json!([issue(at), issue(at)])));
    let before = learned.clone();
    learned.learn(&json!([]));
    assert_eq!(learned, before);
}

#[test]
fn large_results_are_looked_at_in_part() {
    let large: Value = (0..100_000).map(issue).collect();
    let mut learned = LearnedShape::default();
    learned.learn(&large);
    learned.learn(&json!([issue(1)]));
    assert!(render_learned(&learned).ends_with("list[IssueItem]"));
    assert!(learned.parts() < 10);
}
