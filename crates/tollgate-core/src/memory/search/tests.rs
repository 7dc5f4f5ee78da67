use super::{EMPTY, MAX_TERMS, MemoryQuery};
use crate::memory::MemoryInputError;

fn check(text: &str, expected: &str) {
    let query = MemoryQuery::parse(text).unwrap();
    let mut found = query.terms.join(" ");
    for phrase in &query.phrases {
        found.push_str(&format!(" [{}]", phrase.join(" ")));
    }
    assert_eq!(found, expected, "{text}");
}

#[test]
fn the_words_that_say_something_are_looked_for() {
    check("What did Elara say about the silver key?", "elara silver key");
    check("dragons, dragon! DRAGONS", "dragon");
    check("who is it", "who is it");
    check("the", "the");
    check("Where is Do'Urden's sword", "dourden sword");
    check("龍王殺 と", "龍王 王殺 と");
    check("🐉", "🐉");
}

#[test]
fn words_between_quotes_follow_each_other() {
    check("\"lord of the rings\" Frodo", "lord ring frodo [lord of the ring]");
    check("“Silver Key” cellar", "silver key cellar [silver key]");
    check("\"key\"", "key");
    check("\"silver key", "silver key");
    check("say \"to be\"", "say to be [to be]");
}

/// B-ME-1: whatever means something to a database is punctuation here.
#[test]
fn b_me_1_syntax_of_databases_is_not_understood() {
    for text in ["", " ", "\"", "*", "\"\"", "()", "\0", "^", "-", ":*", "''", "…!?", "\u{200b}"]
    {
        assert_eq!(
            MemoryQuery::parse(text),
            Err(MemoryInputError::Empty { field: "query" }),
            "{text:?}"
        );
    }
    check("NEAR(", "near");
    check("NEAR(a b, 5)", "near b 5");
    check("a OR", "a or");
    check("dragon OR", "dragon");
    check("text:dragon* -gold ^red", "text dragon gold red");
    check("dra\0gon", "dra gon");
    check("'; drop table entries; --", "drop table entry");
    check("a & b | !c <-> d:*", "b c d");
    check("{dragon} + \"un\"closed\"", "dragon un close");
}

#[test]
fn b_me_1_of_a_very_long_question_both_ends_are_read() {
    for bytes in [100 << 10, 1 << 20] {
        let long = format!("silver key {} where is Elara", "lorem ipsum ".repeat(bytes / 12));
        check(&long, "silver key lorem ipsum elara");
    }
    let one = MemoryQuery::parse(&"x".repeat(1 << 20)).unwrap();
    assert_eq!(one.terms.len(), 1);
    let emoji = MemoryQuery::parse(&"🐉".repeat(1 << 18)).unwrap();
    assert_eq!(emoji.terms, ["🐉"]);
    let quotes = MemoryQuery::parse(&"\"a b\" ".repeat(1 << 18)).unwrap();
    assert_eq!(quotes.phrases.len(), 1);
}

#[test]
fn of_many_words_those_are_looked_for_that_say_most() {
    let many: Vec<String> = (0..60).map(|at| format!("w{}", "x".repeat(at))).collect();
    let query =
        MemoryQuery::parse(&format!("{} Elara {}", many.join(" "), many.join(" "))).unwrap();
    assert_eq!(query.terms.len(), MAX_TERMS);
    assert!(query.terms.contains(&"elara".to_owned()));
    assert!(query.terms.contains(&"w".to_owned()));
}

#[test]
fn the_list_of_empty_words_is_sorted() {
    assert!(EMPTY.is_sorted());
}
