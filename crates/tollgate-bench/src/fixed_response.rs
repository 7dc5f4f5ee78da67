//! Answers every request with the same bytes: what serving them costs at the least.

use bytes::Bytes;
use http::{Request, StatusCode};
use hyper::body::Incoming;

use crate::serve::{self, BenchHandler, BenchResponse};

pub(crate) struct FixedResponse(pub(crate) Bytes);

impl BenchHandler for FixedResponse {
    async fn handle(&self, request: Request<Incoming>) -> BenchResponse {
        match serve::body_of(request).await {
            Ok(_) => serve::json(self.0.clone()),
            Err(_) => serve::empty(StatusCode::BAD_REQUEST),
        }
    }
}
