use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// Texts that make a careless reader look at each character again and again.
fn hostile() -> Vec<String> {
    let of = |part: &str| part.repeat(100_000 / part.len());
    [
        "eyJ",
        "eyJ.",
        "eyJaaaaaaaaaaaa.",
        "sk-",
        "sk-a",
        "ghp_",
        "xoxb-1",
        "://",
        "://a:",
        "a:b@://",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "-----END ",
        "bearer ",
        "bearer a1",
        "token=",
        "token=\"",
        "token='",
        "token:",
        "tokentoken",
        "\"token\":\"",
        "password",
        "password=\\",
        "api_key = ",
        "Authorization:",
        "Authorization: Basic ",
        "Cookie: a=",
        "secret_",
        "A",
        "ä",
        "\u{202e}token=",
        "AKIA",
        "\\",
        "\"",
        "token==",
        "[masked:",
    ]
    .map(of)
    .into_iter()
    .collect()
}

#[expect(clippy::disallowed_methods, reason = "a test of speed asks what time it is")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn the_work_is_linear_whatever_the_text() {
    let masker = masker();
    for text in hostile() {
        let began = now();
        masker.text(&text);
        let quoted = serde_json::Value::from(text.as_str()).to_string();
        masker.json(&quoted);
        let took = began.elapsed();
        assert!(took < Duration::from_secs(20), "{took:?} for `{}…`", &text[..12]);
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the figure is what it is for")]
fn nothing_found_costs_little() {
    let masker = masker();
    let prose = "The quick brown fox jumps over the lazy dog, and nobody asks why. ".repeat(1_600);
    let json = serde_json::json!({"content": [{"type": "text", "text": prose}]}).to_string();
    let began = now();
    for _ in 0..10 {
        assert_eq!(masker.json(&json), None);
    }
    let kilobytes = 10 * json.len() / 1_024;
    let took = began.elapsed().as_nanos() / kilobytes as u128;
    println!("masking clean JSON: {took} ns for each KB in this build");
}

proptest! {
    #[test]
    fn any_text_is_masked_without_a_panic_and_only_once(given in ".{0,200}") {
        let masker = masker();
        if let Some(masked) = masker.text(&given) {
            prop_assert_eq!(masker.text(&masked), None, "{}", masked);
        }
    }

    #[test]
    fn pieces_of_secrets_in_any_order_make_no_trouble(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "password", "=", ":", "\"", "'", "\\", " ", "token", "://", "@", "eyJ", ".", "sk-",
                "aB3dE6gH9jK2mN5pQ8sT", "bearer ", "\n", "ä", "-----BEGIN ", "PRIVATE KEY-----",
                "-----END ", "&", "Cookie", "Authorization", "Basic ", "x1", "[masked:", "]", "${",
            ]),
            0..24,
        )
    ) {
        let masker = masker();
        let given = pieces.concat();
        masker.text(&given);
        let quoted = serde_json::Value::from(given).to_string();
        if let Some(masked) = masker.json(&quoted) {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&masked).is_ok(), "{}", masked);
        }
    }
}
