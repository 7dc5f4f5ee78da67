//! Length of a terminal escape sequence (ECMA-48): colours, cursor movements, links (OSC 8),
//! clipboard writes (OSC 52).

/// Maximum parameters of a control sequence.
const MAX_PARAMETERS: usize = 256;
/// Maximum length of a command string, such as a title or clipboard content.
const MAX_STRING: usize = 64 << 10;

/// Length of the sequence at the start of `text`. A control character that starts no sequence, or
/// an unfinished one, counts alone: what follows is text.
pub(super) fn sequence_bytes(text: &str) -> usize {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return 0 };
    let own = first.len_utf8();
    let (introducer, begin) = match (first, chars.next()) {
        ('\u{1b}', Some(second @ ('[' | ']' | 'P' | 'X' | '^' | '_'))) => (second, own + 1),
        // Character set selection: `ESC ( B`.
        ('\u{1b}', Some('(' | ')' | '*' | '+' | '-' | '.' | '/')) => {
            let set = text.as_bytes().get(own + 1);
            return if set.is_some_and(u8::is_ascii_alphanumeric) { own + 2 } else { own };
        }
        ('\u{9b}', _) => ('[', own),
        ('\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}', _) => (']', own),
        _ => return own,
    };
    let rest = &text[begin..];
    let inside = match introducer {
        '[' => control_sequence(rest.as_bytes()),
        _ => command_string(rest),
    };
    inside.map_or(own, |inside| begin + inside)
}

/// Parameters, intermediates, and one final byte.
fn control_sequence(rest: &[u8]) -> Option<usize> {
    let is_parameter = |byte: &&u8| matches!(byte, b' '..=b'?');
    let parameters = rest.iter().take(MAX_PARAMETERS).take_while(is_parameter).count();
    matches!(rest.get(parameters)?, b'@'..=b'~').then_some(parameters + 1)
}

/// Up to BEL or the string terminator. Any other control character means that it is not a command
/// string, so that no text is scanned twice.
fn command_string(rest: &str) -> Option<usize> {
    let end = rest.char_indices().take(MAX_STRING).find(|(_, c)| c.is_control() && *c != '\t');
    match end? {
        (at, '\u{7}') => Some(at + 1),
        (at, '\u{9c}') => Some(at + 2),
        (at, '\u{1b}') if rest[at + 1..].starts_with('\\') => Some(at + 2),
        _ => None,
    }
}
