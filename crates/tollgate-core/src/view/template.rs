//! URI template matching (RFC 6570). Lenient: used for routing, not for authorization.

/// Longer URIs never match.
const MAX_URI: usize = 8 * 1024;

/// Whether `uri` matches `pattern`. Cost is at most the product of their lengths.
pub(super) fn matches(pattern: &str, uri: &str) -> bool {
    if uri.len() > MAX_URI {
        return false;
    }
    let uri = uri.as_bytes();
    // The positions of the URI at which the pieces so far can end.
    let mut ends = vec![false; uri.len() + 1];
    ends[0] = true;
    let mut rest = pattern;
    while !rest.is_empty() {
        let expression = rest.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        if let Some((inside, after)) = expression {
            ends = match_expression(&ends, uri, inside);
            rest = after;
            continue;
        }
        // An unclosed brace is a literal character.
        let end =
            rest.char_indices().skip(1).find(|(_, c)| *c == '{').map_or(rest.len(), |it| it.0);
        let (literal, after) = rest.split_at(end);
        ends = literally(&ends, uri, literal.as_bytes());
        rest = after;
    }
    ends[uri.len()]
}

fn literally(starts: &[bool], uri: &[u8], literal: &[u8]) -> Vec<bool> {
    let mut ends = vec![false; starts.len()];
    for at in (0..starts.len()).filter(|at| starts[*at]) {
        if uri[at..].starts_with(literal) {
            ends[at + literal.len()] = true;
        }
    }
    ends
}

/// `{var}` is text without a slash; `{+var}`, `{/var}`, `{?var}` and similar are any text.
fn match_expression(starts: &[bool], uri: &[u8], inside: &str) -> Vec<bool> {
    let is_simple = !inside.starts_with(['+', '#', '.', '/', ';', '?', '&']);
    let mut ends = vec![false; starts.len()];
    let mut open = false;
    for at in 0..starts.len() {
        if is_simple {
            // Not before the first character: `{id}` is never empty.
            open = at > 0 && (open || starts[at - 1]) && !b"/?#".contains(&uri[at - 1]);
        } else {
            open |= starts[at];
        }
        ends[at] = open;
    }
    ends
}
