use serde_json::{Value, json};

use super::{LITERAL_LETTERS, MAX_LITERALS, PyType};

/// How many of the values are kept, and what is told of them.
fn check(values: &[Value], retained: usize, text: &str) {
    let found = PyType::one_of(values);
    assert_eq!(found.literals.len(), retained);
    assert_eq!(found.to_string(), text);
}

#[test]
fn values_are_told_each_once() {
    check(&[json!("a"), json!(1), json!(null), json!("a")], 2, r#"Literal["a", 1] | None"#);
    check(&[], 0, "Any");
    check(&[json!(null)], 0, "None");
}

#[test]
fn values_that_nobody_is_shown_are_not_gathered() {
    let first: Vec<String> = (0..MAX_LITERALS).map(|at| at.to_string()).collect();
    let all = format!("Literal[{}]", first.join(", "));
    let mut many: Vec<Value> = (0..MAX_LITERALS).map(Value::from).collect();
    check(&many, MAX_LITERALS, &all);
    many.extend((MAX_LITERALS..11_000).map(Value::from));
    let cut = all.replace(']', ", ...]");
    check(&many, MAX_LITERALS + 1, &cut);
    // Wherever it stands.
    many.push(Value::Null);
    check(&many, MAX_LITERALS + 1, &format!("{cut} | None"));
}

#[test]
fn long_values_are_not_gathered_either() {
    let long = "x".repeat(LITERAL_LETTERS);
    let many: Vec<Value> = (0..20).map(|at| json!(format!("{at}{long}"))).collect();
    check(&many, 1, "Any");
    let mut after_one = vec![json!("a")];
    after_one.extend(many);
    check(&after_one, 2, r#"Literal["a", ...]"#);
    let huge: Value = (0..50_000).collect();
    assert!(PyType::literal(&huge).literals[0].len() < 5_000);
}
