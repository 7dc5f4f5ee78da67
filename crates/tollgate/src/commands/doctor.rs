//! `tollgate doctor`: whether a gateway can run here as its config says, and what to do where it
//! cannot. `--probe` only asks one that runs, for health checks.

use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::tools::items;
use crate::app;
use crate::cli::operate;
use crate::config::{self, Config, Environment, Origin, Request, Severity, Tls};
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::output::{Form, Output, clean, counted};

mod disk;

/// How one thing is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    about: &'static str,
    state: State,
    message: String,
    /// What to do about it.
    advice: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Well,
    /// It runs, but somebody should look.
    Odd,
    Bad,
}

impl Finding {
    fn well(about: &'static str, message: impl Into<String>) -> Self {
        Self { about, state: State::Well, message: message.into(), advice: None }
    }

    fn odd(about: &'static str, message: impl Into<String>, advice: impl Into<String>) -> Self {
        let advice = Some(advice.into());
        Self { about, state: State::Odd, message: message.into(), advice }
    }

    fn bad(about: &'static str, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { state: State::Bad, ..Self::odd(about, message, advice) }
    }

    fn to_json(&self) -> Value {
        let state = match self.state {
            State::Well => "ok",
            State::Odd => "warning",
            State::Bad => "problem",
        };
        json!({"about": self.about, "state": state, "message": self.message, "advice": self.advice})
    }
}

pub(super) async fn run(
    wanted: &operate::Doctor,
    request: Request,
    (output, environment): (Output, &dyn Environment),
) -> Result<(), Failure> {
    if wanted.probe {
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
            findings.push(Finding::bad("config", message, "`tollgate check` shows the places"));
        }
    }
    say(&findings, output);
    match findings.iter().any(|it| it.state == State::Bad) {
        true => Err(Failure::Said),
        false => Ok(()),
    }
}

/// Whether the gateway that should run here is ready.
async fn probe(config: &Config, output: Output) -> Result<(), Failure> {
    let none = || Failure::failed(format!("no gateway answers on {}", config.listen));
    let gateway = Gateway::running(config).await.ok_or_else(none)?;
    let ready = gateway.readiness().await?;
    if output.form == Form::Json {
        output.json(&ready);
    }
    match ready["state"].as_str() {
        Some("ready") => Ok(()),
        state => Err(Failure::failed(format!("the gateway is {}", state.unwrap_or("strange")))),
    }
}

fn of_config(config: &Config, warnings: usize) -> Finding {
    let name = match &config.origin {
        Origin::File(path) => path.display().to_string(),
        Origin::Embedded => "what is built in (no tollgate.yaml here)".to_owned(),
    };
    match warnings {
        0 => Finding::well("config", name),
        count => {
            let message = format!("{name}, with {}", counted(count, "warning"));
            Finding::odd("config", message, "`tollgate check` shows them")
        }
    }
}

async fn look(config: &Config, findings: &mut Vec<Finding>) {
    let data = disk::data(config);
    let is_usable = data.iter().all(|it| it.state != State::Bad);
    findings.extend(data);
    findings.push(disk::worker(config));
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
            findings.push(memory(&gateway).await);
            gateway.close().await;
        }
        Err(why) => {
            let advice = "this is what `tollgate serve` would say, too";
            findings.push(Finding::bad("gateway", why.to_string(), advice));
        }
    }
}

async fn certificate(config: &Config) -> Option<Finding> {
    let files = match config.tls.as_ref()? {
        Tls::Local => "a certificate of the local CA".to_owned(),
        Tls::Files { cert, .. } => cert.display().to_string(),
    };
    Some(match app::certifiable(config).await {
        Ok(()) => Finding::well("tls", files),
        Err(why) => Finding::bad("tls", why.to_string(), "look at `tls.cert` and `tls.key`"),
    })
}

async fn port(config: &Config, running: Option<&Gateway>) -> Finding {
    let listen = config.listen;
    if running.is_some() {
        return Finding::well("port", format!("a gateway runs on {listen}"));
    }
    match TcpListener::bind(listen).await {
        Ok(_) => Finding::well("port", format!("{listen} is free; no gateway runs")),
        Err(why) => {
            let advice = "another program has it: `--listen` or `listen:` takes another address";
            Finding::bad("port", format!("cannot listen on {listen}: {why}"), advice)
        }
    }
}

async fn keys(config: &Config) -> Finding {
    if let Err(why) = app::check_reach(config).await {
        return Finding::bad("keys", why.to_string(), "`tollgate keys create NAME` makes one");
    }
    match app::is_keyed(config).await {
        Ok(true) => Finding::well("keys", "every client needs one"),
        Ok(false) => Finding::well("keys", "none are needed: only this machine can reach it"),
        // The database has a finding of its own.
        Err(why) => Finding::bad("keys", why.to_string(), "see what is said of the database"),
    }
}

async fn database(config: &Config) -> Finding {
    if !config.data.exists() {
        return Finding::well("database", "it will be made with the data directory");
    }
    let opened = async {
        let store = app::store(config).await?;
        app::ledger(config, &store).await.map(drop)
    };
    match opened.await {
        Ok(()) => Finding::well("database", config.data.join("tollgate.db").display().to_string()),
        Err(why) => {
            let advice = "if the disk is full, make room; if the file is damaged, move it away";
            Finding::bad("database", why.to_string(), advice)
        }
    }
}

/// Where conversations are kept: in a file, or in PostgreSQL.
async fn memory(gateway: &Gateway) -> Finding {
    let state = gateway.readiness().await.ok();
    let state = state.as_ref().and_then(|it| it["memory"].as_str()).unwrap_or("ready").to_owned();
    match state.as_str() {
        "ready" => Finding::well("memory", "it answers"),
        state => {
            let advice = "`database:` names it; its tools fail until it is back";
            Finding::odd("memory", format!("it is {state}"), advice)
        }
    }
}

async fn servers(config: &Config, gateway: &Gateway) -> Vec<Finding> {
    let mut findings = Vec::new();
    let status = match gateway.status().await {
        Ok(status) => status,
        Err(why) => {
            let advice = "`tollgate servers list` needs the right `observe`";
            return vec![Finding::odd("servers", why.to_string(), advice)];
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
            ("disabled", _) => Finding::well("server", format!("{id}: disabled")),
            ("ready", 0) => {
                let advice =
                    format!("`tollgate tools --explain` says what keeps its tools out of {id}");
                Finding::odd("server", format!("{id}: ready, without tools"), advice)
            }
            ("ready", tools) => Finding::well("server", format!("{id}: ready, {tools} tools")),
            (state, _) => {
                let message = format!("{id}: {state}: {}", why.unwrap_or("it does not say why"));
                let advice = format!("`tollgate servers test {id}`, `tollgate servers logs {id}`");
                Finding::bad("server", message, advice)
            }
        });
    }
    if findings.is_empty() {
        findings.push(Finding::well("servers", "none but what is built in"));
    }
    findings
}

fn say(findings: &[Finding], output: Output) {
    let count = |state: State| findings.iter().filter(|it| it.state == state).count();
    let (bad, odd) = (count(State::Bad), count(State::Odd));
    if output.form == Form::Json {
        let all: Vec<Value> = findings.iter().map(Finding::to_json).collect();
        output.json(&json!({"ok": bad == 0, "problems": bad, "warnings": odd, "findings": all}));
        return;
    }
    for it in findings {
        let sign = match it.state {
            State::Well => "ok ",
            State::Odd => "?  ",
            State::Bad => "no ",
        };
        output.line(&clean(&format!("{sign} {:<9} {}", it.about, it.message)));
        if let Some(advice) = &it.advice {
            output.line(&clean(&format!("    {:<9} → {advice}", "")));
        }
    }
    match (bad, odd) {
        (0, 0) => output.note("all is well"),
        _ => output.note(&format!("{}, {}", counted(bad, "problem"), counted(odd, "warning"))),
    }
}
