//! The opening of a WebSocket, from both ends.

use std::io;
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::{Role, Wire};

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const LONGEST: usize = 64 << 10;

/// Somebody wants to open a socket.
#[derive(Debug)]
pub struct Asked {
    /// With the query.
    pub path: String,
    /// Lines, as they came.
    pub headers: Vec<String>,
    wire: Wire,
}

/// What a server says instead of opening one.
#[derive(Debug, Clone)]
pub struct Refused {
    /// 0: the connection ended without an answer.
    pub status: u16,
    pub text: String,
}

impl Asked {
    /// Reads the request; `None` if that is none.
    pub async fn read(stream: TcpStream) -> Option<Self> {
        let _ = stream.set_nodelay(true);
        let (head, wire) = head(stream, Role::Server).await.ok()?;
        let mut lines = head.lines();
        let path = lines.next()?.split(' ').nth(1)?.to_owned();
        Some(Self { path, headers: lines.map(str::to_owned).collect(), wire })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        header(self.headers.iter().map(String::as_str), name)
    }

    /// Opens the socket; `None` if the other end is gone.
    pub async fn welcome(mut self) -> Option<Wire> {
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
) -> Result<Wire, Refused> {
    let gone = |error: io::Error| Refused { status: 0, text: error.to_string() };
    let stream = TcpStream::connect(address).await.map_err(gone)?;
    stream.set_nodelay(true).map_err(gone)?;
    let more: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n{more}\r\n"
    );
    let mut wire = Wire { stream, read: Vec::new(), role: Role::Client, pieces: None };
    wire.write(request.as_bytes()).await.map_err(gone)?;
    let (head, mut wire) = head(wire.stream, Role::Client).await.map_err(gone)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let accepted = header(head.lines(), "sec-websocket-accept");
    if status == 101 && accepted == Some(accept_key(KEY).as_str()) {
        return Ok(wire);
    }
    let length = header(head.lines(), "content-length").and_then(|it| it.parse().ok());
    while wire.read.len() < length.unwrap_or(0) {
        if !matches!(wire.stream.read_buf(&mut wire.read).await, Ok(1..)) {
            break;
        }
    }
    Err(Refused { status, text: head + &String::from_utf8_lossy(&wire.read) })
}

/// What a server proves that it understood a key with.
pub fn accept_key(key: &str) -> String {
    let salted = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, salted.as_bytes()))
}

/// Reads to the empty line; what came behind it stays for the socket.
async fn head(mut stream: TcpStream, role: Role) -> io::Result<(String, Wire)> {
    let mut read = Vec::new();
    loop {
        if let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end + 4]).into_owned();
            read.drain(..end + 4);
            return Ok((head, Wire { stream, read, role, pieces: None }));
        }
        if read.len() > LONGEST || stream.read_buf(&mut read).await? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "no whole head came"));
        }
    }
}

fn header<'l>(mut lines: impl Iterator<Item = &'l str>, name: &str) -> Option<&'l str> {
    lines.find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}
