//! `tollgate serve`: the gateway, until it is told to stop.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tollgate_engine::calibration::Upkeep;

use crate::admin_token;
use crate::app::{self, App};
use crate::config::{Config, Loaded, Request, Tls};
use crate::failure::Failure;
use crate::local_ca;
use crate::open_files;
use crate::output::Output;
use crate::reload;
use crate::signals::{Attended, EndSignal, EndSignals};

pub(super) async fn run(loaded: Loaded, request: Request, output: Output) -> Result<(), Failure> {
    // From here on a signal ends this in good order, wherever it stands.
    let mut ends = EndSignals::listen(Attended::look());
    let config = &loaded.config;
    let started = tokio::select! {
        started = start(config) => started?,
        _ = ends.next() => {
            output.note("stopped before it was ready");
            return Ok(());
        }
    };
    let Started { app, listener, url } = started;
    let trusting = trusting(config);
    let token_file = admin_token::file(&config.data);
    let token_file = std::path::absolute(&token_file).unwrap_or(token_file);
    let (reloader, handle) = reload::start(Arc::clone(&app), loaded, request);
    app.server.operated_by(handle);
    let stop = CancellationToken::new();
    let serving = app.server.serve(listener, stop.clone());
    let ready = async {
        app.gate().settled().await;
        output.note(&format!("tollgate is ready on {url}"));
        if app.server.is_open() {
            // What is behind the `#` stays in the browser: no server logs it.
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
            output.note("stopping: running calls may finish; a second signal ends them");
            if end == EndSignal::Interrupt {
                app.server.skip_grace();
            }
            stop.cancel();
            // Children are stopped either way.
            tokio::select! {
                () = serving => {}
                _ = ends.next() => {}
            }
        }
    }
    // No config is taken any more.
    drop(reloader);
    app.stop().await;
    Ok(())
}

struct Started {
    app: Arc<App>,
    listener: TcpListener,
    url: String,
}

async fn start(config: &Config) -> Result<Started, Failure> {
    open_files::raise();
    app::check_reach(config).await?;
    let listener = TcpListener::bind(config.listen).await.map_err(|error| {
        Failure::failed(format!(
            "cannot listen on {}: {error}; is another gateway running? `--listen` takes another address",
            config.listen
        ))
    })?;
    let address = listener.local_addr().unwrap_or(config.listen);
    let app = Arc::new(App::start(config, Upkeep::ByItself).await?);
    app.certify(config).await?;
    let url = match &config.tls {
        None => format!("http://{address}"),
        Some(_) => format!("https://{address}"),
    };
    Ok(Started { app, listener, url })
}

/// What makes clients of this machine trust the local CA, ready to be pasted into a shell.
fn trusting(config: &Config) -> Option<String> {
    let Some(Tls::Local) = &config.tls else { return None };
    let file = local_ca::file(&config.data);
    let file = std::path::absolute(&file).unwrap_or(file).display().to_string();
    let file = shell_words::quote(&file);
    let words = "so that clients of this shell trust it";
    Some(format!("export NODE_EXTRA_CA_CERTS={file} SSL_CERT_FILE={file}  # {words}"))
}
