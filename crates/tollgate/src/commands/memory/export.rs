//! `tollgate memory export` and `backup`. The output file is written atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use tollgate_config::Config;

use super::MemoryCommandRun;
use crate::app;
use crate::command_error::CommandError;
use crate::output::{Output, OutputFormat, pluralize};

pub(super) async fn run(
    session: &MemoryCommandRun<'_>,
    file: Option<&Path>,
) -> Result<(), CommandError> {
    let mut lines = 0;
    let Some(file) = file else {
        let mut each = |part: &[u8]| session.output.raw(&String::from_utf8_lossy(part));
        return session.gateway.export(&session.query(), &mut each).await;
    };
    let mut growing = ExportPartFile::begin(file)?;
    let mut trouble = None;
    let mut each = |part: &[u8]| {
        lines += part.iter().filter(|byte| **byte == b'\n').count();
        if trouble.is_none() {
            trouble = growing.file.write_all(part).err();
        }
    };
    session.gateway.export(&session.query(), &mut each).await?;
    match trouble {
        Some(error) => return Err(write_error(file, &error)),
        None => growing.finish(file)?,
    }
    match session.output.form {
        OutputFormat::Json => session.output.json(&json!({ "file": file, "lines": lines })),
        OutputFormat::Text => {
            let lines = pluralize(lines, "line");
            session.output.note(&format!("{lines} are in {}", file.display()));
        }
    }
    Ok(())
}

/// A private temporary file. It is removed if the export is not completed.
struct ExportPartFile {
    file: File,
    path: PathBuf,
    is_whole: bool,
}

impl ExportPartFile {
    fn begin(end: &Path) -> Result<Self, CommandError> {
        let mut name = end.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let path = end.with_file_name(name);
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = opened.map_err(|error| write_error(&path, &error))?;
        Ok(Self { file, path, is_whole: false })
    }

    fn finish(mut self, end: &Path) -> Result<(), CommandError> {
        let done = self.file.sync_all().and_then(|()| fs::rename(&self.path, end));
        self.is_whole = done.is_ok();
        done.map_err(|error| write_error(end, &error))
    }
}

impl Drop for ExportPartFile {
    fn drop(&mut self) {
        if !self.is_whole {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn write_error(file: &Path, error: &io::Error) -> CommandError {
    CommandError::new(format!("cannot write `{}`: {error}", file.display()))
}

/// Uses the database directly, without the running gateway.
pub(super) async fn backup(
    file: &Path,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    let memory = app::memory(config).await?;
    let path = std::path::absolute(file).map_err(|error| write_error(file, &error))?;
    memory.backup(&path).await.map_err(|trouble| CommandError::new(trouble.to_string()))?;
    match output.form {
        OutputFormat::Json => output.json(&json!({ "file": file })),
        OutputFormat::Text => {
            output.note(&format!("a copy of the memory is in {}", file.display()))
        }
    }
    Ok(())
}
