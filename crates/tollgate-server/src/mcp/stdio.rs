//! MCP over a pipe: one message per line, both eras, any number of requests at once. The pipe is
//! the client; when it ends, everything that runs for it ends too.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::{self, AbortHandle, JoinSet};
use tollgate_core::filter::Narrow;
use tollgate_core::secret_values;
use tollgate_engine::caller::Rest;
use tollgate_engine::clock::SystemClock;
use tollgate_engine::gate::Gate;
use tollgate_mcp::code;
use tollgate_mcp::envelope::{Id, Message, Request};
use tollgate_mcp::line::{self, Lines};
use tollgate_mcp::{Revision, meta};

use super::dress::{self, Text};
use super::exchange::{Answer, Carrier, Exchange, Line, Step};
use super::legacy::Speaker;
use super::method::{self, Method};
use super::modern::{self, Ask};
use super::session::Session;
use super::{Front, legacy, listen};
use crate::limits::Limits;
use crate::refusal::Refused;
use crate::who::Who;

/// How many messages may wait to be written.
const QUEUE: usize = 64;
/// How long requests may still run when the client has said its last word.
const GRACE: Duration = Duration::from_millis(500);
/// How long the client may then take to read what is left.
const LAST_WORDS: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
#[error("the pipe broke: {0}")]
pub struct StdioError(#[from] io::Error);

/// For whom a pipe is served.
#[derive(Debug, Clone)]
pub struct Client<'a> {
    /// `None`: the default agent.
    pub agent: Option<&'a str>,
    /// What it never sees.
    pub narrow: Narrow,
}

/// Serves one client until its pipe ends.
pub async fn serve_stdio<R, W>(
    gate: Arc<Gate>,
    client: Client<'_>,
    (reader, writer): (R, W),
) -> Result<(), StdioError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let limits = Limits::default();
    let mut lines = Lines::new(reader, limits.body_bytes);
    let front = Front::new(gate, Arc::new(SystemClock), limits);
    // There is no other way in here than this pipe.
    let front = Arc::new(Front { rest: Rest::Lost, ..front });
    let (out, outgoing) = mpsc::channel(QUEUE);
    let who = Who::local(client.agent, client.narrow);
    let mut pipe = Pipe {
        front,
        who,
        session: None,
        running: HashMap::new(),
        batches: HashMap::new(),
        tasks: JoinSet::new(),
        out,
    };
    let mut writing = std::pin::pin!(write_all(writer, outgoing));
    loop {
        tokio::select! {
            written = &mut writing => return Ok(written?),
            line = lines.next() => match line? {
                Some(line) => {
                    // Answers go out while the line waits for room.
                    let taken = pipe.take(line);
                    tokio::select! {
                        written = &mut writing => return Ok(written?),
                        () = taken => {}
                    }
                }
                None => break,
            },
        }
    }
    let end = async { tokio::join!(writing, pipe.end()).0 };
    let unread = || io::Error::new(io::ErrorKind::TimedOut, "the client does not read");
    Ok(tokio::time::timeout(GRACE + LAST_WORDS, end).await.unwrap_or_else(|_| Err(unread()))?)
}

/// Writes what there is in one go, and flushes when there is no more.
async fn write_all<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut outgoing: mpsc::Receiver<String>,
) -> io::Result<()> {
    while let Some(text) = outgoing.recv().await {
        let mut lines = line::on_one_line(secret_values::masked(text));
        lines.push('\n');
        while let Ok(more) = outgoing.try_recv() {
            lines.push_str(&line::on_one_line(secret_values::masked(more)));
            lines.push('\n');
        }
        writer.write_all(lines.as_bytes()).await?;
        writer.flush().await?;
    }
    Ok(())
}

struct Pipe {
    front: Arc<Front>,
    /// The pipe is its client's alone.
    who: Who,
    session: Option<Arc<Session>>,
    running: HashMap<Id, AbortHandle>,
    /// How many messages each batch has that is being answered.
    batches: HashMap<task::Id, usize>,
    /// A task that answers one request ends with its id.
    tasks: JoinSet<Option<Id>>,
    out: mpsc::Sender<String>,
}

impl Pipe {
    async fn take(&mut self, line: line::Line) {
        self.forget_ended();
        match line {
            line::Line::Text(text) => self.take_text(text).await,
            line::Line::TooLong { .. } => {
                let limit = self.front.limits.body_bytes;
                self.refuse(None, &Refused::invalid(format!("a line is over {limit} bytes"))).await;
            }
            line::Line::Skipped { .. } => {}
        }
    }

    async fn take_text(&mut self, text: Bytes) {
        if let Err(error) = self.front.limits.json.check(&text) {
            return self.refuse(None, &Refused::invalid(error.to_string())).await;
        }
        if text.first() == Some(&b'[') {
            return self.take_batch(text).await;
        }
        match Message::parse_bytes(&text) {
            Ok(Message::Request(request)) => self.start(request).await,
            Ok(Message::Notification { method, params }) => {
                if method == "notifications/cancelled"
                    && let Some(id) = legacy::cancelled_id(params)
                    && let Some(running) = self.running.remove(&id)
                {
                    running.abort();
                }
            }
            Ok(Message::Response { id, outcome }) => {
                if let (Some(id), Some(session)) = (id, &self.session) {
                    session.answered(&id, outcome);
                }
            }
            Err(invalid) => {
                let text = dress::error(invalid.id.as_ref(), &invalid.error);
                let _ = self.out.send(text).await;
            }
        }
    }

    async fn start(&mut self, request: Request<'_>) {
        let id = request.id.clone();
        if self.running.contains_key(&id) {
            let refused = Refused::invalid("a request with this `id` is still running");
            return self.refuse(Some(&id), &refused).await;
        }
        if !self.has_room(1) {
            return self.refuse(Some(&id), &too_many()).await;
        }
        if request.method == "initialize" && meta::version_of(request.params).is_none() {
            return self.initialize(&request).await;
        }
        let (front, who) = (Arc::clone(&self.front), self.who.clone());
        let session = self.session.clone();
        let asked = Asked::from(request);
        let exchange = Exchange::new(Line::new(Carrier::Pipe), |line| async move {
            answer(&front, (who, session.as_ref()), &asked, &line).await
        });
        self.run(id, exchange);
    }

    /// Whether so many more requests may run.
    fn has_room(&self, more: usize) -> bool {
        let in_batches: usize = self.batches.values().sum();
        self.running.len() + in_batches + more <= self.front.limits.in_flight
    }

    fn run(&mut self, id: Id, exchange: Exchange) {
        let out = self.out.clone();
        let key = id.clone();
        let handle = self.tasks.spawn(async move {
            carry(exchange, out).await;
            Some(id)
        });
        self.running.insert(key, handle);
    }

    async fn initialize(&mut self, request: &Request<'_>) {
        let opened = method::params(request.params).and_then(|params| match self.session {
            Some(_) => Err(Refused::invalid("this session is initialized already")),
            None => legacy::opening(&self.front, self.who.clone(), &params),
        });
        let opening = match opened {
            Ok(opening) => opening,
            Err(refused) => return self.refuse(Some(&request.id), &refused).await,
        };
        let session = Arc::new(Session::new(opening));
        let _ = self.out.send(dress::initialize(&request.id, session.revision)).await;
        let (front, out) = (Arc::clone(&self.front), self.out.clone());
        let (told, who) = (Arc::clone(&session), self.who.clone());
        self.tasks.spawn(async move {
            listen::tell(&front, Speaker { session: &told, who: &who }, out).await;
            None
        });
        self.session = Some(session);
    }

    async fn take_batch(&mut self, text: Bytes) {
        let session = self.session.clone();
        let Some(session) = session.filter(|it| it.revision == Revision::V2025_03_26) else {
            let refused = Refused::invalid("messages come one by one in this protocol revision");
            return self.refuse(None, &refused).await;
        };
        // What is no list is refused without running anything.
        let count = serde_json::from_slice::<Vec<IgnoredAny>>(&text).map_or(0, |it| it.len());
        if count <= self.front.limits.batch && !self.has_room(count) {
            return self.refuse(None, &too_many()).await;
        }
        let (front, who) = (Arc::clone(&self.front), self.who.clone());
        let exchange = Exchange::new(Line::new(Carrier::Pipe), |line| async move {
            let text = String::from_utf8_lossy(&text);
            let speaker = Speaker { session: &session, who: &who };
            legacy::batch(&front, speaker, &text, &line).await
        });
        let out = self.out.clone();
        let handle = self.tasks.spawn(async move {
            carry(exchange, out).await;
            None
        });
        self.batches.insert(handle.id(), count);
    }

    /// Whoever pipes in a few lines and closes still gets the answers that do not take long.
    async fn end(mut self) {
        self.front.stop.cancel();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(GRACE, all).await;
    }

    async fn refuse(&self, id: Option<&Id>, refused: &Refused) {
        let _ = self.out.send(dress::error(id, &refused.error)).await;
    }

    /// A request that ended may be followed by another with its id.
    fn forget_ended(&mut self) {
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            match ended {
                // After a cancellation the id may be another request's by now.
                Ok((task, Some(id))) => {
                    if self.running.get(&id).is_some_and(|handle| handle.id() == task) {
                        self.running.remove(&id);
                    }
                }
                Ok((task, None)) => {
                    self.batches.remove(&task);
                }
                // Cancelled, or it panicked.
                Err(error) => {
                    self.batches.remove(&error.id());
                    self.running.retain(|_, handle| handle.id() != error.id());
                }
            }
        }
    }
}

fn too_many() -> Refused {
    Refused::new(
        StatusCode::SERVICE_UNAVAILABLE,
        code::INTERNAL_ERROR,
        "too many requests are running",
    )
}

/// A request that was read, on its own.
struct Asked {
    id: Id,
    method: String,
    params: Option<Box<RawValue>>,
}

impl From<Request<'_>> for Asked {
    fn from(request: Request<'_>) -> Self {
        let Request { id, method, params } = request;
        Self { id, method: method.into_owned(), params: params.map(ToOwned::to_owned) }
    }
}

async fn carry(mut exchange: Exchange, out: mpsc::Sender<String>) {
    loop {
        let (text, is_last) = match exchange.next().await {
            Step::Say(text) => (Some(text), false),
            Step::Done(answer) => (answer.text.map(Text::into_string), true),
        };
        if let Some(text) = text
            && out.send(text).await.is_err()
        {
            return;
        }
        if is_last {
            return;
        }
    }
}

/// One request, in whichever era it speaks.
async fn answer(
    front: &Front,
    (who, session): (Who, Option<&Arc<Session>>),
    asked: &Asked,
    line: &Line,
) -> Answer {
    let params = match method::params(asked.params.as_deref()) {
        Ok(params) => params,
        Err(refused) => return Answer::refused(Some(&asked.id), &refused),
    };
    let has_version =
        params.object("_meta").is_some_and(|meta| meta.contains(meta::PROTOCOL_VERSION));
    let ask = Ask { id: asked.id.clone(), method: &asked.method, params };
    if has_version || Method::is_modern_only(ask.method) {
        let from = modern::From { who, headers: None, line };
        return modern::answer(front, from, ask).await;
    }
    match session {
        Some(session) => {
            let speaker = Speaker { session, who: &who };
            legacy::answer(front, speaker, ask, line).await
        }
        None => Answer::refused(Some(&ask.id), &Refused::invalid("send `initialize` first")),
    }
}
