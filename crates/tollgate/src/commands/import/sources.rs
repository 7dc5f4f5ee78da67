//! Import sources: the one named on the command line, or the config files of programs that are
//! found.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::cli::import::ImportArgs;
use crate::client_apps::{CLIENTS, ClientApp, UserFolders};
use crate::command_error::CommandError;

pub(super) struct ImportSource {
    /// Name for display: a path, `standard input`.
    pub(super) label: String,
    pub(super) text: String,
    pub(super) file: Option<PathBuf>,
    pub(super) client: Option<&'static ClientApp>,
}

/// One byte above the limit of `import`, which then reports the error.
const MAX_READ_BYTES: u64 = (16 << 20) + 1;

pub(super) fn find(
    args: &ImportArgs,
    folders: Option<&UserFolders>,
) -> Result<Vec<ImportSource>, CommandError> {
    let Some(typed) = args.source.as_deref() else {
        let clients: Vec<&'static ClientApp> = if args.from.is_empty() {
            CLIENTS.iter().collect()
        } else {
            args.from.iter().map(|typed| client(typed)).collect::<Result<_, _>>()?
        };
        let mut found = Vec::new();
        for client in clients {
            found.extend(of_client(client, folders, &args.from)?);
        }
        return Ok(found);
    };
    if typed == "-" {
        let text = text_of(io::stdin().lock(), "standard input")?;
        return Ok(vec![text_source("standard input", text)]);
    }
    let path = Path::new(typed);
    if let (Some(client), false) = (ClientApp::find(typed), typed.contains(['/', '.'])) {
        return of_client(client, folders, &[typed.to_owned()]);
    }
    if path.is_file() {
        return Ok(vec![ImportSource { file: Some(path.to_owned()), ..read(path)? }]);
    }
    // A pasted line. A path has no blanks, or exists.
    let is_link = ["vscode:", "vscode-insiders:"].iter().any(|it| typed.starts_with(it));
    if is_link
        || typed.contains("://")
        || typed.contains(char::is_whitespace)
        || typed.starts_with('{')
    {
        return Ok(vec![text_source("the command line", typed.to_owned())]);
    }
    Err(unknown(typed, "a file, a program or a command line in quotes"))
}

fn client(typed: &str) -> Result<&'static ClientApp, CommandError> {
    ClientApp::find(typed.trim()).ok_or_else(|| unknown(typed, "a known program"))
}

fn unknown(typed: &str, requested: &str) -> CommandError {
    let known: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
    CommandError::Usage(format!(
        "`{typed}` is not {requested}; the programs are {}",
        known.join(", ")
    ))
}

/// Existing config files of a client. It is an error if a client was named and has none.
fn of_client(
    client: &'static ClientApp,
    folders: Option<&UserFolders>,
    requests: &[String],
) -> Result<Vec<ImportSource>, CommandError> {
    let Some(folders) = folders else {
        return Err(CommandError::new("`HOME` is not set, so the files cannot be located"));
    };
    let files = client.files(folders);
    let mut found = Vec::new();
    for path in files.iter().filter(|path| path.is_file()) {
        found.push(ImportSource { client: Some(client), file: Some(path.clone()), ..read(path)? });
    }
    if found.is_empty() && !requests.is_empty() {
        let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        let name = client.name;
        let files = files.join(", ");
        return Err(CommandError::new(format!("{name} has no file here; looked for {files}")));
    }
    Ok(found)
}

fn read(path: &Path) -> Result<ImportSource, CommandError> {
    let label = path.display().to_string();
    let file = File::open(path);
    let file = file.map_err(|why| CommandError::new(format!("cannot read `{label}`: {why}")))?;
    let text = text_of(file, &label)?;
    Ok(text_source(&label, text))
}

fn text_of(from: impl io::Read, label: &str) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    let read = from.take(MAX_READ_BYTES).read_to_end(&mut bytes);
    read.map_err(|why| CommandError::new(format!("cannot read `{label}`: {why}")))?;
    String::from_utf8(bytes)
        .map_err(|_| CommandError::new(format!("`{label}` is not UTF-8; save it as UTF-8")))
}

fn text_source(label: &str, text: String) -> ImportSource {
    ImportSource { label: label.to_owned(), text, file: None, client: None }
}
