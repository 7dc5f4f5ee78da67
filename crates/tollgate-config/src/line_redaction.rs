//! Redacts secrets in a line of a config that could not be parsed, because users share error
//! messages. Works on the text only, so it hides too much rather than too little.

use std::ops::Range;

use tollgate_core::secret_values::{looks_random, sounds_secret};

/// Blocks whose values are all secret.
const BLOCKS: [&str; 2] = ["env", "headers"];
/// A longer line is hidden completely.
const MAX_LINE_BYTES: usize = 4_096;
/// Quotes around a value.
const QUOTES: &[char] = &['"', '\''];

/// The parts of line `number` (from 1) to be hidden, in bytes.
pub(super) fn secret_parts(source: &str, number: usize) -> Vec<Range<usize>> {
    let Some(line) = source.lines().nth(number - 1) else { return Vec::new() };
    if line.len() > MAX_LINE_BYTES {
        return std::iter::once(0..line.len()).collect();
    }
    let mut parts = flag_values(line);
    if let Some((name, value)) = pair(line) {
        let is_secret = sounds_secret(name) || is_in_block(source, number);
        if is_secret && !line[value.clone()].contains("${") {
            parts.push(value);
        }
    }
    for word in words(line) {
        if looks_random(&line[word.clone()]) {
            parts.push(word);
        }
    }
    parts
}

/// `name: value`, also after the dash of a list.
fn pair(line: &str) -> Option<(&str, Range<usize>)> {
    let colon = line.find(": ")?;
    let name = line[..colon].trim_start_matches([' ', '-', '{']).trim_matches(QUOTES);
    let value = line[colon + 2..].trim();
    let begin = colon + 2 + line[colon + 2..].find(value)?;
    (!value.is_empty()).then_some((name, begin..begin + value.len()))
}

/// Whether the nearest line above that is indented less opens a block of secrets.
fn is_in_block(source: &str, number: usize) -> bool {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = source.lines().take(number).collect();
    let Some((own, above)) = lines.split_last() else { return false };
    let parent =
        above.iter().rev().find(|line| !line.trim().is_empty() && indent(line) < indent(own));
    parent.is_some_and(|line| {
        let name = line.trim().trim_start_matches("- ").split(':').next().unwrap_or_default();
        BLOCKS.contains(&name.trim_matches(QUOTES))
    })
}

/// The value after a flag such as `--api-key`, separated by a blank, a comma or an equals sign.
fn flag_values(line: &str) -> Vec<Range<usize>> {
    let words: Vec<Range<usize>> = words(line).collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let text = &line[word.clone()];
        if !text.starts_with('-') {
            continue;
        }
        match text.split_once('=') {
            Some((flag, value)) if sounds_secret(flag) => {
                found.push(word.end - value.len()..word.end)
            }
            None if sounds_secret(text) => found.extend(words.get(at + 1).cloned()),
            _ => {}
        }
    }
    found
}

fn words(line: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let ends = |c: char| c.is_whitespace() || "\"',[]{}".contains(c);
    let mut at = 0;
    line.split(ends).filter_map(move |word| {
        let begin = at;
        at += word.len() + line[at + word.len()..].chars().next().map_or(0, char::len_utf8);
        (!word.is_empty()).then(|| begin..begin + word.len())
    })
}

#[cfg(test)]
mod tests {
    use super::secret_parts;

    fn check(source: &str, expected: &str) {
        let number = source.lines().count();
        let mut line = source.lines().last().unwrap_or_default().to_owned();
        for part in secret_parts(source, number) {
            line.replace_range(part.clone(), &"*".repeat(part.len()));
        }
        assert_eq!(line, expected);
    }

    #[test]
    fn secrets_of_lines_that_cannot_be_read_are_hidden() {
        check("args: [\"--api-key\", \"CANARY\", \"x\"", "args: [\"--api-key\", \"******\", \"x\"");
        check("command: srv --token=abc /data", "command: srv --token=*** /data");
        check("env:\n  ANY: canary value\n  FOO: bar baz", "  FOO: *******");
        check("  - name: a\n    env:\n      FOO: \"bar", "      FOO: ****");
        check("  token: abc", "  token: ***");
        check("  token: ${ABC}", "  token: ${ABC}");
        check("  url: https://example.com/mcp", "  url: https://example.com/mcp");
        check("  - 0a1b2c3d4e5f0a1b2c3d4e5f", "  - ************************");
    }
}
