//! `tollgate serve`: runs the gateway until it is stopped.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tollgate_config::{Config, ConfigRequest, LoadedConfig, TlsSource};
use tollgate_engine::calibration::CalibrationMode;

use crate::admin_token;
use crate::app::{self, App};
use crate::command_error::CommandError;
use crate::local_ca;
use crate::open_files;
use crate::output::Output;
use crate::reload;
use crate::signals::{EndSignal, EndSignals, TerminalPresence};

pub(super) async fn run(
    loaded: LoadedConfig,
    request: ConfigRequest,
    output: Output,
) -> Result<(), CommandError> {
    // From here on a signal leads to an orderly shutdown at any point.
    let mut ends = EndSignals::listen(TerminalPresence::look());
    let config = &loaded.config;
    let started = tokio::select! {
        started = start(config) => started?,
        _ = ends.next() => {
            output.note("stopped before it was ready");
            return Ok(());
        }
    };
    let StartedGateway { app, listener, url } = started;
    let trusting = ca_trust_hint(config);
    let token_file = admin_token::file(&config.data);
    let token_file = std::path::absolute(&token_file).unwrap_or(token_file);
    let (reloader, handle) = reload::start(Arc::clone(&app), loaded, request);
    app.server.operated_by(handle);
    let stop = CancellationToken::new();
    let serving = app.server.serve(listener, stop.clone());
    let ready = async {
        app.gate().wait_until_settled().await;
        output.note(&format!("tollgate is ready on {url}"));
        if app.server.is_open() {
            // Browsers do not send the fragment after `#`, so no server logs it.
            let link = format!("admin: {url}/#token={}", app.admin.reveal());
            if !output.link_on_terminal(&link) {
                output.note(&format!("admin: {url}/ with the token in {}", token_file.display()));
            }
        }
        if let Some(trusting) = trusting {
            output.note(&trusting);
        }
        std::future::pending::<()>().await;
    };
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        () = &mut serving => {}
        () = ready => {}
        end = ends.next() => {
            output.note("stopping: waiting for running calls; a second signal cancels them");
            if end == EndSignal::Interrupt {
                app.server.skip_grace();
            }
            stop.cancel();
            // Child processes are stopped in both cases.
            tokio::select! {
                () = serving => {}
                _ = ends.next() => {}
            }
        }
    }
    // No more config reloads.
    drop(reloader);
    app.stop().await;
    Ok(())
}

struct StartedGateway {
    app: Arc<App>,
    listener: TcpListener,
    url: String,
}

async fn start(config: &Config) -> Result<StartedGateway, CommandError> {
    open_files::raise();
    app::check_reach(config).await?;
    let listener = TcpListener::bind(config.listen).await.map_err(|error| {
        CommandError::new(format!(
            "cannot listen on {}: {error}; is another gateway running? set another address with \
             `--listen`",
            config.listen
        ))
    })?;
    let address = listener.local_addr().unwrap_or(config.listen);
    let app = Arc::new(App::start(config, CalibrationMode::ByItself).await?);
    app.certify(config).await?;
    let url = match &config.tls {
        None => format!("http://{address}"),
        Some(_) => format!("https://{address}"),
    };
    Ok(StartedGateway { app, listener, url })
}

/// Shell command that makes clients on this machine trust the local CA.
fn ca_trust_hint(config: &Config) -> Option<String> {
    let Some(TlsSource::Local) = &config.tls else { return None };
    let file = local_ca::file(&config.data);
    let file = std::path::absolute(&file).unwrap_or(file).display().to_string();
    let file = shell_words::quote(&file);
    let words = "makes clients in this shell trust the certificate";
    Some(format!("export NODE_EXTRA_CA_CERTS={file} SSL_CERT_FILE={file}  # {words}"))
}
