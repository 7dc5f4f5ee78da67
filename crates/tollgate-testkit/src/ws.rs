//! WebSockets by hand, both ends: frames as they stand on the wire, right ones and wrong ones.
//! For tests that have to say what no library would.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

mod frame;
mod handshake;

pub use frame::{BINARY, CLOSE, CONTINUATION, PING, PONG, RawWebSocketFrame, TEXT};
pub use handshake::{RawUpgradeRequest, Refused, accept_key};

/// One end of a connection.
#[derive(Debug)]
pub struct RawWebSocket {
    stream: TcpStream,
    read: Vec<u8>,
    role: RawWebSocketRole,
    /// The pieces of a message that is not whole yet.
    pieces: Option<(u8, Vec<u8>)>,
    /// What the other end opened it with, up to the empty line.
    pub head: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawWebSocketRole {
    /// Masks what it sends.
    Client,
    Server,
}

/// A whole message, or the end of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawWebSocketMessage {
    Text(String),
    Binary(Vec<u8>),
    /// 1005: it named no code.
    Close(u16, String),
    /// The connection ended without a word.
    Gone,
}

impl RawWebSocket {
    /// Opens a socket at `path`. Headers are lines without their end.
    ///
    /// # Errors
    /// What the server says instead of 101.
    pub async fn dial(
        address: SocketAddr,
        path: &str,
        headers: &[String],
    ) -> Result<Self, Refused> {
        handshake::dial(address, path, headers).await
    }

    /// Bytes as they are.
    ///
    /// # Errors
    /// When the other end is gone.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// # Errors
    /// When the other end is gone.
    pub async fn send(&mut self, frame: &RawWebSocketFrame) -> io::Result<()> {
        self.write(&frame.bytes(self.role)).await
    }

    /// # Errors
    /// When the other end is gone.
    pub async fn text(&mut self, text: impl AsRef<str> + Send) -> io::Result<()> {
        self.send(&RawWebSocketFrame::text(text.as_ref())).await
    }

    /// The next frame, whatever it is; `None` at the end of the connection. Nothing is lost when
    /// the future is dropped.
    pub async fn frame(&mut self) -> Option<RawWebSocketFrame> {
        next_frame(&mut self.stream, &mut self.read).await
    }

    /// The next whole message. Pings are answered, pongs passed over. Nothing is lost when the
    /// future is dropped.
    pub async fn message(&mut self) -> RawWebSocketMessage {
        loop {
            let Some(frame) = self.frame().await else { return RawWebSocketMessage::Gone };
            match frame.opcode {
                PING => {
                    let _ = self.send(&RawWebSocketFrame::new(PONG, frame.payload)).await;
                }
                PONG => {}
                CLOSE => return parse_close(&frame.payload),
                CONTINUATION => {
                    let Some((_, pieces)) = &mut self.pieces else {
                        return RawWebSocketMessage::Gone;
                    };
                    pieces.extend_from_slice(&frame.payload);
                }
                opcode => self.pieces = Some((opcode, frame.payload)),
            }
            if frame.fin
                && frame.opcode < CLOSE
                && let Some((opcode, payload)) = self.pieces.take()
            {
                return match opcode {
                    TEXT => {
                        RawWebSocketMessage::Text(String::from_utf8_lossy(&payload).into_owned())
                    }
                    _ => RawWebSocketMessage::Binary(payload),
                };
            }
        }
    }

    /// Says goodbye, and reads until the connection ends.
    pub async fn close(mut self, code: u16, reason: &str) {
        if self.send(&RawWebSocketFrame::close(code, reason)).await.is_ok() {
            while !matches!(
                self.message().await,
                RawWebSocketMessage::Close(..) | RawWebSocketMessage::Gone
            ) {}
        }
    }

    /// Whether the other end closed the connection as well.
    pub async fn is_over(&mut self) -> bool {
        self.frame().await.is_none()
    }

    /// For those who read and write at the same time.
    pub fn into_halves(self) -> (RawWebSocketReader, OwnedWriteHalf) {
        let (stream, writing) = self.stream.into_split();
        (RawWebSocketReader { stream, read: self.read }, writing)
    }
}

/// The half of a connection that hears.
#[derive(Debug)]
pub struct RawWebSocketReader {
    stream: OwnedReadHalf,
    read: Vec<u8>,
}

impl RawWebSocketReader {
    /// The next frame; `None` at the end of the connection.
    pub async fn frame(&mut self) -> Option<RawWebSocketFrame> {
        next_frame(&mut self.stream, &mut self.read).await
    }
}

async fn next_frame(
    stream: &mut (impl AsyncRead + Unpin),
    read: &mut Vec<u8>,
) -> Option<RawWebSocketFrame> {
    loop {
        if let Some((frame, length)) = RawWebSocketFrame::parse(read) {
            read.drain(..length);
            return Some(frame);
        }
        match stream.read_buf(read).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => return None,
        }
    }
}

fn parse_close(payload: &[u8]) -> RawWebSocketMessage {
    match payload {
        [one, two, reason @ ..] => {
            let reason = String::from_utf8_lossy(reason).into_owned();
            RawWebSocketMessage::Close(u16::from_be_bytes([*one, *two]), reason)
        }
        _ => RawWebSocketMessage::Close(1005, String::new()),
    }
}

#[cfg(test)]
mod tests;
