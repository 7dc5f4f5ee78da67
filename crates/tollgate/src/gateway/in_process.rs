//! A gateway in this process, for as long as one command takes.

use bytes::Bytes;
use http::{Request, Response};
use tollgate_config::Config;
use tollgate_core::turn::Principal;
use tollgate_engine::calibration::CalibrationMode;
use tollgate_engine::settings::Server as Upstream;
use tollgate_engine::upstream::ServerTrial;

use super::events;
use crate::app::App;
use crate::command_error::CommandError;

/// An engine with the HTTP front, and no socket.
pub struct InProcessGateway(App);

impl InProcessGateway {
    /// Starts the engine and waits, bounded, until every server is ready or has failed.
    pub async fn start(config: &Config) -> Result<Self, CommandError> {
        let app = App::start(config, CalibrationMode::OnCommand).await?;
        app.gate().wait_until_settled().await;
        Ok(Self(app))
    }

    /// Answers as the HTTP front would.
    pub async fn answer(&self, request: Request<Bytes>) -> Response<Bytes> {
        self.0.server.answer(request).await
    }

    /// Gives the parts of an event stream to `heard` as they come.
    pub async fn follow(
        &self,
        request: Request<Bytes>,
        on_event: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<Response<Bytes>, CommandError> {
        let response = self.0.server.stream(request).await;
        events::read(response, on_event).await.map_err(|error| CommandError::new(error.to_string()))
    }

    /// Starts a server aside; `None` where that cannot be.
    pub async fn try_out(&self, server: Upstream) -> Option<ServerTrial> {
        self.0.gate().try_out(server, &Principal::local()).await.ok()
    }

    /// Ends all servers.
    pub async fn stop(self) {
        self.0.stop().await;
    }
}
