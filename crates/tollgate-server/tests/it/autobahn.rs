//! The cases of the Autobahn suite (its numbers are in the names and messages) on the client's side
//! of a live session, by raw frames.
//!
//! Text goes through OpenAI's dialect, binary through Deepgram's; behind both stands a provider
//! that sends back what it gets, so what passes has passed twice.

use std::time::Duration;

use tollgate_testkit::ws::{
    BINARY, CLOSE, CONTINUATION, PONG, RawWebSocket, RawWebSocketFrame, RawWebSocketRole, TEXT,
};

use crate::live_gateway::{Living, Speaks};

mod closing;
mod compression;
mod fragments;
mod framing;
mod utf8;
mod volume;

const TIMEOUT: Duration = Duration::from_secs(30);

/// How bytes are cut for the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chop {
    /// All frames at once.
    Whole,
    /// One write for each frame.
    Frames,
    /// One write for each piece of so many bytes.
    Pieces(usize),
}

const CHOPS: [Chop; 3] = [Chop::Whole, Chop::Frames, Chop::Pieces(1)];

/// What has to come of a case.
#[derive(Debug, Clone)]
enum Expected {
    /// These messages come back, and these pongs; then the session ends in peace.
    Passes { messages: Vec<Vec<u8>>, pongs: Vec<Vec<u8>> },
    /// The connection ends with this code, and nothing comes back but this many messages before.
    Fails { code: u16, after: usize },
}

fn passes(messages: &[&[u8]]) -> Expected {
    passes_with(messages, &[])
}

fn passes_with(messages: &[&[u8]], pongs: &[&[u8]]) -> Expected {
    let owned = |all: &[&[u8]]| all.iter().map(|it| it.to_vec()).collect();
    Expected::Passes { messages: owned(messages), pongs: owned(pongs) }
}

fn fails(code: u16) -> Expected {
    Expected::Fails { code, after: 0 }
}

/// Like [`fails`], but that many messages before the wrong frame come back first.
fn fails_after(after: usize, code: u16) -> Expected {
    Expected::Fails { code, after }
}

/// A message that the dialect passes on, with this inside.
fn wrap(inside: impl AsRef<[u8]>) -> Vec<u8> {
    [b"{\"type\":\"echo\",\"x\":\"", inside.as_ref(), b"\"}"].concat()
}

/// One of exactly this length.
fn text(length: usize) -> Vec<u8> {
    wrap("*".repeat(length - wrap("").len()))
}

fn whole(payload: &[u8]) -> RawWebSocketFrame {
    RawWebSocketFrame::new(TEXT, payload)
}

fn begins(payload: &[u8]) -> RawWebSocketFrame {
    RawWebSocketFrame::new(TEXT, payload).without_fin()
}

fn goes_on(payload: &[u8]) -> RawWebSocketFrame {
    RawWebSocketFrame::new(CONTINUATION, payload).without_fin()
}

fn ends(payload: &[u8]) -> RawWebSocketFrame {
    RawWebSocketFrame::new(CONTINUATION, payload)
}

async fn check(
    stage: &Living,
    case: &str,
    frames: &[RawWebSocketFrame],
    chop: Chop,
    expected: &Expected,
) {
    let binary = frames.iter().any(|frame| frame.opcode == BINARY);
    let speaks = if binary { Speaks::Deepgram } else { Speaks::OpenAi };
    let what = format!("case {case}, {chop:?}");
    let wire = stage.echoing(speaks, &[]).await;
    let checked = run(wire, &what, frames, chop, expected);
    tokio::time::timeout(TIMEOUT, checked).await.unwrap_or_else(|_| panic!("{what} does not end"));
}

async fn run(
    mut wire: RawWebSocket,
    what: &str,
    frames: &[RawWebSocketFrame],
    chop: Chop,
    expected: &Expected,
) {
    let mut seen = Seen::default();
    match expected {
        Expected::Passes { messages, pongs } => {
            send(&mut wire, frames, chop).await;
            while seen.messages.len() < messages.len() || seen.pongs.len() < pongs.len() {
                assert!(seen.read(&mut wire).await, "{what}: it ended after {seen:?}");
            }
            wire.send(&RawWebSocketFrame::close(1000, "")).await.unwrap();
            while seen.read(&mut wire).await {}
            assert!(seen.messages == *messages, "{what}: {seen:?}");
            assert_eq!((&seen.pongs, seen.closed), (pongs, Some(1000)), "{what}");
        }
        Expected::Fails { code, after } => {
            send(&mut wire, &frames[..*after], chop).await;
            while seen.messages.len() < *after {
                assert!(seen.read(&mut wire).await, "{what}: it ended after {seen:?}");
            }
            send(&mut wire, &frames[*after..], chop).await;
            while seen.read(&mut wire).await {}
            assert_eq!((seen.messages.len(), seen.closed), (*after, Some(*code)), "{what}");
        }
    }
}

/// What came back.
#[derive(Debug, Default)]
struct Seen {
    messages: Vec<Vec<u8>>,
    pongs: Vec<Vec<u8>>,
    closed: Option<u16>,
    unfinished: Vec<u8>,
}

impl Seen {
    /// `false` at the end of the connection.
    async fn read(&mut self, wire: &mut RawWebSocket) -> bool {
        let Some(frame) = wire.frame().await else { return false };
        assert_eq!(
            (frame.reserved, self.closed),
            (0, None),
            "no bits, and nothing after the close"
        );
        match frame.opcode {
            TEXT | BINARY | CONTINUATION => {
                self.unfinished.extend(frame.payload);
                if frame.fin {
                    self.messages.push(std::mem::take(&mut self.unfinished));
                }
            }
            PONG => self.pongs.push(frame.payload),
            CLOSE => {
                let code = frame.payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                self.closed = Some(code.unwrap_or(1005));
            }
            other => panic!("opcode {other}"),
        }
        true
    }
}

/// What is left after a refusal cannot be sent, and need not be.
async fn send(wire: &mut RawWebSocket, frames: &[RawWebSocketFrame], chop: Chop) {
    let bytes: Vec<Vec<u8>> =
        frames.iter().map(|frame| frame.bytes(RawWebSocketRole::Client)).collect();
    let pieces: Vec<Vec<u8>> = match chop {
        Chop::Whole => vec![bytes.concat()],
        Chop::Frames => bytes,
        Chop::Pieces(size) => bytes.concat().chunks(size).map(<[u8]>::to_vec).collect(),
    };
    for piece in pieces {
        if wire.write(&piece).await.is_err() {
            return;
        }
        // What is written in one go may be read in one go.
        if chop != Chop::Whole {
            tokio::task::yield_now().await;
        }
    }
}
