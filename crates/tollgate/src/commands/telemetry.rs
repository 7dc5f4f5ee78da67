//! `tollgate telemetry`: latency figures of the tools, as a file to share. Nothing is sent.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use tollgate_config::Config;

use crate::cli::OutFileArgs;
use crate::command_error::CommandError;
use crate::gateway::Gateway;
use crate::output::{Output, OutputFormat, pluralize};
use crate::telemetry::TelemetryExport;

/// Larger than the figures of any installation.
const LARGEST_FILE: u64 = 64 * 1024 * 1024;

pub(super) async fn export(
    written: &OutFileArgs,
    config: &Config,
    output: Output,
) -> Result<(), CommandError> {
    let gateway = Gateway::open(config).await?;
    let answer = gateway.telemetry().await;
    gateway.close().await;
    let telemetry = TelemetryExport::read(&answer?).map_err(|unfit| {
        CommandError::new(format!("the gateway's statistics are invalid: {unfit}"))
    })?;
    write(&telemetry, written, output)
}

pub(super) fn merge(
    files: &[PathBuf],
    written: &OutFileArgs,
    output: Output,
) -> Result<(), CommandError> {
    let mut all = TelemetryExport::default();
    for file in files {
        all.merge(&read(file)?);
    }
    write(&all, written, output)
}

fn read(file: &Path) -> Result<TelemetryExport, CommandError> {
    let bad = |why: &str| CommandError::new(format!("{}: {why}", file.display()));
    let mut text = String::new();
    let opened = fs::File::open(file).map_err(|error| bad(&error.to_string()))?;
    let read = opened.take(LARGEST_FILE + 1).read_to_string(&mut text);
    let size = read.map_err(|error| bad(&error.to_string()))?;
    if size as u64 > LARGEST_FILE {
        return Err(bad("larger than 64 MiB"));
    }
    TelemetryExport::parse(&text).map_err(|unfit| bad(&unfit.to_string()))
}

fn write(
    telemetry: &TelemetryExport,
    written: &OutFileArgs,
    output: Output,
) -> Result<(), CommandError> {
    let figures = telemetry.to_json();
    let Some(file) = &written.out else {
        output.json(&figures);
        return Ok(());
    };
    fs::write(file, format!("{figures:#}\n"))
        .map_err(|error| CommandError::new(format!("{}: {error}", file.display())))?;
    match output.form {
        OutputFormat::Json => output.json(&json!({ "file": file, "tools": telemetry.tools() })),
        OutputFormat::Text => {
            let tools = pluralize(telemetry.tools(), "tool");
            output.note(&format!("statistics of {tools} are in {}", file.display()));
        }
    }
    Ok(())
}
