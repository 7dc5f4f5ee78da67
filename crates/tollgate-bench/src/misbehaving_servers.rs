//! Servers that misbehave, over HTTP and over a pipe: for the figure that says that no server can
//! make a turn last longer than it may. They list their tools like good ones do.

use std::io::{self, BufRead as _, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::echo::{EchoAnswer, EchoServer};
use crate::wire::Era;

/// What a server does with a call. Its tools are called so, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misbehavior {
    Hang,
    /// One byte after the other, for ever.
    Drip,
    /// Breaks off in the middle of its answer.
    Crash,
    /// Answers, after the wall.
    Late,
    /// Talks without end and never answers.
    Flood,
    /// Answers just before the wall, with all that fits into a message.
    Huge,
}

impl Misbehavior {
    pub(crate) const ALL: [Self; 6] =
        [Self::Hang, Self::Drip, Self::Crash, Self::Late, Self::Flood, Self::Huge];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hang => "hang",
            Self::Drip => "drip",
            Self::Crash => "crash",
            Self::Late => "late",
            Self::Flood => "flood",
            Self::Huge => "huge",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|manner| manner.name() == name)
    }

    /// Of the tool that a `tools/call` names.
    fn of(message: &[u8]) -> Option<Self> {
        let message: serde_json::Value = serde_json::from_slice(message).ok()?;
        Self::parse(message["params"]["name"].as_str()?)
    }
}

/// The wall of the turns that these servers are asked in.
pub(crate) const WALL: Duration = Duration::from_millis(100);
const DRIP: Duration = Duration::from_millis(5);
const HUGE_BYTES: usize = 7 << 20;

/// Serves over HTTP until dropped.
pub(crate) async fn serve(listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        while connections.try_join_next().is_some() {}
        connections.spawn(async move {
            // Breaking off is what some of them are for.
            let _ = connection(stream).await;
        });
    }
}

async fn connection(mut stream: TcpStream) -> io::Result<()> {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    stream.set_nodelay(true)?;
    let echo = EchoServer::with(&Misbehavior::ALL.map(Misbehavior::name));
    let mut read = Vec::new();
    loop {
        let Some(message) = request(&mut stream, &mut read).await? else { return Ok(()) };
        match Misbehavior::of(&message) {
            Some(manner) => {
                let number = CALLS.fetch_add(1, Ordering::Relaxed);
                misbehave(manner, number, &message, &mut stream).await?;
            }
            None => match echo.answer(Era::Modern, &message) {
                EchoAnswer::Message(text) => answer(&mut stream, &[text.as_bytes()]).await?,
                EchoAnswer::Nothing => {
                    stream.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").await?;
                }
                EchoAnswer::Never => std::future::pending().await,
            },
        }
    }
}

/// The body of the next request; `None` when there are no more.
async fn request(stream: &mut TcpStream, read: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    loop {
        if let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length = length.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
            let whole = end + 4 + length;
            if read.len() >= whole {
                let body = read[end + 4..whole].to_vec();
                read.drain(..whole);
                return Ok(Some(body));
            }
        }
        if stream.read_buf(read).await? == 0 {
            return Ok(None);
        }
    }
}

async fn answer(stream: &mut TcpStream, body: &[&[u8]]) -> io::Result<()> {
    let length: usize = body.iter().map(|part| part.len()).sum();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    for part in body {
        stream.write_all(part).await?;
    }
    Ok(())
}

async fn misbehave(
    manner: Misbehavior,
    number: u64,
    message: &[u8],
    stream: &mut TcpStream,
) -> io::Result<()> {
    const STREAM: &[u8] =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    match manner {
        Misbehavior::Hang => std::future::pending().await,
        Misbehavior::Drip => {
            // Some drip their head, others their body.
            let head: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
            if number.is_multiple_of(2) {
                stream.write_all(head).await?;
                stream.write_all(b"content-length: 100000\r\n\r\n").await?;
            } else {
                stream.write_all(b"HTTP/1.1 200 OK\r\nx-drip: ").await?;
            }
            loop {
                stream.write_all(b" ").await?;
                tokio::time::sleep(DRIP).await;
            }
        }
        Misbehavior::Crash => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"json").await?;
            Err(io::ErrorKind::ConnectionReset.into())
        }
        Misbehavior::Late => {
            tokio::time::sleep(WALL + Duration::from_millis(number % 100)).await;
            answer(stream, &[reply(message, "late").as_bytes()]).await
        }
        Misbehavior::Flood => {
            stream.write_all(STREAM).await?;
            let flood = format!("data: {}\n\n", flood()).repeat(256);
            let chunk = format!("{:x}\r\n{flood}\r\n", flood.len());
            loop {
                stream.write_all(chunk.as_bytes()).await?;
            }
        }
        Misbehavior::Huge => {
            tokio::time::sleep(WALL * 7 / 10).await;
            let reply = reply(message, HERE);
            let (head, tail) = reply.split_once(HERE).unwrap_or_default();
            answer(stream, &[head.as_bytes(), huge(), tail.as_bytes()]).await
        }
    }
}

/// Where a huge text stands in an answer.
const HERE: &str = "<here>";

/// Made once: these servers share the machine with what they are to disturb.
fn huge() -> &'static [u8] {
    static HUGE: OnceLock<Vec<u8>> = OnceLock::new();
    HUGE.get_or_init(|| vec![b'x'; HUGE_BYTES])
}

/// The result of the call in `message`.
fn reply(message: &[u8], text: &str) -> String {
    let message: serde_json::Value = serde_json::from_slice(message).unwrap_or_default();
    let id = &message["id"];
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

fn flood() -> String {
    let data = "noise ".repeat(20);
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"debug","data":"{data}"}}}}"#
    )
}

/// Serves one manner over standard input and output.
pub(crate) fn run(manner: Misbehavior) -> io::Result<()> {
    let echo = EchoServer::with(&[manner.name()]);
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if Misbehavior::of(&line).is_some() {
            misbehave_on_pipe(manner, &line, &mut output)?;
        } else if let EchoAnswer::Message(mut message) = echo.answer(Era::Modern, &line) {
            message.push('\n');
            output.write_all(message.as_bytes())?;
            output.flush()?;
        }
        line.clear();
    }
    Ok(())
}

fn misbehave_on_pipe(
    manner: Misbehavior,
    message: &[u8],
    output: &mut impl io::Write,
) -> io::Result<()> {
    let say = |output: &mut dyn io::Write, text: &str| {
        output.write_all(text.as_bytes())?;
        output.flush()
    };
    match manner {
        Misbehavior::Hang => Ok(()),
        Misbehavior::Drip => loop {
            say(output, " ")?;
            std::thread::sleep(DRIP);
        },
        Misbehavior::Crash => {
            say(output, "{\"json")?;
            Err(io::ErrorKind::BrokenPipe.into())
        }
        Misbehavior::Late => {
            std::thread::sleep(WALL + WALL / 4);
            say(output, &format!("{}\n", reply(message, "late")))
        }
        Misbehavior::Flood => {
            let flood = format!("{}\n", flood()).repeat(256);
            loop {
                say(output, &flood)?;
            }
        }
        Misbehavior::Huge => {
            std::thread::sleep(WALL * 7 / 10);
            let reply = reply(message, HERE);
            let (head, tail) = reply.split_once(HERE).unwrap_or_default();
            say(output, head)?;
            output.write_all(huge())?;
            say(output, &format!("{tail}\n"))
        }
    }
}
