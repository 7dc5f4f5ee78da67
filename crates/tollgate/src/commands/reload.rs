//! `tollgate reload`: a gateway that runs reads its config again.

use super::servers::change::taken;
use crate::config::Config;
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::output::{Form, Output, clean};

pub(super) async fn run(config: &Config, output: Output) -> Result<(), Failure> {
    let Some(gateway) = Gateway::running(config).await else {
        return Err(Failure::failed(format!("no gateway runs on {}", config.listen)));
    };
    let answer = gateway.reload().await?;
    match output.form {
        Form::Json => output.json(&answer),
        Form::Text => output.line(&clean(&taken(&answer))),
    }
    match answer["outcome"].as_str() {
        Some("refused") => Err(Failure::Said),
        _ => Ok(()),
    }
}
