//! Content negotiation: which of the two supported media types the `Accept` header allows.

use http::{HeaderMap, header};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accepts {
    Both,
    OnlyJson,
    OnlyEvents,
    Neither,
}

impl Accepts {
    /// A missing header accepts everything. The most specific range wins.
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let mut ranges = Vec::new();
        for value in headers.get_all(header::ACCEPT) {
            let text = value.to_str().unwrap_or_default();
            ranges.extend(text.split(',').map(range));
        }
        let takes = |media: &str, group: &str| {
            let of = |requested: &str| {
                let mut named =
                    ranges.iter().filter(|(name, _)| name.eq_ignore_ascii_case(requested));
                named.next().map(|(_, taken)| *taken)
            };
            of(media).or_else(|| of(group)).or_else(|| of("*/*")).unwrap_or(ranges.is_empty())
        };
        let json = takes("application/json", "application/*");
        match (json, takes("text/event-stream", "text/*")) {
            (true, true) => Self::Both,
            (true, false) => Self::OnlyJson,
            (false, true) => Self::OnlyEvents,
            (false, false) => Self::Neither,
        }
    }
}

/// A media range, and whether its weight is above zero.
fn range(text: &str) -> (&str, bool) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| part.strip_prefix("q="));
    (name, weight.is_none_or(|weight| weight.parse::<f32>().is_ok_and(|weight| weight > 0.0)))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, header};

    use super::Accepts;

    fn check(accept: Option<&str>, expected: Accepts) {
        let mut headers = HeaderMap::new();
        accept.map(|text| headers.insert(header::ACCEPT, HeaderValue::from_str(text).unwrap()));
        assert_eq!(Accepts::read(&headers), expected, "{accept:?}");
    }

    #[test]
    fn b_hh_12_the_most_exact_range_decides() {
        check(None, Accepts::Both);
        check(Some("application/json, text/event-stream"), Accepts::Both);
        check(Some("application/json;q=0.5,text/event-stream ;q=1"), Accepts::Both);
        check(Some("*/*"), Accepts::Both);
        check(Some("application/json"), Accepts::OnlyJson);
        check(Some("application/*"), Accepts::OnlyJson);
        check(Some("text/event-stream"), Accepts::OnlyEvents);
        check(Some("*/*;q=0"), Accepts::Neither);
        check(Some("*/*, text/event-stream;q=0"), Accepts::OnlyJson);
        check(Some("text/html"), Accepts::Neither);
        check(Some(""), Accepts::Neither);
    }
}
