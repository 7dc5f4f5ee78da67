//! `tollgate memory export` and `backup`. A file is whole, or not there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::Session;
use crate::app;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{Form, Output, counted};

pub(super) async fn run(session: &Session<'_>, file: Option<&Path>) -> Result<(), Failure> {
    let mut lines = 0;
    let Some(file) = file else {
        let mut each = |part: &[u8]| session.output.raw(&String::from_utf8_lossy(part));
        return session.gateway.export(&session.query(), &mut each).await;
    };
    let mut growing = Growing::begin(file)?;
    let mut trouble = None;
    let mut each = |part: &[u8]| {
        lines += part.iter().filter(|byte| **byte == b'\n').count();
        if trouble.is_none() {
            trouble = growing.file.write_all(part).err();
        }
    };
    session.gateway.export(&session.query(), &mut each).await?;
    match trouble {
        Some(error) => return Err(unwritten(file, &error)),
        None => growing.finish(file)?,
    }
    match session.output.form {
        Form::Json => session.output.json(&json!({ "file": file, "lines": lines })),
        Form::Text => {
            let lines = counted(lines, "line");
            session.output.note(&format!("{lines} are in {}", file.display()));
        }
    }
    Ok(())
}

/// A file in the making. Nobody else reads what is in it, and a half of it is removed.
struct Growing {
    file: File,
    path: PathBuf,
    is_whole: bool,
}

impl Growing {
    fn begin(end: &Path) -> Result<Self, Failure> {
        let mut name = end.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let path = end.with_file_name(name);
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = opened.map_err(|error| unwritten(&path, &error))?;
        Ok(Self { file, path, is_whole: false })
    }

    fn finish(mut self, end: &Path) -> Result<(), Failure> {
        let done = self.file.sync_all().and_then(|()| fs::rename(&self.path, end));
        self.is_whole = done.is_ok();
        done.map_err(|error| unwritten(end, &error))
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        if !self.is_whole {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn unwritten(file: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("cannot write `{}`: {error}", file.display()))
}

/// Asks the database itself: a gateway that runs need not know.
pub(super) async fn backup(file: &Path, config: &Config, output: Output) -> Result<(), Failure> {
    let memory = app::memory(config).await?;
    let path = std::path::absolute(file).map_err(|error| unwritten(file, &error))?;
    memory.backup(&path).await.map_err(|trouble| Failure::failed(trouble.to_string()))?;
    match output.form {
        Form::Json => output.json(&json!({ "file": file })),
        Form::Text => output.note(&format!("a copy of the memory is in {}", file.display())),
    }
    Ok(())
}
