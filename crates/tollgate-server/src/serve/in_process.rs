//! The HTTP front without a socket, for commands that start a gateway of their own.

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use tower_service::Service as _;

use super::HttpServer;
use crate::auth::AuthenticatedCaller;
use crate::body::mask_response;

impl HttpServer {
    /// Answers one request of this process, without a key.
    pub async fn answer(&self, request: Request<Bytes>) -> Response<Bytes> {
        let (parts, body) = self.open(request).await.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
        Response::from_parts(parts, body)
    }

    /// As [`Self::answer`], with a streamed body: for event streams.
    pub async fn stream(
        &self,
        request: Request<Bytes>,
    ) -> Response<impl http_body::Body<Data = Bytes, Error = impl std::error::Error> + Unpin> {
        self.open(request).await
    }

    async fn open(&self, mut request: Request<Bytes>) -> Response<Body> {
        request.extensions_mut().insert(AuthenticatedCaller::local());
        let mut router = self.app.router.clone();
        let Ok(response) = router.call(request.map(Body::from)).await;
        mask_response(response).await
    }
}
