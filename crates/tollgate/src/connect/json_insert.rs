//! Inserts one member into a map of a JSON text and leaves everything else as typed, including
//! comments. The caller parses the result again.

use serde_json::Value;

/// Position of a map, and its members.
struct JsonObjectSpan {
    /// Position behind its opening brace.
    from: usize,
    /// Position of its closing brace.
    to: usize,
    members: Vec<JsonMemberSpan>,
}

struct JsonMemberSpan {
    key: String,
    /// Start of the value.
    from: usize,
    to: usize,
}

/// The text with `value` as `root.name`. `None` if the text is no such map.
pub(super) fn put(text: &str, root: &str, name: &str, value: &Value) -> Option<String> {
    let start = skip(text, 0)?;
    let top = map(text, start)?;
    let Some(section) = top.members.iter().find(|member| member.key == root) else {
        let inner = serde_json::json!({ name: value });
        return Some(insert_member(text, &top, root, &inner));
    };
    let inside = map(text, section.from)?;
    match inside.members.iter().find(|member| member.key == name) {
        Some(there) => {
            let column = indentation(text, there.from);
            let written = indent_value(value, &column);
            Some(format!("{}{written}{}", &text[..there.from], &text[there.to..]))
        }
        None => Some(insert_member(text, &inside, name, value)),
    }
}

/// Adds it behind the last member, on a line of its own.
fn insert_member(text: &str, map: &JsonObjectSpan, key: &str, value: &Value) -> String {
    let outer = indentation(text, map.from - 1);
    let column = match map.members.first() {
        Some(first) => indentation(text, first.from),
        None => format!("{outer}  "),
    };
    let column = if column.len() > outer.len() { column } else { format!("{outer}  ") };
    let member = format!("\n{column}{}: {}", Value::from(key), indent_value(value, &column));
    match map.members.last() {
        Some(last) => {
            let comma = comma(&text[last.to..map.to]);
            let behind = last.to + comma.unwrap_or(0);
            let at = behind + remark(&text[behind..map.to]);
            let before = if comma.is_some() { "" } else { "," };
            let tail =
                if text[at..map.to].contains('\n') { String::new() } else { format!("\n{outer}") };
            let said = &text[behind..at];
            format!("{}{before}{said}{member}{tail}{}", &text[..behind], &text[at..])
        }
        None => format!("{}{member}\n{outer}{}", &text[..map.from], &text[map.to..]),
    }
}

/// End of the comma behind the last member, if there is one.
fn comma(rest: &str) -> Option<usize> {
    let at = skip(rest, 0)?;
    rest[at..].starts_with(',').then_some(at + 1)
}

/// Length of a comment that fills the rest of the line. It belongs to the text before it.
fn remark(rest: &str) -> usize {
    let Some((line, _)) = rest.split_once('\n') else { return 0 };
    let line = line.trim_end();
    let bare = line.trim_start();
    let is_remark = bare.starts_with("//") || bare.starts_with("/*") && bare.ends_with("*/");
    if is_remark { line.len() } else { 0 }
}

/// The indentation of a line.
fn indentation(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    let line = &text[start..];
    line[..line.len() - line.trim_start_matches([' ', '\t']).len()].to_owned()
}

/// On several lines, all but the first indented by `column`.
fn indent_value(value: &Value, column: &str) -> String {
    format!("{value:#}").replace('\n', &format!("\n{column}"))
}

fn map(text: &str, at: usize) -> Option<JsonObjectSpan> {
    if !text[at..].starts_with('{') {
        return None;
    }
    let mut members = Vec::new();
    let from = at + 1;
    let mut at = skip(text, from)?;
    while text[at..].starts_with('"') {
        let end = string(text, at)?;
        let key = serde_json::from_str(&text[at..end]).ok()?;
        at = skip(text, end)?;
        at = skip(text, at + usize::from(text[at..].starts_with(':')))?;
        let to = value(text, at)?;
        members.push(JsonMemberSpan { key, from: at, to });
        at = skip(text, to)?;
        if text[at..].starts_with(',') {
            at = skip(text, at + 1)?;
        }
    }
    text[at..].starts_with('}').then_some(JsonObjectSpan { from, to: at, members })
}

/// Position behind the value that begins here.
fn value(text: &str, at: usize) -> Option<usize> {
    match text[at..].chars().next()? {
        '"' => string(text, at),
        '{' | '[' => {
            let mut at = at;
            let mut depth = 0_usize;
            loop {
                at = skip(text, at)?;
                match text[at..].chars().next()? {
                    '"' => at = string(text, at)?,
                    c => {
                        at += c.len_utf8();
                        depth = match c {
                            '{' | '[' => depth + 1,
                            '}' | ']' => depth.checked_sub(1)?,
                            _ => depth,
                        };
                        if depth == 0 {
                            return Some(at);
                        }
                    }
                }
            }
        }
        _ => {
            let rest = &text[at..];
            let end = rest.find(|c: char| c.is_whitespace() || ",]}/".contains(c));
            Some(at + end.unwrap_or(rest.len()))
        }
    }
}

/// Position behind the string that begins here.
fn string(text: &str, at: usize) -> Option<usize> {
    let mut escaped = false;
    let end = text[at..].char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map(|(end, _)| at + end + 1)
}

/// Position behind blanks and comments.
fn skip(text: &str, at: usize) -> Option<usize> {
    let mut at = at;
    loop {
        let bare = text[at..].trim_start();
        at = text.len() - bare.len();
        if bare.starts_with("//") {
            at += bare.find('\n').unwrap_or(bare.len());
        } else if bare.starts_with("/*") {
            at += bare.find("*/")? + 2;
        } else {
            return Some(at);
        }
    }
}
