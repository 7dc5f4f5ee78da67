//! W3C `baggage`: application data that is propagated with requests. Only its syntax is validated.

const MAX_MEMBERS: usize = 64;
const MAX_BAGGAGE_BYTES: usize = 8 << 10;

/// The list unchanged; `None` if it is invalid, or exceeds the required limits.
pub(super) fn validate(text: &str) -> Option<&str> {
    let text = text.trim_matches([' ', '\t']);
    let members = text.split(',');
    let fits = !text.is_empty() && text.len() <= MAX_BAGGAGE_BYTES;
    (fits && members.clone().count() <= MAX_MEMBERS && members.into_iter().all(is_member))
        .then_some(text)
}

fn is_member(member: &str) -> bool {
    let blank = [' ', '\t'];
    let mut parts = member.split(';');
    let pair = parts.next().and_then(|pair| pair.split_once('='));
    let is_pair = |(key, value): (&str, &str)| {
        is_token(key.trim_matches(blank)) && is_value(value.trim_matches(blank))
    };
    let is_property = |property: &str| match property.split_once('=') {
        Some(pair) => is_pair(pair),
        None => is_token(property.trim_matches(blank)),
    };
    pair.is_some_and(is_pair) && parts.all(is_property)
}

fn is_token(key: &str) -> bool {
    !key.is_empty()
        && key.bytes().all(|it| it.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&it))
}

fn is_value(value: &str) -> bool {
    value.bytes().all(|it| it.is_ascii_graphic() && !b"\",;\\".contains(&it))
}
