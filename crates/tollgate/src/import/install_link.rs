//! Imports install links of editors.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};

use super::ImportError;

/// The name and the config text in a link. `None` for anything else.
pub(super) fn open_link(text: &str) -> Option<Result<(Option<String>, String), ImportError>> {
    let (scheme, rest) = text.split_once(':')?;
    let query = rest.split_once('?').map(|(path, query)| (path.trim_start_matches('/'), query));
    let (path, query) = query?;
    match (scheme, path) {
        ("vscode" | "vscode-insiders", "mcp/install") => {
            Some(percent_decode(query).map(|json| (None, json)).ok_or_else(broken_link_error))
        }
        ("cursor", "anysphere.cursor-deeplink/mcp/install") => Some(cursor(query)),
        ("https", "cursor.com/install-mcp" | "cursor.com/en/install-mcp") => Some(cursor(query)),
        (
            "https",
            "vscode.dev/redirect/mcp/install" | "insiders.vscode.dev/redirect/mcp/install",
        ) => {
            let config = value(query, "config").map(|json| (value(query, "name"), json));
            Some(config.ok_or_else(broken_link_error))
        }
        // Contains the link itself, escaped once more.
        ("https", "vscode.dev/redirect" | "insiders.vscode.dev/redirect") => {
            let link = value(query, "url").filter(|link| link.starts_with("vscode"));
            Some(link.and_then(|link| open_link(&link)).unwrap_or_else(|| Err(broken_link_error())))
        }
        _ => None,
    }
}

/// One value of a query.
fn value(query: &str, name: &str) -> Option<String> {
    let pair = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    percent_decode(&pair?.replace('+', " "))
}

fn cursor(query: &str) -> Result<(Option<String>, String), ImportError> {
    let config = value(query, "config").ok_or_else(broken_link_error)?;
    // An unescaped `+` of Base64 is decoded as a blank.
    let config = config.replace(' ', "+");
    let bytes = BASE64_STANDARD
        .decode(&config)
        .or_else(|_| BASE64_URL_SAFE_NO_PAD.decode(config.trim_end_matches('=')))
        .map_err(|_| broken_link_error())?;
    let text = String::from_utf8(bytes).map_err(|_| broken_link_error())?;
    Ok((value(query, "name"), text))
}

fn broken_link_error() -> ImportError {
    ImportError::Syntax("the link contains no valid data".to_owned())
}

/// Percent-decoded. `None` if it is not UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let pair = [rest.next()?, rest.next()?];
                let digits = std::str::from_utf8(&pair).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}
