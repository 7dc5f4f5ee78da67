//! `tollgate check`: all mistakes of a config, or that there are none.

use serde_json::json;

use crate::cli::{Check, Options};
use crate::config::{self, Config, Environment, Origin, Request};
use crate::failure::Failure;
use crate::output::{Form, Output};

pub(super) fn run(
    check: &Check,
    options: &Options,
    (output, environment): (Output, &dyn Environment),
) -> Result<(), Failure> {
    if check.schema {
        output.json(&config::schema());
        return Ok(());
    }
    let mut request = options.request();
    if let Some(file) = &check.file {
        request = Request { file: Some(file.clone()), ..request };
    }
    let loaded = config::load(&request, environment)?;
    match output.form {
        Form::Json => {
            let mut report = loaded.report.to_json();
            report["servers"] = json!(loaded.config.settings.servers.len());
            report["agents"] = json!(loaded.config.settings.agents.len());
            output.json(&report);
        }
        Form::Text => {
            output.report(&loaded.report);
            output.line(&summary(&loaded.config));
        }
    }
    Ok(())
}

fn summary(config: &Config) -> String {
    let name = match &config.origin {
        Origin::File(path) => path.display().to_string(),
        Origin::Embedded => "the embedded default".to_owned(),
    };
    let counted = [
        (config.settings.servers.len(), "server"),
        (config.settings.agents.len(), "agent"),
        (config.models.len(), "model"),
        (config.keys.len(), "key"),
    ];
    let counted: Vec<String> = counted
        .into_iter()
        .map(
            |(count, word)| {
                if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
            },
        )
        .collect();
    format!("{name} is good: {}", counted.join(", "))
}
