//! `tollgate doctor`: checks this machine and the config, and says what to change.
//! `--probe` only checks a running one, for container health checks.

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tollgate_config::{
    self as config, Config, ConfigOrigin, ConfigRequest, Environment, Severity, TlsSource,
};
use tollgate_engine::confine::{PrivateFiles, SealedDirectoryError};
use tollgate_engine::settings::ServerTransport;

use super::tools::items;
use crate::app;
use crate::cli::operate;
use crate::command_error::CommandError;
use crate::gateway::Gateway;
use crate::output::{Output, OutputFormat, clean, pluralize};

mod machine_checks;

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DoctorFinding {
    about: &'static str,
    state: DoctorStatus,
    message: String,
    /// What to do about it.
    advice: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DoctorStatus {
    Well,
    /// Works, but needs attention.
    Odd,
    Bad,
}

impl DoctorFinding {
    fn well(about: &'static str, message: impl Into<String>) -> Self {
        Self { about, state: DoctorStatus::Well, message: message.into(), advice: None }
    }

    fn odd(about: &'static str, message: impl Into<String>, advice: impl Into<String>) -> Self {
        let advice = Some(advice.into());
        Self { about, state: DoctorStatus::Odd, message: message.into(), advice }
    }

    fn bad(about: &'static str, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { state: DoctorStatus::Bad, ..Self::odd(about, message, advice) }
    }

    fn to_json(&self) -> Value {
        let state = match self.state {
            DoctorStatus::Well => "ok",
            DoctorStatus::Odd => "warning",
            DoctorStatus::Bad => "problem",
        };
        json!({"about": self.about, "state": state, "message": self.message, "advice": self.advice})
    }
}

pub(super) async fn run(
    args: &operate::DoctorArgs,
    request: ConfigRequest,
    output: Output,
    environment: &dyn Environment,
) -> Result<(), CommandError> {
    if args.probe {
        return probe(&config::load(&request, environment)?.config, output).await;
    }
    let mut findings = Vec::new();
    match config::load(&request, environment) {
        Ok(loaded) => {
            let warnings = loaded.report.count(Severity::Warning);
            findings.push(of_config(&loaded.config, warnings));
            look(&loaded.config, &mut findings).await;
        }
        Err(report) => {
            let message = report.to_string();
            findings.push(DoctorFinding::bad(
                "config",
                message,
                "run `tollgate check` for details",
            ));
        }
    }
    say(&findings, output);
    if findings.iter().any(|it| it.state == DoctorStatus::Bad) {
        Err(CommandError::AlreadyPrinted)
    } else {
        Ok(())
    }
}

/// Whether the running gateway is ready.
async fn probe(config: &Config, output: Output) -> Result<(), CommandError> {
    let none = || CommandError::new(format!("no gateway answers on {}", config.listen));
    let gateway = Gateway::running(config).await.ok_or_else(none)?;
    let ready = gateway.readiness().await?;
    if output.form == OutputFormat::Json {
        output.json(&ready);
    }
    match ready["state"].as_str() {
        Some("ready") => Ok(()),
        state => Err(CommandError::new(format!("the gateway is {}", state.unwrap_or("strange")))),
    }
}

fn of_config(config: &Config, warnings: usize) -> DoctorFinding {
    let name = match &config.origin {
        ConfigOrigin::File(path) => path.display().to_string(),
        ConfigOrigin::Embedded => "built-in config (no tollgate.yaml here)".to_owned(),
    };
    match warnings {
        0 => DoctorFinding::well("config", name),
        count => {
            let message = format!("{name}, with {}", pluralize(count, "warning"));
            DoctorFinding::odd("config", message, "run `tollgate check` to see them")
        }
    }
}

async fn look(config: &Config, findings: &mut Vec<DoctorFinding>) {
    let data = machine_checks::data(config);
    let is_usable = data.iter().all(|it| it.state != DoctorStatus::Bad);
    findings.extend(data);
    findings.push(machine_checks::worker(config));
    findings.extend(certificate(config).await);
    if !is_usable {
        return;
    }
    let running = Gateway::running(config).await;
    findings.push(port(config, running.as_ref()).await);
    findings.push(keys(config).await);
    findings.push(database(config).await);
    let gateway = match running {
        Some(running) => Ok(running),
        None => Gateway::open(config).await,
    };
    match gateway {
        Ok(gateway) => {
            findings.extend(servers(config, &gateway).await);
            findings.extend(working_directories(config));
            findings.push(memory(&gateway).await);
            gateway.close().await;
        }
        Err(why) => {
            let advice = "`tollgate serve` would fail with this error";
            findings.push(DoctorFinding::bad("gateway", why.to_string(), advice));
        }
    }
}

async fn certificate(config: &Config) -> Option<DoctorFinding> {
    let files = match config.tls.as_ref()? {
        TlsSource::Local => "a certificate of the local CA".to_owned(),
        TlsSource::Files { cert, .. } => cert.display().to_string(),
    };
    Some(match app::certifiable(config).await {
        Ok(()) => DoctorFinding::well("tls", files),
        Err(why) => DoctorFinding::bad("tls", why.to_string(), "check `tls.cert` and `tls.key`"),
    })
}

async fn port(config: &Config, running: Option<&Gateway>) -> DoctorFinding {
    let listen = config.listen;
    if running.is_some() {
        return DoctorFinding::well("port", format!("a gateway is running on {listen}"));
    }
    match TcpListener::bind(listen).await {
        Ok(_) => DoctorFinding::well("port", format!("{listen} is free; no gateway is running")),
        Err(why) => {
            let advice = "another program uses it: set another address with `--listen` or \
                          `listen:`";
            DoctorFinding::bad("port", format!("cannot listen on {listen}: {why}"), advice)
        }
    }
}

async fn keys(config: &Config) -> DoctorFinding {
    if let Err(why) = app::check_reach(config).await {
        return DoctorFinding::bad(
            "keys",
            why.to_string(),
            "create one with `tollgate keys create NAME`",
        );
    }
    match app::is_keyed(config).await {
        Ok(true) => DoctorFinding::well("keys", "every client must send one"),
        Ok(false) => DoctorFinding::well("keys", "none required: only reachable from this machine"),
        // The database has a finding of its own.
        Err(why) => {
            DoctorFinding::bad("keys", why.to_string(), "see the finding about the database")
        }
    }
}

async fn database(config: &Config) -> DoctorFinding {
    if !config.data.exists() {
        return DoctorFinding::well("database", "it will be created with the data directory");
    }
    let opened = async {
        let store = app::store(config).await?;
        app::ledger(config, &store).await.map(drop)
    };
    match opened.await {
        Ok(()) => {
            DoctorFinding::well("database", config.data.join("tollgate.db").display().to_string())
        }
        Err(why) => {
            let advice = "if the disk is full, free disk space; if the file is damaged, move it \
                          away";
            DoctorFinding::bad("database", why.to_string(), advice)
        }
    }
}

/// The storage of the memory: a file, or PostgreSQL.
async fn memory(gateway: &Gateway) -> DoctorFinding {
    let state = gateway.readiness().await.ok();
    let state = state.as_ref().and_then(|it| it["memory"].as_str()).unwrap_or("ready").to_owned();
    match state.as_str() {
        "ready" => DoctorFinding::well("memory", "it answers"),
        state => {
            let advice = "check `database:`; the memory tools fail until it is available";
            DoctorFinding::odd("memory", format!("it is {state}"), advice)
        }
    }
}

async fn servers(config: &Config, gateway: &Gateway) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let status = match gateway.status().await {
        Ok(status) => status,
        Err(why) => {
            let advice = "`tollgate servers list` requires the right `observe`";
            return vec![DoctorFinding::odd("servers", why.to_string(), advice)];
        }
    };
    let known: Vec<&str> = config.settings.servers.iter().map(|it| it.id.as_str()).collect();
    let of = items(&status, "servers").iter();
    for server in of.filter(|it| it["id"].as_str().is_some_and(|id| known.contains(&id))) {
        let id = server["id"].as_str().unwrap_or_default();
        let state = server["state"].as_str().unwrap_or_default();
        let why = ["last_error", "reason"]
            .iter()
            .find_map(|key| server[*key].as_str().filter(|text| !text.is_empty()));
        let tools = server["tools"].as_u64().unwrap_or(0);
        findings.push(match (state, tools) {
            ("disabled", _) => DoctorFinding::well("server", format!("{id}: disabled")),
            ("ready", 0) => {
                let advice =
                    format!("`tollgate tools --explain` shows why the tools of {id} are hidden");
                DoctorFinding::odd("server", format!("{id}: ready, without tools"), advice)
            }
            ("ready", tools) => {
                DoctorFinding::well("server", format!("{id}: ready, {tools} tools"))
            }
            (state, _) => {
                let message = format!("{id}: {state}: {}", why.unwrap_or("no reason given"));
                let advice = format!("`tollgate servers test {id}`, `tollgate servers logs {id}`");
                DoctorFinding::bad("server", message, advice)
            }
        });
    }
    if findings.is_empty() {
        findings.push(DoctorFinding::well("servers", "only the built-in ones"));
    }
    findings
}

/// Servers that cannot create files in their working directory.
fn working_directories(config: &Config) -> Vec<DoctorFinding> {
    let private = PrivateFiles::default();
    private.add(app::private(config));
    let sealed = config.settings.servers.iter().filter_map(|server| {
        let ServerTransport::Stdio(command) = &server.transport else { return None };
        let why = SealedDirectoryError::check(command, &private).err()?;
        let message = format!("{}: {why}", server.id);
        Some(DoctorFinding::odd("server", message, SealedDirectoryError::ADVICE))
    });
    sealed.collect()
}

fn say(findings: &[DoctorFinding], output: Output) {
    let count = |state: DoctorStatus| findings.iter().filter(|it| it.state == state).count();
    let bad = count(DoctorStatus::Bad);
    let odd = count(DoctorStatus::Odd);
    if output.form == OutputFormat::Json {
        let all: Vec<Value> = findings.iter().map(DoctorFinding::to_json).collect();
        output.json(&json!({"ok": bad == 0, "problems": bad, "warnings": odd, "findings": all}));
        return;
    }
    for it in findings {
        let sign = match it.state {
            DoctorStatus::Well => "ok ",
            DoctorStatus::Odd => "?  ",
            DoctorStatus::Bad => "no ",
        };
        output.line(&clean(&format!("{sign} {:<9} {}", it.about, it.message)));
        if let Some(advice) = &it.advice {
            output.line(&clean(&format!("    {:<9} → {advice}", "")));
        }
    }
    match (bad, odd) {
        (0, 0) => output.note("no problems found"),
        _ => output.note(&format!("{}, {}", pluralize(bad, "problem"), pluralize(odd, "warning"))),
    }
}
