//! Calls at a fixed rate, whatever becomes of them. Latency counts from the moment at which a
//! call was due, so a target that stalls pays for all calls that had to wait.

use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{HttpLoadConnection, LoadSlice, LoadTarget, PipeLoadConnection, cpu_time_used, usage};
use crate::clock;
use crate::error::{BenchError, within};
use crate::samples::Samples;

/// Calls that may be due on one connection and not yet sent; a connection further behind than that is stuck.
const MAX_CALLS_BEHIND: usize = 4096;
const LOAD_GRACE: Duration = Duration::from_secs(15);

/// How much, in calls per second, and how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FixedRate {
    pub(crate) rate: u32,
    pub(crate) span: Duration,
}

pub(crate) enum LoadConnection {
    Http(HttpLoadConnection),
    Pipe(PipeLoadConnection),
}

impl LoadConnection {
    async fn call(&mut self, number: u64) -> Result<(), BenchError> {
        match self {
            Self::Http(connection) => connection.call(number).await,
            Self::Pipe(connection) => connection.call(number).await,
        }
    }
}

/// Loads the targets in turn, `connections` to each.
pub(crate) async fn run(
    targets: &[LoadTarget],
    connections: usize,
    load: FixedRate,
) -> Result<LoadSlice, BenchError> {
    let mut opened = Vec::new();
    for _ in 0..connections {
        for target in targets {
            opened.push(LoadConnection::Http(HttpLoadConnection::open(target).await?));
        }
    }
    let before = targets.first().and_then(usage);
    let mut slice = on_connections(opened, load).await?;
    slice.cpu = targets.first().map_or(Duration::ZERO, |target| cpu_time_used(target, before));
    Ok(slice)
}

/// Calls go to the connections in turn.
pub(crate) async fn on_connections(
    opened: Vec<LoadConnection>,
    load: FixedRate,
) -> Result<LoadSlice, BenchError> {
    within(load.span + LOAD_GRACE, "load at a fixed rate", drive_all(opened, load)).await
}

async fn drive_all(opened: Vec<LoadConnection>, load: FixedRate) -> Result<LoadSlice, BenchError> {
    let mut running = JoinSet::new();
    let mut queues = Vec::with_capacity(opened.len());
    for mut connection in opened {
        connection.call(0).await?;
        let (sender, due) = mpsc::channel(MAX_CALLS_BEHIND);
        queues.push(sender);
        running.spawn(drive(connection, due));
    }
    let began = clock::now();
    // A thread of its own: timers of the runtime count in whole milliseconds.
    let pacer = thread::spawn(move || pace(&queues, load));
    let mut nanos = Vec::new();
    while let Some(joined) = running.join_next().await {
        nanos.extend(joined.map_err(|error| BenchError::Process(error.to_string()))??);
    }
    let took = clock::now() - began;
    let in_time = pacer.join().unwrap_or(PacerResult::No);
    if in_time == PacerResult::No {
        return Err(BenchError::Process("the load could not be kept up".to_owned()));
    }
    Ok(LoadSlice { latencies: Samples::of_nanos(nanos), took, cpu: Duration::ZERO })
}

/// A call that is due: its number, and since when.
type DueCall = (u64, Instant);

async fn drive(
    mut connection: LoadConnection,
    mut due: mpsc::Receiver<DueCall>,
) -> Result<Vec<u64>, BenchError> {
    let mut nanos = Vec::new();
    while let Some((number, since)) = due.recv().await {
        connection.call(number).await?;
        let late = clock::now().saturating_duration_since(since);
        nanos.push(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX));
    }
    if let LoadConnection::Http(connection) = connection {
        connection.close().await?;
    }
    Ok(nanos)
}

#[derive(Debug, PartialEq, Eq)]
enum PacerResult {
    Yes,
    No,
}

fn pace(queues: &[mpsc::Sender<DueCall>], load: FixedRate) -> PacerResult {
    let began = clock::now() + Duration::from_millis(5);
    let gap = Duration::from_secs(1) / load.rate;
    let mut number = 1_u64;
    let mut due = began;
    while due < began + load.span {
        if let Some(wait) = due.checked_duration_since(clock::now()) {
            thread::sleep(wait);
        }
        let turn = usize::try_from(number).unwrap_or(0) % queues.len();
        if queues[turn].try_send((number, due)).is_err() {
            return PacerResult::No;
        }
        number += 1;
        due += gap;
    }
    PacerResult::Yes
}
