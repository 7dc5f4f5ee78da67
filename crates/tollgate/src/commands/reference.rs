//! Generates `docs/cli.md` from the command line definition, so that they cannot differ.

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use crate::cli::Cli;

const INTRODUCTION: &str = "\
# Commands

Generated from the command line by `tollgate manual cli`; change it in `crates/tollgate/src/cli.rs` and its neighbours.

Commands use the gateway that runs at the configured address; if there is none, they start one in their own process for the
duration of the command. `--json` prints JSON for programs, on standard output. Exit codes: 0 success, 1 failure, 2 wrong usage
or an invalid config. Colours and truncated columns are for terminals only; `NO_COLOR` turns colours off. `tollgate man --out DIR` writes
manual pages, `tollgate completions SHELL` a completion script.

These options work with every command:
";

pub(super) fn reference() -> String {
    let mut command = Cli::command();
    command.build();
    let mut text = INTRODUCTION.to_owned();
    let global: Vec<&Arg> = command.get_arguments().filter(|it| it.is_global_set()).collect();
    table(&global, &mut text);
    for inner in visible_subcommands(&command) {
        section("tollgate", inner, &mut text);
    }
    text
}

fn visible_subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help")
}

fn section(above: &str, command: &Command, text: &mut String) {
    let name = format!("{above} {}", command.get_name());
    let own: Vec<&Arg> = command
        .get_arguments()
        .filter(|it| !it.is_global_set() && !it.is_hide_set() && it.get_id() != "help")
        .collect();
    let usage = own.iter().filter(|it| it.is_positional()).map(|it| positional(it));
    let usage: Vec<String> = usage.collect();
    let has_commands = visible_subcommands(command).next().is_some();
    let rest = if has_commands { " COMMAND" } else { "" };
    text.push_str(&format!("\n## `{name}`\n\n"));
    if let Some(about) = command.get_about() {
        text.push_str(&format!("{}.\n\n", escape_cell(&about.to_string())));
    }
    let usage = [name.clone()].into_iter().chain(usage).collect::<Vec<_>>().join(" ");
    text.push_str(&format!("`{usage}{rest}`\n"));
    if !own.is_empty() {
        text.push('\n');
        table(&own, text);
    }
    for inner in visible_subcommands(command) {
        section(&name, inner, text);
    }
}

fn table(arguments: &[&Arg], text: &mut String) {
    text.push_str("| | |\n|---|---|\n");
    for argument in arguments {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let choices: Vec<String> = argument
            .get_possible_values()
            .iter()
            .filter(|it| !it.is_hide_set() && takes_value(argument))
            .map(|it| format!("`{}`", it.get_name()))
            .collect();
        let choices =
            if choices.is_empty() { String::new() } else { format!(": {}", choices.join(", ")) };
        let row = format!(
            "| `{}` | {}{choices} |\n",
            spelt(argument).replace('|', "\\|"),
            escape_cell(&help)
        );
        text.push_str(&row);
    }
}

/// `--agent NAME`, `-c, --config FILE`, `NAME`
fn spelt(argument: &Arg) -> String {
    if argument.is_positional() {
        return positional(argument);
    }
    let short = argument.get_short().map(|it| format!("-{it}, ")).unwrap_or_default();
    let long = argument.get_long().map(|it| format!("--{it}")).unwrap_or_default();
    let value =
        if takes_value(argument) { format!(" {}", value_of(argument)) } else { String::new() };
    format!("{short}{long}{value}")
}

fn positional(argument: &Arg) -> String {
    let name = value_of(argument);
    let many = matches!(argument.get_action(), ArgAction::Append);
    let dashes = if argument.is_last_set() { "-- " } else { "" };
    let name = if many { format!("{dashes}{name}…") } else { format!("{dashes}{name}") };
    if argument.is_required_set() { name } else { format!("[{name}]") }
}

fn value_of(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    if names.is_empty() { argument.get_id().as_str().to_uppercase() } else { names.join(" ") }
}

fn takes_value(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Set | ArgAction::Append)
}

/// An unescaped bar would end the table cell.
fn escape_cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::reference;

    const DOCUMENT: &str = include_str!("../../../../docs/cli.md");

    #[test]
    fn docs_cli_md_says_what_the_command_line_says() {
        assert!(DOCUMENT == reference(), "run: tollgate manual cli > docs/cli.md");
    }

    #[test]
    fn every_argument_is_explained() {
        let mute: Vec<_> = DOCUMENT.lines().filter(|line| line.ends_with("` |  |")).collect();
        assert!(mute.is_empty(), "{mute:?}");
    }
}
