//! Logging to standard error, one line per event. `TOLLGATE_LOG` sets the filter (`debug`, or
//! `warn,tollgate_engine=debug`), `TOLLGATE_LOG_FORMAT=json` the format.
//!
//! With JSON, every line on standard error is JSON: also notes, config reports and panics.

use tollgate_config::Environment;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

mod panics;
mod stderr;

pub use stderr::note;

/// Default filter of the serving commands.
const SERVING: &str =
    "warn,tollgate=info,tollgate_engine=info,tollgate_server=info,tollgate_mcp=warn";
const ONE_OFF: &str = "warn";
/// Its messages below `info` contain authorization codes, so no setting enables them.
const RMCP_DIRECTIVE: &str = "rmcp=warn";

/// Format of lines on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

impl LogFormat {
    pub fn from_environment(environment: &dyn Environment) -> Self {
        match environment.variable("TOLLGATE_LOG_FORMAT").as_deref().map(str::trim) {
            Some("json") => Self::Json,
            _ => Self::Text,
        }
    }
}

/// The reader of the logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogAudience {
    /// An operator: the process keeps running.
    Operator,
    /// The user of one command, who needs logs only if they explain a failure.
    Asker,
}

/// Called once, before anything is started.
pub fn start(reader: LogAudience, environment: &dyn Environment) {
    let query = environment.variable("TOLLGATE_LOG").filter(|text| !text.trim().is_empty());
    let usual = match reader {
        LogAudience::Operator => SERVING,
        LogAudience::Asker => ONE_OFF,
    };
    let filter = EnvFilter::builder().parse_lossy(query.as_deref().unwrap_or(usual));
    let filter = match RMCP_DIRECTIVE.parse() {
        Ok(directive) => filter.add_directive(directive),
        Err(_) => filter,
    };
    let format = LogFormat::from_environment(environment);
    panics::write_as_lines(format);
    let writer = stderr::StderrLog(format);
    let lines = fmt().with_env_filter(filter).with_writer(writer).with_target(false);
    // A second start in one process, as in tests, has no effect.
    let _ = match format {
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true).with_current_span(false);
            lines.with_span_list(false).try_init()
        }
        LogFormat::Text => lines.with_ansi(false).try_init(),
    };
}
