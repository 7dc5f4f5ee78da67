//! Interactive prompts on a terminal. Questions go to standard error, so that standard output has
//! only results.

use std::io::{self, BufRead as _, IsTerminal as _};

use crate::command_error::CommandError;
use crate::output::{Output, OutputFormat, clean};

/// Whether there is a terminal to ask on.
pub fn is_possible(output: Output) -> bool {
    output.form == OutputFormat::Text && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Reads a line without its line break. An empty one means the default in brackets.
pub async fn ask(output: Output, question: &str, usual: &str) -> Result<String, CommandError> {
    let usual_shown = if usual.is_empty() { String::new() } else { format!(" [{}]", clean(usual)) };
    output.beside(&format!("{}{usual_shown}: ", clean(question)));
    let read = || {
        let mut line = String::new();
        let count = io::stdin().lock().read_line(&mut line)?;
        io::Result::Ok((count > 0).then_some(line))
    };
    let line = tokio::task::spawn_blocking(read).await.ok().and_then(Result::ok).flatten();
    let line = line.ok_or_else(|| CommandError::new("no answer; nothing was changed"))?;
    let line = line.trim();
    Ok(if line.is_empty() { usual.to_owned() } else { line.to_owned() })
}

/// Reads several lines, up to an empty one or until the text is `enough`.
pub async fn ask_text(
    output: Output,
    question: &str,
    enough: impl Fn(&str) -> bool,
) -> Result<String, CommandError> {
    let mut text = ask(output, question, "").await?;
    while !enough(&text) {
        let more = ask(output, "  …", "").await?;
        if more.is_empty() {
            break;
        }
        text = format!("{text}\n{more}");
    }
    Ok(text)
}

/// Reads one of several letters. The first is the default.
pub async fn choose(
    output: Output,
    question: &str,
    choices: &[(&str, char)],
) -> Result<char, CommandError> {
    let words: Vec<String> = choices.iter().map(|(word, _)| (*word).to_owned()).collect();
    let usual = choices.first().map_or(' ', |(_, letter)| *letter);
    loop {
        let query = format!("{question} ({})", words.join(", "));
        let line = ask(output, &query, &usual.to_string()).await?.to_lowercase();
        let found =
            choices.iter().find(|(word, letter)| line == *word || line.chars().eq([*letter]));
        match found {
            Some((_, letter)) => return Ok(*letter),
            None => output.note("enter one of the options, or its first letter"),
        }
    }
}
