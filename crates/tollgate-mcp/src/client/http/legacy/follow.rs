//! The notification stream (GET) of a legacy server, for messages that belong to no request.

use std::sync::Arc;

use http::{HeaderValue, StatusCode};
use tokio::sync::oneshot;
use tokio::time::sleep;
use tollgate_core::secret_values;

use super::{LegacyCore, MAX_RETRY_DELAY, RETRY_DEFAULT};
use crate::envelope::JsonRpcMessage;
use crate::flood_control::FloodControl;
use crate::header;
use crate::web::body::{self, EventStream};

impl LegacyCore {
    /// Follows the server's notification stream while the connection lives. `opened` resolves after
    /// the first answer of the server, whether it has such a stream or not.
    pub(super) async fn follow(self: Arc<Self>, opened: oneshot::Sender<()>) {
        let mut opened = Some(opened);
        let mut last_id: Option<String> = None;
        let mut pause = RETRY_DEFAULT;
        loop {
            let generation = self.session.generation();
            let mut headers = self.session.headers();
            if let Some(id) = last_id.as_deref().and_then(|id| HeaderValue::from_str(id).ok()) {
                headers.insert(header::LAST_EVENT_ID, id);
            }
            let answered = self.session.wire.get_stream(headers).await;
            // The receiver may be gone.
            let _ = opened.take().map(|it| it.send(()));
            if let Ok(response) = answered {
                match response.status() {
                    StatusCode::OK if body::is_event_stream(response.headers()) => {
                        let mut stream = EventStream::new(response, self.limit);
                        self.follow_stream(&mut stream).await;
                        last_id = stream.last_id().map(str::to_owned).or(last_id);
                        pause = stream.retry().unwrap_or(RETRY_DEFAULT);
                    }
                    StatusCode::NOT_FOUND if self.session.has_id() => {
                        last_id = None;
                        if self.renew(generation).await.is_ok() {
                            pause = RETRY_DEFAULT;
                        }
                    }
                    status if status.is_client_error() => return,
                    _ => pause *= 2,
                }
            } else {
                pause *= 2;
            }
            pause = pause.clamp(RETRY_DEFAULT / 10, MAX_RETRY_DELAY);
            sleep(pause).await;
        }
    }

    async fn follow_stream(&self, stream: &mut EventStream) {
        let mut flood = FloodControl::default();
        while let Some(event) = stream.next().await {
            flood.record_message(event.as_ref().map_or(0, |event| event.data.len())).await;
            let data = match event {
                Ok(event) if event.data.is_empty() => continue,
                Ok(event) => event.data,
                Err(fault) => {
                    self.inbound.listener.on_garbage(&fault.to_string());
                    continue;
                }
            };
            match JsonRpcMessage::parse(&secret_values::mask(&data)) {
                Ok(JsonRpcMessage::Notification { method, params }) => {
                    self.inbound.notification(&method, params, None);
                }
                Ok(JsonRpcMessage::Request(request)) => {
                    self.inbound.request(&request, None, &self.outbox);
                }
                Ok(JsonRpcMessage::Response { .. }) => {
                    self.inbound
                        .listener
                        .on_garbage("a response on the server's notification stream");
                }
                Err(invalid) => self.inbound.listener.on_garbage(&invalid.error.message),
            }
        }
    }
}
