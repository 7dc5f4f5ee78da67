//! `tollgate servers login`: a person consents in a browser, and the tokens are kept for the
//! gateway. The link is printed, never opened: what a server writes is nobody's command line.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tollgate_core::turn::Principal;
use tollgate_engine::audit::{Act, Decision};
use tollgate_engine::settings::{Auth, Endpoint, Login, Server, Transport};
use tollgate_engine::upstream::authorize::{Authorization, AuthorizationCode, Identity, Open};
use tollgate_engine::upstream::login::Kept;

use crate::app;
use crate::config::Config;
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::output::{Form, Output, clean};

/// How long a person may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long a browser may take to say what it wants.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
const LARGEST_HEAD: usize = 16 * 1024;
const PATH: &str = "/callback";

pub(super) async fn run(name: &str, config: &Config, output: Output) -> Result<(), Failure> {
    let (server, endpoint, login) = find(name, config)?;
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.map_err(|error| Failure::failed(format!("cannot listen: {error}")))?;
    let port = listener.local_addr().map_err(|error| Failure::failed(error.to_string()))?.port();
    let store = Arc::new(app::store(config).await?);
    let ledger = app::ledger(config, &store).await?;
    let kept = Kept::new(store, &server.id, &endpoint.url).map_err(Failure::failed)?;
    let authorization = Authorization {
        server_url: endpoint.url.clone(),
        redirect_uri: format!("http://127.0.0.1:{port}{PATH}"),
        identity: identity(login),
        scopes: login.scopes.clone(),
    };
    let code = AuthorizationCode::new(authorization, open(listener, port, output)).keeping(kept);
    let outcome = match timeout(PATIENCE, code.ask()).await {
        Ok(outcome) => outcome,
        Err(_) => Err("nobody consented within 10 minutes".to_owned()),
    };
    let word = if outcome.is_ok() { "logged in" } else { "refused" };
    let decision = Decision::new(Act::Login, &Principal::local(), word).server(&server.id);
    let decision = match &outcome {
        Ok(()) => decision,
        Err(why) => decision.because(why),
    };
    if let Err(error) = ledger.note(decision).await {
        output.note(&format!("warning: the audit trail was not written: {error}"));
    }
    outcome.map_err(|why| Failure::failed(format!("`{name}` was not logged in to: {why}")))?;
    // One that waits for a login is tried at long intervals only.
    if let Some(gateway) = Gateway::running(config).await {
        let _ = gateway.restart(name).await;
    }
    match output.form {
        Form::Json => output.json(&serde_json::json!({ "ok": true, "server": name })),
        Form::Text => output.line(&format!("logged in to `{name}`")),
    }
    Ok(())
}

fn find<'a>(
    name: &str,
    config: &'a Config,
) -> Result<(&'a Server, &'a Endpoint, &'a Login), Failure> {
    let server = config.settings.servers.iter().find(|server| server.id.as_str() == name);
    let server = server
        .ok_or_else(|| Failure::failed(format!("there is no server `{name}` in the config")))?;
    let endpoint = match &server.transport {
        Transport::StreamableHttp(endpoint) | Transport::Sse(endpoint) => endpoint,
        Transport::Stdio(_) => {
            let why = format!("`{name}` is a process here: there is nothing to log in to");
            return Err(Failure::failed(why));
        }
    };
    match &endpoint.auth {
        Auth::Login(login) => Ok((server, endpoint, login)),
        _ => {
            let why =
                format!("`{name}` needs no login; `auth: {{ login: true }}` says that it does");
            Err(Failure::failed(why))
        }
    }
}

fn identity(login: &Login) -> Identity {
    match &login.client_id {
        Some(client_id) => Identity::Registered {
            client_id: client_id.clone(),
            client_secret: login.client_secret.clone(),
        },
        None => Identity::Unregistered { name: "tollgate".to_owned(), metadata_url: None },
    }
}

/// Prints the link and waits for the browser to come back.
fn open(listener: TcpListener, port: u16, output: Output) -> Open {
    let listener = Arc::new(listener);
    Box::new(move |url| {
        let listener = Arc::clone(&listener);
        output.note("open this link in a browser:");
        output.note(&clean(&url));
        Box::pin(async move {
            loop {
                let (stream, _) = listener.accept().await.map_err(|error| error.to_string())?;
                if let Some(target) = callback(stream).await {
                    return Ok(format!("http://127.0.0.1:{port}{target}"));
                }
            }
        })
    })
}

/// What a browser brought back; `None` for anything else that knocks.
async fn callback(mut stream: TcpStream) -> Option<String> {
    let head = timeout(HEAD_PATIENCE, head(&mut stream)).await.ok()??;
    let target = head.strip_prefix("GET ")?.split(' ').next()?.to_owned();
    let is_ours = target.split('?').next() == Some(PATH);
    let (status, said) = match is_ours {
        true => ("200 OK", "Tollgate has its answer. You may close this page."),
        false => ("404 Not Found", "There is nothing here."),
    };
    let length = said.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{said}"
    );
    let _ = timeout(HEAD_PATIENCE, stream.write_all(answer.as_bytes())).await;
    is_ours.then_some(target)
}

async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut part).await.ok().filter(|count| *count > 0)?;
        head.extend_from_slice(&part[..count]);
        if head.len() > LARGEST_HEAD {
            return None;
        }
    }
    String::from_utf8(head).ok()
}
