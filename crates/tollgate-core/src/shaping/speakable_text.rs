//! Text for speech: one line, no markup, no URLs, limited length. Only removes, never adds; unknown
//! syntax is kept.

use crate::tool::hidden_text;

/// The input examined is this many times the output: markup and URLs are removed.
const LOOKED_AT: usize = 8;
const MAX_LINK_LEN: usize = 512;

/// `text` in at most `bytes`, ending at a sentence if it was truncated.
pub(super) fn speakable(text: &str, bytes: usize) -> String {
    let looked_at = text.floor_char_boundary(bytes.saturating_mul(LOOKED_AT).min(text.len()));
    let (clean, _) = hidden_text::clean(&text[..looked_at]);
    let mut out = String::new();
    for line in clean.lines().filter(|line| !is_decoration(line)) {
        for word in without_markup(strip_line_mark(line)).split_whitespace() {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
        }
    }
    truncate_spoken(&out, bytes)
}

/// A code fence, a rule, or the line below a table header.
fn is_decoration(line: &str) -> bool {
    let line = line.trim();
    let is_rule = line.len() >= 3 && line.chars().all(|c| "-=*_|:+ ".contains(c));
    line.starts_with("```") || line.starts_with("~~~") || is_rule
}

/// Removes the mark of a heading, quotation or list item.
fn strip_line_mark(line: &str) -> &str {
    let line = line.trim_start();
    let heading = line.trim_start_matches('#');
    if heading.len() < line.len() && heading.starts_with(' ') {
        return heading;
    }
    ["> ", "- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line)
}

/// Removes bold and code marks; replaces links by their text and bare URLs by their host.
fn without_markup(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let used = match c {
            '*' if rest.starts_with("**") => 2,
            '`' => 1,
            '!' if rest[1..].starts_with('[') && link(&rest[1..]).is_some() => 1,
            '[' if let Some((text, length)) = link(rest) => {
                out.push_str(text);
                length
            }
            'h' if let Some((host, length)) = address(rest) => {
                out.push_str(host);
                length
            }
            c => {
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[used..];
    }
    out
}

/// `[text](address)`: the text, and the total length. The search is bounded.
fn link(text: &str) -> Option<(&str, usize)> {
    let text = &text[..text.floor_char_boundary(MAX_LINK_LEN)];
    let end = text.find(']')?;
    let after = text[end + 1..].strip_prefix('(')?;
    let length = after.find(')')?;
    let is_address = !after[..length].contains(char::is_whitespace) && length > 0;
    is_address.then_some((&text[1..end], end + 1 + length + 2))
}

/// `https://host/…`: the host, and the length of the URL.
fn address(text: &str) -> Option<(&str, usize)> {
    let scheme = ["https://", "http://"].into_iter().find(|scheme| text.starts_with(scheme))?;
    let ends = |c: char| c.is_whitespace() || "<>\"'()[]{}|`".contains(c);
    let end = text.find(ends).unwrap_or(text.len());
    let address = text[..end].trim_end_matches(['.', ',', ';', ':', '!', '?']);
    let place = address[scheme.len().min(address.len())..].split(['/', '?', '#']).next()?;
    let place = place.rsplit('@').next()?;
    let host = place.split(':').next()?;
    (!host.is_empty()).then_some((host, address.len()))
}

fn truncate_spoken(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(bytes)];
    let ends = head.char_indices().filter(|(_, c)| ".!?…。！？".contains(*c));
    let mut ends = ends.map(|(at, c)| at + c.len_utf8());
    let is_end = |end: &usize| text[*end..].starts_with([' ']) || end_is_wide(&text[..*end]);
    if let Some(end) = ends.rfind(is_end).filter(|end| *end > bytes / 4) {
        return head[..end].to_owned();
    }
    let head = &text[..text.floor_char_boundary(bytes.saturating_sub('…'.len_utf8()))];
    let word = head.rfind(' ').filter(|at| *at > head.len() / 2).unwrap_or(head.len());
    format!("{}…", head[..word].trim_end())
}

/// Scripts without spaces end sentences without one.
fn end_is_wide(text: &str) -> bool {
    text.ends_with(['。', '！', '？'])
}
