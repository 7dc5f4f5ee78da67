//! The opening of a WebSocket, from both ends.

use std::io;
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{RawWebSocket, RawWebSocketRole};

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const MAX_HEAD_BYTES: usize = 64 << 10;

/// Somebody wants to open a socket.
#[derive(Debug)]
pub struct RawUpgradeRequest {
    /// With the query.
    pub path: String,
    wire: RawWebSocket,
}

/// What a server says instead of opening one.
#[derive(Debug, Clone)]
pub struct Refused {
    /// 0: the connection ended without an answer.
    pub status: u16,
    pub text: String,
}

impl RawUpgradeRequest {
    /// Reads the request; `None` if that is none.
    pub async fn read(stream: TcpStream) -> Option<Self> {
        let _ = stream.set_nodelay(true);
        let wire = read_head(stream, RawWebSocketRole::Server).await.ok()?;
        let path = wire.head.split(' ').nth(1)?.to_owned();
        Some(Self { path, wire })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.wire.head, name)
    }

    /// Opens the socket; `None` if the other end is gone.
    pub async fn welcome(mut self) -> Option<RawWebSocket> {
        let key = accept_key(self.header("sec-websocket-key")?);
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {key}\r\n\r\n"
        );
        self.wire.write(answer.as_bytes()).await.ok()?;
        Some(self.wire)
    }

    /// Says something else instead.
    pub async fn refuse(mut self, answer: &str) {
        let _ = self.wire.write(answer.as_bytes()).await;
    }
}

pub(super) async fn dial(
    address: SocketAddr,
    path: &str,
    headers: &[String],
) -> Result<RawWebSocket, Refused> {
    let gone = |error: io::Error| Refused { status: 0, text: error.to_string() };
    let mut stream = TcpStream::connect(address).await.map_err(gone)?;
    stream.set_nodelay(true).map_err(gone)?;
    let more: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n{more}\r\n"
    );
    stream.write_all(request.as_bytes()).await.map_err(gone)?;
    let mut wire = read_head(stream, RawWebSocketRole::Client).await.map_err(gone)?;
    let status = wire.head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    if status == 101 && header(&wire.head, "sec-websocket-accept") == Some(&accept_key(KEY)) {
        return Ok(wire);
    }
    let length = header(&wire.head, "content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    while wire.read.len() < length && matches!(wire.stream.read_buf(&mut wire.read).await, Ok(1..))
    {
    }
    Err(Refused { status, text: wire.head + &String::from_utf8_lossy(&wire.read) })
}

/// What a server proves that it understood a key with.
pub fn accept_key(key: &str) -> String {
    let salted = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, salted.as_bytes()))
}

/// Reads to the empty line; what came behind it stays for the socket.
async fn read_head(mut stream: TcpStream, role: RawWebSocketRole) -> io::Result<RawWebSocket> {
    let mut read = Vec::new();
    loop {
        if let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end + 4]).into_owned();
            read.drain(..end + 4);
            return Ok(RawWebSocket { stream, read, role, pieces: None, head });
        }
        if read.len() > MAX_HEAD_BYTES || stream.read_buf(&mut read).await? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "no whole head came"));
        }
    }
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}
