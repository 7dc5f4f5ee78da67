use proptest::prelude::{ProptestConfig, any, proptest};

use super::{MASK, MaskJudgement, SecretMatcher, StreamMask, configure, judge, mask, obtain};

fn matcher(values: &[&str]) -> SecretMatcher {
    SecretMatcher::new(values.iter().copied())
}

#[test]
fn a_value_is_masked_in_every_form_that_programs_give_it() {
    let value = "s3cr\"t/Val ue+é";
    let masks = matcher(&[value]);
    for (text, expected) in [
        (format!("<{value}>"), format!("<{MASK}>")),
        (r#"{"a":"s3cr\"t/Val ue+é!"}"#.to_owned(), format!(r#"{{"a":"{MASK}!"}}"#)),
        (r#"{"a":"s3cr\"t\/Val ue+é"}"#.to_owned(), format!(r#"{{"a":"{MASK}"}}"#)),
        (r#""{\"a\":\"s3cr\\\"t/Val ue+é\"}""#.to_owned(), format!(r#""{{\"a\":\"{MASK}\"}}""#)),
        (r#"{"a":"s3cr\"t/Val ue+\u00e9"}"#.to_owned(), format!(r#"{{"a":"{MASK}"}}"#)),
        (
            r#""{\"a\":\"s3cr\\\"t/Val ue+\\u00e9\"}""#.to_owned(),
            format!(r#""{{\"a\":\"{MASK}\"}}""#),
        ),
        ("s3cr&quot;t/Val ue+é".to_owned(), MASK.to_owned()),
        ("?k=s3cr%22t%2FVal%20ue%2B%C3%A9&".to_owned(), format!("?k={MASK}&")),
        ("?k=s3cr%22t%2fVal+ue%2b%c3%a9&".to_owned(), format!("?k={MASK}&")),
        ("733363722274 2f".to_owned(), "733363722274 2f".to_owned()),
        ("0x7333637222742f56616c2075652bc3a9;".to_owned(), format!("0x{MASK};")),
    ] {
        assert_eq!(masks.mask(&text), expected, "{text}");
    }
}

/// The characters that hold nothing but the value go; what shares bits with others stays.
#[test]
fn base64_of_a_value_is_masked_wherever_it_stands_in_what_was_encoded() {
    let masks = matcher(&["hunter2hunter2"]);
    for text in [
        // "hunter2hunter2", "user:hunter2hunter2", "{"k":"hunter2hunter2"}", and one byte before it.
        "aHVudGVyMmh1bnRlcjI=",
        "dXNlcjpodW50ZXIyaHVudGVyMg==",
        "eyJrIjoiaHVudGVyMmh1bnRlcjIifQ==",
        "IGh1bnRlcjJodW50ZXIy",
    ] {
        let masked = masks.mask(text);
        assert!(masked.contains(MASK), "{text}: {masked}");
        assert!(masked.len() - MASK.len() <= text.len() - 17, "{text}: {masked}");
    }
    assert_eq!(masks.mask("aHVudGVyMQ=="), "aHVudGVyMQ==");
}

#[test]
fn short_values_are_not_looked_for() {
    let masks = matcher(&["true", "1234567", ""]);
    assert!(masks.is_empty());
    assert_eq!(masks.mask("true 1234567"), "true 1234567");
}

#[test]
fn no_value_shows_in_the_debug_form_of_a_matcher() {
    let shown = format!("{:?}", matcher(&["hunter2hunter2"]));
    assert_eq!(shown, "Matcher(<secret>)");
}

#[test]
fn ordinary_values_under_ordinary_names_stay() {
    for (name, value) in [
        ("LOG_LEVEL", "info,tollgate=debug"),
        ("REGION", "us-east-1"),
        ("MODEL", "gpt-4o-mini"),
        ("MODEL", "claude-sonnet-4-5-20250929"),
        ("ROOT", "/srv/data/projects"),
        ("BASE", "https://api.example.com/v1"),
        ("DB_HOST", "db.internal.example.com:5432"),
        ("LANG", "en_US.UTF-8"),
        ("TZ", "Europe/Berlin"),
        ("Accept", "application/json"),
        ("X-Team", "green and blue"),
        ("PORT", "8080"),
        ("NODE_ENV", "production"),
        ("KEY_FILE", "/etc/ssl/private/server.pem"),
    ] {
        assert_eq!(judge(name, value), MaskJudgement::Ordinary, "{name}={value}");
    }
}

#[test]
fn secrets_are_known_by_their_name_or_by_their_looks() {
    for (name, value) in [
        ("GITHUB_TOKEN", "abcdefgh"),
        ("DB_PASSWORD", "correct horse battery"),
        ("ANYTHING", "7f3a9c21d4e8"),
        ("ANYTHING", "CANARY-env"),
        ("ANYTHING", "my-secret-value"),
        ("ANYTHING", "wJalrXUtnFEMIKMDENGbPxRfiCY"),
        ("ANYTHING", "AKIAIOSFODNN7EXAMPLE"),
        ("ANYTHING", "p4ssw0rd-of-mine"),
    ] {
        assert_eq!(judge(name, value), MaskJudgement::Masked, "{name}={value}");
    }
    for (name, value) in [("TOKEN", "short"), ("PASSWORD", "changeme"), ("API_KEY", "localhost")] {
        assert_eq!(judge(name, value), MaskJudgement::Unfit, "{name}={value}");
    }
}

#[test]
fn values_of_an_old_config_stay_masked_and_the_oldest_are_forgotten() {
    configure(["first-config-value"]);
    configure(["second-config-value"]);
    obtain("access-token-1");
    assert_eq!(mask("first-config-value access-token-1"), format!("{MASK} {MASK}"));
    for number in 0..200 {
        obtain(&format!("access-token-{number:05}-x"));
    }
    assert_eq!(mask("access-token-00199-x"), MASK);
    assert_eq!(mask("access-token-00001-x"), "access-token-00001-x", "forgotten");
    assert_eq!(mask("first-config-value"), MASK, "tokens do not push out the config's values");
    let many: Vec<String> = (0..2_000).map(|number| format!("config-value-{number:05}")).collect();
    configure(many.iter().map(String::as_str));
    assert_eq!(mask("config-value-00000 config-value-01999"), format!("{MASK} {MASK}"));
    assert_eq!(mask("first-config-value"), "first-config-value", "bounded");
}

fn streamed(masks: &SecretMatcher, text: &str, cuts: &[usize]) -> String {
    let mut stream = StreamMask::default();
    let mut out = Vec::new();
    let mut from = 0;
    for cut in cuts.iter().copied().chain([text.len()]) {
        let cut = cut.clamp(from, text.len());
        out.extend_from_slice(&stream.push(masks, &text.as_bytes()[from..cut]));
        from = cut;
    }
    out.extend(stream.finish());
    String::from_utf8(out).unwrap()
}

#[test]
fn what_cannot_be_a_value_is_not_kept_back() {
    let masks = matcher(&["hunter2hunter2"]);
    let mut stream = StreamMask::default();
    assert_eq!(&*stream.push(&masks, b"data: {}\n\n"), b"data: {}\n\n");
    assert_eq!(&*stream.push(&masks, b"data: hunt"), b"data: ");
    assert_eq!(&*stream.push(&masks, b"ing\n\n"), b"hunting\n\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_value_is_masked_however_a_stream_is_cut(
        cuts in proptest::collection::vec(0_usize..80, 0..12),
        before in "[a-z ]{0,20}",
        after in "[a-z ]{0,20}",
    ) {
        let masks = matcher(&["hunter2hunter2", "aaaaaaaaab"]);
        let text = format!("{before}hunter2hunter2{after}aaaaaaaaab{before}");
        let mut cuts = cuts;
        cuts.sort_unstable();
        let whole = masks.mask(&text).into_owned();
        assert_eq!(streamed(&masks, &text, &cuts), whole);
        assert!(!whole.contains("hunter2hunter2") && !whole.contains("aaaaaaaaab"));
    }

    #[test]
    fn base64_of_whatever_surrounds_a_value_never_shows_it(
        before in proptest::collection::vec(any::<u8>(), 0..7),
        after in proptest::collection::vec(any::<u8>(), 0..7),
    ) {
        let value = "k9-Zq0_pL2~xW7.vB4";
        let masks = matcher(&[value]);
        let bytes = [&before[..], value.as_bytes(), &after[..]].concat();
        let encoded = super::encodings::base64(&bytes);
        assert!(masks.mask(&encoded).contains(MASK), "{encoded}");
    }
}
