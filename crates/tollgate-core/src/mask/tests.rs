use super::*;

mod clean;
mod hostile;

fn masker() -> SecretMasker {
    SecretMasker::new(&[], Vec::new())
}

/// What becomes of a text. It must not change any more when it is masked again.
#[track_caller]
fn text(given: &str) -> String {
    let masker = masker();
    let masked = masker.text(given).unwrap_or_else(|| given.to_owned());
    assert_eq!(masker.text(&masked), None, "masked twice: {masked}");
    masked
}

/// Put together here, so that nothing that looks for keys finds this file.
fn key(parts: &[&str]) -> String {
    parts.concat()
}

#[test]
fn keys_show_what_they_are_by_their_shape() {
    let hex = "0123456789abcdef";
    let mixed = "aB3dE6gH9jK2mN5pQ8sT";
    for (kind, secret) in [
        ("aws", key(&["AKIA", "IOSFODNN7EXAMPLE"])),
        ("aws", key(&["ASIA", "Y34FZKBOKMUTVV7A"])),
        ("github", key(&["ghp_", mixed, hex])),
        ("github", key(&["ghs_", mixed, mixed])),
        ("github", key(&["github_pat_", "11ABCDEFG0", mixed, "_", mixed, hex])),
        ("gitlab", key(&["glpat-", "x1y2-z3A4b5C6d7E8f9G0"])),
        ("slack", key(&["xoxb-", "123456789012-123456789012-", mixed])),
        ("slack", key(&["xoxp-", "2345678901-", hex, hex])),
        ("slack", key(&["xapp-", "1-A02ABCDEF-", hex, hex])),
        ("google", key(&["AIza", "SyD-1234567890abcdefGHIJKLmnopQRS_t"])),
        ("google", key(&["ya29.", "a0AfH6SMBx", mixed, mixed])),
        ("google", key(&["GOCSPX-", "abcdefGHIJKL1234567890mnopqr"])),
        ("stripe", key(&["sk_live_", mixed])),
        ("stripe", key(&["rk_test_", "51H", mixed])),
        ("stripe", key(&["whsec_", mixed, mixed])),
        ("model", key(&["sk-", mixed, mixed])),
        ("model", key(&["sk-proj-", "abc_", mixed, "-", mixed])),
        ("model", key(&["sk-ant-", "api03-", mixed, "-", mixed, "_", mixed])),
        ("model", key(&["sk-or-", "v1-", hex, hex, hex, hex])),
        ("npm", key(&["npm_", mixed, hex])),
        ("huggingface", key(&["hf_", mixed, hex])),
        ("shopify", key(&["shpat_", hex, hex])),
        ("digitalocean", key(&["dop_v1_", hex, hex, hex, hex])),
        ("vault", key(&["hvs.", "CAESI", mixed, mixed])),
        (
            "jwt",
            key(&["eyJ", "hbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxMjM0In0.", "dozjgNryP4J3jVmNHl0w5N"]),
        ),
        ("sendgrid", key(&["SG.", mixed, "ab.", mixed, mixed, "abc"])),
    ] {
        let mark = format!("[masked:{kind}]");
        assert_eq!(text(&secret), mark, "{secret}");
        assert_eq!(text(&format!("use {secret}, please")), format!("use {mark}, please"));
        assert_eq!(text(&format!("x=\"{secret}\"\ny")), format!("x=\"{mark}\"\ny"));
        assert_eq!(text(&format!("äö{secret}ü{secret}")), format!("äö{mark}ü{mark}"));
        assert_eq!(text(&format!("A{secret}")), format!("A{secret}"), "it begins inside a word");
    }
}

#[test]
fn private_keys_go_from_their_beginning_to_their_end() {
    let block =
        |kind: &str| format!("-----BEGIN {kind}-----\nMIIEow\n+/a=\n-----END {kind}-----\nafter");
    for kind in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY"] {
        assert_eq!(text(&format!("a {}", block(kind))), "a [masked:private_key]\nafter");
    }
    for kind in ["CERTIFICATE", "PUBLIC KEY", "RSA PUBLIC KEY"] {
        assert_eq!(text(&block(kind)), block(kind));
    }
    let cut = "a -----BEGIN PRIVATE KEY-----\nMIIEow";
    assert_eq!(text(cut), "a [masked:private_key]", "one that was cut is a secret too");
}

#[test]
fn passwords_in_addresses_and_headers_go_and_the_rest_stays() {
    for (given, expected) in [
        ("postgres://bob:s3cret@db:5432/x", "postgres://bob:[masked:url_password]@db:5432/x"),
        ("redis://:hunter2@cache", "redis://:[masked:url_password]@cache"),
        ("https://a:b@c@host/p", "https://a:[masked:url_password]@host/p"),
        ("https://host/p@q:r", "https://host/p@q:r"),
        ("https://user@host/", "https://user@host/"),
        ("http://host:8080/a@b", "http://host:8080/a@b"),
        ("https://u:${PW}@host", "https://u:${PW}@host"),
        ("Bearer 0123456789abcdef0123", "Bearer [masked:bearer]"),
        (
            "-H 'authorization: bearer abc.def-123_xyz~456'",
            "-H 'authorization: [masked:authorization]'",
        ),
        ("bearer of internationalisation", "bearer of internationalisation"),
        (
            "Authorization: Basic dXNlcjpwYXNz\nHost: x",
            "Authorization: [masked:authorization]\nHost: x",
        ),
        ("Authorization: see the manual", "Authorization: see the manual"),
        ("Cookie: session=abc; theme=dark\r\nX: y", "Cookie: [masked:cookie]\r\nX: y"),
        ("Cookies: we love them", "Cookies: we love them"),
        ("X-Api-Key: 12345-abcde\n", "X-Api-Key: [masked:key]\n"),
    ] {
        assert_eq!(text(given), expected);
    }
}

#[test]
fn what_is_set_under_the_name_of_a_secret_goes() {
    for (given, expected) in [
        ("DB_PASSWORD=swordfish", "DB_PASSWORD=[masked:password]"),
        ("export API_KEY=abcd1234 # mine", "export API_KEY=[masked:key] # mine"),
        ("password=hunter2&user=bob", "password=[masked:password]&user=bob"),
        ("/x?token=abcdef&next=1", "/x?token=[masked:token]&next=1"),
        ("client_secret: \"a b c\",", "client_secret: \"[masked:secret]\","),
        ("{\"password\": \"hunter2\"}", "{\"password\": \"[masked:password]\"}"),
        ("{\\\"apiKey\\\":\\\"abc\\\"}", "{\\\"apiKey\\\":\\\"[masked:key]\\\"}"),
        ("passwd: 'it\\'s me'", "passwd: '[masked:password]'"),
        ("password: hunter2\nuser: bob", "password: [masked:password]\nuser: bob"),
        ("let apiKey := \"x9\"", "let apiKey := \"[masked:key]\""),
        ("AccountKey=abc+def/0123==;Endpoint=x", "AccountKey=[masked:key];Endpoint=x"),
        ("secretAccessKey='wJalr'", "secretAccessKey='[masked:key]'"),
    ] {
        assert_eq!(text(given), expected);
    }
}

#[test]
fn names_are_read_word_by_word() {
    let names = SecretNames::new(&["Patient-Name".to_owned()]);
    for (name, expected) in [
        ("password", Some("password")),
        ("userPassword", Some("password")),
        ("DB_PASS", Some("password")),
        ("pass", None),
        ("bypass", None),
        ("apiKey", Some("key")),
        ("APIKey", Some("key")),
        ("APIKEY", Some("key")),
        ("x-api-key", Some("key")),
        ("publicKey", None),
        ("key", None),
        ("monkey", None),
        ("token", Some("token")),
        ("access_token", Some("token")),
        ("githubToken", Some("token")),
        ("nextPageToken", None),
        ("progressToken", None),
        ("max_tokens", None),
        ("tokens", None),
        ("token_count", None),
        ("token_type", None),
        ("tokenizer", None),
        ("secret", Some("secret")),
        ("secretName", None),
        ("secretary", None),
        ("Set-Cookie", Some("cookie")),
        ("authorization", Some("authorization")),
        ("authorization_url", None),
        ("credentials", Some("credential")),
        ("patient_name", Some("redacted")),
        ("patientName", Some("redacted")),
        ("patient", None),
        ("", None),
        ("___", None),
        ("пароль", None),
    ] {
        assert_eq!(names.family(name), expected, "{name}");
    }
    assert_eq!(names.family(&"password".repeat(40)), None);
}

#[test]
fn documents_keep_everything_but_their_secrets() {
    let masker = SecretMasker::new(&["iban".to_owned()], Vec::new());
    let check = |given: &str, expected: Option<&str>| {
        let masked = masker.json(given);
        assert_eq!(masked.as_deref(), expected, "{given}");
        if let Some(masked) = masked {
            serde_json::from_str::<serde_json::Value>(&masked).unwrap();
            assert_eq!(masker.json(&masked), None, "masked twice: {masked}");
        }
    };
    check(r#"{"a": 1.50e+400, "b": [1, "x"]}"#, None);
    check(
        r#"{"password":"x","n":12345678901234567890}"#,
        Some(r#"{"password":"[masked:password]","n":12345678901234567890}"#),
    );
    check(
        r#"{"password": 1234, "token": 5, "ok": true}"#,
        Some(r#"{"password": "[masked:password]", "token": 5, "ok": true}"#),
    );
    check(r#"{"password":"","secret":null,"cookie":false}"#, None);
    check(
        r#"{"tokens":["a"],"api_key":["a","b"]}"#,
        Some(r#"{"tokens":["a"],"api_key":["[masked:key]","[masked:key]"]}"#),
    );
    check(
        r#"{"credentials":{"user":"bob","password":"x"}}"#,
        Some(r#"{"credentials":{"user":"bob","password":"[masked:password]"}}"#),
    );
    check(r#"{"password":{"type":"string","description":"yours"}}"#, None);
    check(r#"{"pass\u0077ord":"x"}"#, Some(r#"{"pass\u0077ord":"[masked:password]"}"#));
    check(r#"{"url":"https:\/\/a:b@c"}"#, Some(r#"{"url":"https://a:[masked:url_password]@c"}"#));
    check(r#"{"IBAN":"DE02"}"#, Some(r#"{"IBAN":"[masked:redacted]"}"#));
    check(r#"["password","x"]"#, None);
    check(
        r#"{"a":{"password":"x"},"b":"y"}"#,
        Some(r#"{"a":{"password":"[masked:password]"},"b":"y"}"#),
    );
    check(
        r#"{"a":[{"token":"x"},"y"],"c":"\"q\""}"#,
        Some(r#"{"a":[{"token":"[masked:token]"},"y"],"c":"\"q\""}"#),
    );
    check(r#""password=hunter2""#, Some(r#""password=[masked:password]""#));
    check(
        r#"{"text":"{\"password\": \"hunter2\"}"}"#,
        Some(r#"{"text":"{\"password\": \"[masked:password]\"}"}"#),
    );
    check("", None);
    check("\"unfinished token=", None);
}

#[test]
fn patterns_of_the_operator_count_as_well() {
    let patterns = vec![
        MaskPattern::new("employee", r"\bE-\d{6}\b").unwrap(),
        MaskPattern::new("project", "(?i)manhattan").unwrap(),
    ];
    let masker = SecretMasker::new(&[], patterns);
    assert_eq!(
        masker.text("E-123456 and Manhattan, password=hunter2").unwrap(),
        "[masked:employee] and [masked:project], password=[masked:password]"
    );
    assert_eq!(masker.text("E-12345"), None);
    assert_eq!(masker.json(r#"{"who":"E-654321"}"#).unwrap(), r#"{"who":"[masked:employee]"}"#);
    assert!(matches!(MaskPattern::new("x", "("), Err(MaskPatternError::Syntax(_))));
    assert!(matches!(MaskPattern::new("x", "a*"), Err(MaskPatternError::MatchesNothing)));
    assert!(matches!(MaskPattern::new("x", r"(\w{900}){900}"), Err(MaskPatternError::Syntax(_))));
}
