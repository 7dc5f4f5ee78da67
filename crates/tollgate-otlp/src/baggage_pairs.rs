//! Lists of pairs in environment variables: resource attributes and headers.

/// Comma-separated pairs in the format of baggage: values may be percent-encoded. `None` if the
/// list is invalid. The specification then requires to ignore all of it.
pub(super) fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (key, value) = part.split_once('=')?;
            let key = percent_decode(key.trim())?;
            let value = percent_decode(value.trim())?;
            (!key.is_empty()).then_some((key, value))
        })
        .collect()
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let high = digit()?;
                let low = digit()?;
                bytes.push(u8::try_from(high * 16 + low).ok()?);
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
