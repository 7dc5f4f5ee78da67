//! B-CH 4: names of tools that clients send along.

use super::*;
use crate::conversation::Function;
use crate::extra::Extra;

const RULE: NameRule = NameRule { longest: 64, marks: "" };

fn complaint(rule: NameRule, names: &[&str]) -> String {
    let tools: Vec<Tool> = names
        .iter()
        .map(|name| {
            Tool::Function(Function {
                name: (*name).to_owned(),
                description: None,
                parameters: None,
                extra: Extra::none(),
            })
        })
        .collect();
    match check(&tools, rule) {
        Ok(()) => String::new(),
        Err(failure) => format!("{}: {}", failure.at.unwrap_or_default(), failure.message),
    }
}

#[test]
fn b_ch_04_good_names_pass() {
    assert_eq!(complaint(RULE, &["roll", "get-rule_2", &"x".repeat(64)]), "");
    assert_eq!(complaint(NameRule { longest: 64, marks: ".:" }, &["a.b:c"]), "");
}

#[test]
fn b_ch_04_bad_names_are_named() {
    assert_eq!(complaint(RULE, &["a", ""]), "tools[1]: the name of `tools[1]` is empty");
    assert_eq!(
        complaint(RULE, &["a b"]),
        "tools[0]: the name of `tools[0]` is `a b`, and ' ' is not allowed in it: letters, digits, _ -"
    );
    assert!(complaint(NameRule { longest: 64, marks: "." }, &["😀"]).ends_with("digits, _ - ."));
    assert!(complaint(RULE, &[&"x".repeat(65)]).contains("65 characters; at most 64"));
    assert!(
        complaint(RULE, &["a", "b", "a"]).starts_with("tools[2]: `tools[2]` is called `a` like")
    );
}
