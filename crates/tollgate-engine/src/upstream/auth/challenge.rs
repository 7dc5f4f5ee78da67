//! Parser for `www-authenticate`, as lenient as necessary: servers write it in many ways. Pure.

/// Longer headers are ignored.
pub(super) const MAX_CHALLENGE_BYTES: usize = 16 << 10;

/// The parameters of a bearer challenge.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    pub(crate) resource_metadata: Option<String>,
    pub(crate) scopes: Vec<String>,
    pub(crate) error: Option<String>,
}

impl Challenge {
    /// The first bearer challenge in the header, or an empty one.
    pub(crate) fn parse(header: &str) -> Self {
        let mut found = Self::default();
        if header.len() > MAX_CHALLENGE_BYTES {
            return found;
        }
        let mut scheme = "";
        let mut rest = header;
        loop {
            rest = rest.trim_start_matches([',', ' ', '\t']);
            let end = rest.find(['=', ',', ' ', '\t']).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            if word.is_empty() && after.is_empty() {
                return found;
            }
            match after.strip_prefix('=') {
                Some(after) => {
                    let (value, after) = value(after);
                    if scheme.eq_ignore_ascii_case("bearer") {
                        found.set(word, value);
                    }
                    rest = after;
                }
                None => (scheme, rest) = (word, after),
            }
        }
    }

    fn set(&mut self, name: &str, value: String) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => {
                self.resource_metadata.get_or_insert(value);
            }
            "error" => {
                self.error.get_or_insert(value);
            }
            "scope" if self.scopes.is_empty() => {
                self.scopes = value.split_ascii_whitespace().map(str::to_owned).collect();
            }
            _ => {}
        }
    }
}

/// A token or a quoted string, and the rest of the text.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
            _ => value.push(letter),
        }
    }
    (value, "")
}
