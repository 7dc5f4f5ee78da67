//! The vendors' own examples, and what must not pass.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tollgate_core::secret::Secret;

use super::*;

/// As in the tests of twilio-python's `RequestValidator`.
const URL: &str = "https://mycompany.com/myapp.php?foo=1&bar=2";
const TOKEN: &str = "12345";

fn fields(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn example() -> Vec<(String, String)> {
    fields(&[
        ("To", "+18005551212"),
        ("CallSid", "CA1234567890ABCDE"),
        ("Digits", "1234"),
        ("From", "+14158675309"),
        ("Caller", "+14158675309"),
    ])
}

#[test]
fn twilios_examples_are_signed() {
    let duplicates = fields(&[
        ("Sid", "CA123"),
        ("SidAccount", "AC123"),
        ("Digits", "5678"),
        ("Digits", "1234"),
    ]);
    let http = URL.replace("https", "http");
    for (url, fields, signature) in [
        (URL, example(), "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
        (URL, duplicates, "IK+Dwps556ElfBT0I3Rgjkr1wJU="),
        // The port is signed or not, whatever the request had.
        (&URL.replace(".com", ".com:1234"), example(), "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
        (URL, example(), "kvajT1Ptam85bY51eRf/AJRuM3w="),
        (&http, example(), "0ZXoZLH/DfblKGATFgpif+LLRf4="),
        (&http.replace(".com", ".com:1234"), example(), "Zmvh+3yNM1Phv2jhDCwEM3q5ebU="),
    ] {
        assert_eq!(check_twilio(TOKEN, url, &fields, signature), Ok(()), "{url} {signature}");
    }
}

#[test]
fn another_url_token_or_field_is_not_signed() {
    let signature = "RSOYDt4T1cUTdK1PDd93/VVr8B8=";
    let mut more = example();
    more.push(("Extra".to_owned(), String::new()));
    more.push(("x".to_owned(), "y".to_owned()));
    for (token, url, fields) in [
        ("12346", URL, example()),
        (TOKEN, "https://mycompany.com/myapp.php?foo=1&bar=3", example()),
        (TOKEN, "wss://mycompany.com/myapp.php?foo=1&bar=2", example()),
        (TOKEN, "https://other.com/myapp.php?foo=1&bar=2", example()),
        (TOKEN, URL, more),
        (TOKEN, URL, Vec::new()),
    ] {
        assert_eq!(check_twilio(token, url, &fields, signature), Err(SignatureError::Wrong));
    }
    for malformed in ["", "no base64!", "RSOYDt4T1cUTdK1PDd93"] {
        assert!(check_twilio(TOKEN, URL, &example(), malformed).is_err(), "{malformed}");
    }
}

#[test]
fn a_stream_may_be_signed_with_a_slash_at_its_end() {
    let urls = twilio_urls("wss://gate.example/v1/telephony/twilio");
    assert_eq!(urls.len(), 6);
    assert!(urls.contains(&"wss://gate.example:443/v1/telephony/twilio/".to_owned()));
    let urls = twilio_urls("wss://[::1]:8655/x");
    assert!(urls.contains(&"wss://[::1]/x".to_owned()), "{urls:?}");
    assert_eq!(twilio_urls("wss://[::1]/x")[2], "wss://[::1]:443/x");
}

fn at(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(milliseconds)
}

/// `python3 -c "import hmac; print(hmac.new(b'key_1', BODY + b'1790000000000', 'sha256').hexdigest())"`
const RETELL: &str = "66ecb5d4bb02d652ab47df3da8f8fc0ba424940966d001284b50c6ec1244f89e";
const BODY: &[u8] = br#"{"name":"roll","call":{"call_id":"c1"},"args":{}}"#;

#[test]
fn retells_signature_covers_body_and_time() {
    let signed = format!("v=1790000000000,d={RETELL}");
    let now = at(1_790_000_000_000);
    assert_eq!(check_retell("key_1", BODY, &signed, now), Ok(()));
    assert_eq!(check_retell("key_2", BODY, &signed, now), Err(SignatureError::Wrong));
    assert_eq!(check_retell("key_1", b"{}", &signed, now), Err(SignatureError::Wrong));
    let moved = format!("v=1790000000001,d={RETELL}");
    assert_eq!(check_retell("key_1", BODY, &moved, now), Err(SignatureError::Wrong));
    for (later, expected) in [
        (1_790_000_300_000, Ok(())),
        (1_790_000_300_001, Err(SignatureError::Stale)),
        (1_789_999_699_999, Err(SignatureError::Stale)),
    ] {
        assert_eq!(check_retell("key_1", BODY, &signed, at(later)), expected, "{later}");
    }
    for malformed in ["", "v=,d=", "d=00,v=1", "v=x,d=00", "v=1790000000000,d=0", "v=1790000000000"]
    {
        let found = check_retell("key_1", BODY, malformed, now);
        assert_eq!(found, Err(SignatureError::Malformed), "{malformed}");
    }
}

#[test]
fn vapis_signature_is_as_its_credential_says() {
    let scheme = HmacScheme {
        secret: Secret::new("s3cret"),
        algorithm: HmacAlgorithm::Sha256,
        signature_header: "x-signature".to_owned(),
        timestamp_header: Some("x-timestamp".to_owned()),
        prefix: "sha256=".to_owned(),
        encoding: SignatureEncoding::Hex,
    };
    let now = at(1_790_000_000_000);
    let signature = "sha256=2e924b13990282ca3bec33eb882eb11adcac2eb590f11906c9c4d79e990fa211";
    let presented = |time| PresentedHmac { signature, time };
    assert_eq!(check_hmac(&scheme, BODY, presented(Some("1790000000")), now), Ok(()));
    let wrong = check_hmac(&scheme, BODY, presented(Some("1790000001")), now);
    assert_eq!(wrong, Err(SignatureError::Wrong));
    assert_eq!(check_hmac(&scheme, BODY, presented(None), now), Err(SignatureError::Missing));
    let old = check_hmac(&scheme, BODY, presented(Some("1690000000")), now);
    assert_eq!(old, Err(SignatureError::Stale));
    let bare = PresentedHmac {
        signature: "2e924b13990282ca3bec33eb882eb11adcac2eb590f11906c9c4d79e990fa211",
        time: Some("1790000000"),
    };
    assert_eq!(check_hmac(&scheme, BODY, bare, now), Err(SignatureError::Malformed));
    let body_only = HmacScheme {
        algorithm: HmacAlgorithm::Sha1,
        timestamp_header: None,
        prefix: String::new(),
        encoding: SignatureEncoding::Base64,
        ..scheme
    };
    let presented = PresentedHmac { signature: "tB9Ju5uoDLFJ07o5LT4bQMbit8c=", time: None };
    assert_eq!(check_hmac(&body_only, BODY, presented, now), Ok(()));
    assert_eq!(check_hmac(&body_only, b"", presented, now), Err(SignatureError::Wrong));
}
