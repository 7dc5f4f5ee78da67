//! Resources that the catalogue lists but an agent may not see: their URIs are unreachable by
//! template or guess, in any spelling.

use std::collections::HashSet;

use crate::id::ServerId;

#[derive(Debug, Default)]
pub(super) struct HiddenResources {
    /// Of resources and templates, normalized.
    uris: HashSet<String>,
    servers: HashSet<ServerId>,
}

impl HiddenResources {
    /// Whether a server could interpret `uri` as a hidden one.
    pub(super) fn lists(&self, uri: &str) -> bool {
        if self.uris.is_empty() {
            return false;
        }
        let whole = uri.split_once('#').map_or(uri, |(whole, _)| whole);
        self.uris.contains(&normalize_uri(uri)) || self.uris.contains(&normalize_uri(whole))
    }

    pub(super) fn has_any_of(&self, server: &ServerId) -> bool {
        self.servers.contains(server)
    }
}

impl<'a> FromIterator<(&'a ServerId, &'a str)> for HiddenResources {
    fn from_iter<I: IntoIterator<Item = (&'a ServerId, &'a str)>>(items: I) -> Self {
        let mut hidden = Self::default();
        for (server, uri) in items {
            hidden.uris.insert(normalize_uri(uri));
            if !hidden.servers.contains(server) {
                hidden.servers.insert(server.clone());
            }
        }
        hidden
    }
}

/// Normal form of a URI for everything that servers commonly treat as equal: percent-escapes, case
/// of scheme and host, empty segments and dots, an empty query. Only compared, never sent.
fn normalize_uri(uri: &str) -> String {
    let plain = percent_decode(uri).replace('\\', "/");
    let (scheme, rest) = plain.split_once("://").unwrap_or(("", &plain));
    let rest = rest.strip_suffix('?').unwrap_or(rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    let scheme = scheme.to_lowercase();
    let host = host.to_lowercase();
    format!("{scheme}://{host}/{}", segments.join("/"))
}

/// Decodes percent-escapes; invalid ones are kept.
fn percent_decode(uri: &str) -> String {
    let escaped = |rest: &[u8]| match rest {
        [b'%', high, low, ..] => {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
        }
        _ => None,
    };
    let mut bytes = Vec::with_capacity(uri.len());
    let mut rest = uri.as_bytes();
    while let [first, ..] = rest {
        let (byte, length) = escaped(rest).map_or((*first, 1), |byte| (byte, 3));
        bytes.push(byte);
        rest = &rest[length..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
