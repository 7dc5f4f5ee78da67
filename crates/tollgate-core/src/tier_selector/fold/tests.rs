use super::*;

fn check(text: &str, expected: &str) {
    assert_eq!(fold(text, TranscriptStage::Final), expected, "{text:?}");
}

#[test]
fn words_are_letters_and_digits_and_all_else_is_one_space() {
    check("", " ");
    check(" \t\r\n ", " ");
    check("?! … – 🎲", " ");
    check("Roll 2d6, please!", " roll 2d6 please ");
    check(
        "one\ttwo\r\n\r\nthree\u{a0}four\u{3000}five\u{2028}six",
        " one two three four five six ",
    );
    check("deep-search side_quest and/or", " deep search side quest and or ");
    check("a\0b\u{1b}[31mc\u{7f}d\u{9f}e", " a b 31mc d e ");
}

#[test]
fn every_apostrophe_separates() {
    for apostrophe in ["'", "’", "‘", "ʼ", "`", "´", "＇", "′"] {
        check(&format!("the quest{apostrophe}s end"), " the quest s end ");
    }
}

#[test]
fn case_has_no_say() {
    check("Straße STRASSE STRAẞE strasse", " strasse strasse strasse strasse ");
    check("İstanbul ISTANBUL istanbul ıstanbul", " istanbul istanbul istanbul istanbul ");
    check("ΟΔΟΣ οδος οδοσ", " οδοσ οδοσ οδοσ ");
    check("ÉTÉ été Été", " e\u{301}te\u{301} e\u{301}te\u{301} e\u{301}te\u{301} ");
}

#[test]
fn spelling_has_no_say_where_it_only_looks_different() {
    check("führen fu\u{308}hren FÜHREN FU\u{308}HREN fuehren", &(" fuehren".repeat(5) + " "));
    check("ﬁnd ｆｉｎｄ find", " find find find ");
    check("que\u{ad}st q\u{200d}uest quest\u{fe0f} \u{feff}quest", &(" quest".repeat(4) + " "));
    check("naïve nai\u{308}ve", " nai\u{308}ve nai\u{308}ve ");
    // Both orders of two marks, one below and one above.
    check("a\u{323}\u{302} a\u{302}\u{323}", " a\u{323}\u{302} a\u{323}\u{302} ");
}

#[test]
fn accents_tell_words_apart() {
    assert_ne!(fold("schon", TranscriptStage::Final), fold("schön", TranscriptStage::Final));
    assert_ne!(fold("ete", TranscriptStage::Final), fold("été", TranscriptStage::Final));
}

#[test]
fn marks_belong_to_a_letter_or_to_nothing() {
    check("\u{301}a \u{308}", " a ");
    check(&"\u{301}".repeat(4_000), " ");
}

#[test]
fn letters_of_scripts_without_spaces_are_words() {
    check("请记得Quest吧", " 请 记 得 quest 吧 ");
    check("覚えてる？", " 覚 え て る ");
    check("ウェブで検索", " ウェフ\u{3099} て\u{3099} 検 索 ");
    check("จำได้", " จ\u{e4d} า ไ ด\u{e49} ");
}

#[test]
fn the_last_word_of_a_partial_text_stays_open() {
    for (text, expected) in [
        ("", " "),
        ("the quest", " the quest"),
        ("the quest ", " the quest "),
        ("the quest.", " the quest "),
        ("the quest’", " the quest "),
        ("the quest\u{ad}", " the quest"),
        ("记得", " 记 得"),
    ] {
        assert_eq!(fold(text, TranscriptStage::Partial), expected, "{text:?}");
    }
}

#[test]
fn of_a_long_text_both_ends_are_read_and_the_words_at_the_gap_do_not_count() {
    let whole = "x".repeat(2 * END);
    check(&whole, &format!(" {whole} "));

    let head = "a ".repeat(END / 2 - 2) + "cut";
    let tail = "off".to_owned() + &" b".repeat(END / 2 - 1);
    let folded = fold(&format!("{head}{}{tail}", "m".repeat(1 << 20)), TranscriptStage::Final);
    assert!(folded.starts_with(" a a ") && folded.ends_with(" b b "));
    assert!(folded.contains("a cutm\n b"), "{folded}");
    assert!(!folded.contains("off"));

    let wide = "語".repeat(1 << 20);
    assert!(fold(&wide, TranscriptStage::Final).len() < 8 * END, "characters are not cut in two");
}

/// Every character of the first two planes, where all cases and nearly all other forms are.
#[test]
fn all_forms_of_a_letter_fold_to_the_same() {
    let folded = |text: String| fold(&text, TranscriptStage::Final);
    for letter in ('\0'..='\u{1ffff}').chain('\u{2f800}'..='\u{2fa1f}') {
        let text = format!("x{letter}");
        let expected = folded(text.clone());
        assert_eq!(folded(expected.clone()), expected, "{letter:?} folded again");
        assert_eq!(folded(text.to_uppercase()), expected, "{letter:?} in upper case");
        assert_eq!(folded(text.to_lowercase()), expected, "{letter:?} in lower case");
        assert_eq!(folded(text.nfc().collect()), expected, "{letter:?} composed");
        assert_eq!(folded(text.nfd().collect()), expected, "{letter:?} decomposed");
        assert_eq!(folded(text.nfkc().collect()), expected, "{letter:?} in its plain form");
    }
}
