use proptest::prelude::*;

use super::{
    MAX_WORD_BYTES, MAX_WORDS_PER_TEXT, StemInitials, fold_text, terms, words, words_with,
};

fn check(text: &str, expected: &str) {
    assert_eq!(terms(text).join(" "), expected, "{text}");
}

#[test]
fn case_accents_and_spelling_do_not_count() {
    check("Élise MET the Dragons", "elise met the dragon");
    check("Straße STRASSE ｄｒａｇｏｎ", "strasse dragon");
    check("Ørsted Łukasz Þór İstanbul", "orst lukasz thor istanbul");
    check("e\u{301}lise ÉLISE", "elise");
    check("ΟΔΥΣΣΕΥΣ Οδυσσεύς", "οδυσσευσ");
    check("Ёлка елка", "елка");
}

#[test]
fn texts_in_other_spellings_fold_into_one() {
    for text in ["Élise  of-the VALES", "elise of the vales", "Elise's of the (Vales)!"] {
        assert_eq!(fold_text(text), "elise of the vales", "{text}");
    }
    assert_ne!(fold_text("Jan"), fold_text("Jane"));
    assert_ne!(fold_text("dragon"), fold_text("dragons"), "endings stay");
    assert_eq!(fold_text("Do'Urden"), "dourden");
    assert_eq!(fold_text("?!"), "");
}

#[test]
fn digits_are_words() {
    check("2d6+3 on the 14th, room 101", "2d6 3 on the 14th room 101");
}

#[test]
fn apostrophes_are_inside_of_names() {
    check("Elara's Elara’s ELARA'S", "elara");
    check("O'Brien", "obrien brien");
    check("Drizzt Do’Urden's", "drizzt dourden urden");
    check("don't they'll 'quoted'", "dont theyll quot");
    check("l'homme", "lhomme homme");
    check("''' ' '", "");
}

#[test]
fn scripts_without_spaces_are_found_by_pairs_and_by_letters() {
    check("龍王殺", "龍王 龍 王殺 王 殺");
    check("龍", "龍");
    check("ﾄﾞﾗｺﾞﾝ ドラゴン", "ドラ ド ラゴ ラ ゴン ゴ ン");
    check("東京dragon", "東京 東 京 dragon");
    check("드래곤을", "드래 드 래곤 래 곤을 곤 을");
    assert!(terms("ที่นี่มังกร").len() > 4);
}

#[test]
fn vowels_of_indian_scripts_are_no_accents() {
    assert_ne!(terms("कि"), terms("का"));
}

#[test]
fn an_emoji_is_a_word() {
    check("the 🐉 attacks🔥🔥", "the 🐉 attack 🔥");
    assert_eq!(terms("👍🏽"), terms("👍"));
    assert_eq!(terms("❤️"), terms("❤"));
    check("👨‍👩‍👧", "👨 👩 👧");
    check("🇩🇪🇫🇷 🇩", "🇩🇪 🇫🇷 🇩");
    check("1️⃣", "1");
}

#[test]
fn what_nobody_sees_parts_no_words() {
    check("dra\u{200b}gon dra\u{ad}gon \u{feff}dragon\0", "dragon");
}

#[test]
fn long_words_are_cut_and_long_texts_bounded() {
    assert_eq!(terms(&"x".repeat(1 << 20)), ["x".repeat(MAX_WORD_BYTES)]);
    assert_eq!(terms(&"é".repeat(1 << 16)), ["e".repeat(MAX_WORD_BYTES)]);
    assert_eq!(terms(&"語".repeat(1 << 16)).len(), 2);
    let many: String = (0..5_000).map(|at| format!("w{at} ")).collect();
    assert_eq!(terms(&many).len(), MAX_WORDS_PER_TEXT);
}

#[test]
fn b_me_4_wicked_texts_have_words_too() {
    check("\0a\0b\0", "a b");
    check("\"*NEAR( a OR\" -b: 'c' ^d {e} \\f %g", "near a or b c d e f g");
    check("'; DROP TABLE entries; --", "drop table entry");
    check("ﷺ", "صلىاللهعليهوسلم");
    check(" \n\t \u{3000}…—!?", "");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn terms_are_safe_to_be_kept_anywhere(text in "\\PC{0,200}|(?s).{0,200}") {
        let found = terms(&text);
        prop_assert!(found.len() <= MAX_WORDS_PER_TEXT);
        for term in &found {
            prop_assert!(!term.is_empty() && term.len() <= MAX_WORD_BYTES, "{term:?}");
            let ascii = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit();
            prop_assert!(term.chars().all(|it| !it.is_ascii() || ascii(it)), "{term:?}");
            prop_assert!(!term.chars().any(|it| it.is_whitespace() || it.is_control()), "{term:?}");
        }
        let mut once = found.clone();
        once.sort();
        once.dedup();
        prop_assert_eq!(once.len(), found.len());
    }

    #[test]
    fn words_that_are_looked_for_are_not_passed_over(text in "(?s)([a-cA-Cé' ]{0,4}|.{0,3}){0,40}") {
        let mut all = Vec::new();
        words(&text, &mut |word| all.push((word.place, word.stem.to_owned(), word.at)));
        for (_, wanted, _) in &all {
            let mut some = Vec::new();
            words_with(&text, &StemInitials::of(&[wanted]), &mut |word| {
                some.push((word.place, word.stem.to_owned(), word.at));
            });
            some.retain(|it| it.1 == *wanted);
            let expected: Vec<_> = all.iter().filter(|it| it.1 == *wanted).cloned().collect();
            prop_assert_eq!(some, expected);
        }
    }

    #[test]
    fn words_stand_in_the_text_in_order(text in "(?s).{0,200}") {
        let mut last = (0, 0);
        words(&text, &mut |word| {
            assert!(text.get(word.at.clone()).is_some_and(|it| !it.is_empty()), "{word:?}");
            assert!(word.place >= last.0 && word.at.end >= last.1, "{word:?}");
            last = (word.place, word.at.start);
        });
    }
}
