//! Pretty-prints JSON and keeps every number and string as written: parsing would change large
//! numbers.

const INDENT: &str = "  ";

/// For valid JSON. Other input results in some text.
pub fn pretty(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut rest = json.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => {
                text.push(c);
                copy_string(&mut rest, &mut text);
            }
            '{' | '[' => {
                text.push(c);
                while rest.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                match rest.next_if(|next| matches!(next, '}' | ']')) {
                    Some(close) => text.push(close),
                    None => {
                        depth += 1;
                        begin_line(&mut text, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                begin_line(&mut text, depth);
                text.push(c);
            }
            ',' => {
                text.push(c);
                begin_line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => text.push(c),
        }
    }
    text
}

fn copy_string(rest: &mut impl Iterator<Item = char>, text: &mut String) {
    while let Some(c) = rest.next() {
        text.push(c);
        match c {
            '\\' => text.extend(rest.next()),
            '"' => return,
            _ => {}
        }
    }
}

fn begin_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n(INDENT, depth));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::pretty;

    #[test]
    fn it_reads_like_any_other() {
        for value in [
            json!({"a": [1, 2.5, {"b": "x\"{,:]\\"}], "c": {}, "d": [], "e": null}),
            json!([[], [[1]], {"ä\n": true}]),
            json!("text"),
            json!(7),
        ] {
            assert_eq!(pretty(&value.to_string()), format!("{value:#}"));
            assert_eq!(pretty(&format!("{value:#}")), format!("{value:#}"), "once is enough");
        }
        assert_eq!(pretty(" { \"a\" : [ ] } "), "{\n  \"a\": []\n}");
    }

    #[test]
    fn numbers_stay_as_they_were_written() {
        let large = "[123456789012345678901234567890,1e400,0.10]";
        assert_eq!(pretty(large), "[\n  123456789012345678901234567890,\n  1e400,\n  0.10\n]");
    }

    #[test]
    fn what_is_no_json_does_no_harm() {
        for odd in ["}}}]", "\"", "\"\\", "{", "[", "", ",,", ":"] {
            let _: Result<Value, _> = serde_json::from_str(&pretty(odd));
        }
    }
}
