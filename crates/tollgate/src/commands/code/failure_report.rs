//! Error report of a program, with the source line and a caret, like the reports on a config.

use tollgate_config::SourceExcerpt;

use crate::gateway::CodeRunFailure;
use crate::output::clean;

pub(super) fn render(failed: &CodeRunFailure, file: &str) -> String {
    let mut text = format!("error: {}", clean(&failed.message));
    let margin = failed.line.map_or(2, |line| line.to_string().len().max(2));
    if let Some(line) = failed.line {
        let column = failed.column.map_or(String::new(), |column| format!(":{column}"));
        text.push_str(&format!("\n --> {}:{line}{column}", clean(file)));
        if let Some(source) = &failed.text {
            let column = failed.column.unwrap_or(1).max(1);
            let SourceExcerpt { text: shown, indent, .. } =
                SourceExcerpt::of(source, column, column + 1);
            text.push_str(&format!("\n{:margin$} |\n{line:>margin$} | {shown}", ""));
            if failed.column.is_some() {
                text.push_str(&format!("\n{:margin$} | {:indent$}^", "", ""));
            }
        }
    }
    if let Some(hint) = &failed.hint {
        text.push_str(&format!("\n{:margin$} = {}", "", clean(hint)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{CodeRunFailure, render};

    fn sample_failure() -> CodeRunFailure {
        CodeRunFailure {
            message: "no such name".to_owned(),
            line: None,
            column: None,
            text: None,
            hint: None,
        }
    }

    #[test]
    fn as_much_is_shown_as_is_known() {
        assert_eq!(render(&sample_failure(), "a.star"), "error: no such name");
        let hint = Some("did you mean `total`?".to_owned());
        assert_eq!(
            render(&CodeRunFailure { hint: hint.clone(), ..sample_failure() }, "a.star"),
            "error: no such name\n   = did you mean `total`?"
        );
        let line = CodeRunFailure { line: Some(3), ..sample_failure() };
        assert_eq!(render(&line, "a.star"), "error: no such name\n --> a.star:3");
        let text = Some("    x = totl".to_owned());
        let all =
            CodeRunFailure { line: Some(120), column: Some(9), text, hint, ..sample_failure() };
        assert_eq!(
            render(&all, "a.star"),
            "\
error: no such name
 --> a.star:120:9
    |
120 |     x = totl
    |         ^
    = did you mean `total`?"
        );
    }

    #[test]
    fn a_program_cannot_steer_the_terminal_by_failing() {
        let text = Some("fail(\"\u{1b}[2J\")".to_owned());
        let evil = "\u{1b}[2J".to_owned();
        let failed = CodeRunFailure {
            message: evil.clone(),
            line: Some(1),
            column: Some(99),
            text,
            hint: Some(evil),
        };
        assert!(!render(&failed, "\u{1b}").contains('\u{1b}'));
    }
}
