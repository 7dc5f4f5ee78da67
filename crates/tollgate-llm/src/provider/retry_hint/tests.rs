use std::time::{Duration, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{RetryAdvice, RetryHint, read};

/// 2026-10-21T07:28:00Z.
const NOW: Duration = Duration::from_secs(1_792_567_680);

fn check(headers: &[(&'static str, &str)], after: Option<f64>) {
    let hint = read_all(headers);
    assert_eq!(hint.after, after.map(Duration::from_secs_f64), "{headers:?}");
}

fn read_all(headers: &[(&'static str, &str)]) -> RetryHint {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    }
    read(&map, UNIX_EPOCH + NOW)
}

#[test]
fn b_ch_13_every_form_of_retry_after_is_read_or_ignored() {
    check(&[], None);
    check(&[("retry-after", "2")], Some(2.0));
    check(&[("retry-after", " 0.5 ")], Some(0.5));
    check(&[("retry-after", "0")], Some(0.0));
    check(&[("retry-after", "-1")], None);
    check(&[("retry-after", "1e9")], Some(86_400.0));
    check(&[("retry-after", "999999999999999999999999")], Some(86_400.0));
    check(&[("retry-after", "inf")], Some(86_400.0));
    check(&[("retry-after", "NaN")], None);
    check(&[("retry-after", "soon")], None);
    check(&[("retry-after", "")], None);
    check(&[("retry-after", "Wed, 21 Oct 2026 07:28:09 GMT")], Some(9.0));
    check(&[("retry-after", "Wednesday, 21-Oct-26 07:28:09 GMT")], Some(9.0));
    check(&[("retry-after", "Wed Oct 21 07:28:09 2026")], Some(9.0));
    check(&[("retry-after", "Wed, 21 Oct 2026 07:27:00 GMT")], Some(0.0));
    check(&[("retry-after", "Mon, 21 Oct 2999 07:27:00 GMT")], Some(86_400.0));
    check(&[("retry-after", "Wed, 32 Oct 2026 07:27:00 GMT")], None);
    check(&[("retry-after", "21 Oct 2026")], None);
}

#[test]
fn milliseconds_go_before_seconds() {
    check(&[("retry-after-ms", "1500")], Some(1.5));
    check(&[("retry-after-ms", "1500"), ("retry-after", "7")], Some(1.5));
    check(&[("retry-after-ms", "-1"), ("retry-after", "7")], Some(7.0));
}

#[test]
fn a_provider_may_say_outright_whether_to_try_again() {
    assert_eq!(read_all(&[("x-should-retry", "true")]).advice, Some(RetryAdvice::Retry));
    assert_eq!(read_all(&[("x-should-retry", "false")]).advice, Some(RetryAdvice::GiveUp));
    assert_eq!(read_all(&[("x-should-retry", "maybe")]).advice, None);
}
