//! YAML syntax errors with advice.

use saphyr_parser::ScanError;

use super::diagnostic::{DiagnosticLocation, Problems, SourceSpan};

/// Reports a YAML syntax error with advice.
pub(super) fn report(text: &str, error: &ScanError, problems: &mut Problems) {
    let line = error.marker().line();
    let column = error.marker().col() + 1;
    let at = SourceSpan { line, column, end_line: line, end_column: column + 1 };
    if error.info().contains("tab") {
        let tabbed = text
            .lines()
            .zip(1..)
            .skip(line - 1)
            .find(|(text, _)| text.trim_start_matches(' ').starts_with('\t'));
        if let Some((text, line)) = tabbed {
            let column = text.find('\t').unwrap_or(0) + 1;
            let at = SourceSpan { line, column, end_line: line, end_column: column + 1 };
            problems
                .error(at, "", "a tab cannot indent a line of YAML")
                .help("use two spaces for each level");
            return;
        }
    }
    let source = text.lines().nth(line - 1).unwrap_or_default();
    hide_line(source, line, problems);
    let info = error.info();
    let found = problems.error(DiagnosticLocation::At(at), "", format!("this is not YAML: {info}"));
    if source.contains("${") {
        found.help("inside `{ }` and `[ ]` a variable needs quotes: \"${NAME}\"");
    } else if info.contains("unknown anchor") || info.contains("anchor or alias") {
        found.help("a text that begins with `*` needs quotes: \"*\"");
    } else if info.contains("mapping values are not allowed") {
        found.help("a text with `: ` in it needs quotes; or the indentation is off");
    } else if info.contains("unexpected character") {
        found.help("quote a text that begins with this character");
    } else if info.contains("expected key") || info.contains("document start") {
        found.help("the indentation does not fit the lines above");
    }
}

/// Without a parsed tree the secrets are unknown: a line with a suspicious word is hidden.
fn hide_line(source: &str, line: usize, problems: &mut Problems) {
    let lower = source.to_lowercase();
    let sounds = ["token", "secret", "key", "password", "auth", "bearer", "@"];
    if let (true, Some(colon)) = (sounds.iter().any(|word| lower.contains(word)), source.find(':'))
    {
        let column = source[..colon].chars().count() + 2;
        problems.hide(SourceSpan { line, column, end_line: line, end_column: usize::MAX });
    }
}
