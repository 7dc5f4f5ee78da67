//! As many calls as go: each connection makes its next call as soon as it has the answer to the last.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::{HttpLoadConnection, LoadSlice, LoadTarget, cpu_time_used, usage};
use crate::clock;
use crate::error::{BenchError, within};
use crate::samples::Samples;

/// Calls on each connection before anything is counted.
const WARM_UP: u64 = 3;
/// Beyond the load itself.
const LOAD_GRACE: Duration = Duration::from_secs(15);

/// Loads `target` on so many connections for so long.
pub(crate) async fn run(
    target: &LoadTarget,
    connections: usize,
    span: Duration,
) -> Result<LoadSlice, BenchError> {
    within(span + LOAD_GRACE, target.name, load(target, connections, span)).await
}

async fn load(
    target: &LoadTarget,
    connections: usize,
    span: Duration,
) -> Result<LoadSlice, BenchError> {
    let mut opened = Vec::with_capacity(connections);
    for at in 0..connections {
        let mut connection = HttpLoadConnection::open(target).await?;
        let first = 1 + at as u64 * 1_000_000_000;
        for number in first..first + WARM_UP {
            connection.call(number).await?;
        }
        opened.push((connection, first + WARM_UP));
    }
    let before = usage(target);
    let began = clock::now();
    let mut running = JoinSet::new();
    for (connection, first) in opened {
        running.spawn(drive(connection, first, began + span));
    }
    let mut nanos = Vec::new();
    let mut ended = began;
    let mut finished = Vec::with_capacity(connections);
    while let Some(joined) = running.join_next().await {
        let driven = joined.map_err(|error| BenchError::Process(error.to_string()))??;
        nanos.extend(driven.nanos);
        ended = ended.max(driven.ended);
        finished.push(driven.connection);
    }
    let cpu = cpu_time_used(target, before);
    for connection in finished {
        connection.close().await?;
    }
    Ok(LoadSlice { latencies: Samples::of_nanos(nanos), took: ended - began, cpu })
}

struct ConnectionRun {
    connection: HttpLoadConnection,
    nanos: Vec<u64>,
    ended: Instant,
}

async fn drive(
    mut connection: HttpLoadConnection,
    first: u64,
    until: Instant,
) -> Result<ConnectionRun, BenchError> {
    let mut nanos = Vec::with_capacity(4096);
    let mut number = first;
    let mut sent = clock::now();
    while sent < until {
        connection.call(number).await?;
        let now = clock::now();
        nanos.push(u64::try_from((now - sent).as_nanos()).unwrap_or(u64::MAX));
        number += 1;
        sent = now;
    }
    Ok(ConnectionRun { connection, nanos, ended: sent })
}
