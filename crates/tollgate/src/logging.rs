//! Logs go to standard error, one line an event; `TOLLGATE_LOG` says how much (`debug`, or
//! `warn,tollgate_engine=debug`).

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

use crate::config::Environment;

/// What is worth a line when nobody asked for more.
const USUAL: &str =
    "warn,tollgate=info,tollgate_engine=info,tollgate_server=info,tollgate_mcp=warn";
/// Its lines below `info` hold authorization codes: no setting brings them back.
const NEVER: &str = "rmcp=warn";

/// Called once, before anything is started.
pub fn start(environment: &dyn Environment) {
    let asked = environment.variable("TOLLGATE_LOG").filter(|text| !text.trim().is_empty());
    let filter = EnvFilter::builder().parse_lossy(asked.as_deref().unwrap_or(USUAL));
    let filter = match NEVER.parse() {
        Ok(directive) => filter.add_directive(directive),
        Err(_) => filter,
    };
    let lines = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    // A second start in one process, as in tests, keeps the first.
    let _ = lines.with_ansi(false).try_init();
}
