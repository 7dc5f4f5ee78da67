//! A lean HTTP/1.1 server around one handler, and a thread to run it on.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

mod event_body;

pub(crate) use event_body::EventBody;

/// Whole, or as a model's events come.
pub(crate) type BenchResponse = Response<Either<Full<Bytes>, EventBody>>;

/// Answers one request at a time on each connection.
pub(crate) trait BenchHandler: Send + Sync + 'static {
    fn handle(&self, request: Request<Incoming>) -> impl Future<Output = BenchResponse> + Send;
}

pub(crate) async fn bind() -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await
}

/// Serves until dropped, and so do all connections.
pub(crate) async fn serve(listener: TcpListener, handler: impl BenchHandler) {
    let handler = Arc::new(handler);
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        while connections.try_join_next().is_some() {}
        let handler = Arc::clone(&handler);
        connections.spawn(async move {
            if stream.set_nodelay(true).is_err() {
                return;
            }
            let service = service_fn(|request| {
                let handler = Arc::clone(&handler);
                async move { Ok::<_, Infallible>(handler.handle(request).await) }
            });
            // A client that goes away in the middle is its own affair.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// A server on a thread of its own. Ends when dropped.
pub(crate) struct ServerThread {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl ServerThread {
    pub(crate) fn start(name: &str, handler: impl BenchHandler) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let work = move || {
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).expect("it is a good socket");
                tokio::select! {
                    () = serve(listener, handler) => {}
                    _ = stopped => {}
                }
            });
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for ServerThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub(crate) async fn body_of(request: Request<Incoming>) -> Result<Bytes, hyper::Error> {
    Ok(request.into_body().collect().await?.to_bytes())
}

pub(crate) fn json(body: Bytes) -> BenchResponse {
    let mut reply = Response::new(Either::Left(Full::new(body)));
    let json = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(header::CONTENT_TYPE, json);
    reply
}

pub(crate) fn empty(status: StatusCode) -> BenchResponse {
    let mut reply = Response::new(Either::Left(Full::default()));
    *reply.status_mut() = status;
    reply
}
