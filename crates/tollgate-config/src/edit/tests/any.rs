//! Any file, any change: comments survive, and nothing but the change is different.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{ConfigEdit, apply_edits};

/// A file as somebody might have typed it, the names of its servers, and its comments.
#[derive(Debug, Clone)]
struct File {
    text: String,
    names: Vec<String>,
}

#[derive(Debug, Clone)]
enum Entry {
    Block(Vec<&'static str>),
    Flow(Vec<&'static str>),
    Bare,
}

fn entry() -> impl Strategy<Value = Entry> {
    let pairs = prop::sample::subsequence(
        vec![
            "command: x",
            "enabled: false",
            "args: [\"a\", \"#b\"]",
            "cwd: \"a # b\"",
            "trusted: true",
        ],
        1..5,
    );
    prop_oneof![
        4 => pairs.clone().prop_map(Entry::Block),
        2 => pairs.prop_map(Entry::Flow),
        1 => Just(Entry::Bare),
    ]
}

#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "any mixture of them")]
struct Manner {
    indent: usize,
    step: usize,
    is_list: bool,
    line: &'static str,
    comments: u32,
    blanks: bool,
    last_line_ends: bool,
}

fn manner() -> impl Strategy<Value = Manner> {
    let numbers = (1usize..5, 1usize..5, any::<u32>());
    let choices = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (numbers, choices).prop_map(|((indent, step, comments), (list, crlf, blanks, ends))| Manner {
        indent,
        step,
        is_list: list,
        line: if crlf { "\r\n" } else { "\n" },
        comments,
        blanks,
        last_line_ends: ends,
    })
}

fn file() -> impl Strategy<Value = File> {
    (prop::collection::vec(entry(), 0..5), manner()).prop_map(|(entries, manner)| {
        let mut writer = Writer { manner, lines: Vec::new(), comments: 0 };
        writer.comment(0);
        writer.line("listen: 127.0.0.1:1");
        writer.line("servers:");
        let mut names = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            let name = format!("s{at}");
            writer.entry(&name, entry);
            names.push(name);
        }
        writer.comment(0);
        writer.line("default_agent: é");
        writer.comment(0);
        File { text: writer.text(), names }
    })
}

struct Writer {
    manner: Manner,
    lines: Vec<String>,
    comments: u32,
}

impl Writer {
    fn line(&mut self, text: &str) {
        self.lines.push(text.to_owned());
    }

    /// Every other time, as the manner has it.
    fn comment(&mut self, column: usize) {
        self.comments += 1;
        if self.manner.comments.rotate_left(self.comments) & 1 == 1 {
            self.lines.push(format!("{:column$}# note {}: é", "", self.comments));
        }
    }

    fn entry(&mut self, name: &str, entry: &Entry) {
        let Manner { indent, step, is_list, blanks, .. } = self.manner;
        if blanks {
            self.line("");
        }
        self.comment(indent);
        let (head, inner) = if is_list {
            (format!("{:indent$}-{:step$}name: {name}", "", ""), indent + step + 1)
        } else {
            (format!("{:indent$}{name}:", ""), indent + step)
        };
        match entry {
            Entry::Bare => self.line(&head),
            Entry::Flow(pairs) if !is_list => {
                self.line(&format!("{head} {{ {} }} # behind {name}", pairs.join(", ")));
            }
            Entry::Block(pairs) | Entry::Flow(pairs) => {
                self.line(&head);
                for pair in pairs {
                    self.line(&format!("{:inner$}{pair}", ""));
                }
            }
        }
    }

    fn text(&self) -> String {
        let mut text = self.lines.join(self.manner.line);
        if self.manner.last_line_ends {
            text.push_str(self.manner.line);
        }
        text
    }
}

fn notes(text: &str) -> Vec<&str> {
    text.split("# note ").skip(1).filter_map(|rest| rest.split(':').next()).collect()
}

fn server() -> impl Strategy<Value = Map<String, Value>> {
    let text = any::<String>().prop_filter("YAML has no NUL", |text| !text.contains('\0'));
    (prop::collection::vec(text, 1..4), any::<bool>()).prop_map(|(words, trusted)| {
        let env = json!({ "A": words[0], "B": "${B}" });
        Map::from_iter([
            ("command".to_owned(), json!(words)),
            ("env".to_owned(), env),
            ("trusted".to_owned(), json!(trusted)),
        ])
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_server_comes_and_goes_and_every_comment_stays(file in file(), server in server()) {
        let add = ConfigEdit::Add { name: "new".to_owned(), server };
        let more = apply_edits(&file.text, &add).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(notes(&more), notes(&file.text));
        let less = apply_edits(&more, &ConfigEdit::Remove { name: "new".to_owned() })
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(notes(&less), notes(&file.text));
        if !file.names.is_empty() {
            prop_assert_eq!(lines(&less), lines(&file.text));
        }
    }

    #[test]
    fn any_server_can_go(file in file(), at in any::<prop::sample::Index>()) {
        prop_assume!(!file.names.is_empty());
        let name = at.get(&file.names).clone();
        let left = apply_edits(&file.text, &ConfigEdit::Remove { name })
            .map_err(|error| TestCaseError::fail(format!("{error}\n{}", file.text)))?;
        prop_assert_eq!(notes(&left), notes(&file.text));
    }

    #[test]
    fn any_server_can_be_switched(file in file(), at in any::<prop::sample::Index>()) {
        prop_assume!(!file.names.is_empty());
        let name = at.get(&file.names).clone();
        for value in [Some(json!(false)), Some(json!(true)), None] {
            let edit = ConfigEdit::Set { section: "servers", name: name.clone(), key: "enabled".to_owned(), value };
            match apply_edits(&file.text, &edit) {
                Ok(left) => prop_assert_eq!(notes(&left), notes(&file.text)),
                // Nothing to take out.
                Err(error) => prop_assert!(error.to_string().contains("no `enabled` of its own")
                    || error.to_string().contains("is not written as a map"), "{}\n{}", error, file.text),
            }
        }
    }
}

/// Without blank ones, and however they end.
fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.trim().is_empty()).collect()
}
