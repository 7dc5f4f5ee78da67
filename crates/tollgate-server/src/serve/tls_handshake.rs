//! TLS handshake with a timeout, on the connection's own task. Plain HTTP clients get an error and
//! are disconnected.

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::client_stream::{ClientStream, StreamMover};
use crate::limits::Limits;

/// First byte of every TLS connection: a handshake record.
const HANDSHAKE: u8 = 22;
/// Input that is still read from a plain client: closing a connection with unread bytes may lose
/// the response.
const MAX_PLAIN_BYTES_READ: u64 = 64 << 10;

const PLAIN: &[u8] = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\
    content-type: text/plain\r\ncontent-length: 44\r\n\r\n\
    this port speaks HTTPS: use https:// or wss\n";

/// `None`: there is nothing to serve.
pub(super) async fn shake(
    stream: TcpStream,
    mover: StreamMover,
    config: Arc<ServerConfig>,
    limits: &Limits,
) -> Option<TlsStream<ClientStream>> {
    let shaken = greet(stream, mover, config);
    match tokio::time::timeout(limits.handshake_timeout, shaken).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a handshake failed");
            None
        }
        Err(_) => {
            tracing::debug!("a handshake took too long");
            None
        }
    }
}

async fn greet(
    mut stream: TcpStream,
    mover: StreamMover,
    config: Arc<ServerConfig>,
) -> io::Result<TlsStream<ClientStream>> {
    let mut first = [0];
    match stream.peek(&mut first).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ if first[0] == HANDSHAKE => {
            TlsAcceptor::from(config).accept(ClientStream::new(stream, mover)).await
        }
        _ => {
            stream.write_all(PLAIN).await?;
            stream.shutdown().await?;
            tokio::io::copy(&mut stream.take(MAX_PLAIN_BYTES_READ), &mut tokio::io::sink()).await?;
            Err(io::Error::other("it was plain HTTP"))
        }
    }
}
