//! `tollgate reload`: makes a running gateway reload its config.

use tollgate_config::Config;

use super::servers::change::describe_reload;
use crate::command_error::CommandError;
use crate::gateway::Gateway;
use crate::output::{Output, OutputFormat, clean};

pub(super) async fn run(config: &Config, output: Output) -> Result<(), CommandError> {
    let Some(gateway) = Gateway::running(config).await else {
        return Err(CommandError::new(format!("no gateway is running on {}", config.listen)));
    };
    let answer = gateway.reload().await?;
    match output.form {
        OutputFormat::Json => output.json(&answer),
        OutputFormat::Text => output.line(&clean(&describe_reload(&answer))),
    }
    match answer["outcome"].as_str() {
        Some("refused") => Err(CommandError::AlreadyPrinted),
        _ => Ok(()),
    }
}
