//! The practical limit of any proxy on this stack: takes a request, sends it on over a pooled
//! connection, gives back what comes. Parses nothing.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::serve::{self, BenchHandler, BenchResponse};

pub(crate) struct BareProxy {
    client: Client<HttpConnector, Full<Bytes>>,
    upstream: Uri,
}

impl BareProxy {
    pub(crate) fn new(upstream: SocketAddr, path: &str) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client =
            Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector);
        let upstream =
            format!("http://{upstream}{path}").parse().expect("an address fits in a URL");
        Self { client, upstream }
    }

    async fn forward(&self, request: Request<Incoming>) -> Option<BenchResponse> {
        let (mut head, body) = request.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        head.uri = self.upstream.clone();
        let response = self.client.request(Request::from_parts(head, Full::new(body))).await;
        let (head, body) = response.ok()?.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        Some(Response::from_parts(head, Either::Left(Full::new(body))))
    }
}

impl BenchHandler for BareProxy {
    async fn handle(&self, request: Request<Incoming>) -> BenchResponse {
        let reply = self.forward(request).await;
        reply.unwrap_or_else(|| serve::empty(StatusCode::BAD_GATEWAY))
    }
}
