//! Calls at a fixed rate, whatever becomes of them. Latency counts from the moment at which a
//! call was due, so a target that stalls pays for all calls that had to wait.

use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{HttpLane, PipeLane, Slice, Target, usage, used};
use crate::clock;
use crate::samples::Samples;
use crate::trouble::{Trouble, within};

/// Calls that may be due on one lane and not yet sent; a lane further behind than that is stuck.
const BEHIND: usize = 4096;
const PATIENCE: Duration = Duration::from_secs(15);

/// How much, in calls per second, and how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) rate: u32,
    pub(crate) span: Duration,
}

pub(crate) enum Lane {
    Http(HttpLane),
    Pipe(PipeLane),
}

impl Lane {
    async fn call(&mut self, number: u64) -> Result<(), Trouble> {
        match self {
            Self::Http(lane) => lane.call(number).await,
            Self::Pipe(lane) => lane.call(number).await,
        }
    }
}

/// Loads the targets in turn, `connections` to each.
pub(crate) async fn run(
    targets: &[Target],
    connections: usize,
    load: Load,
) -> Result<Slice, Trouble> {
    let mut lanes = Vec::new();
    for _ in 0..connections {
        for target in targets {
            lanes.push(Lane::Http(HttpLane::open(target).await?));
        }
    }
    let before = targets.first().and_then(usage);
    let mut slice = on_lanes(lanes, load).await?;
    slice.cpu = targets.first().map_or(Duration::ZERO, |target| used(target, before));
    Ok(slice)
}

/// Calls go to the lanes in turn.
pub(crate) async fn on_lanes(lanes: Vec<Lane>, load: Load) -> Result<Slice, Trouble> {
    within(load.span + PATIENCE, "load at a fixed rate", drive_all(lanes, load)).await
}

async fn drive_all(lanes: Vec<Lane>, load: Load) -> Result<Slice, Trouble> {
    let mut running = JoinSet::new();
    let mut queues = Vec::with_capacity(lanes.len());
    for mut lane in lanes {
        lane.call(0).await?;
        let (sender, due) = mpsc::channel(BEHIND);
        queues.push(sender);
        running.spawn(drive(lane, due));
    }
    let began = clock::now();
    // A thread of its own: timers of the runtime count in whole milliseconds.
    let pacer = thread::spawn(move || pace(&queues, load));
    let mut nanos = Vec::new();
    while let Some(joined) = running.join_next().await {
        nanos.extend(joined.map_err(|error| Trouble::Process(error.to_string()))??);
    }
    let took = clock::now() - began;
    let in_time = pacer.join().unwrap_or(InTime::No);
    if in_time == InTime::No {
        return Err(Trouble::Process("the load could not be kept up".to_owned()));
    }
    Ok(Slice { latencies: Samples::of_nanos(nanos), took, cpu: Duration::ZERO })
}

/// A call that is due: its number, and since when.
type Due = (u64, Instant);

async fn drive(mut lane: Lane, mut due: mpsc::Receiver<Due>) -> Result<Vec<u64>, Trouble> {
    let mut nanos = Vec::new();
    while let Some((number, since)) = due.recv().await {
        lane.call(number).await?;
        let late = clock::now().saturating_duration_since(since);
        nanos.push(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX));
    }
    if let Lane::Http(lane) = lane {
        lane.close().await?;
    }
    Ok(nanos)
}

#[derive(Debug, PartialEq, Eq)]
enum InTime {
    Yes,
    No,
}

fn pace(queues: &[mpsc::Sender<Due>], load: Load) -> InTime {
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
            return InTime::No;
        }
        number += 1;
        due += gap;
    }
    InTime::Yes
}
