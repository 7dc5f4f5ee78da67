//! `tollgate serve`: the gateway, until it is told to stop.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tollgate_engine::calibration::Upkeep;

use crate::app::{self, App};
use crate::config::{Config, Loaded, Request, Tls};
use crate::failure::Failure;
use crate::local_ca;
use crate::output::Output;
use crate::reload;
use crate::signals::{Attended, told_to_end};

pub(super) async fn run(loaded: Loaded, request: Request, output: Output) -> Result<(), Failure> {
    let config = &loaded.config;
    let attended = Attended::look();
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
    let trusting = trusting(config);
    let (reloader, handle) = reload::start(Arc::clone(&app), loaded, request);
    app.server.operated_by(handle);
    let stop = CancellationToken::new();
    let serving = app.server.serve(listener, stop.clone());
    let ready = async {
        app.gate().settled().await;
        output.note(&format!("tollgate is ready on {url}"));
        if app.server.is_open() {
            // What is behind the `#` stays in the browser: no server logs it.
            output.note(&format!("admin: {url}/#token={}", app.admin.reveal()));
        }
        if let Some(trusting) = trusting {
            output.note(&trusting);
        }
        std::future::pending::<()>().await;
    };
    let mut serving = std::pin::pin!(serving);
    let first = async {
        told_to_end(attended).await;
        stop.cancel();
    };
    tokio::select! {
        () = &mut serving => {}
        () = ready => {}
        () = first => {
            output.note("stopping: running calls may finish; a second signal ends them");
            // Children are stopped either way.
            tokio::select! {
                () = serving => {}
                () = told_to_end(attended) => {}
            }
        }
    }
    // No config is taken any more.
    drop(reloader);
    app.stop().await;
    Ok(())
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
