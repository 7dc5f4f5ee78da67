//! `tollgate check`: validates a config and reports all mistakes.

use serde_json::json;
use tollgate_config::{self as config, Config, ConfigOrigin, ConfigRequest, Environment};
use tollgate_core::secret_values::MIN_BYTES;
use tollgate_engine::builtin::shipped_servers;

use crate::cli::{CheckArgs, GlobalArgs};
use crate::command_error::CommandError;
use crate::output::{Output, OutputFormat, clean, pluralize};

pub(super) fn run(
    check: &CheckArgs,
    options: &GlobalArgs,
    output: Output,
    environment: &dyn Environment,
) -> Result<(), CommandError> {
    if check.schema {
        output.json(&config::schema());
        return Ok(());
    }
    let mut request = options.request();
    if let Some(file) = &check.file {
        request = ConfigRequest { file: Some(file.clone()), ..request };
    }
    let loaded = config::load(&request, environment)?;
    match output.form {
        OutputFormat::Json => {
            let mut report = loaded.report.to_json();
            report["servers"] = json!(loaded.config.settings.servers.len());
            report["agents"] = json!(loaded.config.settings.agents.len());
            report["left_out"] = json!(left_out(&loaded.config));
            report["unmasked"] = json!(loaded.config.secrets.unfit);
            output.json(&report);
        }
        OutputFormat::Text => {
            output.report(&loaded.report);
            for flaw in left_out(&loaded.config) {
                output.note(&format!("warning: left out: {}", clean(&flaw)));
            }
            for path in &loaded.config.secrets.unfit {
                output.note(&format!(
                    "warning: the value of `{path}` is too short or too common to be masked in \
                     results and logs; use one of at least {MIN_BYTES} characters"
                ));
            }
            output.line(&summary(&loaded.config));
        }
    }
    Ok(())
}

/// Contents of configured files that built-in tools cannot use. Not an error.
fn left_out(config: &Config) -> Vec<String> {
    shipped_servers::flaws(&config.settings.builtin).iter().map(ToString::to_string).collect()
}

fn summary(config: &Config) -> String {
    let name = match &config.origin {
        ConfigOrigin::File(path) => path.display().to_string(),
        ConfigOrigin::Embedded => "the embedded default".to_owned(),
    };
    let parts = [
        (config.settings.servers.len(), "server"),
        (config.settings.agents.len(), "agent"),
        (config.llm.models.len(), "model"),
        (config.keys.len(), "key"),
    ];
    let parts = parts.map(|(count, word)| pluralize(count, word));
    format!("{name} is valid: {}", parts.join(", "))
}
