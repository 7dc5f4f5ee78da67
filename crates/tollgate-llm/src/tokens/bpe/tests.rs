use proptest::prelude::*;

use super::{MAX_LINEAR_PARTS, MAX_WORD_BYTES, MERGES, MergeBuffer, Vocabulary, count};

/// The numbers are tiktoken's, taken down once.
#[test]
fn texts_come_to_what_the_vocabulary_makes_of_them() {
    for (text, expected) in [
        ("", 0),
        ("a", 1),
        ("hello world", 2),
        ("Hello, world! It's 2026.", 9),
        (" leading", 1),
        ("trailing   ", 3),
        ("a  b   c", 5),
        ("line\n\n\nline\r\n  x", 6),
        ("I'LL we've THEY'RE", 7),
        ("getHTTPResponseCode", 4),
        ("snake_case_name", 3),
        ("0123456789", 4),
        ("٣٤٥ ½ Ⅷ", 8),
        ("Würfle bitte mit zwei Würfeln!", 10),
        ("語言模型很有趣。", 7),
        ("สวัสดีครับผมชื่อทอลเกต", 12),
        ("مرحبا بالعالم", 4),
        ("Привет, как дела?", 6),
        ("👩‍👩‍👧‍👦👍🏽", 14),
        ("e\u{301}e\u{301}", 4),
        (r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#, 19),
        ("/usr/local/bin//x", 5),
        ("fn main() { println!(\"hi\"); }", 9),
        ("d41d8cd98f00b204e9800998ecf8427e", 19),
        ("\u{2028}\u{a0}\u{85} x", 5),
        ("ǅʰ ſ 'ſ", 8),
        ("<|endoftext|>", 7),
    ] {
        assert_eq!(count(text), expected, "{text:?}");
    }
}

#[test]
fn runs_of_one_letter_are_merged_as_far_as_they_go() {
    for (unit, times, expected) in [
        ("a", 1000, 125),
        (" ", 1000, 9),
        ("ab", 3000, 1500),
        ("\n", 500, 32),
        ("=", 300, 5),
        ("7", 100, 34),
        ("ไ", 400, 400),
    ] {
        assert_eq!(count(&unit.repeat(times)), expected, "{unit:?} × {times}");
    }
}

/// B-CH-3: a mebibyte that no pattern cuts takes its share of time, and no more memory than a word.
#[test]
fn b_ch_03_a_mebibyte_without_an_end_is_counted() {
    for (unit, size) in [
        ("a", 1 << 20),
        (" ", 1 << 16),
        ("語", 1 << 16),
        ("\n", 1 << 16),
        ("!?", 1 << 16),
        ("👩‍👩‍👧‍👦", 1 << 16),
        ("e\u{301}", 1 << 16),
        ("\n ", 1 << 16),
    ] {
        let text = unit.repeat(size / unit.len());
        let tokens = count(&text);
        assert!(tokens > 0 && tokens <= text.len() as u64, "{unit:?}: {tokens}");
    }
    let mut merging = MergeBuffer::default();
    merging.count(&[b'a'; MAX_WORD_BYTES], &Vocabulary::read(MERGES));
    assert!(merging.parts.capacity() < 4 * MAX_WORD_BYTES);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn both_ways_of_merging_agree(word in proptest::collection::vec(any::<u8>(), 0..MAX_LINEAR_PARTS)) {
        let vocabulary = &*super::VOCABULARY;
        let mut merging = MergeBuffer::default();
        let few = merging.count(&word, vocabulary);
        merging.begin(&word, vocabulary);
        prop_assert_eq!(few, merging.merge_with_heap(vocabulary) as u64);
    }

    #[test]
    fn no_text_has_more_tokens_than_bytes(text in "\\PC{0,20}") {
        let tokens = count(&text);
        prop_assert!(tokens <= text.len() as u64);
        prop_assert_eq!(tokens == 0, text.is_empty());
    }
}
