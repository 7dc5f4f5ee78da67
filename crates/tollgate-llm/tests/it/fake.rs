//! A provider on a real socket that does what it is told, byte by byte if need be.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    _serving: JoinSet<()>,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Request line and headers.
    pub(crate) head: String,
    pub(crate) body: String,
    /// Which connection it came on, from 0.
    pub(crate) connection: usize,
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// Of the request line.
    pub(crate) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }
}

/// What happens to one request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Send(Vec<u8>),
    /// Each byte in a packet of its own.
    Drip(Vec<u8>),
    Wait(Duration),
    /// For ever.
    Hang,
    Close,
}

type Reactions = dyn Fn(&Seen) -> Vec<Act> + Send + Sync;

impl Fake {
    /// Each request gets the next reaction; the last one is for all that follow.
    pub(crate) async fn start(reactions: Vec<Vec<Act>>) -> Self {
        let reactions = Mutex::new(VecDeque::from(reactions));
        Self::answering(move |_| {
            let mut reactions = reactions.lock();
            match reactions.len() {
                0 => panic!("a request that nobody expected"),
                1 => reactions[0].clone(),
                _ => reactions.pop_front().unwrap(),
            }
        })
        .await
    }

    /// Reacts to each request as this says.
    pub(crate) async fn answering(
        react: impl Fn(&Seen) -> Vec<Act> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let react: Arc<Reactions> = Arc::new(react);
        let mut serving = JoinSet::new();
        let log = Arc::clone(&seen);
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            for number in 0.. {
                let Ok((stream, _)) = listener.accept().await else { break };
                stream.set_nodelay(true).unwrap();
                let seen = Arc::clone(&log);
                connections.spawn(serve(stream, number, seen, Arc::clone(&react)));
            }
        });
        Self { address, seen, _serving: serving }
    }

    pub(crate) fn requests_seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    pub(crate) fn only(&self) -> Seen {
        let seen = self.requests_seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].clone()
    }
}

async fn serve(
    stream: TcpStream,
    connection: usize,
    seen: Arc<Mutex<Vec<Seen>>>,
    react: Arc<Reactions>,
) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    while let Some((head, body)) = request(&mut reader).await {
        let request = Seen { head, body, connection };
        seen.lock().push(request.clone());
        for act in react(&request) {
            if !perform(&mut writer, act).await {
                return;
            }
        }
    }
}

async fn perform(writer: &mut OwnedWriteHalf, act: Act) -> bool {
    match act {
        Act::Send(bytes) => writer.write_all(&bytes).await.is_ok(),
        Act::Drip(bytes) => {
            for byte in bytes {
                if writer.write_all(&[byte]).await.is_err() {
                    return false;
                }
                tokio::task::yield_now().await;
            }
            true
        }
        Act::Wait(time) => {
            tokio::time::sleep(time).await;
            true
        }
        Act::Hang => std::future::pending().await,
        Act::Close => false,
    }
}

async fn request(
    reader: &mut BufReader<tokio::net::tcp::OwnedReadHalf>,
) -> Option<(String, String)> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if reader.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
        if head[before..].trim().is_empty() {
            break;
        }
    }
    let length = head.lines().find_map(|line| {
        let (key, value) = line.split_once(": ")?;
        key.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).await.ok()?;
    Some((head, String::from_utf8(body).unwrap()))
}

/// A whole response with a stated length.
pub(crate) fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}

pub(crate) fn json(status: u16, body: &str) -> Vec<Act> {
    vec![Act::Send(response(status, &[("content-type", "application/json")], body))]
}

/// The head of a stream that ends with its connection, and what follows.
pub(crate) fn stream(body: &[u8]) -> Vec<Act> {
    vec![Act::Send(stream_head()), Act::Send(body.to_vec()), Act::Close]
}

pub(crate) fn stream_head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n".to_vec()
}

/// A stream in chunks, after which the connection can be used again.
pub(crate) fn encode_chunks(body: &str) -> Vec<Act> {
    let mut text = String::from(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    );
    for piece in body.split_inclusive("\n\n") {
        text.push_str(&format!("{:x}\r\n{piece}\r\n", piece.len()));
    }
    text.push_str("0\r\n\r\n");
    vec![Act::Send(text.into_bytes())]
}
