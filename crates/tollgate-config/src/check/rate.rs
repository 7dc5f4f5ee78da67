//! Rate limits such as `30/min`: capacity and refill time of a token bucket.

use tollgate_core::rate::RateLimit;

use super::super::diagnostic::Problems;
use super::super::raw::SectionFields;

/// The `rate_limit` of a section.
pub(super) fn rate_limit(fields: &SectionFields, problems: &mut Problems) -> Option<RateLimit> {
    let text = fields.text("rate_limit")?;
    let limit = RateLimit::parse(text.value);
    if limit.is_none() {
        let message = format!("`rate_limit` must be like `30/min`, not `{}`", text.value);
        problems
            .error(text.at, &fields.path("rate_limit"), message)
            .help("a number from 1 to 1000000, then `/s`, `/min`, `/h` or `/day`");
    }
    limit
}

#[cfg(test)]
mod tests {
    use tollgate_core::rate::RateLimit;

    #[test]
    fn rates_are_a_number_and_a_unit() {
        for (text, expected) in [
            ("30/min", Some((30, 60))),
            ("1/s", Some((1, 1))),
            ("600 / hour", Some((600, 3600))),
            ("0/min", None),
            ("-1/min", None),
            ("30", None),
            ("30/parsec", None),
            ("9999999/s", None),
            ("", None),
        ] {
            let found = RateLimit::parse(text).map(|limit| (limit.calls, limit.per.as_secs()));
            assert_eq!(found, expected, "{text}");
        }
    }
}
