//! `tollgate check`: all mistakes of a config, or that there are none.

use serde_json::json;
use tollgate_core::secret_values::MIN_BYTES;
use tollgate_engine::builtin::table;

use crate::cli::{Check, Options};
use crate::config::{self, Config, Environment, Origin, Request};
use crate::failure::Failure;
use crate::output::{Form, Output, clean, counted};

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
            report["left_out"] = json!(left_out(&loaded.config));
            report["unmasked"] = json!(loaded.config.secrets.unfit);
            output.json(&report);
        }
        Form::Text => {
            output.report(&loaded.report);
            for flaw in left_out(&loaded.config) {
                output.note(&format!("warning: left out: {}", clean(&flaw)));
            }
            for path in &loaded.config.secrets.unfit {
                output.note(&format!(
                    "warning: the value of `{path}` is too short or too common to be masked where it turns \
                     up in results and logs; use one of at least {MIN_BYTES} characters"
                ));
            }
            output.line(&summary(&loaded.config));
        }
    }
    Ok(())
}

/// What built-in tools cannot use of the files that the config names. It stops nothing.
fn left_out(config: &Config) -> Vec<String> {
    table::flaws(&config.settings.builtin).iter().map(ToString::to_string).collect()
}

fn summary(config: &Config) -> String {
    let name = match &config.origin {
        Origin::File(path) => path.display().to_string(),
        Origin::Embedded => "the embedded default".to_owned(),
    };
    let parts = [
        (config.settings.servers.len(), "server"),
        (config.settings.agents.len(), "agent"),
        (config.llm.models.len(), "model"),
        (config.keys.len(), "key"),
    ];
    let parts = parts.map(|(count, word)| counted(count, word));
    format!("{name} is good: {}", parts.join(", "))
}
