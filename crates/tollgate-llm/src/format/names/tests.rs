//! B-CH 4: names of tools that clients send along.

use super::*;
use crate::conversation::Function;
use crate::extra::Extra;

const OPENAI: Dialect = Dialect::OpenAiChat;

fn complaint(dialect: Dialect, names: &[&str]) -> String {
    let tools: Vec<ChatTool> = names
        .iter()
        .map(|name| {
            ChatTool::Function(Function {
                name: (*name).to_owned(),
                description: None,
                parameters: None,
                extra: Extra::none(),
            })
        })
        .collect();
    match check(&tools, dialect) {
        Ok(()) => String::new(),
        Err(failure) => format!("{}: {}", failure.at.unwrap_or_default(), failure.message),
    }
}

#[test]
fn b_ch_04_good_names_pass() {
    assert_eq!(complaint(OPENAI, &["roll", "get-rule_2", &"x".repeat(64)]), "");
    assert_eq!(complaint(Dialect::Gemini, &["a.b:c", "_1"]), "");
    for dialect in [Dialect::Anthropic, Dialect::Gemini] {
        assert_eq!(complaint(dialect, &[&"x".repeat(128)]), "", "{dialect}");
        assert!(complaint(dialect, &[&"x".repeat(129)]).contains("at most 128"), "{dialect}");
    }
}

#[test]
fn b_ch_04_bad_names_are_named() {
    assert_eq!(complaint(OPENAI, &["a", ""]), "tools[1]: the name of `tools[1]` is empty");
    assert_eq!(
        complaint(OPENAI, &["a b"]),
        "tools[0]: the name of `tools[0]` is `a b`, and ' ' is not allowed there: letters, digits, _ -"
    );
    assert!(complaint(Dialect::Gemini, &["a😀"]).contains("digits, _ - . :"));
    assert!(complaint(Dialect::Gemini, &["1a"]).contains("'1' is not allowed there"));
    assert!(complaint(OPENAI, &[&"x".repeat(65)]).contains("65 characters; at most 64"));
    assert!(
        complaint(OPENAI, &["a", "b", "a"]).starts_with("tools[2]: `tools[2]` is called `a` like")
    );
}
