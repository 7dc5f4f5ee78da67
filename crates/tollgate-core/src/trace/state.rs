//! W3C `tracestate`: vendor data of other tracing systems, a short list of keys and values.

/// More members make the whole list invalid.
const MAX_MEMBERS: usize = 32;
/// The minimum that must be propagated, and the maximum here.
const MAX_STATE_BYTES: usize = 512;
/// Longer members are dropped first if the list is too large.
const LONG_MEMBER: usize = 128;

/// The list without blanks and empty members; `None` if it is invalid or empty.
pub(super) fn normalize(text: &str) -> Option<String> {
    let mut members: Vec<&str> = Vec::new();
    let blank = [' ', '\t'];
    for member in text.split(',').map(|it| it.trim_matches(blank)).filter(|it| !it.is_empty()) {
        let (key, value) = member.split_once('=')?;
        let is_new = members.iter().all(|it| it.split('=').next() != Some(key));
        if !is_key(key) || !is_value(value) || !is_new || members.len() == MAX_MEMBERS {
            return None;
        }
        members.push(member);
    }
    let size = |members: &[&str]| members.iter().map(|it| it.len() + 1).sum::<usize>();
    while size(&members) > MAX_STATE_BYTES + 1 {
        match members.iter().rposition(|it| it.len() > LONG_MEMBER) {
            Some(at) => drop(members.remove(at)),
            None => drop(members.pop()),
        }
    }
    (!members.is_empty()).then(|| members.join(","))
}

fn is_key(key: &str) -> bool {
    let (tenant, system) = match key.split_once('@') {
        Some((tenant, system)) => (Some(tenant), system),
        None => (None, key),
    };
    let rest = |text: &str| {
        text.bytes().all(|it| matches!(it, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/'))
    };
    let begins = |text: &str| text.bytes().next().is_some_and(|it| it.is_ascii_lowercase());
    match tenant {
        None => begins(system) && rest(system) && system.len() <= 256,
        Some(tenant) => {
            let starts = begins(tenant) || tenant.starts_with(|it: char| it.is_ascii_digit());
            starts
                && rest(tenant)
                && tenant.len() <= 241
                && begins(system)
                && rest(system)
                && system.len() <= 14
        }
    }
}

fn is_value(value: &str) -> bool {
    let printable = |it: u8| matches!(it, 0x20..=0x7e) && it != b',' && it != b'=';
    !value.is_empty() && value.len() <= 256 && value.bytes().all(printable) && !value.ends_with(' ')
}
