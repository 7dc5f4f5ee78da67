use serde_json::{Value, json};

use super::Tokenizer;

fn check(tokenizer: &Value, text: &str, expected: &[u32]) {
    let read = Tokenizer::read(tokenizer.to_string().as_bytes()).unwrap();
    assert_eq!(read.tokens(text), expected, "{text:?}");
}

fn bert() -> Value {
    json!({
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 10,
            "vocab": {"[UNK]": 0, "drag": 1, "##on": 2, "dragons": 3, "!": 4, "龍": 5, "cafe": 6,
                "##s": 7, "a": 8, "##a": 9},
        },
    })
}

#[test]
fn words_are_cut_into_the_longest_pieces_that_are_known() {
    let bert = bert();
    check(&bert, "", &[]);
    check(&bert, "Dragon dragons!!", &[1, 2, 3, 4, 4]);
    check(&bert, "CAFÉS\u{200b}\u{0}\t龍龍", &[6, 7, 5, 5]);
    check(&bert, "dragoness", &[0]);
    check(&bert, "aaaaaaaaaa aaaaaaaaaaa", &[8, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0]);
}

fn llama() -> Value {
    let mut vocabulary = json!({"<unk>": 0, "▁": 300, "a": 301, "b": 302, "ab": 303, "▁ab": 304,
        "aa": 305, "abab": 306});
    for byte in 0..256 {
        vocabulary[format!("<0x{byte:02X}>")] = (byte + 1).into();
    }
    json!({
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        ]},
        "pre_tokenizer": null,
        "model": {
            "type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
            "vocab": vocabulary, "merges": ["a b", ["▁", "ab"], "a a", "ab ab"],
        },
    })
}

#[test]
fn pairs_become_pieces_in_the_order_in_which_they_were_learned() {
    let llama = llama();
    check(&llama, "", &[]);
    check(&llama, "ab", &[304]);
    check(&llama, "aab ab", &[300, 301, 303, 304]);
    check(&llama, "abab", &[304, 303]);
    check(&llama, "babab", &[300, 302, 306]);
    check(&llama, "aaa", &[300, 305, 301]);
    check(&llama, "aü", &[300, 301, 0xc3 + 1, 0xbc + 1]);
    let long = "ab".repeat(20_000);
    let tokens = Tokenizer::read(llama.to_string().as_bytes()).unwrap().tokens(&long);
    assert_eq!((tokens.len(), tokens[0]), (10_001, 304));
}

#[test]
fn without_bytes_what_is_not_known_is_one_token() {
    let mut llama = llama();
    llama["model"]["byte_fallback"] = false.into();
    check(&llama, "aüéb", &[300, 301, 0, 302]);
    llama["model"]["fuse_unk"] = false.into();
    check(&llama, "aüéb", &[300, 301, 0, 0, 302]);
    llama["model"]["unk_token"] = Value::Null;
    check(&llama, "aüéb", &[304]);
    llama["model"]["ignore_merges"] = true.into();
    llama["normalizer"] = Value::Null;
    check(&llama, "abab", &[306]);
}

#[test]
fn of_all_ways_to_cut_a_word_the_likeliest_is_taken() {
    let sentencepiece = json!({
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "NFKC"}, {"type": "Lowercase"},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
        ]},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
        "model": {"type": "Unigram", "unk_id": 0, "vocab": [
            ["<unk>", 0.0], ["▁", -3.0], ["a", -3.0], ["b", -3.5], ["ab", -4.0], ["▁ab", -4.5],
            ["▁a", -9.0],
        ]},
    });
    check(&sentencepiece, "", &[]);
    check(&sentencepiece, "AB   ab", &[5, 5]);
    check(&sentencepiece, "aab", &[1, 2, 4]);
    check(&sentencepiece, "a漢字b", &[1, 2, 0, 3]);
    check(&sentencepiece, "漢a字", &[1, 0, 2, 0]);
}

#[test]
fn what_is_not_understood_is_told() {
    let check = |path: &str, value: Value, why: &str| {
        let mut tokenizer = bert();
        *tokenizer.pointer_mut(path).unwrap() = value;
        let said = Tokenizer::read(tokenizer.to_string().as_bytes()).err().unwrap().to_string();
        assert!(said.contains(why), "{said}");
    };
    check("/normalizer", json!({"type": "Nmt"}), "a normalizer of kind `Nmt`");
    let byte_level = json!({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}]});
    check("/pre_tokenizer", byte_level, "a pre-tokenizer of kind `ByteLevel`");
    check("/model/type", json!("Other"), "a model of kind `Other`");
    check("/model/vocab", json!({}), "its own unknown token");
    check("/model/vocab", json!({"a": "b"}), "a vocabulary without numbers");
    check("/model/unk_token", Value::Null, "has no `unk_token`");
    check("/model", json!({"type": "BPE", "vocab": {"a": 0}, "merges": ["a a"]}), "not its parts");
    check("/model", json!({"type": "Unigram", "vocab": [["a"]]}), "a vocabulary without numbers");
    let lookahead = json!({"type": "Replace", "pattern": {"Regex": "a(?!b)"}, "content": ""});
    check("/normalizer", lookahead, "an unsupported pattern: `a(?!b)`");
    assert!(
        Tokenizer::read(b"{").err().unwrap().to_string().starts_with("its tokenizer is not JSON")
    );
}
