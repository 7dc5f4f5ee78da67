//! WebSocket frames as a client of a realtime session sends them, up to whole messages.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{FutureExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{Error, Message};
use tollgate_llm::realtime::wire::{self, MessageStream};

/// The first byte says in what pieces frames arrive. However they are cut, the same messages come out; a sound stream
/// leaves as many unfinished bytes as its last frames have.
pub(crate) fn ws_messages(data: &[u8]) {
    let Some((size, frames)) = data.split_first() else { return };
    let whole = read(frames, usize::MAX);
    let cut = read(frames, usize::from(*size).max(1));
    assert_eq!(cut, whole, "in pieces of {size}");
    // The reason of a close that is refused is the reader's own.
    let sent = whole.messages.iter().filter(|message| !message.is_close());
    let total: usize = sent.map(Message::len).sum();
    assert!(total <= frames.len(), "{total} bytes of {}", frames.len());
    for message in &whole.messages {
        if let Message::Close(Some(frame)) = message {
            assert!(frame.reason.len() <= 123, "{frame}");
        }
    }
    let is_over = whole.messages.iter().any(Message::is_close);
    if whole.end == StreamEnd::CutOff && !is_over {
        assert_eq!(whole.unfinished, unfinished_bytes(frames), "of a message that is not whole");
    }
}

#[derive(Debug, PartialEq)]
struct FramesRead {
    messages: Vec<Message>,
    end: StreamEnd,
    unfinished: usize,
}

#[derive(Debug, PartialEq)]
enum StreamEnd {
    /// Everything was read, and there was nothing wrong with it.
    CutOff,
    Closed,
    Refused,
}

fn read(frames: &[u8], size: usize) -> FramesRead {
    let stream = MessageStream::new(ClientStream { rest: frames.to_vec(), size });
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(wire::config()));
    let mut socket = socket.now_or_never().expect("nothing waits");
    let mut messages = Vec::new();
    let end = loop {
        match socket.next().now_or_never().expect("nothing waits") {
            Some(Ok(message)) => messages.push(message),
            Some(Err(Error::Protocol(error))) if error.to_string().contains("without closing") => {
                break StreamEnd::CutOff;
            }
            Some(Err(_)) => break StreamEnd::Refused,
            None => break StreamEnd::Closed,
        }
    };
    // Where a stream ends badly, how far it was read depends on the pieces.
    let unfinished = match end {
        StreamEnd::CutOff => socket.get_ref().unfinished_bytes(),
        _ => 0,
    };
    FramesRead { messages, end, unfinished }
}

/// The same sum by RFC 6455, section 5.2, over frames that are known to be sound.
fn unfinished_bytes(mut frames: &[u8]) -> usize {
    let mut unfinished = 0;
    while let [first, second, rest @ ..] = frames {
        let is_last = first & 0x80 != 0;
        let is_control = first & 0x08 != 0;
        let (extended, short) = match second & 0x7f {
            126 => (2, 0),
            127 => (8, 0),
            length => (0, usize::from(length)),
        };
        let Some((length, rest)) = rest.split_at_checked(extended) else { break };
        let length = length.iter().fold(short, |sum, byte| (sum << 8) | usize::from(*byte));
        // Whether there has to be a mask is only checked of a frame that is whole.
        let mask = if second & 0x80 != 0 { 4 } else { 0 };
        let Some((_, rest)) = rest.split_at_checked(mask) else { break };
        let is_whole = rest.len() >= length;
        let (payload, rest) = rest.split_at(length.min(rest.len()));
        if !is_control {
            unfinished += payload.len();
            if is_last && is_whole {
                unfinished = 0;
            }
        }
        frames = rest;
    }
    unfinished
}

/// A client that sends a few bytes at a time and takes whatever it is sent.
struct ClientStream {
    rest: Vec<u8>,
    size: usize,
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let size = self.size.min(self.rest.len()).min(buffer.remaining());
        buffer.put_slice(&self.rest[..size]);
        self.rest.drain(..size);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
