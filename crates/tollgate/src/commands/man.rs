//! `tollgate man`: manual pages, generated from the command line definition.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use serde_json::json;

use crate::cli::Cli;
use crate::cli::operate;
use crate::command_error::CommandError;
use crate::output::{Output, OutputFormat, pluralize};

pub(super) fn run(args: &operate::ManArgs, output: Output) -> Result<(), CommandError> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = &args.out else {
        output.raw(&page("tollgate", &command)?);
        return Ok(());
    };
    let failed = |why: std::io::Error| CommandError::new(format!("{}: {why}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    let mut files = Vec::new();
    write_all("tollgate", &command, folder, &mut files)?;
    match output.form {
        OutputFormat::Json => output.json(&json!({ "files": files })),
        OutputFormat::Text => {
            output.line(&format!("{} in {}", pluralize(files.len(), "page"), folder.display()))
        }
    }
    Ok(())
}

fn write_all(
    name: &str,
    command: &Command,
    folder: &Path,
    files: &mut Vec<String>,
) -> Result<(), CommandError> {
    let file = folder.join(format!("{name}.1"));
    let text = page(name, command)?;
    fs::write(&file, text)
        .map_err(|why| CommandError::new(format!("{}: {why}", file.display())))?;
    files.push(file.display().to_string());
    for inner in command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help")
    {
        write_all(&format!("{name}-{}", inner.get_name()), inner, folder, files)?;
    }
    Ok(())
}

fn page(name: &str, command: &Command) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    let made = Man::new(command.clone()).title(name.to_uppercase()).render(&mut bytes);
    made.map_err(|why| CommandError::new(why.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
