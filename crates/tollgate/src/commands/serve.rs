//! `tollgate serve`: the gateway, until it is told to stop.

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tollgate_engine::calibration::Upkeep;

use crate::app::{self, App};
use crate::config::{Loaded, Request};
use crate::failure::Failure;
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
    let (reloader, handle) = reload::start(Arc::clone(&app), loaded, request);
    app.server.operated_by(handle);
    let stop = CancellationToken::new();
    let serving = app.server.serve(listener, stop.clone());
    let ready = async {
        app.gate().settled().await;
        output.note(&format!("tollgate is ready on http://{address}"));
        if app.server.is_open() {
            // What is behind the `#` stays in the browser: no server logs it.
            output.note(&format!("admin: http://{address}/#token={}", app.admin.reveal()));
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
    app.gate().stop().await;
    Ok(())
}
