//! What in an entry is rolled.

use super::{TableEntry, TableEntryPiece};

fn check(text: &str, expected: &str) {
    let entry = TableEntry::new(1, text);
    let shown = entry.pieces().iter().map(|piece| match piece {
        TableEntryPiece::Text(text) => text.clone(),
        TableEntryPiece::Dice { notation: message, .. } => format!("<dice {message}>"),
        TableEntryPiece::Table(name) => format!("<table {name}>"),
        TableEntryPiece::Neither(message) => format!("<neither {message}>"),
    });
    assert_eq!(shown.collect::<String>(), expected, "{text}");
}

#[test]
fn braces_hold_dice_or_the_name_of_a_table() {
    check("{2d6+1} wolves", "<dice 2d6+1> wolves");
    check("a { 1d4 } b {taverns}", "a <dice 1d4> b <table taverns>");
    check("{4d6kh3}{d%}", "<dice 4d6kh3><dice d%>");
    check("2d6 wolves", "2d6 wolves");
}

#[test]
fn all_else_is_text() {
    check("{Not A Name}", "<neither Not A Name>");
    check("{}", "<neither >");
    check("a { b", "a { b");
    check("a } b", "a } b");
    check("{{1d6}}", "<neither {1d6>}");
    check("{9999d9999}", "<table 9999d9999>");
}
